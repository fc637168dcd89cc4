"""Sequences of kornia that crop boxes or keypoints along with the image.

A crop beside such a sequence is none of its own: it cuts images alone, or those of another task.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import argument_of, last_name

CROPS_POINTS = "kornia.augmentation.AugmentationSequential.crops_points"

_POINTS = frozenset({"keypoints", "bbox", "bbox_xyxy", "bbox_xywh"})
_CROPS = frozenset({"RandomCrop", "CenterCrop", "RandomResizedCrop"})


def crops_points(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Has it boxes or keypoints among its ``data_keys`` and a crop among its parts, as far as these are written out?"""
    if last_name(call.func) != "AugmentationSequential":
        return False
    keys = argument_of(call, "data_keys")
    if keys is None or not any(_is_of_points(key) for key in _listed(keys, names, scope)):
        return False
    return any(isinstance(part, ast.Call) and last_name(part.func) in _CROPS for part in _parts(call, names, scope))


def _is_of_points(key: ast.expr) -> bool:
    match key:
        case ast.Constant(value=str(name)) | ast.Attribute(attr=name):
            return name.lower() in _POINTS
    return False


def _parts(call: ast.Call, names: Names, scope: Scope) -> Iterator[ast.expr]:
    for given in call.args:
        if isinstance(given, ast.Starred):
            yield from _listed(given.value, names, scope)
        else:
            yield _bound(given, names, scope)


def _listed(given: ast.expr, names: Names, scope: Scope) -> Iterator[ast.expr]:
    held = _bound(given, names, scope)
    if isinstance(held, (ast.List, ast.Tuple)):
        yield from (_bound(one, names, scope) for one in held.elts)


def _bound(given: ast.expr, names: Names, scope: Scope) -> ast.expr:
    if isinstance(given, ast.Name):
        bound = names.bound_once(given.id, scope)
        if bound is not None and isinstance(bound[0], ast.expr):
            return bound[0]
    return given
