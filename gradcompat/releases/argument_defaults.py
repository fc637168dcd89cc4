"""What something is where it is left out: an argument, in the releases that were read, or what their code does."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from packaging.version import Version

from gradcompat.model.environment import SettingValue
from gradcompat.releases.answers import Signature
from gradcompat.releases.table import Beside, ReleaseTable, table_of
from gradcompat.requirements.versions import VersionSet, Window
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.truth import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a function or a constructor.

    Attributes:
        package: that has the callables.
        callables: dotted names of those that share the argument; those of which nothing is known do not count.
        name: of the argument.
        means: what a default stands for, by its text in the source; others are taken as they are written.
        absent: what a release does that has no such argument; None where that has no meaning.
        inherits: another package, whose release says what the callables inherit.
    """

    package: str
    callables: tuple[str, ...]
    name: str
    means: Mapping[str, SettingValue] = field(default_factory=dict)
    absent: SettingValue | None = None
    inherits: str | None = None

    def default(self, window: Window, beside: Sequence[Window] = ()) -> SettingValue | None:
        """The value where it is left out.

        Args:
            window: where the installed build of the package sits. What lies between two releases has what both have.
            beside: the same for :attr:`inherits`; where it is empty, the oldest and the newest release count.

        Returns:
            None where it is not known, or not the same in all releases that it may be.
        """
        table = table_of(self.package)
        releases = _releases(table, window)
        if table is None or not releases:
            return None
        found = {
            (type(value), value)
            for view in self._views(beside)
            for release in releases
            for value in self._in(table, release, view)
        }
        return next(iter(found))[1] if len(found) == 1 else None

    def history(self, beside: Version | None = None) -> Iterator[tuple[Version, SettingValue | None]]:
        """What it is in each release of the table, from low to high."""
        table = table_of(self.package)
        view = None if beside is None or self.inherits is None else _view(self.inherits, beside)
        for release in () if table is None else table.versions:
            values = set(self._in(table, release, view)) if table is not None else set()
            yield release, next(iter(values)) if len(values) == 1 else None

    def _views(self, beside: Sequence[Window]) -> list[Beside | None]:
        if self.inherits is None:
            return [None]
        table = table_of(self.inherits)
        if table is None:
            return [None]
        known = [release for window in beside for release in _releases(table, window)]
        return [_view(self.inherits, release) for release in known or (table.versions[0], table.versions[-1])]

    def _in(self, table: ReleaseTable, release: Version, beside: Beside | None) -> list[SettingValue | None]:
        """What each of the callables says; None where nothing of them is known."""
        signatures = (table.signature(release, name, beside) for name in self.callables)
        return [self._of(one) for one in signatures if one is not None] or [None]

    def _of(self, signature: Signature) -> SettingValue | None:
        parameter = next((one for one in signature.parameters if one.name == self.name), None)
        if parameter is None:
            return None if signature.accepts_kwargs else self.absent
        written = parameter.default or ""
        if written in self.means:
            return self.means[written]
        try:
            value = ast.literal_eval(written)
        except (ValueError, SyntaxError):
            return None  # computed
        return value if isinstance(value, bool | int | float | str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A default that is no argument's: the code behind it decides, and was read by a person.

    Attributes:
        value: what it is.
        package: whose version decides.
        versions: the releases that have it; the code of those at its bounds was read.
        read: the releases in whose code it was read.
        reference: where it stands in one of them.
    """

    value: SettingValue
    package: str
    versions: str
    read: str
    reference: str

    def default(self, window: Window) -> SettingValue | None:
        """The value of a build; None where it is not sure to have it."""
        return self.value if _versions(self.versions).truth(window) is Truth.YES else None


def agreed(
    default: Argument | Stated, windows: Sequence[Window | None], beside: Sequence[Window] = ()
) -> SettingValue | None:
    """The value that several builds have; None where one of them is not known, or has another one."""
    values = [_value(default, window, beside) for window in windows]
    same = values and all(type(one) is type(values[0]) and one == values[0] for one in values)
    return values[0] if same else None


def _value(default: Argument | Stated, window: Window | None, beside: Sequence[Window]) -> SettingValue | None:
    if window is None:
        return None
    return default.default(window) if isinstance(default, Stated) else default.default(window, beside)


def _releases(table: ReleaseTable | None, window: Window) -> Sequence[Version]:
    """The release itself; the ones around a build between two; nothing for what lies outside of the table."""
    if table is None:
        return ()
    low, high = bisect_right(table.versions, window.low) - 1, bisect_left(table.versions, window.high)
    if low < 0 or high == len(table.versions):
        return ()
    return table.versions[low : high + 1]


@lru_cache
def _view(package: str, release: Version) -> Beside:
    """One object for each release: tables keep what they answered by it."""
    return lambda name: release if name == package else None


@lru_cache
def _versions(text: str) -> VersionSet:
    return VersionSet.parse(text)
