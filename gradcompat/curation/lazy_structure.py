"""The tables of names that lazy packages keep: ``_import_structure``, ``_LazyModule``, ``define_import_structure``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping


class Structure:
    """What the statements of a module put into its table.

    Attributes:
        names: name → the submodule that has it, relative; empty for the package itself.
        replaces: the module object is replaced, so that the table is all that it has.
        folders: folders whose modules say it themselves, relative to the module's own.
        whole: submodules of which all public names are taken, relative.
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self.names: dict[str, str] = {}
        self.replaces = False
        self.folders: list[str] = []
        self.whole: list[str] = []

    def take(self, node: ast.stmt, *, calls: bool = True) -> None:
        """Look at one simple statement.

        Args:
            node: the statement.
            calls: it may call what a lazy module is made of.
        """
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if "import_structure" in name:
                self._table(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if "import_structure" in name:
                self._table(value)
            case (
                ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)))])
                | ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))))
            ) if "import_structure" in name:
                self._entry(key, node.value)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))),
                        attr="append" | "extend",
                    ),
                    args=[value],
                )
            ) if "import_structure" in name:
                self._entry(key, value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update"), args=[value])) if (
                "import_structure" in name
            ):
                self._table(value)
        if calls:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call):
                    self._call(inner)

    def attached(self, made: ast.expr, tables: Mapping[str, ast.expr]) -> bool:
        """Take lazy_loader's ``attach(__name__, submodules, submod_attrs)``; False where these are not literal."""
        if not (isinstance(made, ast.Call) and _called(made).endswith("attach")):
            return False
        given = dict(enumerate(made.args)) | {keyword.arg: keyword.value for keyword in made.keywords}
        modules, names = given.get(1, given.get("submodules")), given.get(2, given.get("submod_attrs"))
        if isinstance(names, ast.Name):
            names = tables.get(names.id)
        if not isinstance(names, (ast.Dict, type(None))) or not isinstance(modules, (ast.List, ast.Set, type(None))):
            return False
        if names is not None:
            self._table(names)
        return True

    def _call(self, call: ast.Call) -> None:
        called = _called(call)
        if called == "_LazyModule":
            self.replaces = True
            for keyword in call.keywords:
                if keyword.arg == "extra_objects" and isinstance(keyword.value, ast.Dict):
                    self.names |= dict.fromkeys(_texts(ast.List(elts=[k for k in keyword.value.keys if k])), "")
            for value in call.args:
                if isinstance(value, ast.Dict):
                    self._table(value)
        elif called == "define_import_structure" and call.args:
            below = [node.value for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant)]
            self.folders.append("/".join(one for one in below if isinstance(one, str)))

    def _table(self, value: ast.expr) -> None:
        if isinstance(value, ast.Dict):
            for key, names in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    self._entry(key.value, names)
                elif key is None:
                    self._table(names)

    def _entry(self, key: str, value: ast.expr) -> None:
        match value:
            case ast.ListComp(generators=[ast.comprehension(iter=ast.Call(func=ast.Name(id="dir")))]):
                self.whole.append(key)  # `[name for name in dir(dummy_objects) if not name.startswith("_")]`
        for name in _texts(value):
            self.names[name] = key


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _texts(value: ast.expr) -> Iterator[str]:
    """The literal strings of a list, a set, a sum of such, or the one that stands alone."""
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            for part in parts:
                yield from _texts(part)
        case ast.BinOp(left=left, right=right):
            yield from _texts(left)
            yield from _texts(right)
        case ast.Starred(value=inner):
            yield from _texts(inner)
