"""The result of a check: what was looked at, what was found, what could not be seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from gradcompat.model.environment import Location, Skipped
from gradcompat.model.finding import Advice, Finding
from gradcompat.model.issue import LEVELS, Level
from gradcompat.model.knowledge_source import KnowledgeSource
from gradcompat.startup.lazy_dataclasses import dataclass, field

if TYPE_CHECKING:
    from gradcompat.model.probe import Outcome, ProbeResult

SCHEMA_VERSION = 1  # of the report as JSON, which a baseline is read from
_STRONGEST: tuple[Outcome, ...] = ("reproduced", "inconclusive", "skipped", "not_reproduced")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEdit:
    """A piece of one line that becomes another text: from the column of ``location`` up to ``end_column``."""

    location: Location
    end_column: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """Why a finding does not count.

    Attributes:
        kind: ``waiver``: somebody accepted it; ``baseline``: an earlier report has it; ``diff``: it is there in the
            revision that this one is compared with, too; ``pinned``: it is there with the pinned versions, too.
        reason: in words.
        location: where that is said.
        until: the day or the condition that ends it, in words; None if nothing does.
    """

    kind: Literal["waiver", "baseline", "diff", "pinned"]
    reason: str
    location: Location
    until: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something to say of the waivers or the baseline that a report was made with, and of no finding.

    Attributes:
        kind: ``unused-waiver``, ``expired-waiver``, ….
        level: how it is shown; an ``error`` makes the exit status 1.
        text: one sentence without full stop.
        location: where the waiver stands.
    """

    kind: str
    level: Level
    text: str
    location: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFinding:
    """A finding with the smallest change known to clear it, and what its probes showed.

    Attributes:
        finding: what was found.
        advice: the change, if it is affected and there is one.
        probed: the verdicts of its probes, if they were run.
        edits: the advice as edits of the file that was checked, where they were asked for and it can be edited.
        suppressed: why it does not count; None if it does.
    """

    finding: Finding
    advice: Advice | None
    probed: tuple[ProbeResult, ...] = ()
    edits: tuple[LineEdit, ...] = ()
    suppressed: Suppression | None = None

    @property
    def verdict(self) -> Outcome | None:
        """What the probes of this finding came to; None if none was run.

        One that reproduces it confirms it. Not reproduced it is only if all of them ran and none does.
        """
        outcomes = {result.outcome for result in self.probed}
        for outcome in _STRONGEST:
            if outcome in outcomes:
                return outcome
        return None

    @property
    def refuted(self) -> bool:
        """It may have been there, and was measured not to be: in these very versions, on this device."""
        return self.finding.status == "conditional" and self.verdict == "not_reproduced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Newer:
    """A package that is newer than the newest release of it that was looked at.

    Attributes:
        name: as the environment calls it.
        version: that is there.
        horizon: the newest release that was looked at.
        date: when.
        assumed: ids of defects that no release is known to end, and that are therefore taken to be there still.
    """

    name: str
    version: str
    horizon: str
    date: str
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """An entry that was judged with another version than it pins.

    Attributes:
        package: its name there.
        version_from: the version, or what is allowed where none is pinned; None where nothing is said.
        version_to: the version that it was judged with.
        location: where the pin stands.
    """

    package: str
    version_from: str | None
    version_to: str
    location: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One environment after matching, or one file that could not be read (then ``kind`` is None).

    Attributes:
        packages: how many entries were read.
        recognised: how many of them some record speaks of.
        findings: what counts, in order of their level, then of their id.
        suppressed: what was found and does not count, each with why, in the same order.
        skipped: what was not read, and packages whose version is missing.
        contexts: the training runs that it was checked with.
        newer: packages that are newer than what was looked at.
        versions: of the packages that waivers ask after, by the name that records have; None for an entry without one.
        hint: for a file that could not be read, what to do about it.
        steps: that it took to match.
        replaced: the entries that were judged with another version than they pin.
        cured: what is affected with the versions that are pinned, and no longer with those.
    """

    source: str
    kind: str | None
    packages: int
    recognised: int
    findings: tuple[ReportedFinding, ...]
    skipped: tuple[Skipped, ...]
    hint: str | None = None
    contexts: tuple[str, ...] = ()
    newer: tuple[Newer, ...] = ()
    suppressed: tuple[ReportedFinding, ...] = ()
    versions: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    steps: int = 0
    replaced: tuple[Replaced, ...] = ()
    cured: tuple[ReportedFinding, ...] = ()

    @property
    def complete(self) -> bool:
        """Was everything read that could hide a defect?"""
        return self.kind is not None and not any(skipped.gap for skipped in self.skipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All audits of one run, and the exit status that they come to.

    Attributes:
        fail_on: the lowest level that makes the exit status 1; None if none does.
        strict: a conditional finding counts as one.
        show_all: what is dormant or does not apply is listed, too, and everything that could apply.
        remarks: about waivers and baselines that need somebody's attention.
        show_suppressed: what does not count is listed, too; where False, not even by formats that do it by themselves.
        sources: the files that the records come from; ``date`` is of the first.
        contexts: every training config, launch script and program that was read, also where no run names it.
    """

    audits: tuple[Audit, ...]
    records: int
    digest: str
    date: str
    exit_status: int

    @property
    def findings(self) -> tuple[ReportedFinding, ...]:
        """The findings of all environments, in their order."""
        return tuple(finding for audit in self.audits for finding in audit.findings)

    fail_on: Level | None = "error"
    strict: bool = False
    show_all: bool = False
    remarks: tuple[Remark, ...] = ()
    sources: tuple[KnowledgeSource, ...] = ()
    show_suppressed: bool | None = None
    contexts: tuple[str, ...] = ()

    @property
    def suppressed(self) -> tuple[ReportedFinding, ...]:
        """What was found in all environments and does not count, in their order."""
        return tuple(finding for audit in self.audits for finding in audit.suppressed)

    def counts(self, advised: ReportedFinding) -> bool:
        """Is it found, and not only possible, refuted or worth knowing?"""
        if advised.suppressed is not None:
            return False
        status = advised.finding.status
        if status == "affected":
            return not advised.finding.issue.informational
        return self.strict and status == "conditional" and not advised.refuted

    def fails(self, advised: ReportedFinding) -> bool:
        """Does it make the exit status 1?"""
        statuses = ("affected", "conditional") if self.strict else ("affected",)
        if self.fail_on is None or advised.refuted or advised.finding.status not in statuses:
            return False
        if advised.suppressed is not None:
            return False
        return LEVELS.index(advised.finding.issue.level) >= LEVELS.index(self.fail_on)
