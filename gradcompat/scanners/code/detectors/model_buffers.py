"""Buffers that no checkpoint holds, in what a model of the project is made of: from_pretrained builds that as well.

A module beside the model, such as a loss, is built by its constructor alone. A class is made of the names in its
definition, and of what stands behind these names at the top of a module of the project.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradcompat.model.environment import Location
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.syntax import argument_of, last_name, nodes_in
from gradcompat.scanners.code.walk import text
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

_LOADING = lazy_pattern("from_pretrained")
_BESIDE_MODELS = ("Tokenizer", "TokenizerFast", "Processor", "Config", "Extractor")
# None of their classes is the project's.
_LIBRARIES = ("transformers.", "peft.", "diffusers.", "sentence_transformers.")
_AUTO = "Auto"  # what these classes load may be a class of the project that was made known to them
_MADE_KNOWN = lazy_pattern(r"\bAuto\w+\.register\(|register_for_auto_class|trust_remote_code")
_FILLS = frozenset({"copy_", "fill_", "set_"})


def buffer_of_model(found: Findings) -> Location | None:
    """The first such buffer, if a class of the project derives from a model of transformers, and weights are loaded.

    A buffer that the class names in its `_init_weights` is filled there, and one that a program writes to by the model
    (``model.rotary.inv_freq = …``) behind loading.
    """
    if not found.buffers or not found.own_models or not loads_a_model(found):
        return None
    inside, filled = inside_of_models(found)
    for part in (found, *found.parts):
        filled.update(part.once(_written))
    left = ((call, location) for call, location in found.buffers if call in inside)
    return next((location for call, location in left if _name_of(call) not in filled), None)


def inside_of_models(found: Findings) -> tuple[set[ast.Call], set[str]]:
    """The calls in what the project's own models are made of, and the attributes that their `_init_weights` fill."""
    defined: dict[str, list[_Definition]] = {}
    for part in (found, *found.parts):
        for definition in part.once(_definitions):
            for name in definition.names:
                defined.setdefault(name, []).append(definition)
    waiting = list(dict.fromkeys(found.own_models))
    inside: set[ast.Call] = set()
    filled: set[str] = set()
    for name in waiting:
        for definition in defined.pop(name, ()):
            inside.update(definition.calls)
            filled.update(definition.filled)
            waiting.extend(mentioned for mentioned in definition.mentioned if mentioned in defined)
    return inside, filled


@dataclass(frozen=True, slots=True)
class _Definition:
    """A statement at the top of a module.

    Attributes:
        names: that it defines.
        mentioned: names and attributes in it.
        filled: the attributes that an `_init_weights` in it speaks of.
        calls: in it.
    """

    names: tuple[str, ...]
    mentioned: tuple[str, ...]
    filled: frozenset[str]
    calls: tuple[ast.Call, ...]


def _definitions(statements: Sequence[ast.stmt]) -> tuple[_Definition, ...]:
    return tuple(_definition(statement, names) for statement in statements if (names := tuple(_names_of(statement))))


def _definition(statement: ast.stmt, names: tuple[str, ...]) -> _Definition:
    nodes = nodes_in(statement)
    mentioned = {
        **{node.id: None for node in nodes if isinstance(node, ast.Name)},
        **{node.attr: None for node in nodes if isinstance(node, ast.Attribute)},
    }
    filling = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == "_init_weights"]
    return _Definition(
        names=names,
        mentioned=tuple(mentioned),
        filled=frozenset(one.attr for one in nodes_in(*filling) if isinstance(one, ast.Attribute)),
        calls=tuple(node for node in nodes if isinstance(node, ast.Call)),
    )


def loads_a_model(found: Findings) -> bool:
    """May a model of the project's own classes be taken from_pretrained? One of a library, even as a part, is none."""
    known = any(map(_MADE_KNOWN.search, found.texts))
    own = frozenset(found.own_models)
    return any(_loads(one, own, known) for one in found.with_text(_LOADING.search))


def _loads(one: Findings, own: frozenset[str], known: bool) -> bool:
    for node in nodes_in(*one.statements):
        if not isinstance(node, ast.Attribute) or node.attr != "from_pretrained":
            continue
        name = last_name(node.value)
        if name in own:
            return True
        if text(node.value).endswith(_BESIDE_MODELS):
            continue
        # A variable may stand for one class or for another.
        meant = one.names.resolve(node.value, one.names.scope_of(node))
        of_library = bool(meant) and all(full.startswith(_LIBRARIES) and full.endswith(f".{name}") for full in meant)
        if not of_library or (known and name.startswith(_AUTO)):
            return True
    return False


def _written(statements: Sequence[ast.stmt]) -> frozenset[str]:
    """The attributes of objects, other than those of `self`, that are assigned or filled in place."""
    found: set[str] = set()
    for node in nodes_in(*statements):
        match node:
            case ast.Assign(targets=targets):
                written = [target for target in targets if isinstance(target, ast.Attribute)]
            case ast.Call(func=ast.Attribute(value=ast.Attribute() as value, attr=filling)) if filling in _FILLS:
                inner = value.value if value.attr == "data" else value
                written = [inner] if isinstance(inner, ast.Attribute) else []
            case _:
                continue
        found.update(one.attr for one in written if not text(one).startswith("self."))
    return frozenset(found)


def _name_of(call: ast.Call) -> object:
    """The name that a call of `register_buffer` gives; None if it is computed."""
    named = argument_of(call, "name", 0)
    return named.value if isinstance(named, ast.Constant) else None


def _names_of(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.If(body=body, orelse=orelse) | ast.Try(body=body, orelse=orelse):
            for inner in (*body, *orelse):
                yield from _names_of(inner)
