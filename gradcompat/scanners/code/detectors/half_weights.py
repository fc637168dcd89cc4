"""Programs that make the weights of a model float16 or bfloat16 after they have loaded or made it."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.models import makes_model
from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import calls_behind
from gradcompat.scanners.code.regions import start

_DTYPES = {("torch.float16",): "float16", ("torch.half",): "float16", ("torch.bfloat16",): "bfloat16"}
_METHODS = {"half": "float16", "bfloat16": "bfloat16"}
_MODULES = frozenset({"torch.nn.Module", "torch.nn.modules.module.Module", "torch.nn.Sequential", "torch.nn.Linear"})
_ZOOS = ("torchvision.models.", "timm.create_model")


def made_half(call: ast.Call, names: Names, scope: Scope) -> str | None:
    """The dtype of ``AutoModelForCausalLM.from_pretrained("gpt2").half()`` or ``model.to(torch.bfloat16)``."""
    match call:
        case ast.Call(func=ast.Attribute(attr=("half" | "bfloat16") as method, value=model), args=[], keywords=[]):
            dtype: str | None = _METHODS[method]
        case ast.Call(func=ast.Attribute(attr="to", value=model)):
            given = (*call.args, *(word.value for word in call.keywords))
            dtype = next((_DTYPES[name] for one in given if (name := names.resolve(one, scope)) in _DTYPES), None)
        case _:
            return None
    if dtype is None:
        return None
    behind = list(calls_behind(model, names, scope))
    made = (name for one in behind for name in names.resolve(one.func, scope))
    if any(map(makes_model, made)):
        return dtype
    modules = [one for one in behind if _makes_module(one, names, scope)]
    return dtype if any(_is_trained(call, one, names) for one in modules) else None


def _makes_module(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Does it make ``nn.Sequential(…)``, ``resnet18(…)`` of torchvision, or a module of the program?"""
    called = {*names.resolve(call.func, scope), *names.bases(call.func, scope)}
    return not called.isdisjoint(_MODULES) or any(name.startswith(_ZOOS) for name in called)


def _is_trained(halved: ast.Call, module: ast.Call, names: Names) -> bool:
    """Does an accelerator or an optimizer get that module afterwards? Others may be frozen parts of what is trained."""
    for node in names.nodes(ast.Call):
        if start(halved) >= start(node):
            continue
        within = names.scope_of(node)
        match node:
            case ast.Call(func=ast.Attribute(attr="prepare", value=owner), args=args) if (
                "accelerate.Accelerator" in names.type_of(owner, within)
            ):
                trained: list[ast.expr] = args
            case ast.Call(args=[ast.Call(func=ast.Attribute(attr="parameters", value=owner), args=[]), *_]) if any(
                name.startswith("torch.optim.") for name in names.resolve(node.func, within)
            ):
                trained = [owner]
            case _:
                continue
        behind = (one for given in trained for one in calls_behind(given, names, within))
        if any(one is halved or one is module for one in behind):
            return True
    return False
