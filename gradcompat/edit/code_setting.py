"""A literal of a Python program gives way to another, at the place that the syntax tree has for it.

The tree counts bytes of UTF-8, the text characters; and for Python a lone carriage return ends a line, too.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from gradcompat.edit.setting_values import Replacement, SettingEdit, means, not_there, refused, written
from gradcompat.errors import EditError
from gradcompat.quotation import parser_reason

_LINE_END = re.compile(r"\r\n|\r|\n")
_STRING = re.compile(r"(?:'[^'\\\n]*'|\"[^\"\\\n]*\")")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_DEEPEST = 8  # of arithmetic


def replacement(text: str, shown: str, change: SettingEdit) -> Replacement | None:
    """What has to be replaced; None if the new value stands there already.

    Raises:
        EditError: if no literal of that name and value stands there.
    """
    if change.spelling is None:
        raise refused(change, "sets it in a way that is not edited", shown)
    if change.old is None:
        raise refused(change, "is put together elsewhere, or only in a branch", shown)
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    named = change.spelling.partition("{}")[0].rstrip(" =:").strip('"')
    for name, node in _named(_tree(text, shown)):
        if name != named and not named.endswith(f".{name}"):
            continue
        start = _offset(text, starts, node.lineno, node.col_offset)
        line_start = starts[node.lineno - 1]
        if (node.lineno, start - line_start + 1) == (change.location.line, change.location.column):
            end = _offset(text, starts, node.end_lineno or node.lineno, node.end_col_offset or 0)
            return _replaced(text, start, end, node, change, shown)
    raise refused(change, "the setting is no longer there", shown)


def _replaced(text: str, start: int, end: int, node: ast.expr, change: SettingEdit, shown: str) -> Replacement | None:
    raw = text[start:end]
    if change.key == "model.torch_dtype" and isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        # `torch.bfloat16`: of the chain only the last name.
        start = end - len(node.attr)
        if node.attr == change.new:
            return None
        if node.attr != change.old or not isinstance(change.new, str) or not change.new.isidentifier():
            raise not_there(change, raw, shown)
        return Replacement(start, end, change.new)
    old = _literal(node)
    said = old if isinstance(old, str) else str(old)
    if old is None or not isinstance(old, (bool, int, float, str)):
        raise not_there(change, raw, shown)
    if means(said, change.new):
        return None
    if not means(said, change.old):
        raise not_there(change, raw, shown)
    return Replacement(start, end, _written(change, raw, old, shown))


def _written(change: SettingEdit, raw: str, old: bool | int | float | str, shown: str) -> str:
    """The new value as Python, in the quotes of the old one."""
    if isinstance(change.new, bool):
        return str(change.new)
    try:
        new = written(change, str(old))
    except ValueError:
        raise refused(change, "a list would replace a word", shown) from None
    if isinstance(change.new, (int, float)):
        return new
    if not _STRING.fullmatch(raw):
        raise refused(change, "the string there is put together of parts, or has a prefix or escapes", shown)
    quote = raw[0]
    if quote in new or "\\" in new or not new.isprintable():
        return repr(new)
    return f"{quote}{new}{quote}"


def _tree(text: str, shown: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of "\\d", which is their business
            return ast.parse(text)
    except SyntaxError as error:
        raise EditError(f"not valid Python: {parser_reason(error.msg)}", path=shown, line=error.lineno) from None
    except (RecursionError, MemoryError, ValueError):
        raise EditError("cannot be parsed as Python", path=shown) from None


def _named(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Every value with the name that it is given: of an argument, a variable, an attribute, a key."""
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg=str(name), value=value):
                yield name, value
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _bound(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from _bound(target, value)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                yield name, value
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, value


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case (ast.Name(id=name), _) | (ast.Attribute(attr=name), _):
            yield name, value
        case (ast.Tuple(elts=targets) | ast.List(elts=targets), ast.Tuple(elts=values) | ast.List(elts=values)):
            for one, inner in zip(targets, values, strict=False):
                if isinstance(one, ast.Name):
                    yield one.id, inner


def _literal(node: ast.expr, depth: int = 0) -> object:
    """What is written there, if it can be read off; None if not."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS and depth < _DEEPEST:
            first, second = _literal(left, depth + 1), _literal(right, depth + 1)
            if isinstance(first, (int, float)) and isinstance(second, (int, float)):
                try:
                    return _OPERATORS[type(sign)](first, second)
                except (ArithmeticError, ValueError):
                    return None
    return None


def _offset(text: str, starts: list[int], line: int, column: int) -> int:
    """The offset of a place that is given in bytes of UTF-8."""
    start = starts[line - 1]
    end = starts[line] if line < len(starts) else len(text)
    before = text[start:end].encode("utf-8", "surrogatepass")[:column]
    return start + len(before.decode("utf-8", "ignore"))
