"""Signatures out of a table: constructors are put together from the classes that they inherit from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Protocol

from packaging.version import Version

from gradcompat.releases.answers import ModelKeys, Parameter, Presence, Signature
from gradcompat.releases.runs import Value
from gradcompat.startup.lazy_dataclasses import dataclass, replace


class Table(Protocol):
    """What is asked of a table."""

    imports: tuple[str, ...]

    def presence(self, version: Version, module: str, name: str | None = None) -> Presence:
        """Whether there is a module, or a name in it."""

    def origin(self, version: Version, module: str, name: str) -> tuple[str, str]:
        """Where a name is defined."""

    def fact(self, version: Version, section: str, module: str, key: str) -> Value | None:
        """A value of the table."""


Others = Callable[[str], "tuple[Table, Version] | None"]
"""The table and the release of another package, by a module at its top."""

# Classes of which nothing is inherited that a constructor takes.
_PLAIN = frozenset({"object", "ABC", "abc.ABC", "Generic", "typing.Generic"})
_DEEPEST = 40
_INNER = "inner "  # this and the next as in gradcompat.releases.table
_MODEL = "model"
_PYDANTIC = ("pydantic", "BaseModel")
_READ = ">"


@dataclass(frozen=True, slots=True)
class _Place:
    """A class or a function in a release of some package."""

    table: Table
    version: Version
    module: str
    name: str

    def fact(self, section: str, key: str) -> str | None:
        found = self.table.fact(self.version, section, self.module, key)
        return found if isinstance(found, str) else None


class _Unknown(Exception):
    """What is needed was not read."""


def signature(table: Table, version: Version, qualified_name: str, others: Others) -> Signature | None:
    """As :meth:`ReleaseTable.signature`."""
    found = _found(table, version, qualified_name, others)
    if found is None:
        return None
    place, rest = found
    try:
        if not rest:
            text = place.fact("signatures", place.name)
            if text is not None:
                return _parsed(text, f"{place.module}.{place.name}")
            return _constructor(place, others, 0)
        return _method(place, rest, others, 0)
    except _Unknown:
        return None


def _found(table: Table, version: Version, qualified_name: str, others: Others) -> tuple[_Place, str] | None:
    """The class or function that a dotted name leads to, and the method of it."""
    parts = qualified_name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:length])
        if table.presence(version, module) is Presence.PRESENT:
            place = _followed(table, version, module, parts[length], others)
            rest = ".".join(parts[length + 1 :])
            return None if place is None or "." in rest else (place, rest)
    return None


def _followed(table: Table, version: Version, module: str, name: str, others: Others) -> _Place | None:
    """Where a name is defined, in whatever package."""
    module, name = table.origin(version, module, name)
    if module.partition(".")[0] in table.imports:
        return _Place(table, version, module, name) if name else None
    other = others(module.partition(".")[0]) if name else None  # a module of another package is no class
    return None if other is None else _followed(*other, module, name, others)


def _base(place: _Place, written: str, others: Others) -> _Place | None:
    """The class that a base names; None for one that brings nothing.

    Raises:
        _Unknown: if it was not read.
    """
    first, *rest = written.split(".")
    if written in _PLAIN:
        return None
    module, name = place.module, first
    if rest:
        module, name = place.table.origin(place.version, module, first)
        if name:  # an attribute of something that is no module
            raise _Unknown
        module, name = ".".join([module, *rest[:-1]]), rest[-1]
        if f"{module}.{name}" in _PLAIN:
            return None
        if module.partition(".")[0] not in place.table.imports:
            other = others(module.partition(".")[0])
            found = None if other is None else _followed(*other, module, name, others)
        else:
            found = _followed(place.table, place.version, module, name, others)
    else:
        origin = place.table.origin(place.version, module, name)
        if ".".join(origin) in _PLAIN:
            return None
        found = _followed(place.table, place.version, module, name, others)
    if found is None or found == place:
        raise _Unknown
    return found


def _class(place: _Place) -> tuple[str, list[str], list[str]]:
    """The kind of a class, its bases, and its fields.

    Raises:
        _Unknown: if there is none.
    """
    text = place.fact("classes", place.name)
    if text is None:
        raise _Unknown
    kind, bases, *fields = text.removeprefix(_INNER).split("\n")
    return kind, bases.split(), fields


def _constructor(place: _Place, others: Others, depth: int) -> Signature:
    kind, bases, _ = _class(place)
    if depth > _DEEPEST or kind == "unknown":
        raise _Unknown
    for method in ("__init__", "__new__"):
        text = place.fact("signatures", f"{place.name}.{method}")
        if text is not None:
            return _parsed(text, f"{place.module}.{place.name}")
    if kind.startswith("dataclass"):
        parameters = _fields(tuple(_dataclasses(place, others, depth)))
        return Signature(parameters, True, _warned(place, others), f"{place.module}.{place.name}")
    inherited = None
    for written in bases:
        base = _base(place, written, others)
        if base is not None:
            inherited = _constructor(base, others, depth + 1)
            if _class(base)[0].startswith("dataclass"):
                # The base may make a dataclass of whatever inherits from it (``__init_subclass__``).
                inherited = replace(inherited, certain=False)
            if inherited.defined != "object":
                return inherited
    return inherited or Signature((), True, {}, "object")


def _dataclasses(place: _Place, others: Others, depth: int) -> list[str]:
    """The texts of a dataclass and of those that it inherits from, in the order in which they are told fields."""
    kind, bases, _ = _class(place)
    if depth > _DEEPEST or kind == "unknown":
        raise _Unknown
    found: list[str] = []
    for written in reversed(bases):
        base = _base(place, written, others)
        if base is not None:
            found += _dataclasses(base, others, depth + 1)
    if kind.startswith("dataclass"):
        found.append(place.fact("classes", place.name) or "")
    return found


# Most releases have the same fields as the one before.
@lru_cache(maxsize=128)
def _fields(texts: tuple[str, ...]) -> tuple[Parameter, ...]:
    """The fields of a dataclass, those that it inherits first."""
    found: dict[str, Parameter] = {}
    for text in texts:
        kind, _, *own = text.removeprefix(_INNER).split("\n")
        keyword = kind.endswith("kw_only")
        for part in own:
            if part == "*":
                keyword = True
                continue
            name, assigned, default = part.partition("=")
            found[name] = Parameter(name, "keyword" if keyword else "any", default if assigned else None)
    return tuple(sorted(found.values(), key=lambda one: one.kind == "keyword"))


def model_keys(table: Table, version: Version, qualified_name: str) -> ModelKeys | None:
    """As :meth:`ReleaseTable.model_keys`."""
    module, _, name = qualified_name.rpartition(".")
    if table.presence(version, module, name) is not Presence.PRESENT:
        return None
    place = _followed(table, version, module, name, _none)
    try:
        return None if place is None else _keys(place, 0)
    except _Unknown:
        return None


def _keys(place: _Place, depth: int) -> ModelKeys:
    kind, bases, own = _class(place)
    if depth > _DEEPEST or kind != _MODEL:
        raise _Unknown
    found = ModelKeys(
        frozenset(key.partition("=")[0] for key in own if not key.endswith(_READ)),
        frozenset(key.removesuffix(_READ) for key in own if key.endswith(_READ)),
    )
    for written in bases:
        if place.table.origin(place.version, place.module, written) == _PYDANTIC or written == ".".join(_PYDANTIC):
            continue
        base = _base(place, written, _none)
        if base is not None:
            found |= _keys(base, depth + 1)
    return found


def _none(_: str) -> None:
    """No table but the one that is asked."""


def _warned(place: _Place, others: Others) -> Mapping[str, str]:
    """The fields that a dataclass and those that it inherits from warn of, and their new names."""
    found = dict(_parsed(place.fact("signatures", f"{place.name}.__post_init__") or "", "").renamed)
    try:
        for written in _class(place)[1]:
            base = _base(place, written, others)
            if base is not None:
                found = {**_warned(base, others), **found}
    except _Unknown:
        pass
    return found


def _method(place: _Place, name: str, others: Others, depth: int) -> Signature:
    if depth > _DEEPEST:
        raise _Unknown
    text = place.fact("signatures", f"{place.name}.{name}")
    if text is not None:
        return _parsed(text, f"{place.module}.{place.name}.{name}")
    if (place.fact("classes", place.name) or "").startswith(_INNER):
        raise _Unknown  # it may have a method of its own
    for written in _class(place)[1]:
        base = _base(place, written, others)
        if base is not None:
            try:
                return _method(base, name, others, depth + 1)
            except _Absent:
                continue
    raise _Absent


class _Absent(_Unknown):
    """No class that was read has it."""


def _parsed(text: str, defined: str) -> Signature:
    """A signature from the form in which a table has it, a parameter a line."""
    parameters: list[Parameter] = []
    renamed: dict[str, str] = {}
    certain, kind = True, "any"
    for part in text.split("\n") if text else ():
        name, assigned, default = part.partition("=")
        if part == "?":
            certain = False
        elif part == "/":
            parameters = [Parameter(parameter.name, "positional", parameter.default) for parameter in parameters]
        elif part == "*":
            kind = "keyword"
        elif name.startswith("**"):
            parameters.append(Parameter(name[2:], "**", None))
        elif name.startswith("*"):
            parameters.append(Parameter(name[1:], "*", None))
            kind = "keyword"
        elif ">" in name:
            old, _, new = name.partition(">")
            renamed[old] = new
        else:
            parameters.append(Parameter(name, kind, default if assigned else None))
    return Signature(tuple(parameters), certain, renamed, defined)
