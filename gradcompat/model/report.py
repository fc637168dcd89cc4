"""The result of a check: what was looked at, what was found, what could not be seen."""

from __future__ import annotations

from dataclasses import dataclass

from gradcompat.model.environment import Skipped
from gradcompat.model.finding import Advice, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """A finding with the smallest change known to clear it, if it is affected and there is one."""

    finding: Finding
    advice: Advice | None


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
