"""The arguments of calls: their values as far as they are literal, the place of each, and what they say."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from gradcompat.model.environment import Location, Setting, Skipped
from gradcompat.quotation import quoted
from gradcompat.scanners.code.calls import Known, known
from gradcompat.scanners.code.configuration_objects import fields_of, handed, is_item_set
from gradcompat.scanners.code.names import UNKNOWN, Names, Scope
from gradcompat.scanners.code.option_defaults import is_option
from gradcompat.scanners.configs.training_arguments import expanded, settled
from gradcompat.scanners.key_mapping import fed
from gradcompat.startup.lazy_dataclasses import dataclass, replace

# Where a node stands in the file.
Place = Callable[[ast.AST], Location]

_LONGEST = 1000
_MOST = 1000
_DEEPEST = 4
_FEW = 50
_FOLLOWED = 2  # calls of functions that make mappings, one in the other
# What makes a mapping of an object of a dataclass.
_AS_MAPPING = frozenset({"dataclasses.asdict", "attr.asdict", "attrs.asdict"})
# What is on where a list is given.
_COLLECTED = frozenset(
    {"peft.trainable_tokens", "peft.modules_to_save", "peft.target_parameters", "peft.layers_to_transform"}
)


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
        for pair in inside or []:
            found += _inner(pair.key, pair, names, keyword.value, 0)
    return found, unread


def argument(
    name: str, node: ast.expr, names: Names, scope: Scope, spelling: str | None, depth: int = 0
) -> Iterator[Argument]:
    """An argument, and what is inside of it if it is a mapping."""
    value = names.literal(node, scope)
    at: ast.expr = node
    if value is not UNKNOWN:
        at, spelling = _origin(node, names, scope, spelling)
    inside = pairs(node, names, scope) if depth < _DEEPEST else None
    # Of mappings in mappings what is written there, and few names: they could multiply without end.
    if inside is not None and depth and isinstance(node, ast.Name) and (depth > 1 or len(inside) > _FEW):
        inside = None
    if inside is not None and value is UNKNOWN:
        value = {}  # of what is not literal in it, its own arguments say so
    yield Argument(name, value, at, spelling, node)
    for pair in inside or []:
        yield from _inner(f"{name}.{pair.key}", pair, names, node, depth + 1)


def _inner(name: str, pair: Pair, names: Names, given: ast.expr, depth: int) -> Iterator[Argument]:
    """What a key of a mapping says; one that stands in another module does so where the mapping is given."""
    for one in argument(name, pair.node, pair.names, pair.scope, pair.spelling, depth):
        yield one if pair.names is names else replace(one, node=given, spelling=None, given=given)


def _origin(node: ast.expr, names: Names, scope: Scope, spelling: str | None) -> tuple[ast.expr, str | None]:
    """Where in the file a value is written, and how: ``GA = 8`` above ``gradient_accumulation_steps=GA``."""
    at, within, written = node, scope, spelling
    for _ in range(_DEEPEST):
        if isinstance(at, (ast.Constant, ast.UnaryOp, ast.BinOp)):
            return at, written
        bound = names.bound_once(at.id, within) if isinstance(at, ast.Name) else None
        if isinstance(at, ast.Name) and bound is not None:
            written = f"{at.id} = {{}}"
            at, within = bound
            continue
        source = names.source_of(at, within)
        if source is None or source.names is not names:
            break
        at, within, written = source.node, source.scope, source.spelling
    return node, spelling


class Pair(NamedTuple):
    """A key of a mapping.

    Attributes:
        key: the key.
        node: its value.
        spelling: how it is written, with ``{}`` for the value.
        names: those of the module that the value stands in.
        scope: the names that hold there.
    """

    key: str
    node: ast.expr
    spelling: str
    names: Names
    scope: Scope


def pairs(node: ast.expr, names: Names, scope: Scope, depth: int = 0) -> list[Pair] | None:
    """The keys of a mapping that is written out, where it is or where it is bound; None of another one.

    ``{…, **others}``, ``dict(…)``, ``first | second``, ``asdict(config)`` of a dataclass of the project, or what holds
    one. One that is bound may be filled by statements: ``options["precision"] = "bf16-mixed"``.
    """
    if depth >= _DEEPEST:
        return None
    found = _pairs(node, names, scope, depth)
    if found is None or len(found) > _MOST:
        return None
    return list({pair.key: pair for pair in found}.values())


def completed(call: ast.Call, names: Names, scope: Scope) -> ast.Call:
    """``make(lr=1e-4)`` below ``make = functools.partial(TrainingArguments, "out")`` as the call that it makes."""
    bound = names.bound_once(call.func.id, scope) if isinstance(call.func, ast.Name) else None
    match bound:
        case (ast.Call(func=function, args=[called, *before], keywords=words), within) if names.resolve(
            function, within
        ) == ("functools.partial",):
            again = {word.arg for word in call.keywords}
            kept = [word for word in words if word.arg is None or word.arg not in again]
            made = ast.Call(func=called, args=[*before, *call.args], keywords=[*kept, *call.keywords])
            return ast.copy_location(made, call)
    return call


def unpacked(call: ast.Call, names: Names, scope: Scope) -> ast.Call:
    """A call with the keys of each mapping that it unpacks in the place of this, where they can be read."""
    if all(word.arg is not None for word in call.keywords):
        return call
    words: list[ast.keyword] = []
    for word in call.keywords:
        inside = pairs(word.value, names, scope) if word.arg is None else None
        if inside is None or any(pair.names is not names or is_sometimes(pair.node) for pair in inside):
            words.append(word)
        else:
            words += [ast.copy_location(ast.keyword(pair.key, pair.node), pair.node) for pair in inside]
    return ast.copy_location(ast.Call(call.func, call.args, words), call)


def _pairs(node: ast.expr, names: Names, scope: Scope, depth: int) -> list[Pair] | None:
    match node:
        case ast.Name(id=name):
            bound = names.bound_once(name, scope)
            if bound is None:
                return _held(node, names, scope, depth)
            written, filled = pairs(bound[0], names, bound[1], depth + 1), _filled(node, names, bound[1])
            return None if written is None or filled is None else [*written, *filled]
        case ast.Dict(keys=keys, values=values) if len(keys) <= _MOST:
            return _joined(_entry(key, value, names, scope, depth) for key, value in zip(keys, values, strict=True))
        case ast.Call(func=ast.Name(id="dict"), args=args, keywords=words) if len(args) <= 1:
            given = (pairs(one, names, scope, depth + 1) for one in args)
            return _joined((*given, *(_keyword(word, names, scope, depth) for word in words)))
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _joined((pairs(left, names, scope, depth + 1), pairs(right, names, scope, depth + 1)))
        case ast.Call(func=called, args=[held], keywords=[]) if _AS_MAPPING.intersection(names.resolve(called, scope)):
            return _fields(held, names, scope)
        case ast.Call() if (made := _made(node, names, scope, depth)) is not None:
            return pairs(made, names, scope, depth + 1)
        case ast.Subscript() | ast.Attribute() | ast.Call():
            return _held(node, names, scope, depth)
    return None


def _made(call: ast.Call, names: Names, scope: Scope, depth: int) -> ast.Dict | None:
    """The mapping that a function of the project returns, as if it were written where the function is called."""
    made = names.returned(call, scope) if depth <= _FOLLOWED else None
    found = None if made is None else pairs(made.node, made.names, made.scope, depth + 1)
    return None if found is None or len(found) > _FEW else _inline(found, call, names, depth)


def _inline(found: list[Pair], call: ast.Call, names: Names, depth: int) -> ast.Dict:
    keys: list[ast.expr | None] = [ast.copy_location(ast.Constant(pair.key), call) for pair in found]
    return ast.copy_location(ast.Dict(keys, [_inlined(pair, call, names, depth) for pair in found]), call)


def _inlined(pair: Pair, call: ast.Call, names: Names, depth: int) -> ast.expr:
    """A value as the call makes it: what is read off, and what the call gives; all else is unread."""
    if is_sometimes(pair.node) and isinstance(pair.node, ast.IfExp):
        return _sometimes(_inlined(pair._replace(node=pair.node.body), call, names, depth))
    bound = pair.names.bound_once(pair.node.id, pair.scope) if isinstance(pair.node, ast.Name) else None
    if isinstance(pair.node if bound is None else bound[0], ast.Dict):
        inside = pairs(pair.node, pair.names, pair.scope, depth + 1)
        if inside is not None and len(inside) <= _FEW:
            return _inline(inside, call, names, depth + 1)
    given = handed(pair.node, pair.scope, call, names) or _option(pair, call, names)
    if given is not None:
        return given
    value = pair.names.literal(pair.node, pair.scope)
    plain = value is None or isinstance(value, (bool, int, float, str))
    return ast.copy_location(ast.Constant(value if plain else ...), pair.node if pair.names is names else call)


def _option(pair: Pair, call: ast.Call, names: Names) -> ast.expr | None:
    """``args.stage`` as the caller reads it, if that is an option there: of what it hands over, or of the module."""
    if not isinstance(pair.node, ast.Attribute) or not isinstance(pair.node.value, ast.Name):
        return None
    within, owner = names.scope_of(call), pair.node.value
    given = handed(owner, pair.scope, call, names)
    if given is None:
        found = names.bindings(owner.id, within)
        if found is None or pair.names is not names or found != names.bindings(owner.id, pair.scope):
            return None
        given = owner
    at = pair.node if pair.names is names else call
    read = ast.copy_location(ast.Attribute(given, pair.node.attr, ast.Load()), at)
    return read if is_option(read, names, within) is not None else None


def _joined(parts: Iterable[list[Pair] | None]) -> list[Pair] | None:
    """The parts of a mapping one after the other; None if one of them is not written out."""
    found: list[Pair] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return found


def _entry(key: ast.expr | None, value: ast.expr, names: Names, scope: Scope, depth: int) -> list[Pair] | None:
    match key:
        case None:
            return pairs(value, names, scope, depth + 1)
        case ast.Constant(value=str(written)):
            return [Pair(written, value, f'"{written}": {{}}', names, scope)]
        case ast.Name(id=name):
            bound = names.bindings(name, scope)
            values, inner = bound or ((), scope)
            keys = [names.literal(one, inner) if isinstance(one, ast.AST) else None for one in values]
            texts = [one for one in keys if isinstance(one, str)]
            if texts and len(texts) == len(keys):
                return [Pair(one, _sometimes(value), f'"{one}": {{}}', names, scope) for one in dict.fromkeys(texts)]
    return None


def _keyword(word: ast.keyword, names: Names, scope: Scope, depth: int) -> list[Pair] | None:
    if word.arg is None:
        return pairs(word.value, names, scope, depth + 1)
    return [Pair(word.arg, word.value, f"{word.arg}={{}}", names, scope)]


def _held(node: ast.expr, names: Names, scope: Scope, depth: int) -> list[Pair] | None:
    """The keys of a mapping that another mapping, an object or a parameter holds, and that is not filled by halves."""
    source = names.source_of(node, scope)
    found = None if source is None else pairs(source.node, source.names, source.scope, depth + 1)
    if source is None or found is None:
        return None
    owners = {names, source.names}
    return None if any(is_item_set("", pair.key, owner) for pair in found for owner in owners) else found


def _fields(held: ast.expr, names: Names, scope: Scope) -> list[Pair] | None:
    """The fields of an object of a dataclass of the project."""
    found: list[Pair] = []
    for name in fields_of(held, names, scope):
        read = ast.copy_location(ast.Attribute(value=held, attr=name, ctx=ast.Load()), held)
        source = names.source_of(read, scope)
        if source is None:
            found.append(Pair(name, read, f"{name} = {{}}", names, scope))
        else:
            found.append(Pair(name, source.node, source.spelling or f"{name}={{}}", source.names, source.scope))
    return found or None


def _filled(name: ast.Name, names: Names, scope: Scope) -> list[Pair] | None:
    """What statements put into a mapping before it is used; None where a key is not written out."""
    put = [(key, value) for key, value in scope.filled.get(name.id, ())[:_MOST] if value.lineno <= name.lineno]
    always = {id(part) for part in _always(scope.node)} if put else frozenset()
    filled: list[Pair] = []
    for key, value in put:
        if key is None:
            return None
        given = value if id(value) in always else _sometimes(value)
        filled.append(Pair(key, given, f'{name.id}["{key}"] = {{}}', names, scope))
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


def said(
    one: Known, given: list[Argument], names: Names, scope: Scope, place: Place, *, branch: bool
) -> tuple[list[Setting], list[Skipped]]:
    """What the arguments of one call say, in a branch only that they say something."""
    named: list[tuple[str, Setting]] = []
    skipped: list[Skipped] = []
    halves = [] if branch else _either_half(given)
    for single in given:
        value = True if single in halves else single.value
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


def _either_half(given: list[Argument]) -> list[Argument]:
    """``bf16=supported(), fp16=not supported()``: one of both is on, whatever the GPU can."""
    halves = {single.name: single for single in given if single.name in ("bf16", "fp16") and single.value is UNKNOWN}
    match [single.given for single in halves.values()]:
        case [ast.UnaryOp(op=ast.Not(), operand=one), other] | [other, ast.UnaryOp(op=ast.Not(), operand=one)]:
            return list(halves.values()) if ast.dump(one) == ast.dump(other) else []
    return []


def _is_collected(node: ast.expr, names: Names, scope: Scope) -> bool:
    """Is it a list of things, whatever is in it: ``[first, second]``, ``tokenizer.convert_tokens_to_ids(new)``?"""
    if isinstance(node, ast.Name):
        bound = names.bound_once(node.id, scope)
        if bound is None:
            return False
        node = bound[0]
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
