"""The arguments of calls: their values as far as they are literal, the place of each, and what they say."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from gradcompat.model.environment import Location, Setting, Skipped
from gradcompat.quotation import quoted
from gradcompat.scanners.code.calls import Known, known
from gradcompat.scanners.code.configuration_objects import source_of
from gradcompat.scanners.code.names import UNKNOWN, Names, Scope
from gradcompat.scanners.configs.training_arguments import expanded, settled
from gradcompat.scanners.key_mapping import fed
from gradcompat.startup.lazy_dataclasses import dataclass

# Where a node stands in the file.
Place = Callable[[ast.AST], Location]

_LONGEST = 1000
_MOST = 1000
_DEEPEST = 4
# What is on where a list is given.
_COLLECTED = frozenset({"peft.trainable_tokens", "peft.modules_to_save", "peft.target_parameters"})


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call.

    Attributes:
        name: with dots for what is inside of a mapping: ``gradient_checkpointing_kwargs.use_reentrant``.
        value: its value, or UNKNOWN.
        node: where the value stands: for ``gradient_accumulation_steps=GA`` in the line of ``GA = 8``.
        spelling: that line with ``{}`` for the value.
        given: what is written in the call.
    """

    name: str
    value: Any
    node: ast.expr
    spelling: str | None
    given: ast.expr


def arguments(
    call: ast.Call, names: Names, scope: Scope, positional: tuple[str, ...] = ()
) -> tuple[list[Argument], list[ast.expr]]:
    """The arguments of a call, and those of ``**options`` that are put together elsewhere."""
    found: list[Argument] = []
    unread: list[ast.expr] = []
    if len(call.keywords) > _MOST:
        return [], [call.func]
    if not any(isinstance(expression, ast.Starred) for expression in call.args):
        for name, value in zip(positional, call.args, strict=False):
            found += argument(name, value, names, scope, None)
    for keyword in call.keywords:
        if keyword.arg is not None:
            found += argument(keyword.arg, keyword.value, names, scope, f"{keyword.arg}={{}}")
            continue
        inside = pairs(keyword.value, names, scope)
        if inside is None:
            unread.append(keyword.value)
        for name, value, spelling in inside or []:
            found += argument(name, value, names, scope, spelling)
    return found, unread


def argument(
    name: str, node: ast.expr, names: Names, scope: Scope, spelling: str | None, depth: int = 0
) -> Iterator[Argument]:
    """An argument, and what is inside of it if it is a mapping."""
    value = names.literal(node, scope)
    at: ast.expr = node
    if value is not UNKNOWN:
        at, spelling = _origin(node, names, scope, spelling)
    # Of a mapping in a mapping only what is written there: names could multiply without end.
    followed = depth < _DEEPEST and (depth == 0 or not isinstance(node, ast.Name))
    inside = pairs(node, names, scope) if followed else None
    if inside is not None and value is UNKNOWN:
        value = {}  # of what is not literal in it, its own arguments say so
    yield Argument(name, value, at, spelling, node)
    for key, inner, written in inside or []:
        yield from argument(f"{name}.{key}", inner, names, scope, written, depth + 1)


def _origin(node: ast.expr, names: Names, scope: Scope, spelling: str | None) -> tuple[ast.expr, str | None]:
    """Where in the file a value is written, and how: ``GA = 8`` above ``gradient_accumulation_steps=GA``."""
    at, within, written = node, scope, spelling
    for _ in range(_DEEPEST):
        if isinstance(at, (ast.Constant, ast.UnaryOp, ast.BinOp)):
            return at, written
        if isinstance(at, ast.Name):
            found = names.bindings(at.id, within)
            only = found[0][0] if found and len(found[0]) == 1 else None
            if found and isinstance(only, ast.expr):
                name = at.id
                at, within, written = only, found[1], f"{name} = {{}}"
                continue
        source = source_of(at, names, within)
        if source is None or source.names is not names:
            break
        at, within, written = source.node, source.scope, source.spelling
    return node, spelling


def pairs(node: ast.expr, names: Names, scope: Scope) -> list[tuple[str, ast.expr, str]] | None:
    """The keys of a mapping that is written out, ``{…}`` or ``dict(…)``, where it is or where it is bound.

    One that is bound may be filled by statements: ``options["precision"] = "bf16-mixed"``.
    """
    if isinstance(node, ast.Name):
        found = names.bindings(node.id, scope)
        only = found[0][0] if found and len(found[0]) == 1 else None
        if found is None or not isinstance(only, (ast.Dict, ast.Call)):
            return None
        written, filled = _written(only), _filled(node, found[1])
        if written is None or filled is None:
            return None
        return list({key: (key, value, spelling) for key, value, spelling in (*written, *filled)}.values())
    return _written(node)


def _filled(name: ast.Name, scope: Scope) -> list[tuple[str, ast.expr, str]] | None:
    """What statements put into a mapping before it is used; None where a key is not written out."""
    put = [(key, value) for key, value in scope.filled.get(name.id, ())[:_MOST] if value.lineno <= name.lineno]
    always = {id(part) for part in _always(scope.node)} if put else frozenset()
    filled: list[tuple[str, ast.expr, str]] = []
    for key, value in put:
        if key is None:
            return None
        filled.append((key, value if id(value) in always else _sometimes(value), f'{name.id}["{key}"] = {{}}'))
    return filled


def _always(node: ast.AST) -> Iterator[ast.AST]:
    """What the statements of a function or module have in them that no branch, loop or inner function holds."""
    for statement in getattr(node, "body", ()):
        if isinstance(statement, ast.With):
            yield from _always(statement)
        elif isinstance(statement, ast.Assign | ast.Expr):
            yield from ast.walk(statement)


def _sometimes(value: ast.expr) -> ast.expr:
    """A value that is there or not, which no reader takes for a literal."""
    unread = ast.Constant(value=...)
    return ast.copy_location(ast.IfExp(test=unread, body=value, orelse=unread), value)


def is_sometimes(value: ast.expr) -> bool:
    """Is it the value of a key that a mapping has or has not?"""
    return isinstance(value, ast.IfExp) and isinstance(value.test, ast.Constant) and value.test.value is ...


def _written(node: ast.expr) -> list[tuple[str, ast.expr, str]] | None:
    match node:
        case ast.Dict(keys=keys, values=values) if len(keys) <= _MOST:
            written = [
                (key.value, value, f'"{key.value}": {{}}')
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            ]
            return written if len(written) == len(keys) else None
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=words):
            if all(word.arg is not None for word in words):
                return [(word.arg or "", word.value, f"{word.arg}={{}}") for word in words]
    return None


def said(
    one: Known, given: list[Argument], names: Names, scope: Scope, place: Place, *, branch: bool
) -> tuple[list[Setting], list[Skipped]]:
    """What the arguments of one call say, in a branch only that they say something."""
    named: list[tuple[str, Setting]] = []
    skipped: list[Skipped] = []
    for single in given:
        value = single.value
        if single.name == "val_check_interval" and isinstance(value, (int, float)):
            # a number of batches, or a part of the epoch
            value = "end" if isinstance(value, float) and value >= 1 else "inside"
        location = place(single.node)
        if value is UNKNOWN or branch or (isinstance(value, str) and len(value) > _LONGEST):
            if value is UNKNOWN and any(known(kind) for kind in names.type_of(single.given, scope)):
                continue  # an object that speaks for itself: `strategy=DDPStrategy()`
            listed = value is UNKNOWN and not branch and _is_collected(single.given, names, scope)
            if on := [key for key in keys_of(one, single.name) if listed and key in _COLLECTED]:
                named += [(single.name, Setting(key=key, value=True, location=location)) for key in on]
                continue
            for key in keys_of(one, single.name):
                named.append((single.name, Setting(key=key, value=None, location=location, spelling=single.spelling)))
            continue
        # What is inside of a mapping comes as arguments of its own.
        for name, inner in [(single.name, value)] if isinstance(value, dict) else expanded(single.name, value):
            settings, unread = fed(one.feeds, name, inner, location, single.spelling)
            named += [(name, setting) for setting in settings]
            skipped += unread
    return settled(named), skipped


def _is_collected(node: ast.expr, names: Names, scope: Scope) -> bool:
    """Is it a list of things, whatever is in it: ``[first, second]``, ``tokenizer.convert_tokens_to_ids(new)``?"""
    if isinstance(node, ast.Name):
        found = names.bindings(node.id, scope)
        only = found[0][0] if found and len(found[0]) == 1 else None
        if not isinstance(only, ast.expr):
            return False
        node = only
    match node:
        case ast.List() | ast.Tuple() | ast.ListComp():
            return True
        case ast.Call(func=ast.Attribute(attr="convert_tokens_to_ids") | ast.Name(id="list" | "range" | "sorted")):
            return True
    return False


def keys_of(one: Known, name: str) -> list[str]:
    """The settings that an argument whose value is not known would say something about."""
    keys: list[str] = []
    for fed_name, feed in one.feeds.items():
        if fed_name == name or fed_name.startswith(f"{name}."):
            keys += [single.key for single in (feed if isinstance(feed, tuple) else (feed,))]
    return list(dict.fromkeys(keys))


def unread_options(options: list[ast.expr], place: Place) -> list[Skipped]:
    """``**options`` that are put together elsewhere, as what was not read."""
    reason = "arguments that are put together elsewhere"
    return [Skipped(what=f"**{_name(option)}", reason=reason, gap=False, location=place(option)) for option in options]


def _name(node: ast.expr) -> str:
    return quoted(node.id, "…") if isinstance(node, ast.Name) else "…"
