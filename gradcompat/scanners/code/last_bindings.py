"""What a name stands for where it is bound several times: ``model = load()``, ``model = get_peft_model(model, c)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradcompat.scanners.code.regions import around, end, start

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def since_certain(values: Sequence[ast.expr], node: ast.AST, owner: ast.AST) -> Sequence[ast.expr]:
    """What a name is bound to above its use, from the last statement on that each way to the use passes.

    Args:
        values: the expressions that the name is bound to above the use, in their order.
        node: where the name is used.
        owner: the module, function or class that binds the name.

    Returns:
        None of the values where no statement is certain.
    """
    places = {id(value): place for place, value in enumerate(values)}
    for statement in _passed(node, owner):
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            value = statement.value
            bound = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
            certain = [places[id(one)] for one in (value, *bound) if id(one) in places]
            if certain:
                return values[certain[0] :]
    return ()


def without_other_branches(values: Sequence[ast.expr], node: ast.AST, owner: ast.AST) -> list[ast.expr]:
    """What a name is bound to, but in branches that run in place of its use; in a loop, one may run before the other.

    Args:
        values: expressions that the name is bound to.
        node: where the name is used.
        owner: the module, function or class that binds the name.
    """
    others = []
    for statements, place in _path(node, owner) if values else ():
        statement = statements[place]
        if isinstance(statement, _LOOPS):
            break
        if isinstance(statement, ast.If) and statement.orelse:
            taken, other = around(statement.body), around(statement.orelse)
            others += [other] if taken.holds(node) else [taken] if other.holds(node) else []
    return [value for value in values if not any(region.holds(value) for region in others)]


def last_bindings(values: Sequence[ast.expr], node: ast.AST, owner: ast.AST) -> Sequence[ast.expr]:
    """What a name stands for at a use: all that it is bound to since a statement that each way to the use passes.

    Args:
        values: all expressions that the name is bound to, in any order.
        node: where the name is used.
        owner: the module, function or class that binds the name.

    Returns:
        None of the values where no statement is certain, or a loop leads back to the use from a later one.
    """
    ordered = sorted(without_other_branches(values, node, owner), key=start)
    above = [value for value in ordered if end(value) <= start(node)]
    since = since_certain(above, node, owner)
    if not since:
        return ()
    later = ordered[len(above) :]
    loops = [around([loop]) for loop in _loops(node, owner)] if later else []
    again = any(loop.holds(value) and not loop.holds(since[0]) for loop in loops for value in later)
    return () if again else since


def _passed(node: ast.AST, owner: ast.AST) -> Iterator[ast.AST]:
    """The statements that each way to a node passes, the last one first."""
    for statements, place in reversed(list(_path(node, owner))):
        for statement in reversed(statements[:place]):
            yield from _in_turn(statement)


def _in_turn(statement: ast.AST) -> Iterator[ast.AST]:
    """A statement, or those of a ``with``, which are all run."""
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        for one in reversed(statement.body):
            yield from _in_turn(one)
    else:
        yield statement


def _loops(node: ast.AST, owner: ast.AST) -> list[ast.AST]:
    """The loops that a node stands in."""
    return [statements[place] for statements, place in _path(node, owner) if isinstance(statements[place], _LOOPS)]


def _path(node: ast.AST, owner: ast.AST) -> Iterator[tuple[Sequence[ast.AST], int]]:
    """The blocks that lead to a node, each with the place of the statement that holds it, the outermost first."""
    holder: ast.AST | None = owner
    while holder is not None:
        block, holder = _block_around(node, holder)
        if holder is not None:
            yield block, block.index(holder)


def _block_around(node: ast.AST, holder: ast.AST) -> tuple[Sequence[ast.AST], ast.AST | None]:
    """The block of a statement in which a node stands, and the statement of the block that holds it."""
    parts = [getattr(holder, part, ()) for part in ("body", "orelse", "finalbody", "handlers", "cases")]
    for block in parts:
        for statement in block if isinstance(block, list) else ():  # that of a lambda is an expression
            if around([statement]).holds(node):
                return block, statement
    return (), None
