"""The files of requirements that the code of a setup.py makes a list of: by a function, a loop, an appended line.

What the code does with the lines is not followed. They count only if they are named in what makes the list under no
condition but that they are there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import PurePath

_SUFFIXES = (".txt", ".in", ".pip")
_MOST = 50_000  # nodes that are looked at


def _is_file_of_requirements(text: str) -> bool:
    return PurePath(text).suffix in _SUFFIXES and "req" in PurePath(text).stem.lower()


def asks_for_file(test: ast.expr) -> bool:
    """Does a condition ask whether a file is there?"""
    return (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Attribute)
        and test.func.attr in ("exists", "isfile", "is_file")
    )


class FilesOfRequirements:
    """Looks for the files that make a list.

    Args:
        module: the setup.py.
        call: its call of ``setup``.
    """

    def __init__(self, module: ast.Module, call: ast.Call) -> None:
        self._functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
        around = [one for one in self._functions.values() if any(node is call for node in ast.walk(one))]
        statements = [*module.body, *(statement for function in around for statement in function.body)]
        self._statements = [one for one in statements if not isinstance(one, (ast.FunctionDef, ast.ClassDef))]
        parameters = [function.args for function in self._functions.values()]
        defaults = (default for one in parameters for default in (*one.defaults, *one.kw_defaults))
        self._defaults = {one.value for one in defaults if isinstance(one, ast.Constant)}
        self._call = call
        self._steps = 0

    def of(self, value: ast.expr) -> tuple[str, ...]:
        """The files of requirements that stand in what makes a list, in their order; none where one is conditional."""
        found = dict.fromkeys(text for text in self._named((value,)) if text is None or _is_file_of_requirements(text))
        if len(found) > 1:  # a default gives way to what a call names
            found = {text: None for text in found if text not in self._defaults}
        return () if None in found else tuple(sorted(text for text in found if text is not None))

    def _named(self, made_by: Sequence[ast.AST]) -> Iterator[str | None]:
        """The texts in some code and in all that makes its names; None for one under a condition."""
        seen: set[str] = set()
        waiting = [(node, False) for node in made_by]
        while waiting:
            node, conditional = waiting.pop()
            self._steps += 1
            if node is self._call or self._steps > _MOST:
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield None if conditional and _is_file_of_requirements(node.value) else node.value
            elif isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                waiting += [(maker, False) for maker in self._makers(node.id)]
            decides = isinstance(node, (ast.If, ast.IfExp)) and not asks_for_file(node.test)
            waiting += [(child, conditional or decides) for child in ast.iter_child_nodes(node)]

    def _makers(self, name: str) -> Iterator[ast.AST]:
        """The function of that name, or the statements that bind or change what has it."""
        if name in self._functions:
            yield self._functions[name]
            return
        for statement in self._statements:
            nodes = list(ast.walk(statement))
            self._steps += len(nodes)
            if any(isinstance(node, ast.Name) and node.id == name for node in nodes) and self._call not in nodes:
                yield statement
