"""The options of a program's own command line, with their defaults: argparse's, and the fields of dataclasses.

``parser.add_argument("--steps", default=8)`` and ``HfArgumentParser(MyArguments)``, where the class derives from
transformers' TrainingArguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradcompat.scanners.code_names import UNKNOWN, Names, Scope

# What the result of `parse_args` is called where it is passed on.
_NAMESPACES = frozenset({"args", "opt", "opts", "options", "flags", "arguments"})
_PARSED = frozenset({"parse_args", "parse_known_args"})


def option_of(call: ast.Call, names: Names, scope: Scope) -> tuple[str, Any, ast.expr] | None:
    """The option that ``add_argument`` adds: its name, its default or UNKNOWN, and where that stands."""
    flags = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    long = next((flag for flag in flags if flag.startswith("--")), None)
    words = {word.arg: word.value for word in call.keywords}
    if long is None:
        return None
    dest = names.literal(words["dest"], scope) if "dest" in words else None
    name = dest if isinstance(dest, str) else long.lstrip("-").replace("-", "_")
    default = words.get("default")
    if default is not None:
        return name, names.literal(default, scope), default
    action = names.literal(words["action"], scope) if "action" in words else None
    return name, {"store_true": False, "store_false": True}.get(str(action), UNKNOWN), call


def is_option(node: ast.expr, names: Names, scope: Scope) -> str | None:
    """The name of the option that ``args.steps`` reads, if the object is what a parser has parsed."""
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            found = names.bindings(owner, scope)
            parsed = [one for one in (found[0] if found else []) if _is_parsed(one)]
            return name if parsed or (found and None in found[0] and owner in _NAMESPACES) else None
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=owner), attr=name):
            return name if owner in _NAMESPACES else None
    return None


def _is_parsed(binding: object) -> bool:
    match binding:
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in _PARSED
    return False


def fields(definition: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """The fields of a dataclass with their defaults."""
    for statement in definition.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(keywords=words)):
                for word in words:
                    if word.arg == "default":
                        yield name, word.value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
