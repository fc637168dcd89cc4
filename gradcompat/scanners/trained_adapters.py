"""What became of the adapter of the model that a trainer gets: loaded frozen, trained further, or merged into it.

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

_MERGING = frozenset({"merge_and_unload", "unload"})
_ADAPTING = frozenset({"get_peft_model", "prepare_model_for_kbit_training", "PeftModel", "add_adapter"})


def gets_frozen_adapter(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is a trainer made for an adapter of PEFT that was loaded frozen, as far as the program shows it?"""
    given = _model_of(call)
    if given is None:
        return False
    frozen = False
    for made in calls_behind(given, names, scope):
        if called_name(made) in _FREEING:
            return False
        frozen = frozen or _loads_frozen(made, names, scope)
    return frozen


def gets_merged_model(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is a trainer made for a model that an adapter was merged into, and no other put on since?"""
    given = _model_of(call)
    made = () if given is None else calls_behind(given, names, scope)
    telling = [one for one in made if called_name(one) in _MERGING | _ADAPTING]
    return bool(telling) and called_name(max(telling, key=lambda one: one.end_lineno or 0)) in _MERGING


def goes_on_alone(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is a trainer made for an adapter that was trained before, and given neither a reference nor a new adapter?"""
    words = {word.arg: word.value for word in call.keywords}
    beside = [words.get("ref_model"), words.get("peft_config"), *call.args[1:2]]
    if None in words or not all(one is None or _is_none(one) for one in beside):
        return False
    given = _model_of(call)
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
    given = _model_of(call)
    if given is None or not _loads_adapter(call, names, scope):
        return False
    for made in calls_behind(given, names, scope):
        if called_name(made) in _MERGING | {"get_base_model"}:
            return False
        if any(
            name.startswith("peft.") and name.endswith(".get_peft_model") for name in names.resolve(made.func, scope)
        ):
            return True
    return False


def _model_of(call: ast.Call) -> ast.expr | None:
    return next((word.value for word in call.keywords if word.arg == "model"), call.args[0] if call.args else None)


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
