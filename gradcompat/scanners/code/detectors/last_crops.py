"""Pipelines of albumentations with boxes that end in a crop or a rotation, which may leave boxes outside."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import argument_of, last_name

_CROPPING = frozenset(
    {
        *("RandomCrop", "Crop", "CenterCrop", "Rotate", "RandomResizedCrop", "RandomSizedCrop", "CropAndPad"),
        *("RandomCropFromBorders", "CropNonEmptyMaskIfExists"),
    }
)
_ONE_OF = frozenset({"OneOf", "SomeOf", "OneOrOther"})
_IN_TURN = frozenset({"Compose", "Sequential"})
_DEEPEST = 5


def ends_with_crop(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Does a ``Compose`` with parameters of boxes end so, as far as its list is written out?"""
    if last_name(call.func) != "Compose" or argument_of(call, "bbox_params", 1) is None:
        return False
    return _crops_last(argument_of(call, "transforms", 0), names, scope)


def _crops_last(given: ast.expr | None, names: Names, scope: Scope, depth: int = 0) -> bool:
    listed = _listed(given, names, scope)
    if not listed or depth > _DEEPEST:
        return False
    return _crops(listed[-1], names, scope, depth)


def _crops(one: ast.expr, names: Names, scope: Scope, depth: int) -> bool:
    if not isinstance(one, ast.Call):
        return False
    name = last_name(one.func)
    inner = argument_of(one, "transforms", 0)
    if name in _IN_TURN:
        return _crops_last(inner, names, scope, depth + 1)
    if name in _ONE_OF and depth < _DEEPEST:
        return any(_crops(part, names, scope, depth + 1) for part in _listed(inner, names, scope))
    return name in _CROPPING


def _listed(given: ast.expr | None, names: Names, scope: Scope) -> Sequence[ast.expr]:
    if isinstance(given, ast.Name):
        bound = names.bound_once(given.id, scope)
        given = bound[0] if bound is not None and isinstance(bound[0], ast.List) else None
    return given.elts if isinstance(given, (ast.List, ast.Tuple)) else ()
