"""Ranges of wrong releases as measurements make them, with what is not known of them."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from gradcompat.model.probe import Outcome
from gradcompat.requirements.versions import ABOVE, BELOW, VersionSet
from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Adjacent releases without a verdict, for the same reason.

    Attributes:
        outcome: ``inconclusive``, ``skipped``, or None where they were not run.
        releases: from low to high.
    """

    outcome: Outcome | None
    releases: tuple[Version, ...]

    def __str__(self) -> str:
        named = str(self.releases[0])
        if len(self.releases) > 1:
            named += f" to {self.releases[-1]}"
        return f"{named} {'not run' if self.outcome is None else self.outcome}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """One stretch of wrong releases.

    Attributes:
        first: the lowest release that was seen to be wrong.
        last: the highest.
        before: the nearest lower release that is right; None if none was seen.
        behind: the nearest higher one; None if none was seen.
        below: releases without a verdict between ``before`` and ``first``.
        inside: those between ``first`` and ``last``.
        above: those between ``last`` and ``behind``.
    """

    first: Version
    last: Version
    before: Version | None
    behind: Version | None
    below: tuple[Gap, ...] = ()
    inside: tuple[Gap, ...] = ()
    above: tuple[Gap, ...] = ()

    @property
    def begins(self) -> bool:
        """The lower bound is exact."""
        return self.before is not None and not self.below

    @property
    def ends(self) -> bool:
        """The upper bound is exact."""
        return self.behind is not None and not self.above

    @property
    def versions(self) -> VersionSet:
        """What is known to be wrong: up to the first release that is right, or to the last one that was seen wrong.

        A range that reaches the newest of all releases has no end: nothing says that the next one will be right.
        """
        if self.ends and self.behind is not None:
            return VersionSet((((self.first, BELOW), (self.behind, BELOW)),))
        return VersionSet((((self.first, BELOW), None if self.lasts else (self.last, ABOVE)),))

    @property
    def lasts(self) -> bool:
        """The newest of all releases is wrong."""
        return self.behind is None and not self.above

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is not known, a sentence each."""
        said = []
        if self.before is None:
            tried = f" ({_named(self.below)})" if self.below else ""
            said.append(f"{self.first} is the lowest release with a verdict{tried}, so it may begin earlier")
        elif self.below:
            said.append(f"it begins behind {self.before} and not later than with {self.first} ({_named(self.below)})")
        if self.inside:
            said.append(f"there may be holes in it ({_named(self.inside)})")
        if self.lasts:
            said.append(f"{self.last} is the newest release")
        elif self.behind is None:
            said.append(
                f"{self.last} is the highest release with a verdict ({_named(self.above)}), so it may end later"
            )
        elif self.above:
            said.append(f"it ends behind {self.last} and not later than with {self.behind} ({_named(self.above)})")
        return tuple(said)


def _named(gaps: Sequence[Gap]) -> str:
    return ", ".join(map(str, gaps))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    """What is known of one probe in all releases of a package.

    Attributes:
        affected: the stretches of wrong releases, from low to high.
        right: how many releases are right.
        unknown: every release without a verdict.
    """

    affected: tuple[Range, ...]
    right: int
    unknown: tuple[Gap, ...]

    @property
    def exact(self) -> bool:
        """Every release has a verdict, and every bound lies between two of them."""
        return not self.unknown and all(
            interval.begins and (interval.ends or interval.lasts) for interval in self.affected
        )
