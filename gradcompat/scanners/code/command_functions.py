"""Functions whose parameters are the options of a command line: those of typer, click, Fire, tyro and jsonargparse."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.names import UNKNOWN, Names, Scope
from gradcompat.scanners.code.option_defaults import Option
from gradcompat.scanners.code.syntax import defaults_of

# What makes a command of the function below it.
_DECORATORS = frozenset({"typer.Typer.command", "typer.Typer.callback", "click.command"})
# What makes one of the function that it is given.
_CALLERS = frozenset({"fire.Fire", "typer.run", "tyro.cli", "jsonargparse.CLI", "jsonargparse.auto_cli", "defopt.run"})
ROOTS = frozenset(name.partition(".")[0] for name in _DECORATORS | _CALLERS)
_TYPERS = frozenset({"typer.Option", "typer.Argument"})
_CLICKS = "click.option"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_command(function: Function, names: Names, scope: Scope) -> bool:
    """Do its decorators make a command of it?"""
    return any(_called(one, names, scope) in _DECORATORS for one in function.decorator_list)


def commanded(call: ast.Call, names: Names, scope: Scope) -> Function | None:
    """The function of this module that ``fire.Fire(train)`` makes a command of."""
    if not call.args or _called(call, names, scope) not in _CALLERS:
        return None
    defined = names.definition(call.args[0], scope)
    return defined[1] if defined is not None and defined[0] is names and isinstance(defined[1], Function) else None


def parameters(function: Function, names: Names, scope: Scope) -> dict[str, Option]:
    """The options that a command has, by the parameters that have their values."""
    found = {option.name: option for option in _of_click(function, names, scope)}
    for name, value in defaults_of(function.args).items():
        option = _option(name, value, names, scope)
        if option is not None:
            found.setdefault(name, option)
    return found


def _called(node: ast.expr, names: Names, scope: Scope) -> str:
    resolved = names.resolve(node.func if isinstance(node, ast.Call) else node, scope)
    return resolved[0] if len(resolved) == 1 else ""


def _option(name: str, default: ast.expr, names: Names, scope: Scope) -> Option | None:
    """``steps: int = 8``, ``steps: int = typer.Option(8, "--steps")``."""
    flags: list[str] = []
    if isinstance(default, ast.Call):
        if _called(default, names, scope) not in _TYPERS or not default.args:
            return None
        flags = [_flag(one) for one in default.args[1:] if _flag(one)]
        default = default.args[0]
    literal = names.literal(default, scope)
    if literal is UNKNOWN:
        return None
    return Option(name, tuple(flags) or (name,), literal, default, True if isinstance(literal, bool) else None)


def _of_click(function: Function, names: Names, scope: Scope) -> Iterator[Option]:
    """``@click.option("--steps", default=8)``."""
    for one in function.decorator_list:
        if not isinstance(one, ast.Call) or _called(one, names, scope) != _CLICKS:
            continue
        words = {word.arg: word.value for word in one.keywords}
        flags = [_flag(written) for written in one.args if _flag(written)]
        named = [written.value for written in one.args if isinstance(written, ast.Constant) and not _flag(written)]
        default = words.get("default")
        literal = UNKNOWN if default is None else names.literal(default, scope)
        if default is not None and literal is not UNKNOWN and flags and words.keys() <= _UNDERSTOOD:
            name = str(named[0]) if named else max(flags, key=len)
            yield Option(name, tuple(flags), literal, default, True if "is_flag" in words else None)


_UNDERSTOOD = frozenset({"default", "type", "help", "show_default", "required", "is_flag"})


def _flag(node: ast.expr) -> str:
    """``grad_accum`` of ``"--grad-accum/--no-grad-accum"``; empty for what is no option."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value.startswith("-"):
        return ""
    return node.value.partition("/")[0].lstrip("-").replace("-", "_")
