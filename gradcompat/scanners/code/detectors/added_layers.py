"""Layers that a model of the project adds to one of transformers: no checkpoint of the base has their weights.

``from_pretrained`` builds the model without initialising it, and then leaves to ``_init_weights`` what the checkpoint
lacks. That of a class of the library knows a few kinds of layers; the others are named here by their kinds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from re import Pattern

from gradcompat.model.environment import Location
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.names import Names, Scope
from gradcompat.startup.lazy_patterns import lazy_pattern

# Encoders of text, whose _init_weights fills linear layers, embeddings and norms alone. That of vision and audio models
# fills convolutions as well, and the one of a class that derives from PreTrainedModel itself is the project's.
BASE = lazy_pattern(
    r"transformers\.(?:\w+\.)*(?:Bert|Roberta|XLMRoberta|Electra|DistilBert|DebertaV2|Ernie)"
    r"(?:PreTrainedModel|Model|LMHeadModel|For[A-Z]\w+)"
)
_KINDS = {
    lazy_pattern(r"torch\.nn\.(?:modules\.\w+\.)?LSTM"): "lstm",
    lazy_pattern(r"torch\.nn\.(?:modules\.\w+\.)?(?:GRU|RNN|Bilinear)"): "recurrent",
    lazy_pattern(r"torchcrf\.CRF"): "recurrent",
    lazy_pattern(r"torch\.nn\.(?:modules\.\w+\.)?Conv(?:Transpose)?[123]d"): "convolution",
    lazy_pattern(r"torch\.nn\.(?:modules\.\w+\.)?(?:MultiheadAttention|Transformer(?:En|De)coderLayer)"): "attention",
    lazy_pattern(r"torch\.nn\.(?:parameter\.)?Parameter"): "parameter",
}
# Whoever writes one of these fills such layers, or has them filled.
_FILLING = lazy_pattern(r"\.data\b|_is_hf_initialized")
_FILLED_BY = lazy_pattern(
    r"(?:uniform|normal|trunc_normal|xavier_\w+|kaiming_\w+|orthogonal|constant|ones|zeros|zero|fill|copy|eye|dirac|sparse)_"
    r"|reset_parameters"
)
# A checkpoint of the project's own, which has all weights.
_OWN_CHECKPOINT = lazy_pattern(
    r"output|checkpoint|ckpt|best|save|resume|fine_?-?tuned|(?<!pre)(?<!pre[-_])trained|model_?dir|load_?(?:dir|path|from)"
    r"|stage|crf|lstm|^['\"]?(?:\.|/)",
    re.IGNORECASE,
)
# Checkpoints of encoders that are published.
_ENCODER = lazy_pattern(r"bert|electra|ernie|bge|gte|e5|minilm|simcse|xlm", re.IGNORECASE)
# With these the constructor runs as it stands, or the weights are those that are handed over.
_OTHERWISE = frozenset({"_fast_init", "state_dict"})
# The encoder in a class around it, and what a module of the project derives from.
_LIBRARY_MODEL = lazy_pattern(r"transformers\.(?:\w+\.)*\w+Model(?:\.from_pretrained)?")
_MODULE = lazy_pattern(r"torch\.nn\.(?:\w+\.)*Module")
_DEEPEST = 3  # modules in modules
_SYMBOL = "transformers.PreTrainedModel.added."


def layers_of(found: Findings, model: ast.ClassDef) -> Iterator[tuple[str, str, Location]]:
    """The class, the kind and the place of each layer that the constructor of such a model always makes."""
    methods = _methods(model)
    if "__init__" not in methods or not methods.keys().isdisjoint(("_init_weights", "from_pretrained")):
        return
    if not all(_of_library(found, base) for base in model.bases):
        return  # one of them may know how to fill it
    if _fills_itself(found.names, methods):
        return
    made = list(_always(methods["__init__"]))
    around = any(_is_of(_LIBRARY_MODEL, found.names, node) for node in made)
    for node in made:
        if isinstance(node, ast.Call):
            for kind in _kinds(found.names, found.names.module, node, 0 if around else _DEEPEST):
                yield model.name, kind, found.place(node)


def _kinds(names: Names, scope: Scope, made: ast.Call, depth: int) -> Iterator[str]:
    """The kind of a layer, or those of the layers in a module of the project, which the checkpoint has no weights of.

    Whoever writes the encoder anew has modules of the same names as the library: those are in the checkpoint. They are
    told from others by what stands beside them: the library's own encoder.
    """
    resolved = names.resolve(made.func, scope)
    for pattern, kind in _KINDS.items():
        if any(pattern.fullmatch(name) for name in resolved):
            yield kind
    defined = names.definition(made.func, scope) if depth < _DEEPEST else None
    if defined is None or not isinstance(defined[1], ast.ClassDef) or _ENCODER.match(defined[1].name):
        return
    owner, module = defined[0], defined[1]
    methods = _methods(module)
    if "__init__" not in methods or not all(_is_of(_MODULE, owner, base) for base in module.bases):
        return
    if not _fills_itself(owner, methods):
        inside = {
            kind: None
            for node in _always(methods["__init__"])
            if isinstance(node, ast.Call)
            for kind in _kinds(owner, owner.module, node, depth + 1)
        }
        yield from inside


def _methods(own: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {one.name: one for one in own.body if isinstance(one, ast.FunctionDef)}


def _is_of(pattern: Pattern[str], names: Names, node: ast.AST) -> bool:
    """Is it a name of a library, or a call of one?"""
    named = node.func if isinstance(node, ast.Call) else node
    return isinstance(named, ast.Name | ast.Attribute) and any(
        pattern.fullmatch(name) for name in names.resolve(named, names.module)
    )


def _fills_itself(names: Names, methods: dict[str, ast.FunctionDef]) -> bool:
    return any(_FILLING.search(ast.unparse(one)) for one in methods.values()) or _is_filled(names, methods)


def _of_library(found: Findings, base: ast.expr) -> bool:
    names = found.names.resolve(base, found.names.module)
    return bool(names) and all(name.startswith("transformers.") for name in names)


def _is_filled(names: Names, methods: dict[str, ast.FunctionDef]) -> bool:
    """Does a method fill layers, other than by functions of torch.nn.init while the model is built?

    Those do nothing meanwhile, unless they were imported by their own names.
    """
    built = {one.attr for one in ast.walk(methods["__init__"]) if isinstance(one, ast.Attribute)} | {"__init__"}
    if "post_init" in built:
        built.add("init_weights")
    for name, method in methods.items():
        for call in _fillings(method):
            silenced = isinstance(call.func, ast.Attribute) and any(
                one.startswith("torch.nn.init.") for one in names.resolve(call.func, names.module)
            )
            if name not in built or not silenced:
                return True
    return False


def _fillings(node: ast.AST) -> Iterator[ast.Call]:
    for one in ast.walk(node):
        match one:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="grad"))):
                continue
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if _FILLED_BY.fullmatch(name):
                yield one


def _always(node: ast.AST) -> Iterator[ast.AST]:
    """What is made whatever the config says, without parameters that take the place of another layer's."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If | ast.IfExp | ast.Lambda | ast.FunctionDef):
            continue
        match child:
            case ast.Assign(targets=[ast.Attribute(value=ast.Attribute() | ast.Subscript())]):
                continue
        yield child
        yield from _always(child)


def unfilled_layers(found: Findings) -> Iterator[tuple[str, Location]]:
    """What stands for the layers of models that the program loads from a checkpoint of their base."""
    if not found.added:
        return
    everything = (found, *found.parts)
    models = {model for model, _, _ in found.added}
    if any(_fills_elsewhere(statement, models) for one in everything for statement in one.statements):
        return
    saved = {ast.dump(one) for one in found.saved}
    loaded = {name for one in everything for name in _loaded(one, saved)}
    for model, kind, place in found.added:
        if model in loaded:
            yield f"{_SYMBOL}{kind}", place


def _fills_elsewhere(statement: ast.stmt, models: set[str]) -> bool:
    """Does code that stands in no model fill layers?"""
    if isinstance(statement, ast.ClassDef):
        methods = _methods(statement)
        if statement.name in models or ("forward" in methods and "training_step" not in methods):
            return False
    return next(_fillings(statement), None) is not None or any(map(_is_made_anew, ast.walk(statement)))


def _is_made_anew(node: ast.AST) -> bool:
    """Is it ``model.query = nn.Parameter(torch.randn(8))``, behind the loading?"""
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner))], value=ast.Call(func=made)):
            return owner != "self" and ast.unparse(made).rpartition(".")[2] == "Parameter"
    return False


def _loaded(found: Findings, saved: set[str]) -> Iterator[str]:
    """The names of the classes that are loaded, not from what the project saved and with nothing loaded over it."""
    restored = set(_restored(found.statements))
    for node in (node for statement in found.statements for node in ast.walk(statement)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr="from_pretrained")
            ) if node not in restored and not any(word.arg in _OTHERWISE for word in node.keywords):
                named = (word.value for word in node.keywords if word.arg == "pretrained_model_name_or_path")
                first = node.args[0] if node.args else next(named, None)
                if first is not None and ast.dump(first) not in saved and _is_base(found, first):
                    yield name


def _is_base(found: Findings, checkpoint: ast.expr) -> bool:
    literal = found.names.literal(checkpoint, found.names.module)
    if isinstance(literal, str):
        return _ENCODER.search(literal) is not None and not _OWN_CHECKPOINT.search(literal)
    return not _OWN_CHECKPOINT.search(ast.unparse(checkpoint))


def _restored(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """The loads whose object gets another state before anything is trained: `model.load_state_dict` right behind."""
    inner = (getattr(node, name, None) for one in statements for node in ast.walk(one) for name in ("body", "orelse"))
    for block in (statements, *(one for one in inner if isinstance(one, list))):
        for place, made in enumerate(block):
            match made:
                case ast.Assign(targets=[target], value=value) if _gets_state(ast.unparse(target), block[place + 1 :]):
                    yield from ast.walk(value)


def _gets_state(target: str, behind: list[ast.stmt]) -> bool:
    for statement in behind:
        match statement:
            case ast.For() | ast.While():
                return False
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=model, attr="load_state_dict"))):
                if ast.unparse(model) == target:
                    return True
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=trainer, attr="train" | "fit"))):
                if ast.unparse(trainer) != target:
                    return False
    return False
