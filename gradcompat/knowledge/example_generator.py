"""Examples of a new record: on both sides of each bound, from the releases that there are, and for each condition."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from packaging.version import Version

from gradcompat.knowledge.schema import COMPARISON, number
from gradcompat.requirements.versions import VersionSet
from gradcompat.vocabulary import KEYS

Example = dict[str, Any]
Releases = Callable[[str], Sequence[Version]]

_PYTHONS = tuple(Version(f"3.{minor}") for minor in range(8, 16))
_PLATFORMS = ("linux", "win32", "darwin")
_MODELS = ("LlamaForCausalLM", "BertForMaskedLM")
_SYMBOLS = ("torch.nn.Linear", "torch.nn.Conv2d")


def examples(combination: Mapping[str, Any], releases: Releases) -> dict[str, list[Example]]:
    """Examples that are affected, not affected and conditional.

    Args:
        combination: as a record has it.
        releases: of a package, from low to high: those that an example should name. An unknown package has none, and
            then only the bounds themselves can be named; `lint` says which sides are without an example.
    """
    ranges = {name: VersionSet.parse(text) for name, text in combination["packages"].items() if text != "absent"}
    absent = [name for name, text in combination["packages"].items() if text == "absent"]
    sides = {name: _Sides(versions, releases(name)) for name, versions in ranges.items()}
    holds, fails = _conditions(combination)
    usual = {name: side.usual for name, side in sides.items()}

    def at(name: str, version: str) -> Example:
        return {**usual, name: version, **holds}

    affected = [at(name, version) for name, side in sides.items() for version in side.inside]
    apart = [at(name, version) for name, side in sides.items() for version in side.outside]
    apart += [{**usual, name: _newest(releases(name)), **holds} for name in absent]
    for key, value in fails.items():
        apart.append({**usual, **holds, key: value})
    found = {"affected": _once(affected) or [{**usual, **holds}], "not_affected": _once(apart)}
    if holds:
        found["conditional"] = [usual]
    return found


def _once(found: Sequence[Example]) -> list[Example]:
    return [one for position, one in enumerate(found) if one not in found[:position]]


class _Sides:
    """The releases next to the bounds of a range, on either side of each.

    Attributes:
        inside: the last of each interval, and the first where it has a lower bound.
        outside: the neighbours that are not in the range.
        usual: one that stands where another package is what an example is about.
    """

    def __init__(self, versions: VersionSet, releases: Sequence[Version]) -> None:
        # A release that a bound is at counts, whatever it is: an author has named it.
        bounds = {cut[0] for interval in versions.intervals for cut in interval if cut is not None}
        known = {release for release in releases if not release.is_prerelease or release in bounds}
        every = sorted(known or bounds)
        inside: list[str] = []
        outside: list[str] = []
        intervals = versions.intervals
        for position, (low, high) in enumerate(intervals):
            there = [version for version in every if version in VersionSet(((low, high),))]
            inside += map(str, there[-1:])
            if low is not None:
                inside += map(str, there[:1])
                gap = VersionSet(((intervals[position - 1][1] if position else None, low),))
                outside += [str(version) for version in every if version in gap][-1:]
            if high is not None:
                following = intervals[position + 1][0] if position + 1 < len(intervals) else None
                gap = VersionSet(((high, following),))
                outside += [str(version) for version in every if version in gap][:1]
        self.inside = list(dict.fromkeys(inside))
        self.outside = list(dict.fromkeys(outside))
        self.usual = self.inside[0] if self.inside else "1.0"


def _newest(releases: Sequence[Version]) -> str:
    return str(releases[-1]) if releases else "1.0"


def _conditions(combination: Mapping[str, Any]) -> tuple[Example, Example]:
    """What holds all conditions, and for each of them something that does not hold it."""
    holds: Example = {}
    fails: Example = {}
    for key, value in combination.get("settings", {}).items():
        holds[key], fails[key] = _setting(key, value)
    if models := combination.get("models"):
        holds["model"] = models[0].replace("*", "").replace("?", "x") or _MODELS[0]
        fails["model"] = next((one for one in _MODELS if not _any(one, models)), "Model")
    if symbols := combination.get("symbols"):
        holds["symbols"] = [symbols[0].replace("*", "module").replace("?", "x")]
        fails["symbols"] = [next((one for one in _SYMBOLS if not _any(one, symbols)), "math.sqrt")]
    if python := combination.get("python"):
        holds["python"], fails["python"] = _versions(VersionSet.parse(python), _PYTHONS)
    if platform := combination.get("platform"):
        holds["platform"] = platform[0]
        fails["platform"] = next((one for one in _PLATFORMS if one not in platform), None)
    for name, text in combination.get("virtual", {}).items():
        wanted = VersionSet.parse(text)
        near = sorted({step for bound in wanted.bounds for step in _steps(bound)})
        holds[name], fails[name] = _versions(wanted, near)
    return _known(holds), _known(fails)


def _known(example: Example) -> Example:
    return {key: value for key, value in example.items() if value is not None}


def _any(word: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(word, pattern) for pattern in patterns)


def _versions(wanted: VersionSet, among: Sequence[Version]) -> tuple[str | None, str | None]:
    inside = [str(version) for version in among if version in wanted]
    outside = [str(version) for version in among if version not in wanted]
    return (inside[0] if inside else None, outside[-1] if outside else None)


def _steps(bound: Version) -> Iterator[Version]:
    """A version with those a little below and above it."""
    major, minor = (*bound.release, 0)[:2]
    yield bound
    yield Version(f"{major}.{minor + 1}")
    if major or minor:
        yield Version(f"{major}.{minor - 1}" if minor else f"{major - 1}.9")


def _setting(key: str, value: Any) -> tuple[Any, Any]:
    """A value that the condition holds for, and one that it does not."""
    match = COMPARISON.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        return _compared(key, match[1], number(match[2]))
    values = value if isinstance(value, list) else [value]
    return values[0], _other(key, values)


def _compared(key: str, operator: str, operand: Any) -> tuple[Any, Any]:
    match operator:
        case ">":
            return operand + 1, operand
        case ">=":
            return operand, operand - 1
        case "<":
            return operand - 1, operand
        case "<=":
            return operand, operand + 1
    return _other(key, [operand]), operand


def _other(key: str, values: Sequence[Any]) -> Any:
    """A value of the key that is none of these: for a word, one that the vocabulary names, where it lists them."""
    first = values[0]
    if isinstance(first, bool):
        return not first if len(values) == 1 else None
    if isinstance(first, (int, float)):
        return max(values) + 1
    words = KEYS[key].meaning.rpartition(": ")[2].split(", ")
    named = [word for word in words if re.fullmatch(r"[A-Za-z0-9_.]+", word)]
    listed = named if len(named) >= len(words) - 1 else []  # the last may be an ellipsis
    return next((word for word in listed if not _any(word, values)), "other")
