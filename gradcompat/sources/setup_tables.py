"""Tables of requirements in a setup.py, as transformers has them: ``deps["torch"]``, ``deps_list("torch")``.

Only what is certain is looked up: a table that is written out, or made of a list that is written out by the one
comprehension that these files share; a function that picks entries of it; a mapping to which the module itself assigns
each key once. Nothing of the file runs, its regular expressions included.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from gradcompat.startup.lazy_patterns import lazy_pattern

# The expressions of these files, each taken as a text that names one of ours.
_PATTERNS = {
    pattern: lazy_pattern(pattern)
    for pattern in (
        r"^(([^!=<>~ \[\]]+)(?:\[[^\]]+\])?(?:[!=<>~ ].*)?$)",
        r"^(([^!=<>~ ]+)(?:[!=<>~ ].*)?$)",
        r"^(([^!=<>~]+)(?:[!=<>~].*)?$)",
    )
}
_READING = frozenset({"get", "keys", "values", "items", "copy"})
_REARRANGING = frozenset({"set", "list", "sorted", "tuple", "dict", "sum", "chain", "itertools", "copy", "deepcopy"})
_WRITTEN_OUT = (ast.List, ast.Tuple, ast.Set, ast.Dict)
_JOINING = _READING | {"deepcopy", "chain", "from_iterable", "union"}


class Tables:
    """The tables of a module.

    Args:
        module: the module.
        bound: its names that are bound once.
    """

    def __init__(self, module: ast.Module, bound: Mapping[str, ast.expr]) -> None:
        self._bound = bound
        self._tables: dict[str, dict[str, ast.expr] | None] = {}
        self._filled = _filled(module)
        self._pickers = _pickers(module)
        self._functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}

    def value(self, node: ast.expr) -> ast.expr | None:
        """What a look-up gives, where that is certain: a text, a list of texts, or a mapping."""
        match node:
            case ast.Name(id=name) if name in self._filled:
                filled = self._filled[name]
                keys: list[ast.expr | None] = [ast.copy_location(ast.Constant(value=key), node) for key in filled]
                return ast.copy_location(ast.Dict(keys=keys, values=list(filled.values())), node)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                return (self._table(name) or {}).get(key)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in self._pickers:
                table = self._table(self._pickers[name]) or {}
                names = [
                    argument.value
                    for argument in args
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                ]
                if len(names) == len(args) and all(name in table for name in names):
                    return ast.copy_location(ast.List(elts=[table[name] for name in names], ctx=ast.Load()), node)
        return None

    def repeats(self, node: ast.expr) -> bool:
        """Does an expression only put together entries of tables and lists that are written out in the module?"""
        return self._only_rearranges(node, frozenset())

    def _only_rearranges(self, node: ast.AST, called: frozenset[str]) -> bool:
        own = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
        own |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
        compared = {
            id(inner)
            for one in ast.walk(node)
            if isinstance(one, (ast.Compare, ast.Subscript))
            for part in ([one.left, *one.comparators] if isinstance(one, ast.Compare) else [one.slice])
            for inner in ast.walk(part)
        }
        for one in ast.walk(node):
            match one:
                case ast.Constant(value=str()) if id(one) not in compared:
                    return False
                case ast.Attribute(attr=attribute) if attribute not in _JOINING:
                    return False
                case ast.Name(id=name, ctx=ast.Load()) if name not in own and name not in _REARRANGING:
                    if name in self._functions and name not in called:
                        if not self._only_rearranges(self._functions[name], called | {name}):
                            return False
                    elif name not in self._filled and not isinstance(self._bound.get(name), _WRITTEN_OUT):
                        return False
        return True

    def _table(self, name: str) -> dict[str, ast.expr] | None:
        if name in self._filled:
            return self._filled[name]
        if name not in self._tables:
            self._tables[name] = self._read(self._bound.get(name))
        return self._tables[name]

    def _read(self, node: ast.expr | None) -> dict[str, ast.expr] | None:
        match node:
            case ast.Dict():
                return _literal_keys(node)
            case ast.DictComp(
                key=ast.Name(id=key),
                value=ast.Name(id=value),
                generators=[
                    ast.comprehension(
                        target=ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
                        iter=ast.GeneratorExp(
                            elt=ast.Subscript(
                                value=ast.Call(
                                    func=ast.Attribute(value=ast.Name(id="re"), attr="findall"),
                                    args=[ast.Constant(value=str(pattern)), ast.Name(id=given)],
                                    keywords=[],
                                ),
                                slice=ast.Constant(value=0),
                            ),
                            generators=[ast.comprehension(target=ast.Name(id=taken), iter=ast.Name(id=listed), ifs=[])],
                        ),
                        ifs=[],
                    )
                ],
            ) if (key, value) == (second, first) and first != second and given == taken and pattern in _PATTERNS:
                return _by_name(self._bound.get(listed), _PATTERNS[pattern])
        return None


def _by_name(node: ast.expr | None, pattern: re.Pattern[str]) -> dict[str, ast.expr] | None:
    """The requirements of a list that is written out, by the names that the expression takes from them."""
    if not isinstance(node, (ast.List, ast.Tuple)):
        return None
    table: dict[str, ast.expr] = {}
    for element in node.elts:
        text = element.value if isinstance(element, ast.Constant) else None
        match = pattern.match(text) if isinstance(text, str) else None
        if match is None:
            return None
        table[match[2]] = element
    return table


def _literal_keys(node: ast.Dict) -> dict[str, ast.expr] | None:
    keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return dict(zip(keys, node.values, strict=True)) if len(keys) == len(node.keys) else None


def _filled(module: ast.Module) -> dict[str, dict[str, ast.expr]]:
    """The mappings that the module makes once, and to which it assigns keys, each once and nowhere else."""
    made: dict[str, dict[str, ast.expr]] = {}
    assigned: dict[str, int] = {}
    for node in module.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as value) if name not in made:
                keys = _literal_keys(value)
                if keys is not None:
                    made[name] = keys
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)))], value=value
            ) if name in made and key not in made[name]:
                made[name][key] = value
                assigned[name] = assigned.get(name, 0) + 1
    written = _written(module)
    return {name: keys for name, keys in made.items() if assigned.get(name, 0) and written[name] == assigned[name] + 1}


def _written(module: ast.Module) -> dict[str, int]:
    """How often each name is bound, filled or changed, anywhere in the module."""
    times: dict[str, int] = {}
    for node in ast.walk(module):
        name: str | None = None
        match node:
            case ast.Name(id=bound, ctx=ast.Store() | ast.Del()):
                name = bound
            case ast.Subscript(value=ast.Name(id=bound), ctx=ast.Store() | ast.Del()):
                name = bound
            case ast.Call(func=ast.Attribute(value=ast.Name(id=bound), attr=method)) if method not in _READING:
                name = bound
            case ast.FunctionDef(name=bound) | ast.AsyncFunctionDef(name=bound) | ast.ClassDef(name=bound):
                name = bound
        if name is not None:
            times[name] = times.get(name, 0) + 1
    return times


def _pickers(module: ast.Module) -> dict[str, str]:
    """The functions that pick entries of a table: ``def deps_list(*pkgs): return [deps[pkg] for pkg in pkgs]``."""
    written = _written(module)
    found: dict[str, str] = {}
    for node in module.body:
        match node:
            case ast.FunctionDef(
                name=name,
                args=ast.arguments(posonlyargs=[], args=[], vararg=ast.arg(arg=given), kwonlyargs=[], kwarg=None),
                body=[
                    ast.Return(
                        value=ast.ListComp(
                            elt=ast.Subscript(value=ast.Name(id=table), slice=ast.Name(id=picked)),
                            generators=[
                                ast.comprehension(target=ast.Name(id=taken), iter=ast.Name(id=over), ifs=[], is_async=0)
                            ],
                        )
                    )
                ],
                decorator_list=[],
            ) if picked == taken and over == given and table not in (given, taken) and written[name] == 1:
                found[name] = table
    return found
