"""Programs that clear the gradients of DeepSpeed's engine themselves, which it does in its step as a rule."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import names_beside


def clears_gradients(call: ast.Call, names: Names) -> bool:
    """Is ``zero_grad`` called on what ``deepspeed.initialize`` gets or gives, in the file where it is called?"""
    held = names_beside(call, names.nodes(ast.Assign))
    own = {name.id for one in held for name in ast.walk(one) if isinstance(name, ast.Name)}
    return any(
        node.attr == "zero_grad" and isinstance(node.value, ast.Name) and node.value.id in own
        for node in names.nodes(ast.Attribute)
    )
