"""Programs that clear the gradients of DeepSpeed's engine themselves, which it does in its step as a rule."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names


def clears_gradients(call: ast.Call, names: Names) -> bool:
    """Is ``zero_grad`` called on what ``deepspeed.initialize`` gets or gives, in the file where it is called?"""
    nodes = list(ast.walk(names.module.node))
    own = {given.id for given in [*call.args, *(word.value for word in call.keywords)] if isinstance(given, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Assign) and node.value is call:
            own |= {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "zero_grad"
        and isinstance(node.value, ast.Name)
        and node.value.id in own
        for node in nodes
    )
