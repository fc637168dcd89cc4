"""Parts of a model that PEFT trains as copies, by modules_to_save, and of which a program reads more than a call."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradcompat.scanners.code.names import Names

READ = "peft.modules_to_save.read"
# What the wrapper of each release hands on, or has as a module of its own.
_OWN = frozenset(
    {
        *("weight", "bias", "modules_to_save", "original_module", "parameters", "named_parameters", "requires_grad_"),
        *("to", "half", "train", "eval", "modules", "named_modules", "apply", "state_dict", "load_state_dict"),
    }
)


def saved_modules(names: Names) -> set[str]:
    """The names that ``modules_to_save=["query"]`` has in a file."""
    words = (word for call in names.nodes(ast.Call) for word in call.keywords if word.arg == "modules_to_save")
    lists = (word.value.elts for word in words if isinstance(word.value, (ast.List, ast.Tuple)))
    return {one.value for each in lists for one in each if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def read_of(saved: Iterable[str], names: Names) -> ast.Attribute | None:
    """``self.query.tokens`` in a method that runs later than the module is made."""
    made = [one for one in names.nodes(ast.FunctionDef) if one.name == "__init__" or one.name.startswith("_init")]
    early = {id(node) for one in made for node in ast.walk(one)}
    wanted = frozenset(saved)
    for node in names.nodes(ast.Attribute):
        match node:
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=part), attr=read):
                if part in wanted and read not in _OWN and id(node) not in early:
                    return node
    return None
