"""What the guard says of a run: findings, and the exception that ends a run with a defect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["error", "warning", "note"]
Number = bool | int | float | str

# The exit status of a run that the guard has stopped.
STOPPED = 86


@dataclass(frozen=True)
class Finding:
    """One invariant of training that does not hold.

    Attributes:
        detector: name of the detector.
        level: only an ``error`` stops a run.
        text: what was measured against what is right, in one sentence.
        measured: the numbers behind it.
        categories: of the records that could explain it, best first.
        facts: settings that the measurement has decided, by the keys of the records.
    """

    detector: str
    level: Level
    text: str
    measured: Mapping[str, Number] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    facts: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class Unverified:
    """Something that could not be looked at in this run, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Verified:
    """Something that was looked at and is as it should be."""

    what: str


Outcome = Finding | Unverified | Verified


class GuardStop(SystemExit):
    """Ends the run before the wrong update is applied; uncaught, the process ends with status 86."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        """Keep the findings that stop the run."""
        super().__init__(STOPPED)
        self.findings = findings

    def __str__(self) -> str:
        return "; ".join(finding.text for finding in self.findings)
