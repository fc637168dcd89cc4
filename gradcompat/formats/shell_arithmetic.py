"""What ``$((GLOBAL / (BATCH * GPUS)))`` comes to in a shell, where all of its variables are known."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from gradcompat.startup.lazy_patterns import lazy_pattern

_LONGEST = 200  # characters
_TOKENS = lazy_pattern(r"\s*(?:(?P<name>\$?[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\})|(?P<number>\d+)|(?P<sign>[-+*/%()]))")
_NUMBER = lazy_pattern(r"-?(?:0|[1-9]\d{0,17})")
_MOST = 2**63  # where shells start again from the other end


def _quotient(left: int, right: int) -> int:
    """Towards zero, as in C."""
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _remainder(left: int, right: int) -> int:
    return left - right * _quotient(left, right)


_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _quotient,
    ast.Mod: _remainder,
}


def computed(text: str, value: Callable[[str], str | None]) -> str | None:
    """The whole number that an expression comes to; None where it holds more than sums and products of known ones.

    Args:
        text: what stands between ``$((`` and ``))``.
        value: what is known of a variable.
    """
    parts: list[str] = []
    position = 0
    text = text.rstrip()
    while position < len(text) <= _LONGEST:
        match = _TOKENS.match(text, position)
        if match is None:
            return None
        position = match.end()
        if match["name"]:
            number = (value(match["name"].strip("${}")) or "").strip()
            parts.append(f"({number})")
        else:
            number = match["number"] or "0"
            parts.append(match[0].strip())
        if not _NUMBER.fullmatch(number):
            return None  # octal, a text, or nothing that is known
    try:
        result = _result(ast.parse("".join(parts), mode="eval").body)
    except (SyntaxError, ZeroDivisionError):
        return None
    return None if result is None else str(result)


def _result(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _result(operand)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
            one, other = _result(left), _result(right)
            if one is None or other is None:
                return None
            found = _OPERATIONS[type(sign)](one, other)
            return found if abs(found) < _MOST else None
    return None
