"""Sets of versions on the total order of PEP 440, and where a version that someone reports really sits.

``SpecifierSet.contains`` is not used: ``2.6.0a0+ecf3bae40a.nv25.1`` is in neither ``<2.6`` nor ``>=2.6`` there, and
pre-releases come and go with a flag. Here a set is a union of intervals between *cuts*; a cut lies just below or just
above a version, so that every operator is a half-open interval and complements need no special cases.

A version that names a commit rather than a release (``4.52.0.dev0``, ``2.6.0a0+git1234abc``, ``0.14.3+551331d``) is a
*window* of the order: it holds in a set only if the whole window does.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.truth import Truth

BELOW, ABOVE = 0, 1

# A cut is (version, BELOW) or (version, ABOVE); None is minus infinity as a lower and plus infinity as an upper cut.
Cut = tuple[Version, int]
Interval = tuple[Cut | None, Cut | None]

_PLAIN_RANGE = lazy_pattern(r">=([^\s,|*]+),<([^\s,|*=]+)")  # as most are
_CLAUSE = lazy_pattern(r"\s*(===|~=|==|!=|<=|>=|<|>)\s*([^\s,]+)\s*")
# A commit in a local label: `git0d4682f0`, `g551331d`, or bare hexadecimal that is neither a date nor a word. Seven
# digits are one too: a short hash in thirty has no letter, and no date has that length.
_COMMIT = lazy_pattern(r"(?:git|g)[0-9a-f]{6,40}|(?=[a-f0-9]*[a-f])(?=[a-f0-9]*[0-9])[0-9a-f]{7,40}|[0-9]{7}")
_VENDOR = lazy_pattern(r"nv\d+|nv")


@lru_cache(maxsize=4096)
def parse_version(text: str) -> Version | None:
    """The public part of a PEP 440 version (``2.5.1+cu124`` is ``2.5.1``), or None if it is none."""
    try:
        version = Version(text.strip())
    except ValueError:  # InvalidVersion, or a number of more digits than int() takes
        return None
    return Version(version.public) if version.local else version


@dataclass(frozen=True, slots=True)
class Window:
    """Where a build may sit on the order of releases: from ``low`` to ``high``, both included.

    For a release both are the release itself. ``prerelease`` marks a published alpha, beta or candidate, whose place
    is exact although nobody may have looked at it.
    """

    low: Version
    high: Version
    prerelease: bool = False

    @property
    def exact(self) -> bool:
        return self.low is self.high or self.low == self.high


def step(start: Version, end: Version) -> int:
    """Which part of the number changes: 2 for the major version or the epoch, 1 for the minor one, 0 for the rest."""
    if (start.epoch, start.major) != (end.epoch, end.major):
        return 2
    return int(start.minor != end.minor)


def upward(versions: Iterable[Version], start: Version) -> list[Version]:
    """The newer versions in the order in which one moves to them.

    Of the same minor version the next patch comes first, of another one the last patch: whoever takes its changes wants
    its corrections.
    """
    ordered: list[Version] = []
    for minor, members in groupby(sorted(version for version in versions if version > start), _minor):
        ordered += sorted(members, reverse=minor != _minor(start))
    return ordered


def _minor(version: Version) -> tuple[int, int, int]:
    return version.epoch, version.major, version.minor


def _previous(version: Version) -> Version | None:
    """The release that the development of this one started from, by the numbering alone."""
    major, minor, micro = (*version.release, 0, 0)[:3]
    epoch = f"{version.epoch}!" if version.epoch else ""
    if micro:
        return Version(f"{epoch}{major}.{minor}.{micro - 1}")
    if minor:
        return Version(f"{epoch}{major}.{minor - 1}.0")
    # Which minor release came last before a major one, the number does not say.
    return Version(f"{epoch}{major - 1}.0") if major else None


@lru_cache(maxsize=65536)
def locate(text: str, *, unreleased: bool = False) -> Window | None:
    """Where the build that calls itself ``text`` sits, or None if ``text`` is not a version.

    Args:
        text: a version as a lockfile, an interpreter or a person wrote it.
        unreleased: the package was built from a checkout that is not known to be the tag of a release.

    >>> locate("2.5.1+cu124")
    Window(low=<Version('2.5.1')>, high=<Version('2.5.1')>, prerelease=False)
    >>> locate("4.52.0.dev0")
    Window(low=<Version('4.51.0')>, high=<Version('4.52.0')>, prerelease=False)
    """
    try:
        version = Version(text.strip())
    except ValueError:
        return None
    return window_of(version, unreleased=unreleased)


def window_of(version: Version, *, unreleased: bool = False) -> Window:
    """The same for what is known to be a version."""
    if not (unreleased or version.local or version.is_prerelease):
        return Window(version, version)  # as most are
    public = Version(version.public) if version.local else version
    segments = version.local.split(".") if version.local else []
    at_a_commit = (
        unreleased
        or version.is_devrelease
        or version.pre == ("a", 0)  # what torch calls its trunk; a first published alpha is a1
        or any(_COMMIT.fullmatch(part) or _VENDOR.fullmatch(part) for part in segments)
    )
    if at_a_commit:
        final = Version(public.base_version)
        # `1.2.post3.dev1` (setuptools_scm and others) lies behind 1.2, not before it; `1.2rc1.post3.dev1` does not.
        if public.post is not None and public.pre is None:
            return Window(final, Version(f"{public.base_version}.post{public.post}"))
        return Window(_previous(final) or public, final)
    if public.is_prerelease:
        return Window(public, Version(public.base_version), prerelease=True)
    return Window(public, public)


def _lower_key(cut: Cut | None) -> tuple[int, Version, int]:
    return (0, _ZERO, 0) if cut is None else (1, *cut)


def _upper_key(cut: Cut | None) -> tuple[int, Version, int]:
    return (2, _ZERO, 0) if cut is None else (1, *cut)


def _lower_of(interval: Interval) -> tuple[int, Version, int]:
    return _lower_key(interval[0])


def _upper_of(interval: Interval) -> tuple[int, Version, int]:
    return _upper_key(interval[1])


_ZERO = Version("0")
_FEW = 8  # intervals that are looked through sooner than searched


@dataclass(frozen=True, slots=True)
class VersionSet:
    """A union of disjoint, sorted, non-empty intervals of versions."""

    intervals: tuple[Interval, ...]
    _text: str = field(init=False, default="", repr=False, compare=False)

    @classmethod
    def spelled(cls, text: str) -> VersionSet:
        """The same as :meth:`parse` of what is known to have that form, read when somebody asks for an interval."""
        versions = object.__new__(cls)
        object.__setattr__(versions, "_text", text)
        return versions

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The intervals of a set that was not read yet; nothing else of it is not there."""
            if name != "intervals":
                raise AttributeError(f"a set of versions has no {name}")
            object.__setattr__(self, "intervals", _parsed(self._text).intervals)
            return self.intervals

    @staticmethod
    def parse(text: str) -> VersionSet:
        """Read ``>=4.46.0,<4.46.3 || ==4.48.0``: a comma is *and*, ``||`` is *or*, ``*`` is every version.

        Raises:
            ValueError: if it is not of that form.
        """
        return _parsed(text)

    @classmethod
    def _conjunction(cls, text: str) -> VersionSet:
        if text.strip() == "*":
            return ALL
        clauses: list[VersionSet] = []
        for clause in text.split(","):
            match = _CLAUSE.fullmatch(clause)
            if match is None:
                raise ValueError(f"`{text.strip()}` is not a set of versions: `{clause.strip()}` has no meaning")
            clauses.append(cls._clause(match[1], match[2]))
        return all_of(clauses)

    @classmethod
    def _clause(cls, operator: str, operand: str) -> VersionSet:
        if operand.endswith(".*"):
            if operator not in ("==", "!="):
                raise ValueError(f"`{operator}{operand}`: a prefix goes with == and != only")
            prefix = _public(operand[:-2])
            if prefix != Version(prefix.base_version):
                raise ValueError(f"`{operator}{operand}`: a prefix is made of numbers only")
            # Ends where the prefix does: `1.0.*` has 1.0.post1 and 1.0.99, and no 1.1.dev0.
            matching = cls._between((_dev0(prefix), BELOW), (_dev0(_bumped(prefix, len(prefix.release))), BELOW))
            return matching if operator == "==" else ~matching
        version = _public(operand)
        match operator:
            case "==" | "===":
                return cls._between((version, BELOW), (version, ABOVE))
            case "!=":
                return ~cls._between((version, BELOW), (version, ABOVE))
            case ">=":
                return cls._between((version, BELOW), None)
            case ">":
                return cls._between((version, ABOVE), None)
            case "<":
                return cls._between(None, (version, BELOW))
            case "<=":
                return cls._between(None, (version, ABOVE))
        # `~=` is the only operator that is left: `~=2.2.1` is `>=2.2.1, ==2.2.*`.
        if len(version.release) < 2:
            raise ValueError(f"`~={operand}` needs at least two parts")
        return cls._between((version, BELOW), (_dev0(_bumped(version, len(version.release) - 1)), BELOW))

    @classmethod
    def _between(cls, low: Cut | None, high: Cut | None) -> VersionSet:
        return cls(((low, high),))

    def __or__(self, other: VersionSet) -> VersionSet:
        return any_of((self, other))

    def __and__(self, other: VersionSet) -> VersionSet:
        if len(self.intervals) == 1 == len(other.intervals):  # `>=4.46,<4.50`, as most ranges are
            (low, high), (other_low, other_high) = self.intervals[0], other.intervals[0]
            low, high = max(low, other_low, key=_lower_key), min(high, other_high, key=_upper_key)
            return VersionSet(((low, high),) if low is None or high is None or low < high else ())
        few, many = sorted((self.intervals, other.intervals), key=len)
        met: list[Interval] = []
        for low, high in few:
            first = bisect_right(many, _lower_key(low), key=_upper_of)
            last = bisect_left(many, _upper_key(high), lo=first, key=_lower_of)
            if first == last:
                continue
            # All that lies between the first and the last one lies within.
            start = len(met)
            met.extend(many[first:last])
            met[start] = (max(low, met[start][0], key=_lower_key), met[start][1])
            met[-1] = (met[-1][0], min(high, met[-1][1], key=_upper_key))
        return VersionSet(tuple(met))

    def __invert__(self) -> VersionSet:
        gaps: list[Interval] = []
        start: Cut | None = None
        for low, high in self.intervals:
            if low is not None:
                gaps.append((start, low))
            if high is None:
                return VersionSet(tuple(gaps))
            start = high
        gaps.append((start, None))
        return VersionSet(tuple(gaps))

    def __contains__(self, version: Version) -> bool:
        intervals = self.intervals
        if len(intervals) > _FEW:
            at = bisect_left(intervals, _upper_key((version, ABOVE)), key=_upper_of)
            intervals = intervals[at : at + 1]
        # Sorted, and asked more often than anything else: comparing cuts would compare each version twice.
        for low, high in intervals:
            if high is None or version < high[0] or (high[1] == ABOVE and version == high[0]):
                return low is None or low[0] < version or (low[1] == BELOW and version == low[0])
        return False

    def places_in(self, versions: Sequence[Version]) -> Iterator[range]:
        """Where the versions of the set stand among sorted ones."""
        for low, high in self.intervals:
            yield range(_place(versions, low, 0), _place(versions, high, len(versions)))

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def __le__(self, other: VersionSet) -> bool:
        """Is every version of this set in the other one?"""
        return not (self & ~other)

    @property
    def bounded(self) -> bool:
        """Does it end on both sides?"""
        return bool(self) and self.intervals[0][0] is not None and self.intervals[-1][1] is not None

    @property
    def without_pre_releases(self) -> VersionSet:
        """The set without the intervals that hold pre-releases alone, such as ``>=4.48.dev0,<4.48.0``."""
        return VersionSet(tuple(interval for interval in self.intervals if _holds_final(*interval)))

    @property
    def bounds(self) -> Iterator[Version]:
        """Every version that a bound is at, from low to high."""
        for low, high in self.intervals:
            if low is not None:
                yield low[0]
            if high is not None:
                yield high[0]

    def truth(self, window: Window) -> Truth:
        """Is a build that sits somewhere in this window in the set?"""
        if window.exact:
            return Truth.of(window.low in self)
        if window.prerelease:
            settled = any(bound.is_prerelease and Version(bound.base_version) == window.high for bound in self.bounds)
            if settled:  # whoever drew a bound between pre-releases has looked at them
                return Truth.of(window.low in self)
        whole = VersionSet((((window.low, BELOW), (window.high, ABOVE)),))
        met = whole & self
        if not met:
            return Truth.NO
        return Truth.YES if met == whole else Truth.UNKNOWN

    def __str__(self) -> str:
        if self == ALL:
            return "*"
        return " || ".join(_interval_text(low, high) for low, high in self.intervals) or "nothing"


ALL = VersionSet(((None, None),))


@lru_cache(maxsize=512)  # a range is read where it stands, joined with others, and matched
def _parsed(text: str) -> VersionSet:
    if plain := _PLAIN_RANGE.fullmatch(text):
        low, high = _public(plain[1]), _public(plain[2])
        return VersionSet((((low, BELOW), (high, BELOW)),) if low < high else ())
    alternatives = [VersionSet._conjunction(alternative) for alternative in text.split("||")]
    return alternatives[0] if len(alternatives) == 1 else any_of(alternatives)


def any_of(sets: Iterable[VersionSet]) -> VersionSet:
    """The union of all of them."""
    merged: list[Interval] = []
    every = (interval for versions in sets for interval in versions.intervals)
    for low, high in sorted(every, key=lambda interval: _lower_key(interval[0])):
        if merged and _touches(merged[-1][1], low):
            last_low, last_high = merged[-1]
            merged[-1] = (last_low, max(last_high, high, key=_upper_key))
        else:
            merged.append((low, high))
    return VersionSet(tuple(merged))


def all_of(sets: Sequence[VersionSet]) -> VersionSet:
    """The intersection of all of them, in one pass over their sorted bounds."""
    if len(sets) == 1:
        return sets[0]
    if len(sets) == 2:
        return sets[0] & sets[1]
    return ~any_of(~version_set for version_set in sets)


def _place(versions: Sequence[Version], cut: Cut | None, infinite: int) -> int:
    """How many of the sorted versions lie below a cut."""
    if cut is None:
        return infinite
    return (bisect_left if cut[1] == BELOW else bisect_right)(versions, cut[0])


def _touches(high: Cut | None, low: Cut | None) -> bool:
    return high is None or low is None or low <= high


def _public(text: str) -> Version:
    version = parse_version(text)
    if version is None:
        raise ValueError(f"`{text}` is not a version")
    return version


def _dev0(version: Version) -> Version:
    return Version(f"{version.epoch}!{'.'.join(map(str, version.release))}.dev0")


def _bumped(version: Version, length: int) -> Version:
    """The first version behind all that share the first ``length`` parts."""
    release = (*version.release, 0, 0)[:length]
    return Version(f"{version.epoch}!{'.'.join(map(str, (*release[:-1], release[-1] + 1)))}")


def _holds_final(low: Cut | None, high: Cut | None) -> bool:
    """Is a final release in the interval? From a pre-release on, the first one is that which it leads to."""
    if low is None or not low[0].is_prerelease or high is None:
        return True
    return (Version(low[0].base_version), ABOVE) <= high


def _interval_text(low: Cut | None, high: Cut | None) -> str:
    if low is not None and high is not None and low[0] == high[0]:
        return f"=={low[0]}"
    parts = []
    if low is not None:
        parts.append(f"{'>=' if low[1] == BELOW else '>'}{low[0]}")
    if high is not None:
        parts.append(f"{'<' if high[1] == BELOW else '<='}{high[0]}")
    return ",".join(parts)
