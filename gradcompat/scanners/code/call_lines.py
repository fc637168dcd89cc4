"""The lines by which calls are told apart: what is called, with the values that can be read of its arguments.

Nothing of a line is shown to anybody. Still only words as they choose something are taken into it, no texts and no
names of the program: a token that is handed to a function stays in the program.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import cast

from gradcompat.redaction import redact
from gradcompat.scanners.code.alike_branches import is_arguments
from gradcompat.scanners.code.arguments import Pair, is_sometimes, pairs
from gradcompat.scanners.code.config_lookups import item_path
from gradcompat.scanners.code.configuration_objects import may_be_set
from gradcompat.scanners.code.file_endings import file_ending
from gradcompat.scanners.code.late_arguments import set_later
from gradcompat.scanners.code.names import UNKNOWN, Names, Scope
from gradcompat.scanners.code.object_history import is_left_none
from gradcompat.scanners.code.option_defaults import Option, option_behind
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.calls import Call, ConfigItem, Ending, OptionValue, Unread, Value

# `all_exhausted_without_replacement`, `16-mixed`, `facebook/esm2_t6_8M_UR50D`; what is longer or has spaces is a text.
_WORD = lazy_pattern(r"[^\s'\"\\]{1,80}")
# What an argument is called that nobody is to see the value of; tokens of a text are no secret.
SECRET = lazy_pattern(r"token(?!i[sz]|s|_)|secret|passw|key|auth|credential", re.IGNORECASE)
_FLAG = lazy_pattern(r"\w{1,60}", re.ASCII)
_MOST = 12  # values of a list or a mapping
_MOST_NUMBERS = 1000
_LARGEST = 10**18
_NO_OPTIONS: Mapping[str, Option] = MappingProxyType({})
# Of a name that begins with a dot this is the first part: the project's own.
_OF_NO_LIBRARY = sys.stdlib_module_names | {""}


def call_lines(
    call: ast.Call, called: tuple[str, ...], names: Names, scope: Scope, options: Mapping[str, Option] = _NO_OPTIONS
) -> Iterator[str]:
    """The lines of a call, one for each name that the function may have; none for functions of Python itself.

    Args:
        call: the call, or a ``functools.partial`` of the function.
        called: the full names, or the bare name of a method.
        names: the names of the program.
        scope: where the call stands.
        options: those of the program's own command line, by the attribute that has their value.
    """
    arguments, whole = call.args, True
    if called == ("functools.partial",) and call.args:
        called, arguments, whole = names.resolve(call.args[0], scope), call.args[1:], False  # more may come later
    wanted = [name for name in called if name.partition(".")[0] not in _OF_NO_LIBRARY]
    if not wanted:
        return
    given = _Given(names, scope, options)
    positional: list[Value] = []
    for node in arguments:
        if isinstance(node, ast.Starred):
            whole = False
            break
        positional.append(given.value(node))
    named: dict[str, Value] = {}
    for word in call.keywords:
        if word.arg is not None:
            named[word.arg] = given.named(word.arg, word.value)
            continue
        inside = pairs(word.value, names, scope)
        always = [pair for pair in inside or () if not is_sometimes(pair.node)]
        whole = whole and inside is not None and len(always) == len(inside)
        named |= {pair.key: given.within(pair).named(pair.key, pair.node) for pair in always if pair.key.isidentifier()}
    for name in wanted:
        later = set_later(name, named, names, scope) if is_arguments(name) else ()
        changed = {attribute: given.value(value) if told else given.hidden(value) for attribute, value, told in later}
        yield str(Call(name, tuple(positional), named | changed, whole))


class _Given:
    """The values of one call; what cannot be read gets a name, the same for the same expression."""

    def __init__(self, names: Names, scope: Scope, options: Mapping[str, Option]) -> None:
        self._names, self._scope, self._options = names, scope, options
        self._unread: dict[str, str] = {}

    def within(self, pair: Pair) -> _Given:
        """The values of the same call that stand elsewhere."""
        if pair.names is self._names and pair.scope is self._scope:
            return self
        other = _Given(pair.names, pair.scope, self._options)
        other._unread = self._unread
        return other

    def named(self, name: str, node: ast.expr, depth: int = 0) -> Value:
        value = self.value(node, depth)
        text = value.default if isinstance(value, OptionValue) else value
        told = isinstance(text, str) or isinstance(value, ConfigItem)
        return self.hidden(node) if told and SECRET.search(name) else value

    def value(self, node: ast.expr, depth: int = 0) -> Value:
        match node:
            case ast.Call(func=called, args=[device], keywords=[]):
                if self._names.resolve(called, self._scope) == ("torch.device",):
                    node = device  # which is as good as the device itself
        value = self._names.literal(node, self._scope)
        if _is_simple(value) or _is_short(value):
            return cast("Value", value)
        if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) <= _MOST:
            return [self.value(one, depth + 1) for one in node.elts]
        # Of a mapping in a mapping only what is written there: names could multiply without end.
        inside = pairs(node, self._names, self._scope) if depth == 0 or isinstance(node, ast.Dict) else None
        if inside is not None and len(inside) <= _MOST:
            return {pair.key: self.within(pair).named(pair.key, pair.node, depth + 1) for pair in inside}
        if depth == 0 and isinstance(node, ast.Name) and is_left_none(node.id, self._scope, self._names):
            return None
        option = self._option(node) if depth == 0 else None
        if option is not None:
            return option
        item = self._item(node) if depth == 0 else None
        if item is not None:
            return item
        ending = file_ending(node, self._names, self._scope)
        hidden = self.hidden(node)
        return hidden if ending is None else Ending.of(ending, int(hidden.name[1:]))

    def _option(self, node: ast.expr) -> OptionValue | None:
        """An option, by whatever name."""
        option = option_behind(node, self._names, self._scope, self._options)
        if option is not None and option.assigned:
            return None  # by a file, too, which is not read
        known = option is not None and (option.default is UNKNOWN or _is_simple(option.default))
        if option is None or not known or any(map(SECRET.search, option.flags)):
            return None
        if not all(map(_FLAG.fullmatch, option.flags)):
            return None
        # Who names no default mostly means the option to be given.
        unsaid = option.default is UNKNOWN or (option.default is None and isinstance(option.node, ast.Call))
        default = self.hidden(node) if unsaid else cast("Value", option.default)
        return OptionValue.of(option.flags, default, option.switched)

    def _item(self, node: ast.expr) -> ConfigItem | None:
        """What is looked up in a config, unless the program may set it itself."""
        path = item_path(node, self._names, self._scope)
        if not path or not all(map(_FLAG.fullmatch, path)) or may_be_set(node, path, self._names):
            return None
        return ConfigItem.of(path)

    def hidden(self, node: ast.expr) -> Unread:
        # Of two calls in the arguments nobody knows whether they return the same.
        expression = ast.dump(node) if isinstance(node, (ast.Name, ast.Attribute)) else str(len(self._unread))
        return Unread(self._unread.setdefault(expression, f"_{len(self._unread) + 1}"))


def _is_short(value: object) -> bool:
    """Is it a list of a few simple values, or of numbers, as those that choose episodes?"""
    if not isinstance(value, list):
        return False
    most = _MOST_NUMBERS if all(isinstance(one, int) for one in value) else _MOST
    return len(value) <= most and all(map(_is_simple, value))


def _is_simple(value: object) -> bool:
    if isinstance(value, int):
        return abs(value) < _LARGEST
    if isinstance(value, str):
        return is_word(value)
    return value is None or isinstance(value, float)


def is_word(text: str) -> bool:
    """Is it a word as it chooses something, no text and no secret?"""
    return bool(_WORD.fullmatch(text)) and redact(text) == text
