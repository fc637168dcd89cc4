"""The result of a check: what was looked at, what was found, what could not be seen."""

from __future__ import annotations

from dataclasses import dataclass

from gradcompat.model.environment import Skipped
from gradcompat.model.finding import Advice, Finding
from gradcompat.model.probe import Outcome, ProbeResult

_STRONGEST: tuple[Outcome, ...] = ("reproduced", "inconclusive", "skipped", "not_reproduced")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """A finding with the smallest change known to clear it, and what its probes showed.

    Attributes:
        finding: what was found.
        advice: the change, if it is affected and there is one.
        probed: the verdicts of its probes, if they were run.
    """

    finding: Finding
    advice: Advice | None
    probed: tuple[ProbeResult, ...] = ()

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
class Audit:
    """One environment after matching, or one file that could not be read (then ``kind`` is None).

    Attributes:
        packages: how many entries were read.
        recognised: how many of them some record speaks of.
        findings: in order of their level, then of their id.
        skipped: what was not read, and packages whose version is missing.
        contexts: the training runs that it was checked with.
        hint: for a file that could not be read, what to do about it.
    """

    source: str
    kind: str | None
    packages: int
    recognised: int
    findings: tuple[Advised, ...]
    skipped: tuple[Skipped, ...]
    hint: str | None = None
    contexts: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Was everything read that could hide a defect?"""
        return self.kind is not None and not any(skipped.gap for skipped in self.skipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All audits of one run, and the exit status that they come to."""

    audits: tuple[Audit, ...]
    records: int
    digest: str
    date: str
    exit_status: int
