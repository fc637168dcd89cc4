"""Moves pins in requirements and constraints files; everything else stays, byte for byte.

Lines that ask for a link, and files behind ``-r`` and ``-c``, are left alone: each file is edited by itself. A pin with
hashes gets those of the new version in the layout that it has, or is left alone where they are not known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradcompat.edit.compiled import Compiled, compiled
from gradcompat.edit.entries import Entry, decided
from gradcompat.edit.pins import NOT_NAMED, Edited, Outcome, PinEdit
from gradcompat.edit.requirement_parts import parts
from gradcompat.edit.text_replacement import Replacement, replaced
from gradcompat.errors import EditError

_MAX_LINES = 100_000
_LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|\Z)")
_HASH = re.compile(r"(?<=\s)--hash[= ]\s*[^\s\\]+")


def edit(text: str, shown: str, pins: Sequence[PinEdit]) -> Edited:
    """Move these pins.

    Raises:
        EditError: if the file has more lines than anyone could have written.
    """
    outcome = Outcome.empty()
    packages = tuple(pin.package for pin in pins)
    made = compiled(text)
    if made is not None:
        return outcome.edited(text, packages, absent=generated_reason(made))
    wanted = {pin.package: pin for pin in pins}
    found: list[_Place] = []
    entries: list[Entry] = []
    every_one_hashed = True
    for line in _logical_lines(text, shown):
        what = parts(line.text) if line.text.strip() else None
        if what is None:
            continue
        hashes = [match.span() for match in _HASH.finditer(line.text)]
        every_one_hashed = every_one_hashed and bool(hashes)
        pin = wanted.get(what.name)
        if pin is None:
            continue
        if what.linked:
            outcome.leave(what.name, f"line {line.number}: comes from a URL, which decides its version")
            continue
        specifier = line.text[what.start : what.end]
        entries.append(
            Entry(pin=pin, specifier=specifier, where=f"line {line.number}", blocked=_blocked(line, hashes, pin))
        )
        found.append(_Place(line, (what.start, what.end), tuple(hashes)))
    replacements: list[Replacement] = []
    for index, specifier in decided(entries, outcome):
        replacements += found[index].replacements(text, specifier, entries[index].pin)
    result = replaced(text, replacements)
    if every_one_hashed and any(line.text.strip() for line in _logical_lines(text, shown)):
        result = _added(result, [pin for pin in pins if pin.kind == "add"], outcome)
    return outcome.edited(result, packages)


def generated_reason(made: Compiled) -> str:
    """Why a file that a tool wrote is left alone, and what to edit instead."""
    if made.sources:
        names = " and ".join(f"`{source}`" for source in made.sources)
        return f"is in a file that `{made.tool}` writes: edit {names}, and run it again"
    return f"is in a file that `{made.tool}` writes"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with those that it continues on, without comment and backslashes.

    Attributes:
        offsets: for each piece: where it begins in ``text``, and where in the file.
        number: of its first line, counted from 1.
        ending: how its first line ends.
    """

    text: str
    offsets: tuple[tuple[int, int], ...]
    number: int
    ending: str

    def in_file(self, offset: int, *, end: bool = False) -> int:
        """Where in the file a character of ``text`` stands; an end belongs to the piece that it ends."""
        behind = bisect_right(self.offsets, offset - end, key=lambda one: one[0])
        begin, place = self.offsets[max(behind - 1, 0)]
        return place + offset - begin


@dataclass(frozen=True, slots=True)
class _Place:
    """A requirement in its line: the spans of its specifier and of its hashes."""

    line: _Line
    specifier: tuple[int, int]
    hashes: tuple[tuple[int, int], ...]

    def replacements(self, text: str, specifier: str, pin: PinEdit) -> Iterator[Replacement]:
        start, end = self.specifier
        # An empty specifier stands right behind the name, whose piece it belongs to.
        begin = self.line.in_file(start, end=start == end)
        yield Replacement(begin, self.line.in_file(end, end=True), specifier)
        if self.hashes:
            spans = [(self.line.in_file(start), self.line.in_file(end, end=True)) for start, end in self.hashes]
            between = text[spans[0][1] : spans[1][0]] if len(spans) > 1 else self._before(text, spans[0][0])
            yield Replacement(spans[0][0], spans[-1][1], between.join(f"--hash={digest}" for digest in pin.hashes))

    def _before(self, text: str, at: int) -> str:
        """What separates the only hash from what stands before it, if that is a new line; else a blank."""
        stripped = text[:at].rstrip(" \t\r\n")
        return " " + text[len(stripped) - 1 : at] if stripped.endswith("\\") else " "


def _blocked(line: _Line, hashes: Sequence[tuple[int, int]], pin: PinEdit) -> str | None:
    """Why a pin with hashes cannot move."""
    if not hashes:
        return None
    if not pin.hashes:
        return f"is pinned with hashes, and those of {pin.version_to} are not known"
    if line.text[hashes[0][0] : hashes[-1][1]].split() != " ".join(line.text[a:b] for a, b in hashes).split():
        return "has other options among its hashes"
    return None


def _added(text: str, pins: Sequence[PinEdit], outcome: Outcome) -> str:
    """A package that is new, at the end of a file where pip refuses what has no hash."""
    ending = next((match[2] for match in _LINE.finditer(text) if match[2]), "\n")
    for pin in pins:
        if pin.package in outcome.settled or pin.package in outcome.reasons:
            continue
        if not pin.hashes:
            outcome.leave(pin.package, f"{NOT_NAMED}, and the hashes of {pin.version_to} are not known")
            continue
        if text and not text.endswith(("\n", "\r")):
            text += ending
        pieces = [f"{pin.package}=={pin.version_to}", *(f"--hash={digest}" for digest in pin.hashes)]
        text += f" \\{ending}    ".join(pieces) + ending
        outcome.settle(pin.package)
        outcome.note(f"`{pin.package}` is new here: every line has a hash, so pip refuses what is not listed")
    return text


def _logical_lines(text: str, shown: str) -> Iterator[_Line]:
    """The lines of a file as pip joins them: a comment line ends a continuation."""
    pieces: list[str] = []
    offsets: list[tuple[int, int]] = []
    length = first = 0
    ending = "\n"
    for number, match in enumerate(_LINE.finditer(text), start=1):
        if number > _MAX_LINES:
            raise EditError(f"has more than {_MAX_LINES:,} lines", path=shown)
        raw = match[1]
        at = _comment_at(raw)
        kept = raw if at is None else raw[:at]
        continues = at is None and raw.endswith("\\")
        if continues:
            kept = kept[:-1]
        if not pieces:
            first, ending = number, match[2]
        pieces.append(kept)
        offsets.append((length, match.start()))
        length += len(kept)
        if not continues:
            yield _Line("".join(pieces), tuple(offsets), first, ending)
            pieces, offsets, length = [], [], 0


def _comment_at(line: str) -> int | None:
    """Where the comment begins: a ``#`` at the start or behind a blank, so that ``…#egg=name`` is none."""
    at = line.find("#")
    while at > 0 and not line[at - 1].isspace():
        at = line.find("#", at + 1)
    return at if at >= 0 else None
