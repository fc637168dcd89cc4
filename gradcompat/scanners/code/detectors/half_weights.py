"""Programs that make the weights of a model float16 after they have loaded it."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.models import makes_model
from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import calls_behind

_HALVES = (("torch.float16",), ("torch.half",))


def made_half(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``AutoModelForCausalLM.from_pretrained("gpt2").half()``, ``model.to(torch.float16)``."""
    match call:
        case ast.Call(func=ast.Attribute(attr="half", value=model), args=[], keywords=[]):
            pass
        case ast.Call(func=ast.Attribute(attr="to", value=model)):
            given = (*call.args, *(word.value for word in call.keywords))
            if not any(names.resolve(one, scope) in _HALVES for one in given):
                return False
        case _:
            return False
    return any(
        makes_model(name) for made in calls_behind(model, names, scope) for name in names.resolve(made.func, scope)
    )
