"""What a plan is asked for: the place it has to fit, what counts, and what must not move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradcompat.model.issue import LEVELS, Issue, Level
from gradcompat.model.release import Target
from gradcompat.requirements.versions import VersionSet
from gradcompat.startup.lazy_dataclasses import dataclass, field

# States that are looked at before a search gives up proving that its answer is the smallest. No clock: the same
# question has the same answer on a slow machine.
DEFAULT_LIMIT = 5_000
# What all plans of a run may do together for each megabyte of what is planned, counted in remembered answers of the
# records: reading releases and requirements, matching, states of the searches.
DEFAULT_STEPS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user wants of a plan.

    Attributes:
        target: the interpreter and the machine that every release has to fit.
        level: findings at or above it have to go.
        conditional: those that are only affected under a condition have to go too.
        direct: what the project itself asks for, by normalised name; None where nobody knows. A plan may leave such a
            range, and that is dearer than not to.
        keep: normalised names of packages that must not move.
        prereleases: alphas, betas and candidates may be chosen, also where none is used.
        limit: how many states the search may look at.
        yanked: withdrawn releases by the name that records have, for where no index says so.
        known: Requires-Dist of what is installed, by normalised name and version as written; asked first.
    """

    target: Target
    level: Level = "error"
    conditional: bool = False
    direct: Mapping[str, VersionSet] | None = None
    keep: frozenset[str] = frozenset()
    prereleases: bool = False
    limit: int = DEFAULT_LIMIT
    yanked: Mapping[str, Sequence[str]] = field(default_factory=dict)
    known: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    def counts(self, issue: Issue) -> bool:
        """Is a finding of this issue one that has to go?"""
        return not issue.informational and LEVELS.index(issue.level) >= LEVELS.index(self.level)
