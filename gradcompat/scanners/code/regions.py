"""Parts of a module, from one place of its text to another, and with which releases they may be reached."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import product
from typing import Final

from gradcompat.model.release_question import ReleaseQuestion
from gradcompat.startup.lazy_dataclasses import dataclass

# Lists of questions, each of which is one way: when all of its questions are answered with yes.
Ways = tuple[tuple[ReleaseQuestion, ...], ...]

ALWAYS: Final[Ways] = ((),)

_MOST = 8  # ways that lead to one place

Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a module, and when it may be reached."""

    start: Position
    end: Position
    ways: Ways = ALWAYS

    def holds(self, node: ast.AST) -> bool:
        """Does a node begin in it?"""
        return self.start <= (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)) < self.end


def around(nodes: Sequence[ast.AST], ways: Ways = ALWAYS) -> Region:
    """Where some nodes stand one after the other."""
    return Region(start(nodes[0]), end(nodes[-1]), ways)


def start(node: ast.AST) -> Position:
    """Where a node begins; a function does with its decorators."""
    first = (getattr(node, "decorator_list", None) or [node])[0]
    return getattr(first, "lineno", 0), getattr(first, "col_offset", 0)


def end(node: ast.AST) -> Position:
    """Where a node ends."""
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


def ways_to(node: ast.AST, found: Sequence[Region]) -> Ways:
    """When a node may be reached."""
    ways = ALWAYS
    for region in found:
        if region.holds(node):
            ways = both(ways, region.ways)
    return ways


def both(one: Ways, other: Ways) -> Ways:
    """When both may be; so many questions that nobody would ask them are none."""
    joined = tuple(dict.fromkeys(tuple(dict.fromkeys((*left, *right))) for left, right in product(one, other)))
    return joined if len(joined) <= _MOST else one


def either(one: Ways, other: Ways) -> Ways:
    """When one of two may be."""
    joined = tuple(dict.fromkeys((*one, *other)))
    return ALWAYS if () in joined or len(joined) > _MOST else joined
