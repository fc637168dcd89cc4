"""The end of a path that a program puts together: ``.onnx`` of ``os.path.join(folder, "best.onnx")``."""

from __future__ import annotations

import ast
import re

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.startup.lazy_patterns import lazy_pattern

_ENDING = lazy_pattern(r"\.[A-Za-z][A-Za-z0-9]{0,11}\Z", re.ASCII)
_JOINING = frozenset({"os.path.join", "pathlib.Path", "pathlib.PurePath"})
_SAME = frozenset({"as_posix", "resolve", "absolute", "expanduser"})
_DEEPEST = 4


def file_ending(node: ast.AST, names: Names, scope: Scope, depth: int = 0) -> str | None:
    """What a text or a path ends with, if that is the ending of a file and its beginning cannot be read."""
    if depth > _DEEPEST:
        return None
    last: ast.AST | None = None
    match node:
        case ast.Constant(value=str(text)) if depth:
            found = _ENDING.search(text)
            return None if found is None else found[0]
        case ast.JoinedStr(values=[*_, end]):
            last = end
        case ast.BinOp(op=ast.Add() | ast.Div(), right=right):
            last = right
        case ast.Call(func=ast.Attribute(attr=method, value=path), args=[], keywords=[]) if method in _SAME:
            last = path
        case ast.Call(func=ast.Name(id="str"), args=[path], keywords=[]):
            last = path
        case ast.Call(func=function, args=[*_, end]) if not _JOINING.isdisjoint(names.resolve(function, scope)):
            last = end
        case ast.Name(id=name):
            bound = names.bound_once(name, scope)
            last = None if bound is None else bound[0]
    return None if last is None else file_ending(last, names, scope, depth + 1)
