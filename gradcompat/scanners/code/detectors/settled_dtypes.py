"""Models that are made anew from a configuration, of which the program says itself in which dtype it wants them.

It gives the configuration a dtype, casts what it has made, gives the weights no memory at all, or writes the
configuration itself, so that none comes from a checkpoint.
"""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import called_name, calls_behind
from gradcompat.scanners.code.syntax import argument_of, is_on_lines_of, last_name, names_beside

SETTLED = "of_settled_dtype"
MAKERS = frozenset({"from_config", "_from_config"})
_WORDS = frozenset({"torch_dtype", "dtype"})
_CASTS = frozenset({"float", "half", "bfloat16"})
_DTYPES = frozenset(f"torch.{name}" for name in ("float32", "float", "float16", "half", "bfloat16"))


def settles_dtype(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is the dtype of a model that ``from_config(config)`` makes the program's own choice?"""
    config = argument_of(call, "config", 0)
    return (
        any(map(_sets_dtype, names.stores))
        or (config is not None and _is_chosen(config, names, scope))
        or _is_cast(call, names, scope)
        or any(_is_empty(block, names, scope) and is_on_lines_of(call, block) for block in names.nodes(ast.With))
    )


def _sets_dtype(node: ast.AST) -> bool:
    """``config.torch_dtype = torch.float32``."""
    match node:
        case ast.Attribute(attr="torch_dtype"):
            return True
        case ast.Attribute(attr="dtype", value=owner):
            return last_name(owner) not in ("self", "")
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=name), *_]):
            return name in _WORDS
    return False


def _is_chosen(config: ast.expr, names: Names, scope: Scope) -> bool:
    """Is a configuration read with a dtype, or made by its class without one?"""
    made = [one for one in calls_behind(config, names, scope) if called_name(one).startswith("from_")]
    if made:
        return any(word.arg in _WORDS for one in made for word in one.keywords)
    written = [one for one in calls_behind(config, names, scope) if called_name(one).endswith("Config")]
    return bool(written) and not any(word.arg in (None, *_WORDS) for one in written for word in one.keywords)


def _is_cast(call: ast.Call, names: Names, scope: Scope) -> bool:
    own = {one.id for one in names_beside(call, names.nodes(ast.Assign)) if isinstance(one, ast.Name)}
    return any(_casts(node, call, own, names, scope) for node in names.nodes(ast.Call))


def _casts(node: ast.Call, call: ast.Call, own: set[str], names: Names, scope: Scope) -> bool:
    match node.func:
        case ast.Attribute(value=model, attr=method) if method in _CASTS or method == "to":
            given = (*node.args, *(word.value for word in node.keywords))
            stated = any(not _DTYPES.isdisjoint(names.resolve(one, scope)) for one in given)
            if method == "to" and not stated and all(word.arg != "dtype" for word in node.keywords):
                return False
            if model is call or (isinstance(model, ast.Name) and model.id in own):
                return True
            return any(made is call for made in calls_behind(model, names, names.scope_of(node)))
    return False


def _is_empty(block: ast.With, names: Names, scope: Scope) -> bool:
    """``with init_empty_weights():``, ``with torch.device("meta"):``."""
    for item in block.items:
        match item.context_expr:
            case ast.Call(func=function) if last_name(function) in ("init_empty_weights", "init_on_device"):
                return True
            case ast.Call(func=function, args=[ast.Constant(value="meta")]):
                return "torch.device" in names.resolve(function, scope)
    return False
