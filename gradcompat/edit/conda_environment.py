"""Moves pins in an environment.yml: the lines for conda and those for pip; comments and quotes stay.

A build that is named in full (``py311_0``) belongs to one version and is left out when that moves; a pattern of builds
(``*cuda*``) stays. The channel in front stays, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gradcompat.edit.entries import Entry, decided
from gradcompat.edit.pins import Edited, Outcome, PinEdit
from gradcompat.edit.requirement_parts import parts
from gradcompat.edit.text_replacement import Replacement, replaced
from gradcompat.errors import EditError, Malformed
from gradcompat.formats import yaml_nodes
from gradcompat.formats.yaml_nodes import Scalar
from gradcompat.formats.yaml_text import parse_mapping
from gradcompat.requirements.names import normalise

_MAX_LENGTH = 1000
# As libyaml counts lines, which is where the columns of nodes come from.
_LINE_END = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
# `conda-forge/linux-64::`, `https://host/channel::`, and from before conda 4.4 `channel:namespace:`.
_NAME = re.compile(r"\s*(?:[^\s=<>!~\[\]]*:)?([A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?)(?=[\s=<>!~\[]|$)")
# A last word that follows a version, not an operator.
_BUILD = re.compile(r"[\s=]([^\s=,|<>~!]+)\s*$")
_OPERATORS = "=!|,<>~"
# An anchor or a tag, with which a node begins.
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]+)*")
_HASH = re.compile(r"\s--hash[= ]")


def edit(text: str, shown: str, pins: Sequence[PinEdit]) -> Edited:
    """Move these pins; packages of conda go by conda's names.

    Raises:
        EditError: if the file is no YAML with dependencies, or the change cannot be made.
    """
    outcome = Outcome.empty()
    wanted = {pin.package: pin for pin in pins}
    lines = _lines(text, shown)
    places = list(_places(lines, wanted, outcome))
    starts = [0, *(end.end() for end in _LINE_END.finditer(text))]
    expected = [line.scalar.text for line in lines]
    replacements: list[Replacement] = []
    for index, specifier in decided([place.entry for place in places], outcome):
        place = places[index]
        scalar = lines[place.line].scalar
        start = starts[scalar.line - 1] + scalar.column - 1
        properties = _PROPERTIES.match(text, start)
        start = (properties.end() if properties else start) + scalar.quoted
        if not text.startswith(scalar.text, start):
            outcome.settled.pop(place.entry.pin.package, None)
            outcome.leave(place.entry.pin.package, f"line {scalar.line}: is written with escapes or over several lines")
            continue
        replacements.append(Replacement(start + place.start, start + place.end, specifier))
        expected[place.line] = scalar.text[: place.start] + specifier + scalar.text[place.end :]
        if place.dropped:
            note = f"the build `{place.dropped}` is left out, because it belongs to the old version"
            outcome.note(f"`{place.entry.pin.package}`: {note}")
    result = replaced(text, replacements)
    if [line.scalar.text for line in _lines(result, shown)] != expected:
        raise EditError("could not be changed without changing something else", path=shown)
    return outcome.edited(result, tuple(pin.package for pin in pins))


class _Line(NamedTuple):
    """A dependency, and whose."""

    scalar: Scalar
    for_pip: bool


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the specifier of an entry stands in a line, with the build behind it if that goes."""

    entry: Entry
    line: int
    start: int
    end: int
    dropped: str | None = None


def _lines(text: str, shown: str) -> list[_Line]:
    """The dependencies, each once, also where an alias names one again."""
    try:
        top = parse_mapping(text, shown)
    except Malformed as error:
        raise EditError(error.message, path=shown, line=error.line) from None
    dependencies = top.entries.get("dependencies")
    if dependencies is None:
        raise EditError("has no `dependencies:` as an environment.yml has", path=shown)
    lines: dict[int, _Line] = {}
    for node in dependencies.items if isinstance(dependencies, yaml_nodes.Sequence) else ():
        if isinstance(node, Scalar):
            lines.setdefault(id(node), _Line(node, for_pip=False))
        elif isinstance(node, yaml_nodes.Mapping):
            section = node.entries.get("pip")
            for item in section.items if isinstance(section, yaml_nodes.Sequence) else ():
                if isinstance(item, Scalar):
                    lines.setdefault(id(item), _Line(item, for_pip=True))
    return list(lines.values())


def _places(lines: Sequence[_Line], wanted: Mapping[str, PinEdit], outcome: Outcome) -> Iterator[_Place]:
    for number, line in enumerate(lines):
        find = _for_pip if line.for_pip else _for_conda
        place = find(number, line.scalar, wanted, outcome)
        if place is not None:
            yield place


def _for_pip(number: int, scalar: Scalar, wanted: Mapping[str, PinEdit], outcome: Outcome) -> _Place | None:
    what = parts(scalar.text)
    pin = wanted.get(what.name) if what is not None else None
    if what is None or pin is None:
        return None
    where = f"line {scalar.line}"
    if what.linked:
        outcome.leave(what.name, f"{where}: comes from a URL, which decides its version")
        return None
    blocked = "is pinned with hashes" if _HASH.search(scalar.text) else None
    entry = Entry(pin=pin, specifier=scalar.text[what.start : what.end], where=where, blocked=blocked)
    return _Place(entry, number, what.start, what.end)


def _for_conda(number: int, scalar: Scalar, wanted: Mapping[str, PinEdit], outcome: Outcome) -> _Place | None:
    text = scalar.text[:_MAX_LENGTH]
    head = _NAME.match(text)
    pin = wanted.get(normalise(head[1])) if head is not None else None
    if head is None or pin is None:
        return None
    where = f"line {scalar.line}"
    rest = text[head.end() :]
    if "[" in rest or "/" in rest or len(scalar.text) > _MAX_LENGTH:
        outcome.leave(pin.package, f"{where}: is written in a way that is not edited")
        return None
    build = _BUILD.search(rest)
    version = rest[: build.start()].rstrip() if build else ""
    if build is None or not version or version[-1] in _OPERATORS:
        build, version = None, rest.rstrip()
    end = head.end() + len(version)
    dropped = None
    if build is not None and "*" not in build[1]:
        dropped, end = build[1], head.end() + build.end(1)
    entry = Entry(pin=pin, specifier=version, where=where, dialect="conda")
    return _Place(entry, number, head.end(), end, dropped)
