"""Branches of a program that options of its command line decide: ``if args.lora_enable:``, ``if args.bits in [4, 8]:``,
``if args.skip > 0:``.

What stands there is set, or it is not, as the option says. Which of both is known where the launch is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeGuard

from gradcompat.model.context import LaunchOption, OptionTest
from gradcompat.scanners.code.names import UNKNOWN, Names, Scope
from gradcompat.scanners.code.option_defaults import Option
from gradcompat.scanners.code.regions import Position, end, start
from gradcompat.scanners.launches.launch_options import bare_value

# What is a condition or may not be run otherwise, and decides nothing that is read here.
_UNDECIDED = (ast.IfExp, ast.BoolOp, ast.ExceptHandler, ast.match_case)
_MOST = 8  # conditions around one place, and parts of one condition
_TRUE, _FALSE = frozenset({"true", "yes", "1", "y", "t"}), frozenset({"false", "no", "0", "n", "f"})
_NO_TEXT = frozenset({"", "none", "null"})

# Conditions whose answer is written in the program.
DECIDED = {True: OptionTest(kind="all"), False: OptionTest(kind="any")}

# A block, its condition, and whether the block is run where that does not hold; without one nobody knows when.
Block = tuple[Position, Position, "ast.expr | None", bool]

# A block, and what its condition asks of options.
Switch = tuple[Position, Position, OptionTest]


def blocks(tree: ast.AST) -> list[Block]:
    """The parts of a module that may not be run."""
    found: list[Block] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            for body, otherwise in ((node.body, False), (node.orelse, True)):
                if body:
                    found.append((start(body[0]), end(body[-1]), node.test, otherwise))
        elif isinstance(node, ast.match_case):
            found.append((start(node.body[0]), end(node.body[-1]), None, False))
        elif isinstance(node, _UNDECIDED):
            found.append((start(node), end(node), None, False))
    return found


def test_of(node: ast.AST, around: Sequence[Block], read: Callable[[ast.expr], OptionTest | None]) -> OptionTest | None:
    """What has to hold for a node to be reached; None if that is not asked of options alone.

    Args:
        node: what stands in a branch.
        around: the parts of its module that may not be run.
        read: what a condition asks.
    """
    place = start(node)
    found: list[OptionTest] = []
    for first, last, test, otherwise in around:
        if not first <= place < last:
            continue
        one = None if test is None or len(found) >= _MOST else read(test)
        if one is None:
            return None
        found.append(OptionTest(kind="not", parts=(one,)) if otherwise else one)
    return OptionTest(kind="all", parts=tuple(found)) if found else None


def switches(
    tests: Iterable[tuple[ast.If | ast.IfExp, Scope]], names: Names, option: Callable[[Scope, ast.expr], Option | None]
) -> list[Switch]:
    """The parts of a module that options of the command line decide, as far as their conditions ask for these."""
    found: list[Switch] = []
    for node, scope in tests:
        test = asked(node.test, names, scope, partial(option, scope))
        if test is None:
            continue
        otherwise = OptionTest(kind="not", parts=(test,))
        if isinstance(node, ast.IfExp):
            found += ((start(node.body), end(node.body), test), (start(node.orelse), end(node.orelse), otherwise))
            continue
        for body, holds in ((node.body, test), (node.orelse, otherwise)):
            if body:
                found.append((start(body[0]), end(body[-1]), holds))
    return found


def switched_by(node: ast.AST, around: Sequence[Switch]) -> OptionTest | None:
    """What options have to say for a node to be reached, whatever else has to hold; None where none is asked."""
    place = start(node)
    tests = tuple(test for first, last, test in around if first <= place < last)
    return OptionTest(kind="all", parts=tests[:_MOST]) if tests else None


def asked(test: ast.expr, names: Names, scope: Scope, option: Callable[[ast.expr], Option | None]) -> OptionTest | None:
    """What a condition asks of options; None if it asks none. A part that asks something else is unknown."""
    match test:
        case ast.BoolOp(op=sign, values=values) if len(values) <= _MOST:
            parts = [asked(value, names, scope, option) for value in values]
            if all(part is None for part in parts):
                return None
            kind = "all" if isinstance(sign, ast.And) else "any"
            return OptionTest(kind=kind, parts=tuple(part or OptionTest(kind="unknown") for part in parts))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = asked(operand, names, scope, option)
            return None if inner is None else OptionTest(kind="not", parts=(inner,))
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            return _compared(left, sign, names.literal(right, scope), option)
        case ast.Call(func=ast.Attribute(value=left, attr="startswith"), args=[begin], keywords=[]):
            return _begun(left, names.literal(begin, scope), option)
        case ast.Attribute() | ast.Name():
            found = option(test)
            return None if found is None else _of(found, "true")
    return None


def _compared(
    left: ast.expr, sign: ast.cmpop, right: Any, option: Callable[[ast.expr], Option | None]
) -> OptionTest | None:
    found = option(left)
    values = tuple(right) if isinstance(sign, (ast.In, ast.NotIn)) and isinstance(right, list) else (right,)
    plain = all(one is None or isinstance(one, (bool, int, float, str)) for one in values)
    if found is None or not plain:
        return None
    match sign:
        case ast.Eq() | ast.Is():
            return _of(found, "in", values)
        case ast.NotEq() | ast.IsNot():
            return OptionTest(kind="not", parts=(_of(found, "in", values),))
        case ast.In() if isinstance(right, list):
            return _of(found, "in", values)
        case ast.NotIn() if isinstance(right, list):
            return OptionTest(kind="not", parts=(_of(found, "in", values),))
        case ast.Gt() | ast.LtE() | ast.GtE() | ast.Lt() if _is_number(right):
            test = _of(found, "above" if isinstance(sign, (ast.Gt, ast.LtE)) else "least", values)
            return OptionTest(kind="not", parts=(test,)) if isinstance(sign, (ast.LtE, ast.Lt)) else test
    return None


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _begun(left: ast.expr, begin: Any, option: Callable[[ast.expr], Option | None]) -> OptionTest | None:
    found = option(left)
    begins = tuple(begin) if isinstance(begin, list) else (begin,)
    if found is None or not all(isinstance(one, str) for one in begins):
        return None
    return _of(found, "begins", begins)


def _of(option: Option, kind: str, values: tuple[Any, ...] = ()) -> OptionTest:
    default = option.default
    plain = default is not UNKNOWN and (default is None or isinstance(default, (bool, int, float, str)))
    return OptionTest(
        kind=kind,
        flags=option.flags,
        default=default if plain else None,
        has_default=plain,
        switched=option.switched,
        values=values,
        assigned=option.assigned,
    )


def answer(test: OptionTest, given: Callable[[OptionTest], LaunchOption | None]) -> bool | None:
    """Does it hold for one command line? None if that is not known.

    Args:
        test: what is asked.
        given: the option of a test as the command line has it; None where it leaves it out.
    """
    if test.kind in ("all", "any"):
        answers = [answer(part, given) for part in test.parts]
        decisive = test.kind == "any"
        return decisive if decisive in answers else None if None in answers else not decisive
    if test.kind == "not":
        inner = answer(test.parts[0], given)
        return None if inner is None else not inner
    if test.kind == "unknown":
        return None
    return _holds(test, _value(test, given(test)))


def _value(test: OptionTest, given: LaunchOption | None) -> Any:
    """What the option is; UNKNOWN where nobody knows."""
    if given is None:
        return test.default if test.has_default else UNKNOWN
    if given.value is True:  # the bare option
        value = bare_value(test.flags, test.switched, given.name)
        return UNKNOWN if value is None else value
    if not isinstance(given.value, str):
        return UNKNOWN
    if test.switched is not None or isinstance(test.default, bool):
        word = given.value.lower()
        if word in _TRUE:
            return True
        # `type=bool` of argparse takes the text "False" for true.
        return False if word in _FALSE and (test.switched is not None or test.assigned) else UNKNOWN
    return _typed(given.value, test)


def _typed(text: str, test: OptionTest) -> Any:
    """A text as what the default and the compared values are."""
    kinds = {type(one) for one in (test.default, *test.values) if one is not None}
    if kinds <= {str} and (kinds or text.lower() not in _NO_TEXT | _TRUE | _FALSE):
        return text
    if kinds and kinds <= {int, float}:
        try:
            return float(text)
        except ValueError:
            return UNKNOWN
    return UNKNOWN


def _holds(test: OptionTest, value: Any) -> bool | None:
    if value is UNKNOWN:
        return None
    if test.kind == "true":
        return bool(value)
    if test.kind == "begins":
        return value.startswith(tuple(map(str, test.values))) if isinstance(value, str) else None
    if test.kind in ("above", "least"):
        limit = test.values[0]
        if not _is_number(value) or not _is_number(limit):
            return None
        return value > limit if test.kind == "above" else value >= limit
    return any(value is None if one is None else value is not None and value == one for one in test.values)
