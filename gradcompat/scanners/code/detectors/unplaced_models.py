"""Adapters on a model that is loaded without a device_map: it has no map of its layers to devices.

Another model of the program, such as a teacher or a judge, may have one.
"""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import argument_of, last_name

# With these the library maps the layers itself; what `**` unpacks may be one of them.
_PLACING = frozenset({"device_map", "quantization_config", "load_in_4bit", "load_in_8bit", None})
_WRAPPING = frozenset({"get_peft_model", "prepare_model_for_kbit_training"})


def is_unplaced(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is all that ``get_peft_model`` may get here loaded by transformers, and without a device_map?"""
    given = argument_of(call, "model", 0)
    values: list[object] = [given]
    if isinstance(given, ast.Name):
        bound = names.bindings(given.id, scope)
        if bound is None:
            return False
        values = [one for one in bound[0] if not (isinstance(one, ast.Call) and last_name(one.func) in _WRAPPING)]
        scope = bound[1]
    return bool(values) and all(isinstance(one, ast.Call) and _loads_unplaced(one, names, scope) for one in values)


def _loads_unplaced(call: ast.Call, names: Names, scope: Scope) -> bool:
    loaded = names.resolve(call.func, scope)
    if not loaded or not all(one.startswith("transformers.") and one.endswith(".from_pretrained") for one in loaded):
        return False
    return not any(word.arg in _PLACING and not _is_off(word.value) for word in call.keywords)


def _is_off(value: ast.expr) -> bool:
    """Is it None or False? ``device_map=0`` is a device."""
    return isinstance(value, ast.Constant) and (value.value is None or value.value is False)
