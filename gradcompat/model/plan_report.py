"""The plans of one run, each with its environment and everything that was found there."""

from __future__ import annotations

from collections.abc import Mapping

from gradcompat.model.assumption import Assumption
from gradcompat.model.environment import Skipped
from gradcompat.model.issue import Level
from gradcompat.model.plan import Plan
from gradcompat.model.report import ReportedFinding
from gradcompat.startup.lazy_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One environment with its plan, or with the reason why there is none.

    Attributes:
        source: the environment, as the user calls it.
        kind: the format it was read from; None if it could not be read.
        summaries: id of an issue that the plan names → its summary.
        references: id of an issue that the plan names → where it is shown.
        plan: None where nothing has to change, or where nothing could be read.
        assumed: id of an issue that the plan cures → what was presumed to hold for it; none that rests on facts alone.
        possible: ids of the findings at or above the level that could apply, and that no plan was asked for, in the
            order of a report.
        findings: everything that was found, in the order of a report.
        asked_in: the file that says what the project itself asks for, if one was found.
        command: what makes the tool of the lockfile write it anew with the plan, if that is needed.
        skipped: what could not be read.
        ranges: packages of which only a range is known.
    """

    source: str
    kind: str | None
    summaries: Mapping[str, str]
    references: Mapping[str, str]
    plan: Plan | None
    assumed: Mapping[str, tuple[Assumption, ...]] = field(default_factory=dict)
    possible: tuple[str, ...] = ()
    findings: tuple[ReportedFinding, ...] = ()
    asked_in: str | None = None
    command: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    ranges: tuple[Skipped, ...] = ()

    @property
    def open(self) -> tuple[ReportedFinding, ...]:
        """What was found, without what the plan cures."""
        fixed = () if self.plan is None else self.plan.fixed
        return tuple(reported for reported in self.findings if reported.finding.issue.id not in fixed)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """All plans of one run, and the exit status that they come to."""

    planned: tuple[Planned, ...]
    level: Level
    exit_status: int = 0

    @property
    def open(self) -> tuple[ReportedFinding, ...]:
        """What was found in all environments, without what their plans cure."""
        return tuple(reported for planned in self.planned for reported in planned.open)
