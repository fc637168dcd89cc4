"""Other spellings of a program that mean the same: a check has to say the same of each.

Every one takes a single program, and gives it back with the files that it needs beside it; None where the program has
nothing to spell so.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable
from typing import Final

import yaml

Spelling = Callable[[str], "dict[str, str] | None"]

STEM: Final = "train"
"""How the program is called, without its ending."""

_IMPORTS = (ast.Import, ast.ImportFrom)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Their keyword arguments say what a field, a file or an option is.
_OF_PYTHON = frozenset({"add_argument", "dict", "field", "open", "print", "range", "set_defaults"})
# What a program does while it is loaded: to move its imports would change what they see.
_WHILE_LOADING = ("environ", "__name__", "sys.modules", "globals(")


def in_main(program: str) -> dict[str, str] | None:
    """What runs stands in ``main``, behind a guard."""
    if any(word in program for word in _WHILE_LOADING):
        return None
    head, rest = _apart(ast.parse(program))
    if not rest or any(_read(one) & _bound(rest) for one in head):
        return None
    function = ast.parse("def main(): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = rest
    return _program([*head, function, *ast.parse("if __name__ == '__main__':\n    main()").body])


def by_modules(program: str) -> dict[str, str] | None:
    """``transformers.Trainer`` below ``import transformers``."""
    tree = ast.parse(program)
    names: dict[str, ast.expr] = {}
    body: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and _is_of_package(statement):
            for alias in statement.names:
                names[alias.asname or alias.name] = ast.parse(f"{statement.module}.{alias.name}", mode="eval").body
            body.append(ast.Import([ast.alias(statement.module or "")]))
        else:
            body.append(statement)
    roots = {ast.unparse(name).partition(".")[0] for name in names.values()}
    if not names or (_bound(tree.body) | _given(tree)) & (names.keys() | roots):
        return None
    tree.body = body
    return _program(_Replaced(names).visit(tree).body)


def by_aliases(program: str) -> dict[str, str] | None:
    """``from transformers import Trainer as Trainer_``."""
    tree = ast.parse(program)
    names: dict[str, ast.expr] = {}
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and _is_of_package(statement):
            for alias in statement.names:
                if alias.asname is None:
                    alias.asname = f"{alias.name}_"
                    names[alias.name] = ast.Name(alias.asname, ast.Load())
    if not names or (_bound(tree.body) | _given(tree)) & names.keys():
        return None
    return _program(_Replaced(names).visit(tree).body)


def by_constants(program: str) -> dict[str, str] | None:
    """``LEARNING_RATE = 2e-5`` at the top, and ``learning_rate=LEARNING_RATE``."""
    tree = ast.parse(program)
    values = _taken_out(tree, lambda name: ast.Name(name.upper(), ast.Load()))
    if not values or {name.upper() for name in values} & (_bound(tree.body) | _given(tree)):
        return None
    return _program(_below_imports(tree, "\n".join(f"{name.upper()} = {value!r}" for name, value in values.items())))


def by_mapping(program: str) -> dict[str, str] | None:
    """``CONFIG = {"learning_rate": 2e-5}`` at the top, and ``learning_rate=CONFIG["learning_rate"]``."""
    tree = ast.parse(program)
    values = _taken_out(tree, lambda name: ast.parse(f"CONFIG[{name!r}]", mode="eval").body)
    if not values or "CONFIG" in program:
        return None
    return _program(_below_imports(tree, f"CONFIG = {values!r}"))


def by_yaml(program: str) -> dict[str, str] | None:
    """``config["learning_rate"]`` of a YAML that the program reads."""
    tree = ast.parse(program)
    values = _taken_out(tree, lambda name: ast.parse(f"config[{name!r}]", mode="eval").body)
    if not values or "config" in program or "yaml" in program:
        return None
    reading = 'import yaml\nwith open("run.yaml") as file:\n    config = yaml.safe_load(file)'
    return {**_program(_below_imports(tree, reading)), "run.yaml": yaml.safe_dump(values)}


def as_notebook(program: str) -> dict[str, str] | None:
    """A cell for each statement."""
    if any(word in program for word in (*_WHILE_LOADING, "parse", "LightningCLI", "/// script", "hydra")):
        return None
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": ast.unparse(statement)}
        for statement in ast.parse(program).body
    ]
    notebook = {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return {f"{STEM}.ipynb": json.dumps(notebook)}


SPELLINGS: Final[tuple[Spelling, ...]] = (
    in_main,
    by_modules,
    by_aliases,
    by_constants,
    by_mapping,
    by_yaml,
    as_notebook,
)


class _Replaced(ast.NodeTransformer):
    """A tree with other expressions in the places of names that are read."""

    def __init__(self, names: dict[str, ast.expr]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._names.get(node.id, node) if isinstance(node.ctx, ast.Load) else node


def _taken_out(tree: ast.Module, place: Callable[[str], ast.expr]) -> dict[str, bool | int | float | str]:
    """The literal keyword arguments of calls of what others define, by their names; what is read stands in for them."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, _DEFINITIONS)} | _OF_PYTHON
    values: dict[str, bool | int | float | str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or ast.unparse(node.func).rpartition(".")[2] in own:
            continue
        for word in node.keywords:
            match word:
                case ast.keyword(arg=str(name), value=ast.Constant(value=bool() | int() | float() | str() as value)):
                    if (type(value), value) == (type(values.setdefault(name, value)), values[name]):
                        word.value = place(name)
    return values


def _apart(tree: ast.Module) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What a module imports and defines, and what it does."""
    head: list[ast.stmt] = [one for one in tree.body if isinstance(one, (*_IMPORTS, *_DEFINITIONS, ast.Try))]
    return head, [one for one in tree.body if one not in head]


def _below_imports(tree: ast.Module, text: str) -> list[ast.stmt]:
    """The statements of a module, with some more behind its first imports."""
    first = next((index for index, one in enumerate(tree.body) if not isinstance(one, _IMPORTS)), len(tree.body))
    return [*tree.body[:first], *ast.parse(text).body, *tree.body[first:]]


def _is_of_package(statement: ast.ImportFrom) -> bool:
    """Is it an import from another package, and not of everything?"""
    named = all(alias.name != "*" for alias in statement.names)
    return named and statement.level == 0 and statement.module not in (None, "__future__")


def _bound(statements: Iterable[ast.stmt]) -> set[str]:
    nodes = (node for statement in statements for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}


def _read(statement: ast.stmt) -> set[str]:
    nodes = ast.walk(statement)
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _given(tree: ast.Module) -> set[str]:
    """The names of parameters and definitions."""
    parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return parameters | {node.name for node in ast.walk(tree) if isinstance(node, _DEFINITIONS)}


def _program(statements: list[ast.stmt]) -> dict[str, str]:
    tree = ast.fix_missing_locations(ast.Module(statements, []))
    return {f"{STEM}.py": ast.unparse(tree) + "\n"}
