"""Buffers that no checkpoint holds, in what a model of the project is made of: from_pretrained builds that as well.

A module beside the model, such as a loss, is built by its constructor alone. A class is made of the names in its
definition, and of what stands behind these names at the top of a module of the project.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradcompat.model.environment import Location
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.syntax import argument_of, nodes_in
from gradcompat.scanners.code.walk import text
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

_LOADING = lazy_pattern("from_pretrained")
_BESIDE_MODELS = ("Tokenizer", "TokenizerFast", "Processor", "Config", "Extractor")


def buffer_of_model(found: Findings) -> Location | None:
    """The first such buffer, if a class of the project derives from a model of transformers, and weights are loaded.

    A buffer that the class names in its `_init_weights` is filled there.
    """
    if not found.buffers or not found.own_models or "from_pretrained" not in found.mentioned:
        return None
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
    left = ((call, location) for call, location in found.buffers if call in inside)
    return next((location for call, location in left if _name_of(call) not in filled), None)


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
    """Is anything but a tokenizer, a config and the like taken from_pretrained?"""
    return any(one.once(_loads) for one in found.with_text(_LOADING.search))


def _loads(statements: Sequence[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "from_pretrained"
        and not text(node.value).endswith(_BESIDE_MODELS)
        for node in nodes_in(*statements)
    )


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
