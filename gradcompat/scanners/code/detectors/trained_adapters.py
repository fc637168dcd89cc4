"""What became of the adapter of the model that a trainer gets: loaded frozen, trained further, or merged into it.

``PeftModel.from_pretrained(base, folder)`` freezes the adapter unless it is told ``is_trainable=True``.
"""

from __future__ import annotations

import ast

from gradcompat.scanners.code.arguments import unpacked
from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import called_name, calls_behind
from gradcompat.scanners.code.syntax import argument_of, is_on_lines_of
from gradcompat.scanners.configs.adapter_folders import is_below, is_of_stage

# What makes a plain model of it, or what else may thaw it.
_FREEING = frozenset(
    {"merge_and_unload", "unload", "get_peft_model", "prepare_model_for_kbit_training", "get_base_model"}
)

_MERGING = frozenset({"merge_and_unload", "unload"})
_ADAPTING = frozenset({"get_peft_model", "prepare_model_for_kbit_training", "PeftModel", "add_adapter"})


def gets_frozen_adapter(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is a trainer made for an adapter of PEFT that was loaded frozen, as far as the program shows it?"""
    given = _model_of(call, names, scope)
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
    given = _model_of(call, names, scope)
    return given is not None and _is_merged(given, names, scope)


def optimizes_merged_model(call: ast.Call, names: Names, scope: Scope) -> bool | None:
    """Does an optimizer get the parameters of such a model? None where it is not seen whose they are."""
    given = argument_of(call, "params", 0)
    for node in ast.walk(given) if given is not None else ():
        match node:
            case ast.Call(func=ast.Attribute(value=model, attr="parameters" | "named_parameters")):
                return _is_merged(model, names, scope)
    return None


def _is_merged(model: ast.expr, names: Names, scope: Scope) -> bool:
    """The last thing that became of it is that an adapter was merged into it."""
    made = (called_name(one) for one in calls_behind(model, names, scope))
    return next((name for name in made if name in _MERGING | _ADAPTING), "") in _MERGING


def goes_on_alone(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is a trainer made for an adapter that was trained before, and given neither a reference nor a new adapter?

    What goes on with an adapter of its own, as after an interruption, wants the model without it as reference.
    """
    words = {word.arg: word.value for word in call.keywords}
    beside = [words.get("ref_model"), words.get("peft_config"), *call.args[1:2]]
    if None in words or not all(one is None or _is_none(one) for one in beside):
        return False
    given = _model_of(call, names, scope)
    made = list(calls_behind(given, names, scope)) if given is not None else []
    if any(called_name(one) in _FREEING for one in made):
        return False
    loads = [
        one
        for one in made
        if _loads_adapter(one, names, scope)
        and any(word.arg == "is_trainable" and not _is_off(word.value, names) for word in one.keywords)
    ]
    return bool(loads) and not any(_is_own(one, call, names, scope) for one in loads)


def _is_own(load: ast.Call, trainer: ast.Call, names: Names, scope: Scope) -> bool:
    """Does the adapter come from the stage that the trainer is for: from its own folder, or from one of that name?"""
    words = {word.arg: word.value for word in load.keywords}
    of_base = all("AutoPeft" not in name for name in names.resolve(load.func, scope))
    where = words.get("model_id" if of_base else "pretrained_model_name_or_path")
    where = where or next(iter(load.args[1:2] if of_base else load.args[:1]), None)
    if where is None:
        return False
    if any(isinstance(one, ast.Attribute) and one.attr == "output_dir" for one in ast.walk(where)):
        return True
    path = names.literal(where, scope)
    if not isinstance(path, str):
        return False
    stages = [name.rpartition(".")[2].removesuffix("Trainer").lower() for name in names.resolve(trainer.func, scope)]
    if any(is_of_stage(path, stage) for stage in stages):
        return True
    told = next((word.value for word in trainer.keywords if word.arg == "args"), None)
    for made in calls_behind(told, names, scope) if told is not None else ():
        given = next((word.value for word in made.keywords if word.arg == "output_dir"), next(iter(made.args), None))
        folder = names.literal(given, scope) if given is not None else None
        if isinstance(folder, str) and is_below(path, folder):
            return True
    return False


def wraps_adapter(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is an adapter loaded into a model that ``get_peft_model`` has wrapped already?"""
    given = _model_of(call, names, scope)
    if given is None or not _loads_adapter(call, names, scope):
        return False
    for made in calls_behind(given, names, scope):
        if called_name(made) in _MERGING | {"get_base_model"}:
            return False
        if any(
            name.startswith("peft.") and name.endswith(".get_peft_model") for name in names.resolve(made.func, scope)
        ):
            return not _is_left_behind(made, call, names)
    return False


def _is_left_behind(made: ast.Call, call: ast.Call, names: Names) -> bool:
    """Does the branch that makes something end the function, so that what comes behind it never has it?"""
    blocks = [block for choice in names.nodes(ast.If) for block in (choice.body, choice.orelse) if block]
    return any(
        isinstance(block[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
        and any(is_on_lines_of(made, statement) for statement in block)
        and not any(is_on_lines_of(call, statement) for statement in block)
        for block in blocks
    )


def _model_of(call: ast.Call, names: Names, scope: Scope) -> ast.expr | None:
    return argument_of(unpacked(call, names, scope), "model", 0)


def _loads_adapter(call: ast.Call, names: Names, scope: Scope) -> bool:
    return any(
        name.startswith("peft.") and name.endswith(".from_pretrained") and "PeftModel" in name
        for name in names.resolve(call.func, scope)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_off(node: ast.expr, names: Names) -> bool:
    """Is it surely off? Who computes it has the adapter trained in some runs."""
    return names.literal(node, names.scope_of(node)) in (False, None)


def _loads_frozen(call: ast.Call, names: Names, scope: Scope) -> bool:
    if not _loads_adapter(call, names, scope) or any(word.arg is None for word in call.keywords):
        return False
    told = [word.value for word in call.keywords if word.arg == "is_trainable"] + call.args[3:4]
    return all(isinstance(value, ast.Constant) and value.value is False for value in told)
