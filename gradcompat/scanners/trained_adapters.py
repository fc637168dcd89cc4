"""What became of the adapter of the model that a trainer gets: it was loaded to be used alone, or merged into it.

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
    given = next((word.value for word in call.keywords if word.arg == "model"), call.args[0] if call.args else None)
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
    given = next((word.value for word in call.keywords if word.arg == "model"), call.args[0] if call.args else None)
    made = () if given is None else calls_behind(given, names, scope)
    telling = [one for one in made if called_name(one) in _MERGING | _ADAPTING]
    return bool(telling) and called_name(max(telling, key=lambda one: one.end_lineno or 0)) in _MERGING


def _loads_frozen(call: ast.Call, names: Names, scope: Scope) -> bool:
    of_peft = any(
        name.startswith("peft.") and name.endswith(".from_pretrained") and "PeftModel" in name
        for name in names.resolve(call.func, scope)
    )
    if not of_peft or any(word.arg is None for word in call.keywords):
        return False
    told = [word.value for word in call.keywords if word.arg == "is_trainable"]
    return all(isinstance(value, ast.Constant) and value.value is False for value in told)
