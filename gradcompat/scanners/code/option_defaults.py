"""The options of a program's own command line, with their defaults: argparse's, and the fields of dataclasses.

``parser.add_argument("--steps", default=8)``, ``tyro.cli(MyArguments)``, and ``HfArgumentParser(MyArguments)``, where
the class derives from transformers' TrainingArguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from gradcompat.model.context import OptionDefault, variable_flag
from gradcompat.model.environment import Setting
from gradcompat.scanners.code.names import CONVERTING, PARSING, UNKNOWN, Names, Scope, converted
from gradcompat.startup.lazy_dataclasses import dataclass, replace

# What the result of `parse_args` is called where it is passed on.
_NAMESPACES = frozenset({"args", "opt", "opts", "options", "flags", "arguments"})
# What fills a dataclass from the command line and returns it.
CLIS = frozenset({"tyro.cli", "simple_parsing.parse", "pyrallis.parse", "draccus.parse"})
_DEEPEST = 8  # of dataclasses that derive from one another
_GETTING = frozenset({"os.environ.get", "os.getenv"})
_ENVIRON = "os.environ"
_SWITCHES = {"store_true": True, "store_false": False}


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a program's own command line, or a variable of the environment that it reads.

    Attributes:
        name: the attribute of the parsed options that has its value.
        flags: its names on the command line, with underscores and without dashes.
        default: its default, or UNKNOWN.
        node: where the default stands.
        switched: what the bare option means; None where it takes a value.
        names: those of the module that has the default, if it is another one.
        assigned: it is a name of the module, which files of assignments set, too.
    """

    name: str
    flags: tuple[str, ...]
    default: Any
    node: ast.expr
    switched: bool | None = None
    names: Names | None = None
    assigned: bool = False

    def for_argument(
        self, argument: str, tool: str, stated: tuple[Setting, ...], default: tuple[Setting, ...]
    ) -> OptionDefault:
        """What it means for an argument that it gives.

        Args:
            argument: the name of the argument.
            tool: what that is given to, by its full name; empty for a method.
            stated: the settings that the argument makes, without their values.
            default: these settings where no command line has the option.
        """
        return OptionDefault(
            flags=self.flags,
            tool=tool,
            argument=argument,
            stated=stated,
            default=default,
            switched=self.switched,
            assigned=self.assigned,
        )


def option_of(call: ast.Call, names: Names, scope: Scope) -> Option | None:
    """The option that ``add_argument`` adds; None for a positional argument."""
    written = [
        argument.value
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    long = next((flag for flag in written if flag.startswith("--")), None)
    words = {word.arg: word.value for word in call.keywords}
    if long is None:
        return None
    flags = tuple(flag.lstrip("-").replace("-", "_") for flag in written)
    dest = names.literal(words["dest"], scope) if "dest" in words else None
    name = dest if isinstance(dest, str) else long.lstrip("-").replace("-", "_")
    action = names.literal(words["action"], scope) if "action" in words else None
    switched = _SWITCHES.get(str(action))
    if isinstance(words.get("action"), ast.Attribute):  # argparse.BooleanOptionalAction
        switched = True
    given = words.get("default")
    if given is not None:
        return Option(name, flags, names.literal(given, scope), given, switched)
    plain = "action" not in words and "required" not in words
    default = (not switched) if str(action) in _SWITCHES else None if plain else UNKNOWN
    return Option(name, flags, default, call, switched)


def option_behind(node: ast.expr, names: Names, scope: Scope, *options: Mapping[str, Option]) -> Option | None:
    """The option that gives an expression its value, by the command line's own names or by those of a parser.

    Args:
        node: the expression.
        names: those of the module.
        scope: the names that hold there.
        options: those of parsers, by the attribute that has their value.
    """
    named = named_option(node, names, scope)
    name = is_option(node, names, scope) if named is None else None
    return named if name is None else next((known[name] for known in options if name in known), None)


def named_option(node: ast.expr, names: Names, scope: Scope) -> Option | None:
    """A name that the command line sets: a parameter of a command, or a name of the module by a configurator.

    ``exec(open("configurator.py").read())`` lets it set ``steps`` of ``steps = 5 * 8``.
    """
    if not isinstance(node, ast.Name) or not (names.rewritten or names.commands):
        return None
    bound = names.bindings(node.id, scope)
    if bound is None or len(bound[0]) != 1:
        return None
    value = bound[0][0]
    if value is None:
        option = names.commands.get(bound[1].node, {}).get(node.id)
        return option if isinstance(option, Option) else None
    if not names.rewritten or bound[1] is not names.module:
        return None
    default = names.literal(value, scope) if isinstance(value, (ast.Constant, ast.BinOp, ast.UnaryOp)) else UNKNOWN
    if not isinstance(value, ast.expr) or not isinstance(default, (bool, int, float, str)):
        return None
    return Option(node.id, (node.id,), default, value, assigned=True)


def variable_option(node: ast.expr, names: Names, scope: Scope, depth: int = 0) -> Option | None:
    """A variable of the environment as an option: ``int(os.environ.get("STEPS", "8"))``, or a name of that value."""
    if depth >= _DEEPEST:
        return None
    match node:
        case ast.Call(func=ast.Name(id=function), args=[inner], keywords=[]) if function in CONVERTING:
            option = variable_option(inner, names, scope, depth + 1)
            return None if option is None else replace(option, default=converted(function, [option.default]))
        case ast.Call(func=called, args=[ast.Constant(value=str(name)), *rest]) if _GETTING.intersection(
            names.resolve(called, scope)
        ):
            default = rest[0] if rest else next((word.value for word in node.keywords if word.arg == "default"), None)
            return _variable(name, default or node, names, scope)
        case ast.Subscript(value=environ, slice=ast.Constant(value=str(name))) if _ENVIRON in names.resolve(
            environ, scope
        ):
            return _variable(name, node, names, scope)
        case ast.BoolOp(op=ast.Or(), values=[first, last]):
            option = variable_option(first, names, scope, depth + 1)
            return None if option is None else _variable(option.name, last, names, scope)
        case ast.Name(id=alias) if (bound := names.bound_once(alias, scope)) is not None:
            return variable_option(bound[0], names, bound[1], depth + 1)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            source = names.source_of(node, scope)
            return None if source is None else variable_option(source.node, source.names, source.scope, depth + 1)
    return None


def _variable(name: str, default: ast.expr, names: Names, scope: Scope) -> Option:
    return Option(name, (variable_flag(name),), names.literal(default, scope), default, names=names)


def is_option(node: ast.expr, names: Names, scope: Scope, depth: int = 0) -> str | None:
    """The name of the option that ``args.steps`` reads, if the object is what a parser has parsed.

    A name that is bound once to such an expression reads it as well, ``steps = int(args.steps)``, and so does a
    parameter that gets one, and what a constructor alone sets, ``self.moe = args.moe``.
    """
    if depth >= _DEEPEST:
        return None
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            found = names.bindings(owner, scope)
            if found is None:
                return None
            passed_on = None in found[0] and (
                _is_called_options(owner) or owner in found[1].parsed or _is_of_dataclass(owner, names, found[1])
            )
            if passed_on or any(_is_parsed(one, names, found[1]) for one in found[0]):
                return name
            kept = names.source_of(node, scope) if owner == "self" else None
            if kept is not None:
                return is_option(kept.node, kept.names, kept.scope, depth + 1)
            source = names.source_of(node.value, scope) if found[0] == [None] else None
            return name if source is not None and _is_parsed(source.node, source.names, source.scope) else None
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=owner), attr=name):
            return name if owner in _NAMESPACES else None
        case ast.Attribute(value=ast.Call() as parsed, attr=name):
            return name if _is_parsed(parsed, names, scope) else None
        case ast.Subscript(value=ast.Name() as owner, slice=ast.Constant(value=str(name))):
            return name if _is_parsed(owner, names, scope) else None
        case ast.Call(func=ast.Name(id="int" | "float" | "str"), args=[inner], keywords=[]):
            return is_option(inner, names, scope, depth + 1)
        case ast.Name(id=alias):
            bound = names.bound_once(alias, scope)
            if bound is not None:
                return is_option(bound[0], names, bound[1], depth + 1)
            source = names.source_of(node, scope)  # `train(args.steps)` gives the parameter
            return None if source is None else is_option(source.node, source.names, source.scope, depth + 1)
    return None


def _is_of_dataclass(name: str, names: Names, scope: Scope) -> bool:
    """Is it a parameter that takes a dataclass of the project: ``def main(config: Config)``?"""
    if not isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    given = scope.node.args
    kind = next((one.annotation for one in (*given.args, *given.kwonlyargs) if one.arg == name), None)
    defined = None if kind is None or scope.parent is None else names.definition(kind, scope.parent)
    if defined is None or not isinstance(defined[1], ast.ClassDef):
        return False
    written = (one.func if isinstance(one, ast.Call) else one for one in defined[1].decorator_list)
    return any(defined[0].resolve(one, defined[2]) == ("dataclasses.dataclass",) for one in written)


def _is_called_options(name: str) -> bool:
    """Is that what parsed options are called? `training_args` is what the Trainer takes."""
    return name in _NAMESPACES or (name.endswith("_args") and name != "training_args")


def _is_parsed(binding: object, names: Names, scope: Scope, depth: int = 0) -> bool:
    """Is it what a parser returns, or what a function of the project does that returns it?"""
    match binding:
        case ast.Call(func=ast.Attribute(attr=method)) if method in PARSING:
            return True
        case ast.Subscript(value=inner) | ast.Call(func=ast.Name(id="vars"), args=[inner], keywords=[]):
            return _is_parsed(inner, names, scope, depth)
        case ast.Name(id=name) if depth < _DEEPEST:
            bound = names.bound_once(name, scope)
            return bound is not None and _is_parsed(bound[0], names, bound[1], depth + 1)
        case ast.Call(func=called) if not CLIS.isdisjoint(names.resolve(called, scope)):
            return True
        case ast.Call(func=ast.Name() as called) if depth < _DEEPEST:
            defined = names.definition(called, scope)
            return defined is not None and _returns_parsed(defined[1], defined[0], depth + 1)
    return False


def _returns_parsed(function: ast.AST, names: Names, depth: int) -> bool:
    inner = names.scopes.get(function)
    if inner is None or isinstance(function, ast.ClassDef):
        return False
    if function not in names.parses:
        names.parses[function] = False  # one that returns what it returns itself parses nothing
        names.parses[function] = _is_any_parsed(function, names, inner, depth)
    return names.parses[function]


def _is_any_parsed(function: ast.AST, names: Names, inner: Scope, depth: int) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            bound = names.bindings(node.value.id, inner) if isinstance(node.value, ast.Name) else None
            values = [node.value] if bound is None else bound[0]
            if any(_is_parsed(value, names, inner, depth) for value in values):
                return True
    return False


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a dataclass.

    Attributes:
        name: the field.
        default: what it is where no option gives it; None where an option has to.
        node: where it stands.
        names: the names of the module that defines it.
        scope: the scope in which its class stands.
    """

    name: str
    default: ast.expr | None
    node: ast.expr
    names: Names
    scope: Scope


def fields(definition: ast.ClassDef, names: Names, scope: Scope) -> list[Field]:
    """The fields of a dataclass with their defaults, and those of the project's own classes that it derives from."""
    found: dict[str, Field] = {}
    waiting = [(definition, names, scope, 0)]
    while waiting:
        one, owner, within, depth = waiting.pop(0)
        for name, default, node in _own_fields(one):
            found.setdefault(name, Field(name, default, node, owner, within))
        for base in one.bases if depth < _DEEPEST else ():
            defined = owner.definition(base, within)
            if defined is not None and isinstance(defined[1], ast.ClassDef):
                waiting.append((defined[1], defined[0], defined[2], depth + 1))
    return list(found.values())


def _own_fields(definition: ast.ClassDef) -> Iterator[tuple[str, ast.expr | None, ast.expr]]:
    for statement in definition.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name) as target, value=ast.Call(keywords=words)):
                default = next((word.value for word in words if word.arg == "default"), None)
                if default is not None or all(word.arg != "default_factory" for word in words):
                    yield name, default, default or target
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value, value
            case ast.AnnAssign(target=ast.Name(id=name) as target, value=None):
                yield name, None, target
