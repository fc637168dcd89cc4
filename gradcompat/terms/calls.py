"""Calls of functions as a program writes them, with what of their arguments can be read: one line of text for each.

``torch.optim.SGD(_1, lr=0.1, momentum=0)`` is such a line, an expression of Python. A value that cannot be read is a
name, the same name for the same expression; ``*_`` and ``**_`` stand for arguments that are put together elsewhere.
Of a path whose end alone can be read, that is ``_ending(".onnx", 1)`` (:class:`Ending`). What an option of the
program's command line gives is ``_option("steps", default=8)`` (:class:`OptionValue`) until the
command is known, and what it looks up in a config ``_config("train", "lr")`` (:class:`ConfigItem`) until that is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias

from gradcompat.startup.lazy_dataclasses import dataclass, replace

_OPTION, _ENDING, _CONFIG = "_option", "_ending", "_config"

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | Unread | None"


@dataclass(frozen=True, slots=True)
class Unread:
    """A value that cannot be read. Two of the same name are equal; of others nothing is known."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Ending(Unread):
    """A path that is put together, of which the end can be read.

    Attributes:
        text: the ending of the file: ``.onnx``.
    """

    text: str

    @classmethod
    def of(cls, text: str, number: int) -> Ending:
        """The value, with the name that it has in a line: another one for each path."""
        return cls(f"{_ENDING}({text!r}, {number})", text)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OptionValue(Unread):
    """The value of an option of the program's own command line.

    Attributes:
        flags: the names of the option, with underscores and without dashes.
        default: what it is where the command does not give it; an :class:`Unread` if that is not known.
        switched: what the bare option means; None where it takes a value.
    """

    flags: tuple[str, ...]
    default: Value
    switched: bool | None

    @classmethod
    def of(cls, flags: tuple[str, ...], default: Value, switched: bool | None) -> OptionValue:
        """The value, with the name that it has in a line."""
        words = [*map(repr, flags), *([] if isinstance(default, Unread) else [f"default={default!r}"])]
        words += [] if switched is None else [f"switched={switched}"]
        return cls(f"{_OPTION}({', '.join(words)})", flags, default, switched)

    def __repr__(self) -> str:
        return self.name

    @property
    def shown(self) -> str:
        """``ema_start``."""
        return max(self.flags, key=len)


@dataclass(frozen=True, slots=True)
class ConfigItem(Unread):
    """A value that the program looks up in a config.

    Attributes:
        path: the keys that lead to it.
    """

    path: tuple[str, ...]

    @classmethod
    def of(cls, path: tuple[str, ...]) -> ConfigItem:
        """The value, with the name that it has in a line."""
        return cls(f"{_CONFIG}({', '.join(map(repr, path))})", path)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    Attributes:
        name: what is called, by its full name, or the bare name of a method of an object that is not known.
        positional: the values that come without a name, up to the first ``*``.
        named: the others.
        whole: no argument is put together elsewhere.
    """

    name: str
    positional: tuple[Value, ...]
    named: Mapping[str, Value]
    whole: bool

    @property
    def options(self) -> tuple[OptionValue, ...]:
        """The options that its arguments are."""
        return tuple(one for one in (*self.positional, *self.named.values()) if isinstance(one, OptionValue))

    def with_options(self, value_of: Callable[[OptionValue], Value]) -> Call:
        """The call with other values in the places of options."""
        return self._with(lambda one: value_of(one) if isinstance(one, OptionValue) else one)

    def with_items(self, value_of: Callable[[ConfigItem], Value]) -> Call:
        """The call with other values in the places of what is looked up in a config."""
        return self._with(lambda one: value_of(one) if isinstance(one, ConfigItem) else one)

    def _with(self, value_of: Callable[[Value], Value]) -> Call:
        named = {name: value_of(one) for name, one in self.named.items()}
        return replace(self, positional=tuple(map(value_of, self.positional)), named=named)

    def __str__(self) -> str:
        given = [*map(repr, self.positional), *(f"{name}={value!r}" for name, value in self.named.items())]
        return f"{self.name}({', '.join([*given, *(() if self.whole else ('**_',))])})"


_NOT_GIVEN = Unread("_")


@lru_cache(maxsize=4096)
def read_call(text: str) -> Call:
    """The call that a line stands for.

    Raises:
        ValueError: the line is no call.

    >>> read_call("torch.load(path, weights_only=True)").named
    {'weights_only': True}
    """
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"`{text}` is no expression of Python: {error.msg}") from None
    if not isinstance(node, ast.Call):
        raise ValueError(f"`{text}` is no call")
    starred = next((index for index, one in enumerate(node.args) if isinstance(one, ast.Starred)), len(node.args))
    return Call(
        name=ast.unparse(node.func),
        positional=tuple(map(_value, node.args[:starred])),
        named={word.arg: _value(word.value) for word in node.keywords if word.arg is not None},
        whole=starred == len(node.args) and all(word.arg is not None for word in node.keywords),
    )


def _value(node: ast.expr) -> Value:
    if isinstance(node, (ast.List, ast.Tuple)) and not any(isinstance(one, ast.Starred) for one in node.elts):
        return list(map(_value, node.elts))
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        return {str(ast.literal_eval(key)): _value(one) for key, one in zip(node.keys, node.values, strict=True) if key}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _CONFIG:
        return ConfigItem.of(tuple(map(str, map(ast.literal_eval, node.args))))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _OPTION:
        words = {word.arg: ast.literal_eval(word.value) for word in node.keywords}
        flags = tuple(map(str, map(ast.literal_eval, node.args)))
        return OptionValue.of(flags, words.get("default", _NOT_GIVEN), words.get("switched"))
    match node:
        case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(text)), ast.Constant(value=int(number))]):
            if name == _ENDING:
                return Ending.of(text, number)
    try:
        return ast.literal_eval(node)  # type: ignore[no-any-return]
    except ValueError:
        return Unread(ast.unparse(node))
