"""Moves pins in a pyproject.toml: ``[project]``, dependency groups, and the tables of Poetry, PDM, uv, Hatch and Flit.

Specifiers are replaced where they stand, so that every other byte stays. What the project does not ask for itself is
held in ``[tool.uv] constraint-dependencies`` if the project is uv's; tomlkit writes that. Poetry and PDM have nothing
of the kind (PDM's overrides would also overrule what the packages themselves require), so there only the lockfile
moves: :mod:`gradcompat.edit.lock_commands` names the command. The result is read again, and has to be what it was but
for these specifiers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, String

from gradcompat.edit.entries import Entry, decided
from gradcompat.edit.pins import Edited, Outcome, PinEdit
from gradcompat.edit.requirement_parts import parts
from gradcompat.edit.specifier_clauses import Dialect
from gradcompat.edit.specifiers import moved
from gradcompat.edit.text_replacement import Replacement, replaced
from gradcompat.errors import EditError, Malformed
from gradcompat.formats.toml_places import TomlPlaces
from gradcompat.formats.toml_text import parse
from gradcompat.requirements.names import normalise

Manager = Literal["uv", "poetry", "pdm"]
_Keys = tuple[str | int, ...]

_LINKS = frozenset({"git", "url", "path", "file", "workspace"})
_NOT_ASKED_FOR = "the project does not ask for it itself"
_REASONS: dict[Manager | None, str] = {
    "poetry": f"{_NOT_ASKED_FOR}, and Poetry has no constraints: only the lockfile moves",
    "pdm": f"{_NOT_ASKED_FOR}, and PDM has no constraints: only the lockfile moves",
    None: f"{_NOT_ASKED_FOR}",
}


def edit(text: str, shown: str, pins: Sequence[PinEdit], *, manager: Manager | None = None) -> Edited:
    """Move these pins.

    Args:
        text: the file, line ends as they are.
        shown: how it is called to the user.
        pins: what shall move.
        manager: whose lockfile lies beside the file. Where there is none, the tables of the tool say it.

    Raises:
        EditError: if the file is no TOML, or the change cannot be made.
    """
    content = _content(text, shown)
    manager = manager or _manager(content)
    outcome = Outcome.empty()
    places = list(_places(content, {pin.package: pin for pin in pins}, outcome))
    entries = [place.entry for place in places]
    offsets = _Offsets(text, shown)
    replacements: list[Replacement] = []
    for index, specifier in decided(entries, outcome):
        place = places[index]
        start = offsets.inside(place.keys, place.whole)
        if start is None:
            package = place.entry.pin.package
            outcome.settled.pop(package, None)
            outcome.leave(package, f"{place.entry.where}: is written with escapes or over several lines")
            continue
        replacements.append(Replacement(start + place.start, start + place.end, specifier))
        _put(content, place.keys, place.whole[: place.start] + specifier + place.whole[place.end :])
    result = replaced(text, replacements)
    rest = [pin for pin in pins if pin.package not in outcome.settled and pin.package not in outcome.reasons]
    if rest and manager == "uv":
        result = _constrained(result, rest, content, outcome)
    if _content(result, shown) != content:
        raise EditError("could not be changed without changing something else", path=shown)
    return outcome.edited(result, tuple(pin.package for pin in pins), absent=_REASONS.get(manager, _NOT_ASKED_FOR))


@dataclass(frozen=True, slots=True)
class _Place:
    """One text that asks for a package.

    Attributes:
        keys: where it stands in the file.
        whole: the text.
        start: where its specifier begins.
        end: where that ends.
    """

    entry: Entry
    keys: _Keys
    whole: str
    start: int
    end: int


def _content(text: str, shown: str) -> dict[str, Any]:
    try:
        return parse(text, shown)
    except Malformed as error:
        raise EditError(error.message, path=shown, line=error.line) from None


def _manager(content: Mapping[str, Any]) -> Manager | None:
    tools = _table(content, "tool")
    return next((manager for manager in ("uv", "poetry", "pdm") if manager in tools), None)


def _table(content: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content if isinstance(content, dict) else {}


def _places(content: dict[str, Any], wanted: Mapping[str, PinEdit], outcome: Outcome) -> Iterator[_Place]:
    """Everything in the file that asks for one of the packages."""
    linked = {
        normalise(name): "`tool.uv.sources` takes it from a URL, which decides its version"
        for name, source in _table(content, "tool", "uv", "sources").items()
        if any(
            _LINKS & item.keys()
            for item in (source if isinstance(source, list) else [source])
            if isinstance(item, dict)
        )
    }
    for keys in _lists(content):
        holder: Any = content
        for key in keys:
            holder = holder[key]
        for index, text in enumerate(holder if isinstance(holder, list) else []):
            what = parts(text) if isinstance(text, str) else None
            pin = wanted.get(what.name) if what is not None else None
            if what is None or pin is None:
                continue
            where = f"`{_dotted((*keys, index))}`"
            if what.linked:
                outcome.leave(what.name, f"{where}: comes from a URL, which decides its version")
                continue
            specifier = text[what.start : what.end]
            entry = Entry(pin=pin, specifier=specifier, where=where, blocked=linked.get(what.name))
            yield _Place(entry, (*keys, index), text, what.start, what.end)
    yield from _overrides(content, wanted, outcome)
    yield from _of_poetry(content, wanted, outcome)
    keys = ("tool", "conda-lock", "dependencies")
    for name, value in _table(content, *keys).items():
        yield from _named((*keys, name), name, value, wanted, outcome, "conda")


def _lists(content: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The keys of each list of requirements."""
    tables: tuple[tuple[str, ...], ...] = (
        ("project", "optional-dependencies"),
        ("dependency-groups",),
        ("tool", "pdm", "dev-dependencies"),
        ("tool", "flit", "metadata", "requires-extra"),
    )
    lists: list[tuple[str, ...]] = [("project", "dependencies")]
    lists += [(*keys, group) for keys in tables for group in _table(content, *keys)]
    lists += [("tool", "uv", f"{kind}-dependencies") for kind in ("dev", "constraint", "override")]
    for name in _table(content, "tool", "hatch", "envs"):
        lists += [("tool", "hatch", "envs", name, key) for key in ("dependencies", "extra-dependencies")]
    lists.append(("tool", "flit", "metadata", "requires"))
    for keys in lists:
        if keys[-1] in _table(content, *keys[:-1]):
            yield keys


def _overrides(content: Mapping[str, Any], wanted: Mapping[str, PinEdit], outcome: Outcome) -> Iterator[_Place]:
    """``[tool.pdm.resolution.overrides]``: a bare version is exact, as Poetry has it, and a link is a link."""
    keys = ("tool", "pdm", "resolution", "overrides")
    for name, value in _table(content, *keys).items():
        if isinstance(value, str) and "://" in value and normalise(name) in wanted:
            outcome.leave(normalise(name), f"`{_dotted((*keys, name))}`: comes from a URL, which decides its version")
            continue
        bare = isinstance(value, str) and value.strip()[:1] not in tuple("<>=!~")
        yield from _named((*keys, name), name, value, wanted, outcome, "poetry" if bare else "pep440")


def _of_poetry(content: Mapping[str, Any], wanted: Mapping[str, PinEdit], outcome: Outcome) -> Iterator[_Place]:
    of_tool = ("tool", "poetry")
    tables = [("dependencies",), ("dev-dependencies",)]
    tables += [("group", group, "dependencies") for group in _table(content, *of_tool, "group")]  # type: ignore[misc] # of any length
    required = {
        what.name
        for text in _table(content, "project").get("dependencies", ())
        if isinstance(text, str) and (what := parts(text)) is not None
    }
    for table in tables:
        for name, value in _table(content, *of_tool, *table).items():
            alternatives = value if isinstance(value, list) else [value]
            for index, one in enumerate(alternatives):
                keys: _Keys = (*of_tool, *table, name, index) if value is alternatives else (*of_tool, *table, name)
                if isinstance(one, dict) and "version" not in one and normalise(name) in required:
                    continue  # it only says from which index, or with which extras
                yield from _named(keys, name, one, wanted, outcome, "poetry")


def _named(
    keys: _Keys, name: str, value: Any, wanted: Mapping[str, PinEdit], outcome: Outcome, dialect: Dialect
) -> Iterator[_Place]:
    """``name = "^4"`` or ``name = {version = "^4", …}``."""
    pin = wanted.get(normalise(name))
    if pin is None:
        return
    where = f"`{_dotted(keys)}`"
    if isinstance(value, dict):
        if _LINKS & value.keys():
            outcome.leave(pin.package, f"{where}: comes from a URL, which decides its version")
            return
        keys, value = (*keys, "version"), value.get("version")
    if not isinstance(value, str):
        outcome.leave(pin.package, f"{where}: names no version that could be changed")
        return
    entry = Entry(pin=pin, specifier=value, where=where, dialect=dialect)
    yield _Place(entry, keys, value, 0, len(value))


class _Offsets:
    """Where texts stand in the file, if they are written as they read."""

    def __init__(self, text: str, shown: str) -> None:
        self._text = text
        self._places = TomlPlaces(text, shown)
        self._starts = [0]
        while (end := text.find("\n", self._starts[-1])) >= 0:
            self._starts.append(end + 1)

    def inside(self, keys: _Keys, value: str) -> int | None:
        """The offset behind the opening quote of a text."""
        location = self._places.of(*keys)
        if location.line is None or location.column is None:
            return None
        start = self._starts[location.line - 1] + location.column - 1
        for quotes in ('"""', "'''", '"', "'"):
            if self._text.startswith(quotes + value + quotes, start):
                return start + len(quotes)
        return None


def _put(content: Any, keys: _Keys, value: str) -> None:
    for key in keys[:-1]:
        content = content[key]
    content[keys[-1]] = value


def _constrained(text: str, pins: Sequence[PinEdit], content: dict[str, Any], outcome: Outcome) -> str:
    """The text with these pins among uv's constraints, if it can take them; ``content`` follows."""
    additions = [f"{pin.package}{moved('', pin if pin.kind != 'add' else _floor(pin)).specifier}" for pin in pins]
    try:
        result = _with_constraints(text, additions)
    except (TOMLKitError, TypeError, ValueError, AttributeError, RecursionError):
        for pin in pins:
            outcome.leave(pin.package, f"{_NOT_ASKED_FOR}, and `[tool.uv]` cannot take a constraint as it is written")
        return text
    constraints = content.setdefault("tool", {}).setdefault("uv", {}).setdefault("constraint-dependencies", [])
    constraints += additions
    for pin in pins:
        outcome.settle(pin.package)
    names = ", ".join(f"`{addition}`" for addition in additions)
    outcome.note(f"{names}: not asked for by the project itself, so held by `constraint-dependencies` of `[tool.uv]`")
    return result


def _with_constraints(text: str, additions: Sequence[str]) -> str:
    """The text with more constraints for uv; a ValueError or whatever tomlkit raises if there is no place for them."""
    document = tomlkit.parse(text)
    if document.as_string() != text:
        raise ValueError("tomlkit does not reproduce the text")
    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    uv = tool.setdefault("uv", tomlkit.table())
    array = uv.get("constraint-dependencies")
    if array is None:
        array = tomlkit.array()
        array.multiline(multiline=True)
        uv["constraint-dependencies"] = array
    if not isinstance(array, Array):
        raise TypeError("not a list")
    for addition in additions:
        array.append(String.from_raw(addition))
    result = document.as_string()
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        result = re.sub(r"(?<!\r)\n", "\r\n", result)
    return result


def _floor(pin: PinEdit) -> PinEdit:
    return PinEdit(package=pin.package, version_to=pin.version_to, kind="upgrade")


def _dotted(keys: _Keys) -> str:
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.removeprefix(".")
