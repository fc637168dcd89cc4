"""Environment markers (PEP 508) as sets of points of a grid of environments.

A marker is parsed once. An atom (``sys_platform == 'linux'``) is evaluated once for each value that its variable takes
on the grid, and becomes an integer with a bit for each point; *and* and *or* are then those of integers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Literal, NamedTuple

from packaging.version import Version

from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet, parse_version
from gradcompat.startup.lazy_patterns import lazy_pattern

_LONGEST = 100_000
_TOKEN = lazy_pattern(
    r"""\s*(?:
        (?P<bracket>[()])
      | (?P<boolean>and|or)\b
      | (?P<operator>===|==|~=|!=|<=|>=|<|>|in\b|not\s+in\b)
      | (?P<variable>[a-z_]+(?:\.[a-z_]+)?)
      | (?P<value>'[^']*'|"[^"]*")
    )\s*""",
    re.VERBOSE,
)
# `sys_platform == 'linux'` in one go: long markers of lockfiles hold little else.
_COMPARISON = lazy_pattern(
    r"""\s*(?!and|or\b|in\b|not\s+in\b)([a-z_]+(?:\.[a-z_]+)?)\s*(===|==|~=|!=|<=|>=|<|>|in\b|not\s+in\b)\s*('[^']*'|"[^"]*")\s*"""
)
_SPELLINGS = {"python_implementation": "platform_python_implementation"}

_PLATFORMS = tuple(
    {
        "sys_platform": sys_platform,
        "platform_system": system,
        "os_name": os_name,
        "platform_machine": machine,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    for sys_platform, system, os_name, machines in (
        ("linux", "Linux", "posix", ("x86_64", "aarch64", "ppc64le")),
        ("darwin", "Darwin", "posix", ("x86_64", "arm64")),
        ("win32", "Windows", "nt", ("AMD64",)),
    )
    for machine in machines
)
_PYTHON = ("python_version", "python_full_version")
_USUAL = frozenset((3, minor, micro) for minor in range(8, 16) for micro in (0, 1, 5))

# What needs no parser but this one, where a marker compares nothing else.
PLAIN_VARIABLES = frozenset(
    {
        *("sys_platform", "platform_system", "platform_machine", "os_name", "python_version", "python_full_version"),
        *("implementation_name", "platform_python_implementation"),
    }
)

Release = tuple[int, int, int]
_Step = int | Literal["and", "or"]


class Atom(NamedTuple):
    """One comparison as it is written; ``value_first`` if it is ``'linux' == sys_platform``."""

    variable: str
    operator: str
    value: str
    value_first: bool


class Marker(NamedTuple):
    """A marker in postfix order.

    Attributes:
        atoms: each of its comparisons once.
        steps: places among the atoms, and the operators behind them.
        extras: every extra that it names.
        releases: versions of Python beside the usual ones at which it may change.
        variables: what it compares, in today's spelling.
        odd: how many atoms are compared by the reference implementation, which takes a thousand times as long.
    """

    atoms: tuple[Atom, ...]
    steps: tuple[_Step, ...]
    extras: frozenset[str]
    releases: frozenset[Release]
    variables: frozenset[str]
    odd: int


_Postfix = tuple[tuple[Atom, ...], tuple[_Step, ...]]


@lru_cache(maxsize=8192)
def parse_marker(text: str) -> Marker | None:
    """The marker that a text is, or None if it is none."""
    if len(text) > _LONGEST:
        return None
    read = _clauses(text) or _expression(text)
    if read is None:
        return None
    atoms, steps = read
    return Marker(
        atoms,
        steps,
        frozenset([atom.value for atom in atoms if atom.variable == "extra" and atom.value]),
        frozenset([release for atom in atoms if atom.variable in _PYTHON for release in _around(atom.value)]),
        frozenset([atom.variable for atom in atoms]),
        sum(_is_odd(atoms[step]) for step in steps if isinstance(step, int)) if any(map(_is_odd, atoms)) else 0,
    )


def _clauses(text: str) -> _Postfix | None:
    """A marker as lockfiles write long ones, ``(… and …) or (… and …)``; None for any other text."""
    steps: list[_Step] = []
    places: dict[str, int] = {}
    atoms: dict[Atom, int] = {}
    for clause in text.split(" or "):
        if clause.startswith("("):
            if not clause.endswith(")"):
                return None
            clause = clause[1:-1]  # noqa: PLW2901
        first = not steps
        for number, comparison in enumerate(clause.split(" and ")):
            place = places.get(comparison)
            if place is None:
                plain = _COMPARISON.fullmatch(comparison)
                if plain is None:
                    return None
                place = places[comparison] = atoms.setdefault(_plain_atom(*plain.groups()), len(atoms))
            steps.append(place)
            if number:
                steps.append("and")
        if not first:
            steps.append("or")
    return tuple(atoms), tuple(steps)


def _expression(text: str) -> _Postfix | None:
    """Any marker, read from left to right; None where the text is none."""
    steps: list[_Step] = []
    places: dict[Atom, int] = {}
    waiting: list[str] = []  # operators and opening brackets
    operand = True  # comes next
    position = 0
    while position < len(text):
        if operand and (plain := _COMPARISON.match(text, position)) is not None:
            steps.append(places.setdefault(_plain_atom(*plain.groups()), len(places)))
            position = plain.end()
            operand = False
            continue
        token = _TOKEN.match(text, position)
        if token is None:
            return None
        if operand and token["bracket"] == "(":
            waiting.append("(")
            position = token.end()
        elif operand:
            found = _atom(text, token)
            if found is None:
                return None
            atom, position = found
            steps.append(places.setdefault(atom, len(places)))
            operand = False
        elif token["bracket"] == ")":
            while waiting and waiting[-1] != "(":
                steps.append(waiting.pop())  # type: ignore[arg-type]  # what waits is a bracket or one of the two
            if not waiting:
                return None
            waiting.pop()
            position = token.end()
        elif boolean := token["boolean"]:
            # `and` binds more closely.
            while waiting and (waiting[-1] == "and" or waiting[-1] == boolean):
                steps.append(waiting.pop())  # type: ignore[arg-type]  # as above
            waiting.append(boolean)
            operand = True
            position = token.end()
        else:
            return None
    if operand or "(" in waiting:
        return None
    steps += reversed(waiting)  # type: ignore[arg-type]  # as above
    return tuple(places), tuple(steps)


def _atom(text: str, left: re.Match[str]) -> tuple[Atom, int] | None:
    """The comparison that begins with this token, and where it ends."""
    operator = _TOKEN.match(text, left.end())
    right = _TOKEN.match(text, operator.end()) if operator is not None and operator["operator"] else None
    if operator is None or right is None:
        return None
    sign = " ".join(operator["operator"].split())
    if left["variable"] and right["value"]:
        return Atom(_variable(left["variable"]), sign, right["value"][1:-1], False), right.end()
    if left["value"] and right["variable"]:
        return Atom(_variable(right["variable"]), sign, left["value"][1:-1], True), right.end()
    return None


@lru_cache(maxsize=8192)
def _plain_atom(variable: str, operator: str, value: str) -> Atom:
    return Atom(_variable(variable), " ".join(operator.split()), value[1:-1], False)


def _variable(written: str) -> str:
    name = written.replace(".", "_")  # `os.name` is an old spelling
    return _SPELLINGS.get(name, name)


def _around(text: str) -> Iterable[Release]:
    """The releases of Python just below, at and just above each version in a text, where the grid lacks them."""
    for word in text.replace(",", " ").replace("|", " ").split():
        version = parse_version(word.removesuffix(".*"))
        if version is None:
            continue
        major, minor, micro = (*version.release, 0, 0)[:3]
        for one in (micro - 1, micro, micro + 1):
            if one >= 0 and (major, minor, one) not in _USUAL:
                yield major, minor, one
        for neighbour in (minor - 1, minor + 1):
            if neighbour >= 0 and (major, neighbour, 5) not in _USUAL:
                yield major, neighbour, 5


def evaluated(marker: Marker, bits_of: Callable[[Atom], int | None]) -> int | None:
    """The points at which a marker holds, from those at which each atom does; None where one of them is not known."""
    held: list[int] = []
    for atom in marker.atoms:
        found = bits_of(atom)
        if found is None:
            return None
        held.append(found)
    stack: list[int] = []
    for step in marker.steps:
        if isinstance(step, int):
            stack.append(held[step])
        else:
            right = stack.pop()
            stack[-1] = stack[-1] & right if step == "and" else stack[-1] | right
    return stack[0]


def may_hold(marker: Marker, environment: Mapping[str, str]) -> bool | None:
    """Does a marker hold in an environment with one extra or with none? None if that cannot be told."""
    found = _held_with(sorted(marker.extras), marker, environment)
    return None if found is None else bool(found)


def holds_everywhere(text: str) -> bool:
    """Does a marker hold whatever the one thing is that it asks for? Poetry writes ``a == "x" or a != "x"``."""
    marker = parse_marker(text)
    if marker is None or marker.extras or len(marker.variables) != 1 or any(one.value_first for one in marker.atoms):
        return False
    if not {one.operator for one in marker.atoms} <= {"==", "!="}:
        return False
    (variable,) = marker.variables
    values = {one.value for one in marker.atoms}
    return all(may_hold(marker, {variable: value}) for value in (*values, "".join(values) + "_"))


def holding_extras(marker: Marker, environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """The extras, normalised, with which a marker holds; ``""`` alone if it holds without any. None as above."""
    extras = sorted(set(map(normalise, marker.extras)))
    found = _held_with(extras, marker, environment)
    if found is None:
        return None
    return ("",) if found & 1 else tuple(extra for place, extra in enumerate(extras, start=1) if found >> place & 1)


def _held_with(extras: Sequence[str], marker: Marker, environment: Mapping[str, str]) -> int | None:
    """With which of these extras a marker holds, as bits; the lowest one is for none of them."""
    places = {normalise(extra): 1 << place for place, extra in enumerate(extras, start=1)}
    everywhere = (2 << len(extras)) - 1

    def bits_of(atom: Atom) -> int | None:
        if atom.variable == "extra":
            if atom.operator not in ("==", "!="):
                return None
            chosen = places.get(normalise(atom.value), 0)
            return chosen if atom.operator == "==" else everywhere & ~chosen
        held = _compares(atom, environment.get(atom.variable))
        return None if held is None else everywhere * held

    return evaluated(marker, bits_of)


class Grid:
    """Environments to evaluate markers in: platforms, versions of Python, and choices of extras.

    Args:
        releases: versions of Python beside the usual ones.
        choices: which extras are chosen at once, of those that exclude others.

    Attributes:
        size: the number of points.
    """

    def __init__(self, releases: frozenset[Release], choices: tuple[frozenset[str], ...]) -> None:
        self._pythons = sorted(_USUAL | releases)
        self._choices = choices
        self._places = len(_PLATFORMS) * len(self._pythons)
        self.size = self._places * len(choices)
        self._versions = {
            "python_version": [_version(python[:2]) for python in self._pythons],
            "python_full_version": [_version(python) for python in self._pythons],
        }
        self._everywhere = (1 << self._places) - 1
        self._each_platform = _repeated(len(_PLATFORMS), len(self._pythons))
        self._each_choice = _repeated(len(choices), self._places)
        self._known: dict[Atom, int] = {}

    def holds(self, marker: Marker, free: tuple[str, ...]) -> int | None:
        """The points at which a marker holds, for some extra; None where it compares what cannot be compared.

        Args:
            marker: what is evaluated.
            free: the extras that exclude no other; ``""`` for none of them.
        """
        bits = 0
        for extra in free:
            found = evaluated(marker, partial(self._at, free=extra))
            if found is None:
                return None
            bits |= found
        return bits

    def _at(self, atom: Atom, free: str) -> int | None:
        return self._extra(atom, free) if atom.variable == "extra" else self._atom(atom)

    def _atom(self, atom: Atom) -> int | None:
        if atom not in self._known:
            found = self._at_places(atom)
            if found is None:
                return None
            self._known[atom] = found * self._each_choice
        return self._known[atom]

    def _at_places(self, atom: Atom) -> int | None:
        if atom.variable not in _PYTHON:
            held = _bits([_compares(atom, platform.get(atom.variable)) for platform in _PLATFORMS])
            return None if held is None else _spread(held, len(self._pythons)) * ((1 << len(self._pythons)) - 1)
        versions = self._versions[atom.variable]
        wanted = _wanted(atom)
        if wanted is None:
            compared = {version: _by_reference(atom, str(version)) for version in dict.fromkeys(versions)}
            odd = _bits([compared[version] for version in versions])
            return None if odd is None else odd * self._each_platform
        bits = 0
        for places in wanted.places_in(versions):
            bits |= (1 << places.stop) - (1 << places.start)
        return bits * self._each_platform

    def _extra(self, atom: Atom, free: str) -> int | None:
        if not excludes(atom.value):
            held = _compares(atom, free)
            return None if held is None else self._everywhere * self._each_choice * held
        if atom.operator not in ("==", "!="):
            return None
        if atom not in self._known:
            yes, no = ("1" * self._places, "0" * self._places)
            if atom.operator == "!=":
                yes, no = no, yes
            bits = int("".join(yes if atom.value in chosen else no for chosen in reversed(self._choices)), 2)
            self._known[atom] = bits
        return self._known[atom]


_EXCLUDES = lazy_pattern(r"(?:extra|group|project)-\d+-.*")


def excludes(extra: str) -> bool:
    """Is it an extra as uv encodes those that conflict with others (``extra-8-nanochat-cpu``)?"""
    return _EXCLUDES.fullmatch(extra) is not None


def _repeated(times: int, width: int) -> int:
    """A bit at the begin of each of so many fields of that width; a product with it repeats a field."""
    return ((1 << times * width) - 1) // ((1 << width) - 1)


def _spread(bits: int, width: int) -> int:
    """The bits at the begin of fields of that width."""
    return sum(1 << index * width for index in range(bits.bit_length()) if bits >> index & 1)


@lru_cache(maxsize=65536)
def _version(release: tuple[int, ...]) -> Version:
    return Version(".".join(map(str, release)))


def _bits(held: list[bool | None]) -> int | None:
    """Truths as the bits of an integer, the first one lowest; None if one of them is not known."""
    if None in held:
        return None
    return int("".join("1" if one else "0" for one in reversed(held)), 2)


def _compares(atom: Atom, value: str | None) -> bool | None:
    """Does a comparison with a text hold? None if nothing is known of it."""
    if value is None:
        return None
    if _is_odd(atom):
        return _by_reference(atom, value)
    if atom.variable in _PYTHON:
        version, wanted = parse_version(value), _wanted(atom)
        return None if version is None or wanted is None else version in wanted
    same = normalise(atom.value) == normalise(value) if atom.variable == "extra" else atom.value == value
    return same == (atom.operator == "==")


def _is_odd(atom: Atom) -> bool:
    """Is it one that only the reference implementation compares, as ``'win' in sys_platform``?"""
    return _wanted(atom) is None if atom.variable in _PYTHON else atom.operator not in ("==", "!=")


@lru_cache(maxsize=8192)
def _by_reference(atom: Atom, value: str) -> bool | None:
    # What comes here is rare, and importing it takes longer than most checks need.
    from packaging.markers import Marker as Reference

    quoted = f"'{atom.value}'" if "'" not in atom.value else f'"{atom.value}"'
    sides = (quoted, atom.operator, atom.variable) if atom.value_first else (atom.variable, atom.operator, quoted)
    try:
        return Reference(" ".join(sides)).evaluate({atom.variable: value})
    except (ValueError, KeyError):
        return None


@lru_cache(maxsize=8192)
def _wanted(atom: Atom) -> VersionSet | None:
    """The versions that a comparison with a plain release allows; None where it is the reference's to compare."""
    version = parse_version(atom.value.removesuffix(".*"))
    if atom.value_first or atom.operator == "===" or version is None or "+" in atom.value:
        return None
    if version.is_prerelease or version.is_postrelease:
        return None
    try:
        return VersionSet.parse(f"{atom.operator}{atom.value}")
    except ValueError:
        return None
