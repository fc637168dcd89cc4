"""The names of packages that an error says are missing, as uses of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradcompat.model.code_use import CodeUse
from gradcompat.model.environment import Location

_IMPORT = re.compile(r"cannot import name '(\w+)' from '(\w+(?:\.\w+)*)'")
_MODULE = re.compile(r"No module named '(\w+(?:\.\w+)+)'(?!; )")  # what follows says that the top is no package
_ATTRIBUTE = re.compile(r"module '(\w+(?:\.\w+)*)' has no attribute '(\w+)'")
_KEYWORD = re.compile(r"\b(\w+(?:\.\w+)*)\(\) got an unexpected keyword argument '(\w+)'")
_MEMBER = re.compile(r"(?:(?<!\bmodule )'|\btype object ')(\w+)' (?:object )?has no attribute '(\w+)'")
_MADE = ".__init__"
# What Unsloth and axolotl derive from classes of TRL and transformers, or copy: it takes whatever these take.
_DERIVED = re.compile(r"_?(?:Unsloth|Axolotl)(?=[A-Z])")


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
    if found := _KEYWORD.search(error):
        called = found[1].removesuffix(_MADE)
        if derived := _DERIVED.match(called):
            called = called[derived.end() :]
        if called and called != _MADE[1:]:
            for top in tops:
                # Where accelerate has its plugins, and bitsandbytes its optimizers.
                for name in (called, f"utils.{called}", f"optim.{called}"):
                    yield CodeUse(kind="keyword", module=top, name=name, keyword=found[2], location=location)


def missing_member(error: str) -> tuple[str, str] | None:
    """A class, without its module, and the method or attribute that an object of it does not have.

    >>> missing_member("AttributeError: 'DynamicCache' object has no attribute 'get_usable_length'")
    ('DynamicCache', 'get_usable_length')

    What a module lacks is a name, and no member:

    >>> missing_member("AttributeError: module 'torch' has no attribute 'int1'")
    """
    found = _MEMBER.search(error)
    return None if found is None else (found[1], found[2])
