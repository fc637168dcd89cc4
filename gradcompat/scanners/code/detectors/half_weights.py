"""Programs that make the weights of a model float16 or bfloat16 after they have loaded it."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.models import makes_model
from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import calls_behind

_DTYPES = {("torch.float16",): "float16", ("torch.half",): "float16", ("torch.bfloat16",): "bfloat16"}
_METHODS = {"half": "float16", "bfloat16": "bfloat16"}


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
    made = (name for one in calls_behind(model, names, scope) for name in names.resolve(one.func, scope))
    return dtype if any(map(makes_model, made)) else None
