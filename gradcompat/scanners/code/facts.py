"""What a program says of the training run: the settings of its calls and assignments, and the names that it uses.

A literal argument is a fact, and so is a name that is bound once to a literal. What stands in a branch, or comes from
the command line, is set to something that cannot be read off: a setting without a value. What comes after the training
(the model is loaded again to try it out) is no part of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from gradcompat.formats.document import Document
from gradcompat.model.context import ConfigLookup, OptionFile
from gradcompat.scanners.code import calls
from gradcompat.scanners.code.alike_branches import agreed, is_arguments
from gradcompat.scanners.code.arguments import Argument, Place, argument, pairs
from gradcompat.scanners.code.assignments import (
    EMBEDDINGS,
    assigned,
    defined,
    divides,
    frozen_in_loop,
    non_persistent,
    special_tokens,
    trained_module,
    variable,
)
from gradcompat.scanners.code.call_lines import call_lines
from gradcompat.scanners.code.calls import (
    AVERAGE,
    BATCH,
    KNOWN_METHODS,
    KNOWN_OF_TYPE,
    OPTIMIZER_ARGUMENTS,
    OWN_LOOP,
    PADDING,
    PROCESSORS,
    STATEFUL_LOADERS,
    known,
)
from gradcompat.scanners.code.command_functions import ROOTS, Function, commanded, is_command, parameters
from gradcompat.scanners.code.config_lookups import is_config, loaded_file, lookup
from gradcompat.scanners.code.dataclass_parsers import dataclass_parser, parsed_input
from gradcompat.scanners.code.detectors.float_weights import makes_float
from gradcompat.scanners.code.detectors.half_weights import made_half
from gradcompat.scanners.code.detectors.named_optimizers import named_optimizer
from gradcompat.scanners.code.detectors.own_compilation import compiles_itself
from gradcompat.scanners.code.detectors.own_zeroing import clears_gradients
from gradcompat.scanners.code.detectors.pipeline_losses import gets_float_loss
from gradcompat.scanners.code.detectors.pooled_losses import POOLING, ways_of_use
from gradcompat.scanners.code.detectors.stream_order import manner_of_stream
from gradcompat.scanners.code.detectors.template_ids import manner_of_count, manner_of_trimming
from gradcompat.scanners.code.detectors.trained_adapters import (
    gets_frozen_adapter,
    gets_merged_model,
    goes_on_alone,
    optimizes_merged_model,
    wraps_adapter,
)
from gradcompat.scanners.code.detectors.widened_masks import SYMBOL as WIDENED_MASK
from gradcompat.scanners.code.detectors.widened_masks import gets_widened_mask
from gradcompat.scanners.code.findings import PICTURE, Called, Findings
from gradcompat.scanners.code.models import is_model, loaded, makes_model, named
from gradcompat.scanners.code.names import UNKNOWN, Imported, Names, Scope
from gradcompat.scanners.code.object_history import calls_behind
from gradcompat.scanners.code.option_branches import switches
from gradcompat.scanners.code.option_defaults import CLIS, Option, fields, is_option, named_option, option_of
from gradcompat.scanners.code.own_classes import called_base
from gradcompat.scanners.code.program_inference import FIRST, HOOKS, conclude, order
from gradcompat.scanners.code.syntax import nodes_in
from gradcompat.scanners.code.walk import Step, text, walk
from gradcompat.scanners.configs.deepspeed import SIZES
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.defaults import TRAIN

# Methods of a model that return the model itself.
_MOVING = frozenset({"to", "cuda", "cpu", "half", "bfloat16", "float", "train", "eval"})
# Methods of Python's own types, which say nothing.
_COMMON = frozenset(name for kind in (str, bytes, list, dict, set, tuple, int) for name in dir(kind)) | {"parse_args"}
# What models of transformers call the projections of their attention.
_ATTENTION = frozenset(
    {
        *("q_proj", "k_proj", "v_proj", "o_proj", "out_proj", "qkv_proj", "qkv", "query_key_value", "c_attn"),
        *("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "query", "key", "value", "Wqkv", "self_attn"),
    }
)
_STREAM = "datasets.IterableDataset"
_DCP = ("torch.distributed.checkpoint.load", "torch.distributed.checkpoint.state_dict_loader.load")
_SAVING = frozenset({"save_model", "save_pretrained"})
_LOADING = re.compile(
    r"transformers\.(?:\w+\.)*\w*(?:Model|For)\w*\.from_pretrained|sentence_transformers\.(?:\w+\.)*\w+(?:Encoder|Transformer)"
)
_TEXT_MAKER = re.compile(r"transformers\.(?:\w+\.)*\w*(?:Tokenizer|TokenizerFast|Processor)\.__call__")
_TOKENIZER = re.compile(r"transformers\.(?:\w+\.)*\w*Tokenizer\w*\.from_pretrained")
_COLUMNS_OF_METRICS = frozenset({"predictions", "references"})
# What data sets for embeddings call their parts.
_NEGATIVES = re.compile(r"triplet|hard[-_]neg|negatives")
_PAIRS = frozenset({"pair", "pair-class", "pair-score"})
# Keys that a program sets by hand because a defect asks for it, and what has them: columns of a batch that a tokenizer
# does not give, switches in the groups of an optimizer.
_BY_HAND = ("token_type_ids", "mm_token_type_ids", "position_ids", "completion_mask")
_SET_BY_HAND = {**dict.fromkeys(_BY_HAND, "batch"), "capturable": "group"}
_COMPLETED = frozenset({"prompt", "completion"})
_CONVERSATION = re.compile(r"messages|conversations?|turns|chat")  # what is a list of messages, or a part of one
# Beside the ids of the tokens.
_COLUMNS = frozenset({"labels", *_BY_HAND})
_GROUP = re.compile(r"group|^pg$")  # what a group of an optimizer is called
_LAYER_SCALE = "lr_scale"  # of the groups that timm makes for a decay by layers, which a program may apply by itself
_TRAINERS = re.compile(
    r"(?:transformers|trl|sentence_transformers|gliner|lightning|pytorch_lightning)\.(?:\w+\.)*\w*Trainer"
)
_CONFIGS = frozenset({"deepspeed", "hf_ds_config", "config", "config_params", "deepspeed_config", "fsdp_config"})
_PARSERS = frozenset({"HfArgumentParser", "TrlParser"})
_BY_LAUNCHERS = frozenset({"local_rank"})  # options that torch's and DeepSpeed's launchers add to a command
# What imports a module whose name may be computed.
_DYNAMIC = frozenset({"importlib.import_module", "runpy.run_path", "runpy.run_module"})
# Packages that do nothing to a model behind the program's back.
_OPEN = frozenset(
    {
        *("transformers", "peft", "torch", "accelerate", "bitsandbytes", "datasets", "evaluate", "deepspeed"),
        *("lightning", "pytorch_lightning", "torchinfo", "wandb", "numpy"),
    }
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
    for part in parts:
        found.add(part)
    conclude(found, whole)
    return found


def read_statement(
    statement: ast.stmt, names: Names, place: Place, document: Document, without: Collection[ast.AST] = ()
) -> Findings:
    """The facts of one statement of a module that a program imports; what the whole says is not concluded."""
    found, whole = _gathered(ast.Module(body=[statement], type_ignores=[]), names, place, document, without)
    order(found, whole)
    return found


# What says something beside the names in it.
_TELLING = (
    ast.Call,
    ast.Assign,
    ast.For,
    ast.If,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Constant,
    ast.Dict,
    ast.Subscript,
)
# What leaves tokens out of the loss. Other labels are the ids themselves, as collators for language models make them.
_LEAVES_OUT = re.compile(r"-100\b|IGNORE_INDEX|ignore_index")
# Padding, which every collator leaves out, a metric that takes the same tokens out again, and a loss that is told so.
_LEAVES_NO_ANSWER_OUT = re.compile(
    r"pad_token|padding_mask|\bpad_id\b|attention_mask|[!=]=\s*-100\b|-100\s*[!=]=|\bignore_index=-100\b"
)


def _gathered(
    tree: ast.Module, names: Names, place: Place, document: Document, without: Collection[ast.AST]
) -> tuple[Findings, Step]:
    """What stands in a tree, and the tree as a whole."""
    found = Findings(names, place, document, statements=tree.body)
    steps = list(walk(tree, names, without))
    _options(found, steps)
    _switches(found, steps)
    end = _end_of_training(steps, names)
    masks = _masks(document.text)
    for step in steps:
        node = step.node
        if isinstance(node, (ast.Attribute, ast.Name)) and not isinstance(node.ctx, ast.Del):
            _used(found, step, node)
        elif isinstance(node, ast.Call):
            _is_told(found, step, node)
            _bare_method(found, step, node)
            if non_persistent(found, step, node):
                found.buffers.append((node, place(node)))
        if not isinstance(node, _TELLING):
            continue
        if end is not None and end.function in (step.function, names.module) and _after(node, end.node):
            continue
        match node:
            case ast.If(test=test, body=body) if not step.branch:
                _resumes(found, step, test, body)
                _averages(found, step, test, body)
                _accumulates(found, step, test, body)
            case ast.Call():
                _call(found, step, node)
            case ast.Assign(targets=[ast.Subscript(value=owner, slice=ast.Constant(value=name))], value=value):
                if names.resolve(owner, step.scope) == ("os.environ",):
                    variable(found, step, name, names.literal(value, step.scope), node)
                elif name == "labels" and masks:
                    found.symbol("batch.labels", node)
            case ast.Dict(keys=keys):
                _visual_content(found, step, node)
                columns = {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
                for name in sorted(columns & _COLUMNS) if "input_ids" in columns else ():
                    if name != "labels" or masks:
                        found.symbol(f"batch.{name}", node)
                if columns >= _COMPLETED:
                    _completion(found, step, node)
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                assigned(found, step, target, value)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value):
                if any(makes_model(one) for one in names.resolve(_unmoved(value).func, step.scope)):
                    found.models.add(name)
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
            case ast.Subscript(value=owner, slice=ast.Constant(value="lr"), ctx=ast.Store()):
                if _GROUP.search(text(owner)):
                    found.symbol("group.lr", node)
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


@lru_cache(maxsize=8)  # the statements of a module are read one after the other
def _masks(text: str) -> bool:
    """Does a program leave tokens of the answers out of the loss?"""
    return _LEAVES_OUT.search(text) is not None and any(
        _LEAVES_OUT.search(line) and not _LEAVES_NO_ANSWER_OUT.search(line) for line in text.splitlines()
    )


def _unmoved(call: ast.Call) -> ast.Call:
    """``from_pretrained(…)`` of ``from_pretrained(…).to("cuda").train()``."""
    while True:
        match call.func:
            case ast.Attribute(value=ast.Call() as inner, attr=method) if method in _MOVING:
                call = inner
            case _:
                return call


def _options(found: Findings, steps: Sequence[Step]) -> None:
    """The options of the program's own command line; of two with one name the defaults have to agree."""
    if not ROOTS.isdisjoint(found.names.imported):
        _commands(found, steps)
    makers = [step for step in steps if isinstance(step.node, ast.Call) and _makes_options(step.node, found, step)]
    if not makers:
        return
    taken_back = {node for step in steps if isinstance(step.node, ast.If) for node in _taken_back(step.node)}
    changed = {
        step.node.attr
        for step in steps
        if isinstance(step.node, ast.Attribute) and _is_stored(step.node) and step.node not in taken_back
    }
    for step in makers:
        match step.node:
            case ast.Call(func=ast.Attribute(attr="add_argument")) as call:
                option = option_of(call, found.names, step.scope)
                if option is not None and option.name not in changed:
                    if isinstance(option.default, str) and is_config(option.default):
                        found.option_files.append(OptionFile(flags=option.flags, path=option.default))
                    before = found.options.get(option.name)
                    differs = before is not None and before.default != option.default
                    found.options[option.name] = replace(option, default=UNKNOWN) if differs else option
            case ast.Call() as call:
                for of_trainer, known_options in ((False, found.options), (True, found.switches)):
                    for option in _fields_of_classes(found, step, call, of_trainer=of_trainer):
                        if option.name not in changed and option.name not in found.options:
                            known_options[option.name] = option


def _commands(found: Findings, steps: Sequence[Step]) -> None:
    """The functions whose parameters the command line gives."""
    for step in steps:
        node = step.node
        function = node if isinstance(node, Function) and is_command(node, found.names, step.scope) else None
        if isinstance(node, ast.Call):
            function = commanded(node, found.names, step.scope)
        if function is not None:
            found.names.commands[function] = parameters(function, found.names, step.scope)


def _makes_options(call: ast.Call, found: Findings, step: Step) -> bool:
    match call.func:
        case ast.Attribute(attr="add_argument"):
            return True
        case ast.Name() | ast.Attribute():
            return _makes_parser(call, found.names, step.scope)
    return False


def _switches(found: Findings, steps: Sequence[Step]) -> None:
    """The parts that options decide: those of a parser, and names of the module that it lets the command line set."""
    names = found.names
    if not (found.options or names.rewritten or names.commands):
        return

    def option(scope: Scope, node: ast.expr) -> Option | None:
        if not isinstance(node, ast.Name):
            name = is_option(node, names, scope) or ""
            return None if name in _BY_LAUNCHERS else found.options.get(name)
        return named_option(node, names, scope)

    tests = ((step.node, step.scope) for step in steps if isinstance(step.node, ast.If))
    found.switched = switches(tests, names, option)


def _makes_parser(call: ast.Call, names: Names, scope: Scope) -> bool:
    return any(name in CLIS or name.rpartition(".")[2] in _PARSERS for name in names.resolve(call.func, scope))


def _fields_of_classes(found: Findings, step: Step, call: ast.Call, *, of_trainer: bool) -> Iterator[Option]:
    """The fields of the dataclasses that a parser takes and that are the arguments of a trainer, or are not."""
    for node in _given_classes(call):
        defined = found.names.definition(node, step.scope)
        trains = any(known(base) is not None for base in found.names.bases(node, step.scope))
        if defined is None or trains is not of_trainer or not isinstance(defined[1], ast.ClassDef):
            continue
        for part in fields(defined[1], defined[0], defined[2]):
            if _place_of(found, part.names) is not None:
                literal = UNKNOWN if part.default is None else part.names.literal(part.default, part.scope)
                switched = True if isinstance(literal, bool) else None
                yield Option(part.name, (part.name,), literal, part.node, switched, part.names)


def _given_classes(call: ast.Call) -> list[ast.expr]:
    words = (word.value for word in call.keywords if word.arg in ("dataclass_types", "config_class"))
    given = call.args[0] if call.args else next(words, None)
    return given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given] if given is not None else []


def _taken_back(asking: ast.If) -> Iterator[ast.Attribute]:
    """``if args.resume_from_checkpoint: … args.resume_from_checkpoint = None``, where there is none to resume from."""
    asked = {node.attr for node in nodes_in(asking.test) if isinstance(node, ast.Attribute)}
    for node in nodes_in(*asking.body) if asked else ():
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=name) as target], value=ast.Constant(value=None)):
                if name in asked:
                    yield target


def _is_stored(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)


def _parsed_classes(found: Findings, step: Step, call: ast.Call) -> None:
    """``HfArgumentParser((ModelArguments, MyArguments))``: the fields of what derives from TrainingArguments."""
    for node in _given_classes(call):
        defined = found.names.definition(node, step.scope)
        tool = next((base for base in found.names.bases(node, step.scope) if known(base) is not None), "")
        one = known(tool)
        if defined is None or one is None or not isinstance(defined[1], ast.ClassDef):
            continue
        place = _place_of(found, defined[0])
        if place is None:
            continue
        if one.framework is not None:
            found.drivers.setdefault(one.framework, place(defined[1]))
        for part in fields(defined[1], defined[0], defined[2]):
            if part.default is None:
                continue
            literal = part.names.literal(part.default, part.scope)
            argument = Argument(part.name, literal, part.default, None, part.default)
            switched = True if isinstance(literal, bool) else None
            option = Option(part.name, (part.name,), literal, part.default, switched)
            at = _place_of(found, part.names)
            if at is not None:
                found.optional(part.scope, one, argument, option, argument, tool, names=part.names, place=at)


def _place_of(found: Findings, names: Names) -> Place | None:
    """Where the nodes of a module stand; None if the module is not read."""
    if names is found.names:
        return found.place
    return None if names.modules is None else names.modules.place()


def _end_of_training(steps: list[Step], names: Names) -> Step | None:
    """The last call that trains, or the loop around it: what follows in that function comes too late to matter."""
    last: Step | None = None
    loops: list[Step] = []
    for step in steps:
        if not isinstance(step.node, (ast.For, ast.While, ast.AsyncFor, ast.Call)):
            continue
        match step.node:
            case ast.For() | ast.While() | ast.AsyncFor():
                loops.append(step)
            case ast.Call(func=ast.Attribute(value=owner, attr="train" | "fit")):
                if any(_TRAINERS.fullmatch(kind) for kind in names.type_of(owner, step.scope)):
                    if last is not None and last.function is not step.function:
                        return None
                    last = step
    around = (loop for loop in loops if last is not None and _inside(last.node, loop.node))
    return next(around, last)


def _inside(node: ast.AST, loop: ast.AST) -> bool:
    lines = range(getattr(loop, "lineno", 0), (getattr(loop, "end_lineno", None) or 0) + 1)
    return getattr(node, "lineno", -1) in lines


def _after(node: ast.AST, end: ast.AST) -> bool:
    return getattr(node, "lineno", 0) > (getattr(end, "end_lineno", 0) or 0)


# Names


def _used(found: Findings, step: Step, node: ast.Attribute | ast.Name) -> None:
    if isinstance(node, ast.Attribute):
        found.mentioned.add(node.attr)
        if _is_of_loss(node):  # of `outputs.loss.backward` only the whole is met
            found.mentioned.add("loss")
    elif isinstance(node.ctx, ast.Store):
        return
    for name in found.names.resolve(node, step.scope):
        if "." in name.strip("."):
            parts = name.split(".")
            # `transformers.Adafactor.step` uses `transformers.Adafactor` as well.
            of_class = next((index for index, part in enumerate(parts[:-1]) if index and part[:1].isupper()), None)
            if of_class is not None:
                found.symbol(".".join(parts[: of_class + 1]), node)
            found.symbol(name, node)
        elif isinstance(node, ast.Name) and name[:1].isupper() and found.names.bindings(node.id, step.scope) is None:
            found.symbol(name, node)


def _is_of_loss(node: ast.Attribute) -> bool:
    """``outputs.loss.backward``."""
    inner = node.value
    while isinstance(inner, ast.Attribute):
        if inner.attr == "loss":
            return True
        inner = inner.value
    return False


def _bare_method(found: Findings, step: Step, call: ast.Call) -> None:
    """``model.register_buffer(…)``, whatever the model is; ``getattr(torch.nn, "RReLU")``."""
    match call.func:
        case ast.Attribute(attr=method) if method not in _COMMON and not found.names.resolve(call.func, step.scope):
            found.symbol(method, call.func)
        case ast.Name(id=name) if found.names.resolve(call.func, step.scope) == (name,):
            found.symbol(name, call.func)  # from a cell that is not here
        case ast.Name(id="getattr"):
            match call.args:
                case [owner, ast.Constant(value=str(attribute)), *_] if attribute.isidentifier():
                    for name in found.names.resolve(owner, step.scope):
                        found.symbol(f"{name}.{attribute}", call)


def _is_told(found: Findings, step: Step, call: ast.Call) -> None:
    """``interleave_datasets(parts, stopping_strategy="…")``: what a call is told, for the patterns of records."""
    for manner in (manner_of_count, manner_of_trimming):
        of_template = manner(call, found.names, step.scope)
        if of_template is not None:
            found.symbol(".".join(of_template), call)
    called = found.names.resolve(call.func, step.scope)
    method = (call.func.attr,) if isinstance(call.func, ast.Attribute) and call.func.attr not in _COMMON else ()
    made = called or method or _text_maker(found, step, call)
    told, of_base = call, None if made else called_base(call, found.names, step.scope)
    if of_base is not None:
        made, told = of_base
    for line in call_lines(told, made, found.names, step.scope, found.options):
        found.call(line, call)
    if gets_widened_mask(call, found.names, step.scope):
        found.symbol(WIDENED_MASK, call)
    for name in called or method:
        _hard_negatives(found, step, call, name)
        _kept_or_taken(found, step, call, name)
        if name.rpartition(".")[2] == "compute" and _computes_with_arguments(call, found.names, step.scope):
            found.symbol("evaluate.combine.arguments", call)
        if name in _DCP and _loads_no_optimizer(call, found.names, step.scope):
            found.symbol(f"{name}.no_optimizer", call)
        word = manner_of_stream(call, name, found.names, step.scope)
        if word is not None:
            found.symbol(f"{name}.{word}", call)
        if name.startswith("xformers.ops.") and name.endswith("memory_efficient_attention"):
            inside = (node.func for given in call.args for node in ast.walk(given) if isinstance(node, ast.Call))
            if any(isinstance(called, ast.Attribute) and called.attr == "expand" for called in inside):
                found.state(step, "model.multi_query", True)


def _text_maker(found: Findings, step: Step, call: ast.Call) -> tuple[str, ...]:
    """``tokenizer(text, return_offsets_mapping=True)``: a call of an object that is a tokenizer or a processor."""
    if not isinstance(call.func, ast.Name):
        return ()
    itself = ast.Attribute(value=call.func, attr="__call__", ctx=ast.Load())
    return tuple(name for name in found.names.resolve(itself, step.scope) if _TEXT_MAKER.fullmatch(name))


def _hard_negatives(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    """``load_dataset("…/all-nli", "triplet")``, ``mine_hard_negatives(…)``."""
    if name == "datasets.load_dataset":
        kinds = [word for word in _texts_of(call) if _NEGATIVES.search(word) or word in _PAIRS]
        if kinds:
            found.state(step, "data.hard_negatives", kinds[0] not in _PAIRS)
    elif name.endswith(".mine_hard_negatives"):
        found.state(step, "data.hard_negatives", True)


def _visual_content(found: Findings, step: Step, part: ast.Dict) -> None:
    """``{"type": "video", "video": path}`` in the content of a message, or a picture."""
    for key, value in zip(part.keys, part.values, strict=True):
        match key, value:
            case ast.Constant(value="type"), ast.Constant(value="video"):
                found.state(step, "data.videos", True, at=part)
            case ast.Constant(value="type"), ast.Constant(value="image"):
                found.mentioned.add(PICTURE)


def _completion(found: Findings, step: Step, sample: ast.Dict) -> None:
    """``{"prompt": [{"role": "user", …}], "completion": […]}``, and the same of texts."""
    parts = [
        value
        for key, value in zip(sample.keys, sample.values, strict=True)
        if isinstance(key, ast.Constant) and key.value in _COMPLETED
    ]
    kinds = {_is_conversation(part) for part in parts}
    if kinds <= {True, False} and len(kinds) == 1:
        found.state(step, "data.conversational", kinds == {True}, at=sample)
        if kinds == {True}:
            found.symbol("columns.completion", sample)


def _is_conversation(value: ast.expr) -> bool | None:
    """Is it a list of messages, and no text? None where nobody can see."""
    match value:
        case ast.List(elts=[ast.Dict(keys=keys), *_]):
            return any(isinstance(key, ast.Constant) and key.value == "role" for key in keys)
        case ast.Subscript(value=whole, slice=ast.Slice()) if _CONVERSATION.search(ast.unparse(whole)):
            return True
        case ast.JoinedStr() | ast.Constant(value=str()):
            return False
        case ast.BinOp(op=ast.Add(), left=left, right=right) if False in (
            _is_conversation(left),
            _is_conversation(right),
        ):
            return False
    return None


def _kept_or_taken(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    """``trainer.save_model("out")``, ``AutoModelForCausalLM.from_pretrained("out")``."""
    last, first = name.rpartition(".")[2], call.args[0] if call.args else None
    if first is None:
        return
    if last in _SAVING:
        found.saved.append(first)
    elif last == "load_from_disk":
        literal = found.names.literal(first, step.scope)
        if isinstance(literal, str):  # of a DatasetDict each split has one
            found.refers_to += [f"{literal.rstrip('/')}/{split}dataset_info.json" for split in ("", "train/")]
    elif _LOADING.fullmatch(name) or _TOKENIZER.fullmatch(name):
        literal = found.names.literal(first, step.scope)
        found.loaded.append((name, first, literal if isinstance(literal, str) else None, found.place(call)))
        if isinstance(literal, str):
            found.refers_to.append(f"{literal.rstrip('/')}/tokenizer_config.json")


def _loads_no_optimizer(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``load({"model": model.state_dict()})``, a dictionary of which no part is an optimizer's."""
    given = next(
        (word.value for word in call.keywords if word.arg == "state_dict"), call.args[0] if call.args else None
    )
    if isinstance(given, ast.Name):
        bound = names.bindings(given.id, scope)
        given = bound[0][0] if bound is not None and len(bound[0]) == 1 and isinstance(bound[0][0], ast.expr) else None
    return isinstance(given, ast.Dict) and None not in given.keys and "opt" not in ast.unparse(given).lower()


def _computes_with_arguments(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``evaluate.combine(["f1"]).compute(predictions=p, references=r, average="macro")``: the mean is dropped."""
    if not isinstance(call.func, ast.Attribute) or all(word.arg in _COLUMNS_OF_METRICS for word in call.keywords):
        return False
    made = calls_behind(call.func.value, names, scope)
    return any(names.resolve(one.func, scope) == ("evaluate.combine",) for one in made)


def _texts_of(call: ast.Call) -> Iterator[str]:
    for one in (*call.args, *(word.value for word in call.keywords)):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


# Calls


def _call(found: Findings, step: Step, call: ast.Call) -> None:
    names = found.names.resolve(call.func, step.scope) or tuple(found.names.bases(call.func, step.scope))
    if names:
        found.called.append(Called(names, call))
    if len(names) > 1:
        step = step._replace(branch=True)  # imported from one place or from the other
    for keyword in call.keywords:
        if keyword.arg in BATCH:
            found.state(step, BATCH[keyword.arg], True, at=keyword.value)
    given = {keyword.arg for keyword in call.keywords}
    if "aspect_ratio_ids" in given and given.isdisjoint({None, *BATCH}):  # Mllama alone takes these
        found.state(step, "model.cross_attention_mask", False, at=call)
    config = loaded_file(call, found.names, step.scope)
    if config is not None:
        found.refers_to.append(config)
    if names:
        _function(found, step, call, names[0])
    if isinstance(call.func, ast.Attribute):
        _method(found, step, call, call.func)
    if not any(known(name) for name in names) and not _seen_through(found, call, names, step.scope):
        found.hidden = True


def _function(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    head, _, last = name.rpartition(".")
    if last == "PipelineModule" and gets_float_loss(call, found.names, step.scope):
        found.symbol("deepspeed.PipelineModule.float_loss", call)
    if name == "deepspeed.initialize" and clears_gradients(call, found.names):
        found.symbol("deepspeed.initialize.zero_grad", call)
    if last in ("get_peft_model", "from_pretrained") and makes_float(call, found.names):
        found.symbol(f"{name}.float", call)
    if last == POOLING and head.startswith("torch_geometric."):
        for way in ways_of_use(call, found.names):
            found.symbol(f"torch_geometric.nn.{POOLING}.{way}", call)
    if known(name) is not None:
        _known(found, step, call, name)
    elif name in ("os.environ.setdefault", "os.putenv") and len(call.args) == 2:
        said, value = (found.names.literal(one, step.scope) for one in call.args)
        variable(found, step, said, value, call)
    elif name == "os.environ.update":
        for key, value, _ in (pair for one in call.args for pair in pairs(one, found.names, step.scope) or ()):
            variable(found, step, key, found.names.literal(value, step.scope), call)
        for word in call.keywords:
            variable(found, step, word.arg, found.names.literal(word.value, step.scope), call)
    elif name == "torch.device" and [found.names.literal(one, step.scope) for one in call.args] == ["mps"]:
        found.state(step, "host.device", "mps", at=call)
    elif name == "torch.backends.cuda.enable_cudnn_sdp":
        allowed = [found.names.literal(one, step.scope) for one in call.args]
        found.truth(step, "host.cudnn_attention", allowed[0] if allowed else True, call)
    elif name == "torch.compile":
        _compiled(found, step, call)
    elif name in _DYNAMIC and not (call.args and isinstance(call.args[0], ast.Constant)):
        found.dynamic = found.dynamic or found.place(call)
    elif last in _PARSERS:
        _parsed_classes(found, step, call)
        found.parsers.append(dataclass_parser(call, step.scope, found.names))
    elif last == "from_pretrained" and (head in PROCESSORS or head.endswith(("Tokenizer", "TokenizerFast"))):
        if head in PROCESSORS:
            found.state(step, "model.cross_attention_mask", True)
        found.feed(step, PADDING, found.arguments(step, call))
    elif name == "hydra.main":
        _composes(found, found.arguments(step, call, ("config_path", "config_name")))
    elif head.startswith("peft.Peft") and last == "from_pretrained" and head.rpartition(".")[2] != "PeftConfig":
        found.wrapping.append(step)
        if wraps_adapter(call, found.names, step.scope):
            found.symbol(f"{name}.wrapped", call)
    _optimizer(found, step, call, name)
    loaded(found, step, call, name)


def _compiled(found: Findings, step: Step, call: ast.Call) -> None:
    """``torch.compile(model)``, ``model.compile(backend="eager")``."""
    maybe = any(word.arg == "disable" for word in call.keywords)
    found.state(step._replace(branch=step.branch or maybe), "training.torch_compile", True)
    for word in call.keywords:
        if word.arg == "backend":
            backend = found.names.literal(word.value, step.scope)
            found.state(step, "training.compile_backend", backend if isinstance(backend, str) else None, at=word)


def _known(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    last = name.rpartition(".")[2]
    one = known(name)
    if one is None:
        return
    if one.framework is not None and not is_arguments(name) and found.document.text.count(f"{last}(") == 1:
        # Whoever drives the loop so takes these arguments, whatever the way there depends on.
        step = step._replace(branch=False)
    # `torch.cuda.amp.autocast(True)` is older than `torch.autocast("cuda")`.
    of_device = name.endswith((".cuda.amp.autocast", ".cpu.amp.autocast"))
    arguments = found.arguments(step, call, ("enabled", "dtype") if of_device else one.positional)
    given = {argument.name: argument.value for argument in arguments}
    if last in ("autocast", "fp8_autocast") and given.get("enabled", True) is False:
        return
    if last == "fp8_autocast":
        step = step._replace(branch=step.branch or given.get("enabled", True) is UNKNOWN)
    elif last == "autocast" and ("dtype" not in given or given.get("enabled", True) is UNKNOWN):
        step = step._replace(branch=True)
        found.state(step, "precision.mode", None)
    if given.get("limit_val_batches", 1) in (0, 0.0):  # no validation at all
        arguments = [argument for argument in arguments if argument.name != "val_check_interval"]
    if given.get("gradient_clip_algorithm", "norm") != "norm":
        arguments = [argument for argument in arguments if argument.name != "gradient_clip_val"]
    # How activations are recomputed is said by the call that does it, and by no other way through the program.
    found.feed(step._replace(branch=False) if last == "checkpoint" else step, one, arguments, name)
    for keyword in call.keywords:
        path = lookup(keyword.value, found.names, step.scope) if keyword.arg is None and not step.branch else None
        if path is not None:
            found.lookups.append(ConfigLookup(path=path, tool=name))
    for key, stated in one.states.items() if call not in found.optional_calls else ():
        found.state(step, key, stated)
    if name == "deepspeed.initialize":
        for key, left in _left_to_engine(given):
            found.state(step, key, left)
    if last == "DeepSpeedStrategy" and all(keyword.arg is not None for keyword in call.keywords):
        for key, left in _left_to_strategy(given):
            found.state(step, key, left)
    if one.framework is not None:
        found.drivers.setdefault(one.framework, found.place(call))
    if one.trains:
        found.trainer = True
        if one.framework == "trl" and given.get("peft_config") is not None:
            found.state(step, "peft.given_to_trainer", True)
        found.merged.append("peft_config" not in given and gets_merged_model(call, found.names, step.scope))
        if one.framework == "trl" and call.args and not one.positional:
            value = found.names.literal(call.args[0], step.scope)
            if isinstance(value, str):
                named(found, step, Argument("model", value, call.args[0], None, call.args[0]), None)
        for argument in arguments:
            if argument.name == "model" and isinstance(argument.value, str):
                named(found, step, argument, None)  # TRL's trainers load it themselves
    _refer(found, arguments)
    for keyword in call.keywords if one.trains else ():
        if keyword.arg == "data_collator":
            _collator(found, step, keyword.value)
    if one.trains and one.framework == "transformers.Trainer":
        _own_module(found, step, call)
    thaws = "requires_grad" in found.document.text
    if one.trains and one.framework == "trl" and not thaws and gets_frozen_adapter(call, found.names, step.scope):
        found.symbol(f"{name}.frozen_adapter", call)
    if one.trains and one.framework == "trl" and goes_on_alone(call, found.names, step.scope):
        found.symbol(f"{name}.loaded_adapter", call)
    if one.trains and "compute_loss_func" in given:
        # How it weighs labels is its own matter; the model's loss is not used.
        divides = True if _divides_by_count(found, step, call) else None
        found.state(step, "model.uses_num_items_in_batch", divides)
        if given["compute_loss_func"] is not None:
            found.state(step, "model.returns_loss", False)
    for argument in arguments:
        if argument.name == "modules_to_save":
            found.state(step, "peft.overlapping_modules", _overlap(argument.value), at=argument.node)
        elif argument.name == "target_modules" and isinstance(argument.value, (list, tuple)) and argument.value:
            found.state(step, "peft.attention_only", _ATTENTION.issuperset(map(str, argument.value)), at=argument.node)
    if last == "get_peft_model":
        found.wrapping.append(step)
    elif last.startswith("prepare_model_for_"):
        found.mentioned.add(last)
        if given.get("use_gradient_checkpointing", True) is not False:
            found.checkpointing.append(step)


def _divides_by_count(found: Findings, step: Step, call: ast.Call) -> bool:
    """Is ``compute_loss_func`` a function of the program that divides by the count of labels that it is given?"""
    given = next((word.value for word in call.keywords if word.arg == "compute_loss_func"), None)
    if (
        isinstance(given, ast.Call)
        and given.args
        and found.names.resolve(given.func, step.scope) == ("functools.partial",)
    ):
        given = given.args[0]
    own = found.names.definition(given, step.scope) if given is not None else None
    return own is not None and any(divides(inner, "num_items_in_batch") for inner in ast.walk(own[1]))


def _own_module(found: Findings, step: Step, call: ast.Call) -> None:
    """``Trainer(model=Tagger())``, where that is a class of the program that derives from torch's modules alone."""
    given = next((word.value for word in call.keywords if word.arg == "model"), call.args[0] if call.args else None)
    bound = found.names.bindings(given.id, step.scope) if isinstance(given, ast.Name) else None
    made = bound[0][0] if bound and len(bound[0]) == 1 else given
    defined = found.names.definition(made.func, step.scope) if isinstance(made, ast.Call) else None
    if defined is None or not isinstance(defined[1], ast.ClassDef) or defined[0] is not found.names:
        return
    bases = [name for base in defined[1].bases for name in found.names.resolve(base, step.scope)]
    if any(name in ("torch.nn.Module", "torch.nn.modules.module.Module") for name in bases):
        trained_module(found, step, defined[1])


def _collator(found: Findings, step: Step, given: ast.expr) -> None:
    """What makes the batches: an object of a class, or a function of the program."""
    if isinstance(given, ast.Constant) and given.value is None:
        return
    kinds = found.names.type_of(given, step.scope)
    if len(kinds) == 1:
        found.state(step, "data.collator", kinds[0].rpartition(".")[2], at=given)
        return
    defined = found.names.definition(given, step.scope)
    function = defined is not None and isinstance(defined[1], ast.FunctionDef)
    found.state(step, "data.collator", text(given) if function or isinstance(given, ast.Lambda) else None, at=given)


def _left_to_engine(given: Mapping[str, object]) -> Iterator[tuple[str, str | float]]:
    """What a config of DeepSpeed in the program leaves out, where it asks for a stage."""
    names = [name.partition(".")[2] for name in given]
    if "zero_optimization.stage" in names:
        if not any("offload" in name for name in names):
            yield "deepspeed.offload_optimizer", "none"
        if "gradient_clipping" not in names:
            yield "deepspeed.gradient_clipping", 0.0
        if "gradient_accumulation_steps" not in names and sum(size in names for size in SIZES) == 1:
            yield "training.gradient_accumulation_steps", 1  # of both sizes it would be the ratio


def _left_to_strategy(given: Mapping[str, object]) -> Iterator[tuple[str, int]]:
    """What Lightning tells DeepSpeed unless the program does, from 1.9.5 to 2.6.6; a config says all of it."""
    if given.keys().isdisjoint({"config", "zero_optimization"}):
        defaults = {"stage": ("deepspeed.zero_stage", 2), "overlap_comm": ("deepspeed.overlap_comm", True)}
        yield from (default for name, default in defaults.items() if name not in given)


def _overlap(modules: object) -> bool | None:
    """Is the name of one module part of another's? PEFT adds heads to those of classifiers, whatever the task is."""
    if modules is None:
        return False
    if not isinstance(modules, (list, tuple)) or not all(isinstance(name, str) for name in modules):
        return None
    if _contained(modules):
        return True
    return None if _contained((*modules, "classifier", "score")) else False


def _contained(names: Iterable[str]) -> bool:
    return any(one != other and one in other for one, other in product(names, repeat=2))


def _method(found: Findings, step: Step, call: ast.Call, called: ast.Attribute) -> None:
    method = called.attr
    given = parsed_input(call, step.scope, found.names, found.place)
    if given is not None and (given.argument or not step.branch):
        found.parsed.append(given)
    one = KNOWN_METHODS.get(method)
    if one is None and method in KNOWN_OF_TYPE:
        kinds = found.names.type_of(called.value, step.scope)
        one = KNOWN_OF_TYPE[method] if any(_does(kind, method) for kind in kinds) else None
        of_optimizer = any(calls.optimizer(kind) is not None for kind in kinds)
        optional = call in found.optional_calls or (method == "load_state_dict" and step.branch and of_optimizer)
        one = None if optional else one
    if one is not None:
        given_to = found.arguments(step, call, one.positional)
        if method == "train":
            given_to = [argument for argument in given_to if not _handed_on(argument, found)]
        found.feed(step, one, given_to)
        for key, value in one.states.items():
            found.state(step, key, value)
    if made_half(call, found.names, step.scope):
        found.state(step, "model.torch_dtype", "float16", at=call)
        found.state(step, "precision.half_weights", True, at=call)
    if method == "compile" and compiles_itself(call, found.names, step.scope):
        _compiled(found, step, call)
    if method == "train":
        kinds = found.names.type_of(called.value, step.scope)
        if any(_TRAINERS.fullmatch(kind) and "lightning" not in kind for kind in kinds):
            found.resumed.append(bool(call.args or call.keywords))
        trainer = any(kind.startswith("transformers.") and _TRAINERS.fullmatch(kind) for kind in kinds)
        found.called.append(Called((TRAIN if trainer else "?.train",), call))
    if method in ("gradient_checkpointing_enable", "activation_checkpointing_enable", "enable_gradient_checkpointing"):
        found.checkpointing.append(step)
    elif method == "enable_input_require_grads":
        found.hooks.append(step)
    elif method == "to" and [found.names.literal(argument, step.scope) for argument in call.args[:1]] == ["mps"]:
        found.state(step, "host.device", "mps", at=call)
    elif method == "requires_grad_":
        literals = [found.names.literal(argument, step.scope) for argument in call.args]
        if literals == [False] and EMBEDDINGS.search(text(called.value)):
            found.freeze(step, call)
        elif literals != [False]:
            found.mentioned.add("make_inputs_require_grad")  # the hook by hand: `lambda x: x.requires_grad_(True)`
    elif method == "add_special_tokens":
        special_tokens(found, step, call)
    found.mentioned.add(method)


def _handed_on(argument: Argument, found: Findings) -> bool:
    """``resume_from_checkpoint=training_args.resume_from_checkpoint``: says what these arguments say by themselves."""
    given = argument.given
    return isinstance(given, ast.Attribute) and given.attr == argument.name and given.attr not in found.options


def _resumes(found: Findings, step: Step, test: ast.expr, body: Sequence[ast.stmt]) -> None:
    """``if args.resume_from_checkpoint: accelerator.load_state(…)``: the option says whether the run resumes."""
    match test:
        case ast.Compare(left=asked, ops=[ast.IsNot()], comparators=[ast.Constant(None)]):
            pass
        case _:
            asked = test
    if is_option(asked, found.names, step.scope) not in found.options:
        return
    for call in (inner for statement in body for inner in ast.walk(statement)):
        match call:
            case ast.Call(func=ast.Attribute(value=owner, attr="load_state" | "load_state_dict" as method)):
                if any(_does(kind, method) for kind in found.names.type_of(owner, step.scope)):
                    given = Argument("resume_from_checkpoint", UNKNOWN, asked, None, asked)
                    found.optional_calls.add(call)
                    found.feed(step, KNOWN_OF_TYPE["train"], [given])


def _averages(found: Findings, step: Step, test: ast.expr, body: Sequence[ast.stmt]) -> None:
    """``if args.use_ema: ema = EMAModel(…)``: the option says whether an average of the weights is kept."""
    if is_option(test, found.names, step.scope) not in found.options:
        return
    for call in (inner for statement in body for inner in ast.walk(statement) if isinstance(inner, ast.Call)):
        for name in found.names.resolve(call.func, step.scope):
            if known(name) is AVERAGE:
                found.optional_calls.add(call)
                found.feed(step, AVERAGE, [Argument("use_ema", UNKNOWN, test, None, test)], name)


def _accumulates(found: Findings, step: Step, test: ast.expr, body: Sequence[ast.stmt]) -> None:
    """``if (index + 1) % gradient_accumulation_steps == 0: optimizer.step()``: a window of a loop of one's own."""
    sizes = [inner.right for inner in ast.walk(test) if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mod)]
    if len(sizes) != 1:
        return
    inside = [inner for statement in body for inner in ast.walk(statement)]
    for inner in inside:
        match inner:
            case ast.Call(func=ast.Attribute(value=owner, attr="step"), args=[]):
                kinds = found.names.type_of(owner, step.scope)
                if any(calls.optimizer(kind) is not None for kind in kinds) or text(owner).startswith("optim"):
                    named = argument("gradient_accumulation_steps", sizes[0], found.names, step.scope, None)
                    found.feed(step, OWN_LOOP, list(named))
                    return


def _does(kind: str, method: str) -> bool:
    if method in ("clip_grad_norm_", "load_state"):
        return kind.startswith("accelerate.")
    if method == "load_state_dict":  # of a model it may be the weights that a run starts with
        return kind in (*STATEFUL_LOADERS, _STREAM) or calls.optimizer(kind) is not None
    if method == "filter":
        return kind == _STREAM
    return _TRAINERS.fullmatch(kind) is not None


def _optimizer(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    if calls.optimizer(name) is None:
        named = named_optimizer(name, call, found.names, step.scope)
        if named is not None:
            found.symbol(named, call)
        if named or (name.startswith("pytorch_optimizer.") and name.rpartition(".")[2][:1].isupper()):
            found.feed(step, OPTIMIZER_ARGUMENTS, found.arguments(step, call))  # its names are those of torch's, too
        return
    arguments = found.arguments(step, call)
    bits = next((argument.value for argument in arguments if argument.name == "optim_bits"), None)
    optimizer = calls.optimizer(name, bits)
    if optimizer is not None:
        found.state(step, "optimizer.name", None if bits is UNKNOWN else optimizer[0])
        found.state(step, "optimizer.library", optimizer[1])
    found.feed(step, OPTIMIZER_ARGUMENTS, arguments)
    found.state(step, "optimizer.groups", _groups(found, step, call))
    merged = optimizes_merged_model(call, found.names, step.scope)
    if merged is not None:
        found.merged.append(merged)


def _groups(found: Findings, step: Step, call: ast.Call) -> str | None:
    """Into how many groups an optimizer gets its parameters; `None` if that is put together elsewhere."""
    parameters = call.args[0] if call.args else next((one.value for one in call.keywords if one.arg == "params"), None)
    if isinstance(parameters, ast.Name):
        bound = found.names.bindings(parameters.id, step.scope)
        parameters = bound[0][0] if bound and len(bound[0]) == 1 and isinstance(bound[0][0], ast.expr) else None
    match parameters:
        case ast.List(elts=[ast.Dict(), ast.Dict(), *_] as groups):
            keys = {getattr(key, "value", None) for group in groups for key in getattr(group, "keys", ())}
            return "own_rates" if "lr" in keys else "several"
        case ast.List() | ast.ListComp() | ast.GeneratorExp() | ast.Call(func=ast.Attribute(attr="parameters")):
            return "one"
        case ast.Call(func=ast.Name(id="filter" | "list")):
            return "one"
    return None


def _refer(found: Findings, arguments: list[Argument]) -> None:
    for one in arguments:
        path = one.value
        if one.name in _CONFIGS and isinstance(path, str) and path.lower().endswith((".json", ".yaml", ".yml")):
            found.refers_to.append(path)


def _composes(found: Findings, arguments: list[Argument]) -> None:
    """``@hydra.main(config_path="configs", config_name="train")``."""
    given = {argument.name: argument.value for argument in arguments}
    name, folder = given.get("config_name"), given.get("config_path")
    if isinstance(name, str) and (folder is None or isinstance(folder, str)):
        name = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
        found.refers_to.append(name if folder is None else f"{folder}/{name}")


def _seen_through(found: Findings, call: ast.Call, names: tuple[str, ...], scope: Scope) -> bool:
    """Can it be read here what the call does to a model? If none is given to it there is nothing to read."""
    given = [*call.args, *(word.value for word in call.keywords)]
    if not any(isinstance(expression, ast.Name) and expression.id in found.models for expression in given):
        return True
    if names:
        return all(name.partition(".")[0] in _OPEN or is_model(name) for name in names)
    if isinstance(call.func, ast.Name):
        bound = found.names.bindings(call.func.id, scope)
        return bound is None or not any(isinstance(imported, Imported) or imported is None for imported in bound[0])
    return isinstance(call.func, ast.Attribute)  # a method: of the trainer, the tokenizer, the model itself
