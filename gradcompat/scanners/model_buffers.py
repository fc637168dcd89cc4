"""Buffers that no checkpoint holds, in what a model of the project is made of: from_pretrained builds that as well.

A module beside the model, such as a loss, is built by its constructor alone. A class is made of the names in its
definition, and of what stands behind these names at the top of a module of the project.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.model.environment import Location
from gradcompat.scanners.code_findings import Findings


def buffer_of_model(found: Findings) -> Location | None:
    """The first such buffer, if a class of the project derives from a model of transformers."""
    if not found.buffers or not found.own_models:
        return None
    defined: dict[str, list[ast.stmt]] = {}
    for statement in _statements(found):
        for name in _names_of(statement):
            defined.setdefault(name, []).append(statement)
    waiting = list(dict.fromkeys(found.own_models))
    inside: set[ast.AST] = set()
    for name in waiting:
        for statement in defined.pop(name, ()):
            for node in ast.walk(statement):
                inside.add(node)
                match node:
                    case ast.Name(id=mentioned) | ast.Attribute(attr=mentioned) if mentioned in defined:
                        waiting.append(mentioned)
    return next((location for call, location in found.buffers if call in inside), None)


def _statements(found: Findings) -> Iterator[ast.stmt]:
    yield from found.statements
    for part in found.parts:
        yield from _statements(part)


def _names_of(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.If(body=body, orelse=orelse) | ast.Try(body=body, orelse=orelse):
            for inner in (*body, *orelse):
                yield from _names_of(inner)
