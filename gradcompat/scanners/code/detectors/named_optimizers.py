"""Optimizers of pytorch-optimizer that a program asks for by a name: ``load_optimizer("adasmooth")``."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import argument_of
from gradcompat.startup.lazy_patterns import lazy_pattern

_ASKED = lazy_pattern(r"pytorch_optimizer\.(?:\w+\.)*(load_optimizer|create_optimizer)")
_PLACE = {"load_optimizer": (0, "optimizer"), "create_optimizer": (1, "optimizer_name")}
# The classes that a defect is known of; the name of each is its own in lower case.
_CLASSES = {
    name.lower(): name
    for name in (
        *("A2Grad", "AdaBelief", "AdaSmooth", "AdamG", "AdamS", "Alice", "DiffGrad", "FlashAdamW", "Grams", "LARS"),
        *("MSVAG", "NovoGrad", "QHAdam", "SPAM", "ScheduleFreeAdamW", "ScheduleFreeRAdam", "ScheduleFreeSGD"),
        *("Shampoo", "SignSGD", "StableAdamW"),
    )
}


def made_by_name(call: ast.Call, names: Names, scope: Scope) -> tuple[tuple[str, ...], ast.Call] | None:
    """The class that a call makes which was asked for by its name, and the call with what the class is given.

    ``load_optimizer("lars")(params, momentum=0)``, also by way of a variable, and ``create_optimizer(model, "lars")``.

    Args:
        call: the call.
        names: those of the program.
        scope: where the call stands.
    """
    loaded: ast.AST | None = call.func
    if isinstance(loaded, ast.Name):
        bound = names.bound_once(loaded.id, scope)
        loaded = None if bound is None else bound[0]
    if isinstance(loaded, ast.Call):
        for name in names.resolve(loaded.func, scope):
            named = named_optimizer(name, loaded, names, scope) if name.endswith("load_optimizer") else None
            if named is not None:
                return (named,), call
    for name in names.resolve(call.func, scope):
        named = named_optimizer(name, call, names, scope) if name.endswith("create_optimizer") else None
        if named is not None:
            given = [one for one in call.keywords if one.arg not in ("optimizer_name", "weight_decay")]
            decay = argument_of(call, "weight_decay", 3) or ast.Constant(0.0)  # its own default, whatever the class has
            return (named,), ast.Call(call.func, [], [*given, ast.keyword("weight_decay", decay)])
    return None


def named_optimizer(called: str, call: ast.Call, names: Names, scope: Scope) -> str | None:
    """The class that a call of one of these functions makes or returns, in full.

    Args:
        called: the function, by its full name.
        call: what it is given.
        names: those of the program.
        scope: where the call stands.
    """
    function = _ASKED.fullmatch(called)
    if function is None:
        return None
    index, word = _PLACE[function.group(1)]
    given = argument_of(call, word)
    if given is None and len(call.args) > index:
        given = call.args[index]
    name = names.literal(given, scope)
    known = _CLASSES.get(name.lower()) if isinstance(name, str) else None
    return None if known is None else f"pytorch_optimizer.{known}"
