"""The names of packages that an error says are missing, as uses of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradcompat.model.code_use import CodeUse
from gradcompat.model.environment import Location
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

_IMPORT = lazy_pattern(r"cannot import name '(\w+)' from '(\w+(?:\.\w+)*)'")
_MODULE = lazy_pattern(r"No module named '(\w+(?:\.\w+)+)'(?!; )")  # what follows says that the top is no package
# Modules that load lazily, of transformers and its like, say it without quotes.
_ATTRIBUTE = lazy_pattern(r"module '?(\w+(?:\.\w+)*)'? has no attribute '?(\w+)")
_KEYWORD = lazy_pattern(r"(?<![\w.])(\w+(?:\.\w+)*)\(\) got an unexpected keyword argument '(\w+)'")
# What transformers' tokenizers say by themselves has no quotes.
_MEMBER = lazy_pattern(
    r"(?:(?<!\bmodule )'|\btype object ')(\w+)' (?:object )?has no attribute '(\w+)'"
    r"|: ([A-Z]\w+) has no attribute (\w+)"
)
_LEFT_OUT = lazy_pattern(
    r"(?<![\w.])(\w+(?:\.\w+)*)\(\) missing \d+ required (?:positional|keyword-only) arguments?: "
    r"('\w+'(?:(?:,|,? and) '\w+')*)"
)
_TOO_MANY = lazy_pattern(
    r"(?<![\w.])(\w+(?:\.\w+)*)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) "
    r"(?:positional arguments?|were|was)\b"
)
_MADE = (".__init__", ".__new__")
# What Unsloth and axolotl derive from classes of TRL and transformers, or copy: it takes whatever these take.
_DERIVED = lazy_pattern(r"_?(?:Unsloth|Axolotl)(?=[A-Z])")


def missing_name(error: str, location: Location) -> CodeUse | None:
    """What cannot be imported, or is not in its module; None if the error speaks of something else.

    >>> str(missing_name("cannot import name 'HybridCache' from 'transformers'", Location(path="log")).full_name)
    'transformers.HybridCache'
    """
    if found := _IMPORT.search(error):
        return CodeUse(kind="import", module=found[2], name=found[1], location=location)
    if found := _MODULE.search(error):
        return CodeUse(kind="import", module=found[1], name=None, location=location)
    if found := _ATTRIBUTE.search(error):
        top, _, inner = found[1].partition(".")
        name = ".".join(part for part in (inner, found[2]) if part)
        return CodeUse(kind="attribute", module=top, name=name, location=location)
    return None


def refused_keywords(error: str, location: Location, tops: Iterator[str]) -> Iterator[CodeUse]:
    """The argument that a class or a function does not take, for each module at whose top that may be.

    An error names a class without its module: ``TrainingArguments.__init__() got an unexpected keyword argument``. One
    that another tool has derived from it has the tool's name before its own: ``AxolotlGRPOConfig``.
    """
    if (found := refused_keyword(error)) is not None:
        called, keyword = found
        for top in tops:
            # Where accelerate has its plugins, and bitsandbytes its optimizers.
            for name in (called, f"utils.{called}", f"optim.{called}"):
                yield CodeUse(kind="keyword", module=top, name=name, keyword=keyword, location=location)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCall:
    """A call that does not fit what is called.

    Attributes:
        called: the class, or the function with the class that it is a method of, without a module.
        is_method: the first argument that is counted is the object.
        left_out: the arguments that are asked for and were not given.
        most: how many arguments may be given without their names; None where that is not what is wrong.
        given: how many were.
    """

    called: str
    is_method: bool
    left_out: tuple[str, ...] = ()
    most: int | None = None
    given: int = 0


def wrong_call(error: str) -> WrongCall | None:
    """A call that leaves out an argument or gives too many; None if the error speaks of something else.

    >>> wrong_call("PPOTrainer.__init__() missing 2 required positional arguments: 'a' and 'b'").left_out
    ('a', 'b')
    >>> wrong_call("TypeError: log() takes 2 positional arguments but 3 were given").most
    2

    Before Python 3.10 an error does not say whose constructor it was:

    >>> wrong_call("TypeError: __init__() missing 1 required positional argument: 'task'")
    """
    left_out, too_many = _LEFT_OUT.search(error), _TOO_MANY.search(error)
    found = left_out or too_many
    called = None if found is None else _without_constructor(found[1])
    if found is None or called is None:
        return None
    is_method = "." in found[1]
    if left_out is not None:
        return WrongCall(called=called, is_method=is_method, left_out=tuple(re.findall(r"'(\w+)'", left_out[2])))
    return WrongCall(called=called, is_method=is_method, most=int(found[2]), given=int(found[3]))


def refused_keyword(error: str) -> tuple[str, str] | None:
    """What is called, without a module, and the argument that it does not take.

    >>> refused_keyword("TypeError: EMAModel.__init__() got an unexpected keyword argument 'model'")
    ('EMAModel', 'model')
    """
    found = _KEYWORD.search(error)
    called = None if found is None else _without_constructor(found[1])
    if found is None or called is None:
        return None
    derived = _DERIVED.match(called)
    return (called if derived is None else called[derived.end() :]), found[2]


def _without_constructor(called: str) -> str | None:
    """``Trainer`` for ``Trainer.__init__``; None where the class is not named."""
    if f".{called}" in _MADE:
        return None
    for made in _MADE:
        called = called.removesuffix(made)
    return called


def missing_member(error: str) -> tuple[str, str] | None:
    """A class, without its module, and the method or attribute that an object of it does not have.

    >>> missing_member("AttributeError: 'DynamicCache' object has no attribute 'get_usable_length'")
    ('DynamicCache', 'get_usable_length')

    What a module lacks is a name, and no member:

    >>> missing_member("AttributeError: module 'torch' has no attribute 'int1'")
    """
    found = _MEMBER.search(error)
    return None if found is None else (found[1] or found[3], found[2] or found[4])
