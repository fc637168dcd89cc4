"""Masks that a program widens by an axis before it hands them to a normalisation of Keras."""

from __future__ import annotations

import ast
import re

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import called_name, calls_behind
from gradcompat.scanners.code.syntax import argument_of
from gradcompat.startup.lazy_patterns import lazy_pattern

SYMBOL = "keras.layers.BatchNormalization.widened_mask"
_LAYER = lazy_pattern(r"(?:tensorflow\.|tf_keras\.)?keras\.(?:\w+\.)*BatchNormalization")
# What such a layer is called where nobody sees its class.
_NORM = lazy_pattern(r"norm|bn", re.IGNORECASE)
_WIDENING = frozenset({"expand_dims", "reshape", "unsqueeze"})


def gets_widened_mask(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``self.norm(x, mask=ops.expand_dims(mask, -1))``, ``bn(x, mask=mask[..., None])``."""
    mask = argument_of(call, "mask")
    return mask is not None and _normalises(call.func, names, scope) and _is_widened(mask, names, scope)


def _normalises(layer: ast.expr, names: Names, scope: Scope) -> bool:
    kinds = names.type_of(layer, scope)
    if kinds:
        return any(_LAYER.fullmatch(kind) for kind in kinds)
    match layer:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return _NORM.search(name) is not None
    return False


def _is_widened(mask: ast.expr, names: Names, scope: Scope) -> bool:
    if any(called_name(made) in _WIDENING for made in calls_behind(mask, names, scope)):
        return True
    bound = names.bindings(mask.id, scope) if isinstance(mask, ast.Name) else None
    return any(_adds_axis(one) for one in (mask, *(() if bound is None else bound[0])))


def _adds_axis(value: object) -> bool:
    """``mask[..., None]``, ``mask[:, :, tf.newaxis]``."""
    if not isinstance(value, ast.Subscript):
        return False
    parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
    return any(
        (isinstance(part, ast.Constant) and part.value is None)
        or (isinstance(part, ast.Attribute) and part.attr == "newaxis")
        for part in parts
    )
