"""What identifies a finding from one run to the next: baselines, comparisons and forges recognise it by this."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.report import Audit, ReportedFinding


def fingerprints(audits: Sequence[Audit], places: RepositoryPaths) -> dict[int, str]:
    """The ``id()`` of each finding, suppressed or not, → its fingerprint.

    It stays the same while lines and versions move, and whatever else of the report is suppressed: a lockfile may hold
    a name many times, and its entries are counted as they stand in the file.
    """
    marks: dict[int, str] = {}
    seen: Counter[str] = Counter()
    for audit in audits:
        for advised in sorted((*audit.findings, *audit.suppressed), key=_order):
            names = sorted({package.name for package in advised.finding.packages})
            # Not the file of a pin: which one it is hangs on the advice, and that of a distribution has its version.
            key = "\0".join((advised.finding.issue.id, *names, places.shown(audit.source)))
            seen[key] += 1
            marks[id(advised)] = digest(key, str(seen[key]))
    return marks


def _order(advised: ReportedFinding) -> tuple[Any, ...]:
    """Where a finding stands among those of its environment: by its record, then by its entries."""
    entries = [
        (
            package.location.path,
            package.location.line or 0,
            package.location.column or 0,
            package.version or "",
            package.forks,
        )
        for package in advised.finding.packages
    ]
    return advised.finding.issue.id, entries


def digest(*parts: str) -> str:
    """The same for the same parts, today and tomorrow."""
    text = "\0".join(parts)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
