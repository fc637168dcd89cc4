"""What a program says of the training run: the settings of its calls and assignments, and the names that it uses.

A literal argument is a fact, and so is a name that is bound once to a literal. What stands in a branch, or comes from
the command line, is set to something that cannot be read off: a setting without a value. What comes after the training
(the model is loaded again to try it out) is no part of it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from functools import lru_cache

from gradcompat.formats.document import Document
from gradcompat.scanners.code.alike_branches import agreed
from gradcompat.scanners.code.arguments import Place, completed
from gradcompat.scanners.code.assignments import (
    assigned,
    defined,
    frozen_in_loop,
    non_persistent,
    unties,
    variable,
)
from gradcompat.scanners.code.call_settings import read_call
from gradcompat.scanners.code.checkpointing_order import HOOKS, order
from gradcompat.scanners.code.command_options import join_options, read_options, read_switches
from gradcompat.scanners.code.detectors.evaluations_before_training import read_evaluation
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.models import makes_model
from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.own_loops import (
    end_of_training,
    read_accumulation,
    read_average,
    read_resumption,
    stands_after,
)
from gradcompat.scanners.code.program_inference import FIRST, conclude
from gradcompat.scanners.code.sample_contents import (
    is_prompt,
    read_appended_ending,
    read_completion,
    read_ending,
    read_visual_content,
)
from gradcompat.scanners.code.symbols import method_of_unknown, read_bare_method, read_name, read_symbols
from gradcompat.scanners.code.walk import Step, text, walk
from gradcompat.startup.lazy_patterns import lazy_pattern

# Methods of a model that return the model itself.
_MOVING = frozenset({"to", "cuda", "cpu", "half", "bfloat16", "float", "train", "eval"})

# Keys that a program sets by hand because a defect asks for it, and what has them: columns of a batch that a tokenizer
# does not give, switches in the groups of an optimizer.
_BY_HAND = ("token_type_ids", "mm_token_type_ids", "position_ids", "completion_mask")
_SET_BY_HAND = {**dict.fromkeys(_BY_HAND, "batch"), "capturable": "group"}

# Parts that a model gets, of which those that it gets when it is trained are no part of the training.
_PARTS = lazy_pattern(r"sentence_transformers\.models\.\w+")

# Those that a call is given by their names, beside the ids of the tokens.
_TYPES = frozenset({"token_type_ids", "mm_token_type_ids"})

# Beside the ids of the tokens.
_COLUMNS = frozenset({"labels", *_BY_HAND})
_GROUP = lazy_pattern(r"group|^pg$")  # what a group of an optimizer is called
_LAYER_SCALE = "lr_scale"  # of the groups that timm makes for a decay by layers, which a program may apply by itself

# What says something beside the names in it.
_TELLING = (
    ast.Call,
    ast.Assign,
    ast.AugAssign,
    ast.For,
    ast.If,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Constant,
    ast.Dict,
    ast.Subscript,
    ast.JoinedStr,
    ast.BinOp,
)

# What leaves tokens out of the loss. Other labels are the ids themselves, as collators for language models make them.
# Each begins with a sign that is written out, by which a search is fast; not 0-100, as texts have it.
_LEAVES_OUT = lazy_pattern(r"-100\b(?<!\w-100)|IGNORE_INDEX|ignore_index")

# Padding, which every collator leaves out, a metric that takes the same tokens out again, and a loss that is told so.
_LEAVES_NO_ANSWER_OUT = lazy_pattern(
    r"pad_token|padding_mask|\bpad_id\b|attention_mask|[!=]=\s*-100\b|-100\s*[!=]=|\bignore_index=-100\b"
)


def read(
    tree: ast.Module,
    names: Names,
    place: Place,
    document: Document,
    parts: Sequence[Findings] = (),
    without: Collection[ast.AST] = (),
) -> Findings:
    """The facts of a program.

    Args:
        tree: the program.
        names: its names.
        place: where a node stands.
        document: the file, for models that lie beside it.
        parts: what was found in the modules of the project that it imports.
        without: the methods that nothing calls.
    """
    found, whole = _gathered(tree, names, place, document, without)
    files = {id(one.document): one.names for one in (found, *parts)}
    for part in parts:
        found.add(part, [of_file for file, of_file in files.items() if file != id(part.document)])
    join_options(found)
    conclude(found, whole)
    return found


def read_statement(
    statement: ast.stmt, names: Names, place: Place, document: Document, without: Collection[ast.AST] = ()
) -> Findings:
    """The facts of one statement of a module that a program imports; what the whole says is not concluded."""
    found, whole = _gathered(ast.Module(body=[statement], type_ignores=[]), names, place, document, without)
    order(found, whole)
    return found


def _is_group(owner: ast.expr, names: Names) -> bool:
    """Is it a group of an optimizer's parameters, by its name or by the loop over them?"""
    name = text(owner)
    if _GROUP.search(name):
        return True
    loops = names.nodes(ast.For) if isinstance(owner, ast.Name) else ()
    return any(text(loop.target) == name and text(loop.iter).endswith(".param_groups") for loop in loops)


def _gathered(
    tree: ast.Module, names: Names, place: Place, document: Document, without: Collection[ast.AST]
) -> tuple[Findings, Step]:
    """What stands in a tree, and the tree as a whole."""
    found = Findings(names, place, document, statements=tree.body)
    steps = list(walk(tree, names, without))
    if "partial" in document.text:
        called = (
            (one, completed(one.node, names, one.scope) if isinstance(one.node, ast.Call) else one.node)
            for one in steps
        )
        steps = [one if node is one.node else one._replace(node=node) for one, node in called]
    read_options(found, steps)
    read_switches(found, steps)
    end = end_of_training(steps, names)
    masks = _masks(document.text)
    handed_on: set[int] = set()  # dicts whose entries are the arguments of a call
    going_on: set[int] = set()  # texts behind which something else stands
    for step in steps:
        node = step.node
        late = end is not None and end.function in (step.function, names.module) and stands_after(node, end.node)
        if isinstance(node, (ast.Attribute, ast.Name)) and not isinstance(node.ctx, ast.Del):
            for part in filter(_PARTS.fullmatch, names.resolve(node, step.scope) if late else ()):
                if part not in found.symbols:
                    found.symbol(f"{part}.after_training", node)
            read_name(found, step, node)
        elif isinstance(node, ast.Call):
            method = method_of_unknown(node.func, found.names, step.scope)
            read_symbols(found, step, node, method)
            read_bare_method(found, step, node, method)
            read_evaluation(found, step, node, end)
            if non_persistent(found, step, node):
                found.buffers.append((node, place(node)))
        elif unties(node):
            found.symbol("transformers.PretrainedConfig.tie_word_embeddings.off", node)
        if not isinstance(node, _TELLING):
            continue
        if late:
            continue
        match node:
            case ast.If(test=test, body=body) if not step.branch:
                read_resumption(found, step, test, body)
                read_average(found, step, test, body)
                read_accumulation(found, step, test, body)
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=str(name)), value]):
                assigned(found, step, ast.copy_location(ast.Attribute(owner, name, ast.Store()), node), value)
            case ast.Call():
                handed_on |= {id(keyword.value) for keyword in node.keywords if keyword.arg is None}
                for name in _types_by_hand(step, node):
                    found.symbol(f"batch.{name}", node)
                read_call(found, step, node)
            case ast.Assign(targets=[ast.Subscript(value=owner, slice=ast.Constant(value=name))], value=value):
                if names.resolve(owner, step.scope) == ("os.environ",):
                    variable(found, step, name, names.literal(value, step.scope), node)
                elif name == "labels" and masks:
                    found.symbol("batch.labels", node)
            case ast.Dict(keys=keys, values=values):
                read_visual_content(found, step, node)
                going_on |= {id(value) for key, value in zip(keys, values, strict=True) if is_prompt(key)}
                columns = {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
                for name in sorted(columns & _COLUMNS) if "input_ids" in columns and id(node) not in handed_on else ():
                    if name != "labels" or masks:
                        found.symbol(f"batch.{name}", node)
                if "text" in columns and "type" not in columns:  # no part of a message
                    found.symbol("columns.text", node)
                if "prompt" in columns:
                    read_completion(found, step, node)
            case ast.JoinedStr() | ast.BinOp():
                read_ending(found, step, node, going_on)
            case ast.AugAssign():
                read_appended_ending(found, step, node)
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                assigned(found, step, target, value)
                if isinstance(value, ast.Call) and text(target).startswith("self."):
                    _held(found, step, target, value)
            case ast.Assign(targets=[ast.Name() as target], value=ast.Call() as value):
                _held(found, step, target, value)
            case ast.For():
                frozen_in_loop(found, step, node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                defined(found, step, node)
            case ast.Constant(value=str(words)) if words in HOOKS or words == "loss":
                found.mentioned.add(words)
            case ast.Constant(value=str(words)) if words == _LAYER_SCALE:
                found.symbol(f"group.{words}", node)
            case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Store()) if name in _SET_BY_HAND:
                found.symbol(f"{_SET_BY_HAND[name]}.{name}", node)
            case ast.Subscript(value=ast.Attribute(attr="scaling"), ctx=ast.Store()):  # by the name of an adapter
                found.symbol("peft.PeftConfig.plain_scaling", node)
            case ast.Subscript(value=owner, slice=ast.Constant(value="lr" | "weight_decay" as key), ctx=ast.Store()):
                if _is_group(owner, names):
                    found.symbol(f"group.{key}", node)
            case ast.Subscript(slice=ast.Constant(value=0)):
                found.mentioned.add(FIRST)
    if found.resumed and not any(found.resumed) and "resume_from_checkpoint" not in found.mentioned:
        # A Trainer goes on from what `train` is given; what its arguments name it leaves to the program.
        of_arguments = {setting for one in found.alternatives for setting in one.stated}
        found.settings = [
            setting
            for setting in found.settings
            if setting.key != "training.resume_from_checkpoint" or setting not in of_arguments
        ]
    if not found.parsers:
        found.settings = agreed(found.settings, found.alternatives)
    return found, steps[0]


def _held(found: Findings, step: Step, target: ast.expr, value: ast.Call) -> None:
    """Note a variable, or an attribute of an object, that holds a model which the program loads."""
    if any(makes_model(one) for one in found.names.resolve(_unmoved(value).func, step.scope)):
        found.models.add(text(target))


@lru_cache(maxsize=8)  # the statements of a module are read one after the other
def _masks(text: str) -> bool:
    """Does a program leave tokens of the answers out of the loss?"""
    return _LEAVES_OUT.search(text) is not None and any(
        _LEAVES_OUT.search(line) and not _LEAVES_NO_ANSWER_OUT.search(line) for line in text.splitlines()
    )


def _types_by_hand(step: Step, call: ast.Call) -> list[str]:
    """``model(input_ids=x, token_type_ids=zeros)``: the types of tokens that a call makes.

    A module that hands on what it is given itself makes none.
    """
    given = {word.arg: word.value for word in call.keywords if word.arg}
    if "input_ids" not in given:
        return []
    made = [name for name in sorted(_TYPES & given.keys()) if not isinstance(given[name], ast.Constant)]
    function = step.function.node
    inside = made and isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    taken = {one.arg for one in ast.walk(function) if isinstance(one, ast.arg)} if inside else set()
    return [name for name in made if ast.unparse(given[name]) not in taken]


def _unmoved(call: ast.Call) -> ast.Call:
    """``from_pretrained(…)`` of ``from_pretrained(…).to("cuda").train()``."""
    while True:
        match call.func:
            case ast.Attribute(value=ast.Call() as inner, attr=method) if method in _MOVING:
                call = inner
            case _:
                return call
