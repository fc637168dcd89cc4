"""What a name stands for where it is bound several times: ``model = load()``, ``model = get_peft_model(model, c)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from gradcompat.scanners.code.regions import around, end, start

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# The blocks that lead to a node, each with the place of the statement that holds it, the outermost first.
_Path: TypeAlias = Sequence[tuple[Sequence[ast.AST], int]]


def reaching(values: Sequence[ast.expr], node: ast.AST, owner: ast.AST) -> Sequence[ast.expr]:
    """What a name may stand for at its use, of all that it is bound to above.

    Left out are branches that run in place of the use, and what comes before a statement that each way to it passes.

    Args:
        values: the expressions that the name is bound to above the use, in their order.
        node: where the name is used.
        owner: the module, function or class that binds the name.
    """
    path = _path(node, owner) if values else ()
    possible = _without_other_branches(values, node, path)
    return _since_certain(possible, path) or possible


def last_bindings(values: Sequence[ast.expr], node: ast.AST, owner: ast.AST) -> Sequence[ast.expr]:
    """What a name stands for at a use: all that it is bound to since a statement that each way to the use passes.

    Args:
        values: all expressions that the name is bound to, in any order.
        node: where the name is used.
        owner: the module, function or class that binds the name.

    Returns:
        None of the values where no statement is certain, or a loop leads back to the use from a later one.
    """
    path = _path(node, owner)
    ordered = sorted(_without_other_branches(values, node, path), key=start)
    above = [value for value in ordered if end(value) <= start(node)]
    since = _since_certain(above, path)
    if not since:
        return ()
    later = ordered[len(above) :]
    loops = [around([statements[place]]) for statements, place in path if isinstance(statements[place], _LOOPS)]
    again = any(loop.holds(value) and not loop.holds(since[0]) for loop in loops for value in later)
    return () if again else since


def last_set(values: Sequence[ast.expr], statements: Sequence[ast.stmt]) -> Sequence[ast.expr]:
    """What each way through some statements binds last; none of the values where it is one or another."""
    for statement in reversed(statements):
        inside = [value for value in values if around([statement]).holds(value)]
        if inside:
            certain = isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value in inside
            return inside if certain else ()
    return ()


def _without_other_branches(values: Sequence[ast.expr], node: ast.AST, path: _Path) -> list[ast.expr]:
    """The values, but for those of branches that run in place of a use; in a loop, one may run before the other."""
    others = []
    for statements, place in path:
        statement = statements[place]
        if isinstance(statement, _LOOPS):
            break
        if isinstance(statement, ast.If) and statement.orelse:
            taken, other = around(statement.body), around(statement.orelse)
            others += [other] if taken.holds(node) else [taken] if other.holds(node) else []
    return [value for value in values if not any(region.holds(value) for region in others)]


def _since_certain(values: Sequence[ast.expr], path: _Path) -> Sequence[ast.expr]:
    """The values from the last statement on that each way to a use passes; none of them where none is certain."""
    places = {id(value): place for place, value in enumerate(values)}
    for statement in _passed(path) if places else ():
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            value = statement.value
            bound = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
            certain = [places[id(one)] for one in (value, *bound) if id(one) in places]
            if certain:
                return values[certain[0] :]
    return ()


def _passed(path: _Path) -> Iterator[ast.AST]:
    """The statements that each way to a node passes, the last one first."""
    for statements, place in reversed(path):
        for statement in reversed(statements[:place]):
            yield from _in_turn(statement)


def _in_turn(statement: ast.AST) -> Iterator[ast.AST]:
    """A statement, or those of a ``with``, which are all run."""
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        for one in reversed(statement.body):
            yield from _in_turn(one)
    else:
        yield statement


def _path(node: ast.AST, owner: ast.AST) -> _Path:
    found: list[tuple[Sequence[ast.AST], int]] = []
    holder: ast.AST | None = owner
    while holder is not None:
        block, place = _block_around(node, holder)
        holder = block[place] if place is not None else None
        if place is not None:
            found.append((block, place))
    return found


def _block_around(node: ast.AST, holder: ast.AST) -> tuple[Sequence[ast.AST], int | None]:
    """The block of a statement in which a node stands, and the place of the statement of the block that holds it."""
    here = start(node)
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        block = getattr(holder, part, ())
        for place, statement in enumerate(block if isinstance(block, list) else ()):  # a lambda's is an expression
            if start(statement) <= here < end(statement):
                return block, place
    return (), None
