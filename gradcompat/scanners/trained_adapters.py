"""Adapters of PEFT that a program loads: whether a trainer gets one that is frozen, or one that is trained further.

``PeftModel.from_pretrained(base, folder)`` freezes the adapter unless it is told ``is_trainable=True``.
"""

from __future__ import annotations

import ast

from gradcompat.scanners.code_names import Names, Scope
from gradcompat.scanners.object_history import called_name, calls_behind

# What makes a plain model of it, or what else may thaw it.
_FREEING = frozenset(
    {"merge_and_unload", "unload", "get_peft_model", "prepare_model_for_kbit_training", "get_base_model"}
)


def gets_frozen_adapter(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is a trainer made for an adapter of PEFT that was loaded frozen, as far as the program shows it?"""
    given = next((word.value for word in call.keywords if word.arg == "model"), call.args[0] if call.args else None)
    if given is None:
        return False
    frozen = False
    for made in calls_behind(given, names, scope):
        if called_name(made) in _FREEING:
            return False
        frozen = frozen or _loads_frozen(made, names, scope)
    return frozen


def goes_on_alone(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is a trainer made for an adapter that was trained before, and given neither a reference nor a new adapter?"""
    words = {word.arg: word.value for word in call.keywords}
    beside = [words.get("ref_model"), words.get("peft_config"), *call.args[1:2]]
    if None in words or not all(one is None or _is_none(one) for one in beside):
        return False
    given = words.get("model", call.args[0] if call.args else None)
    made = list(calls_behind(given, names, scope)) if given is not None else []
    if any(called_name(one) in _FREEING for one in made):
        return False
    return any(
        _loads_adapter(one, names, scope)
        and any(word.arg == "is_trainable" and _is_true(word.value) for word in one.keywords)
        for one in made
    )


def wraps_adapter(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is an adapter loaded into a model that ``get_peft_model`` has wrapped already?"""
    words = {word.arg: word.value for word in call.keywords}
    given = words.get("model", call.args[0] if call.args else None)
    if given is None or not _loads_adapter(call, names, scope):
        return False
    for made in calls_behind(given, names, scope):
        if called_name(made) in ("merge_and_unload", "unload", "get_base_model"):
            return False
        if any(
            name.startswith("peft.") and name.endswith(".get_peft_model") for name in names.resolve(made.func, scope)
        ):
            return True
    return False


def _loads_adapter(call: ast.Call, names: Names, scope: Scope) -> bool:
    return any(
        name.startswith("peft.") and name.endswith(".from_pretrained") and "PeftModel" in name
        for name in names.resolve(call.func, scope)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _loads_frozen(call: ast.Call, names: Names, scope: Scope) -> bool:
    if not _loads_adapter(call, names, scope) or any(word.arg is None for word in call.keywords):
        return False
    told = [word.value for word in call.keywords if word.arg == "is_trainable"]
    return all(isinstance(value, ast.Constant) and value.value is False for value in told)
