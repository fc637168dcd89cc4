"""Detectors over measurements: what is wrong, what was verified, what could not be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gradcompat.guard.detectors import RUN_DETECTORS, STEP_DETECTORS
from gradcompat.guard.findings import Finding, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Run, Step

# What one rank may find and the others cannot see.
_LOCAL = ("finite loss", "missing gradient", "stale gradient", "clipping", "labels", "packing")
_ORDER = {"error": 0, "warning": 1, "note": 2}


@dataclass
class Judgement:
    """What was found so far; each finding once."""

    findings: list[Finding] = field(default_factory=list)
    verified: dict[str, None] = field(default_factory=dict)
    unverified: dict[str, str] = field(default_factory=dict)

    def step(self, step: Step, earlier: Sequence[Step]) -> list[Finding]:
        """Judge a step; the findings that are new. Of a rank that is alone, what it sees by itself is judged."""
        names = _LOCAL if step.apart else tuple(STEP_DETECTORS)
        return self.add(outcome for name in names for outcome in STEP_DETECTORS[name](step, earlier))

    def run(self, run: Run) -> list[Finding]:
        """Judge all guarded steps; the findings that are new."""
        return self.add(outcome for judge in RUN_DETECTORS.values() for outcome in judge(run))

    def add(self, outcomes: Iterable[Outcome]) -> list[Finding]:
        """Take outcomes in; the findings that are new."""
        new = []
        for outcome in outcomes:
            if isinstance(outcome, Verified):
                self.verified.setdefault(outcome.what)
            elif isinstance(outcome, Unverified):
                self.unverified.setdefault(outcome.what, outcome.why)
            elif not any((one.detector, one.level) == (outcome.detector, outcome.level) for one in self.findings):
                self.findings.append(outcome)
                new.append(outcome)
        self.findings.sort(key=lambda one: _ORDER[one.level])
        return new

    @property
    def errors(self) -> list[Finding]:
        """What stops a run."""
        return [one for one in self.findings if one.level == "error"]

    @property
    def clean(self) -> list[str]:
        """What was verified and has no finding above a note."""
        wrong = {one.detector for one in self.findings if one.level != "note"}
        return [what for what in self.verified if what not in wrong]


def local_errors(step: Step) -> list[Finding]:
    """Errors that this rank sees by itself."""
    outcomes = (outcome for name in _LOCAL for outcome in STEP_DETECTORS[name](step, ()))
    return [outcome for outcome in outcomes if isinstance(outcome, Finding) and outcome.level == "error"]
