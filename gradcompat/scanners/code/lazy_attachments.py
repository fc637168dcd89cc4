"""What a package imports when somebody asks for it: ``__getattr__, __dir__, __all__ = lazy_loader.attach(…)``.

``submod_attrs={"train": ["fit"]}`` is ``from .train import fit``, ``submodules=["train"]`` is ``from . import train``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.syntax import argument_of


def attached(module: ast.Module) -> list[ast.stmt]:
    """The imports that stand for what ``lazy_loader`` attaches to a package, as far as it is literal."""
    found: list[ast.stmt] = []
    for statement in module.body:
        match statement:
            case ast.Assign(value=ast.Call(func=ast.Attribute(attr="attach") | ast.Name(id="attach")) as call):
                found += (ast.copy_location(one, statement) for one in _imports(call))
    return [ast.fix_missing_locations(one) for one in found]


def _imports(call: ast.Call) -> Iterator[ast.ImportFrom]:
    match argument_of(call, "package_name", 0):
        case ast.Name(id="__name__"):
            pass
        case _:
            return
    modules = _texts(argument_of(call, "submodules", 1))
    if modules:
        yield _import(None, modules)
    attributes = argument_of(call, "submod_attrs", 2)
    if isinstance(attributes, ast.Dict):
        for key, value in zip(attributes.keys, attributes.values, strict=True):
            names = _texts(value)
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and names:
                yield _import(key.value, names)


def _import(module: str | None, names: list[str]) -> ast.ImportFrom:
    return ast.ImportFrom(module=module, names=[ast.alias(name=name) for name in names], level=1)


def _texts(node: ast.expr | None) -> list[str]:
    """The literal texts of a list, tuple or set."""
    elements = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else []
    return [one.value for one in elements if isinstance(one, ast.Constant) and isinstance(one.value, str)]
