"""Names that one release lacks, told together: an old script mostly has several that have gone at once.

``DPOTrainer(beta=…, max_length=…, max_prompt_length=…)`` is one thing to mend, and one block of a report.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from gradcompat.messages import counted
from gradcompat.model.finding import Finding
from gradcompat.model.report import ReportedFinding
from gradcompat.renderers.affected_text import advice_text

_MISSING = "code"
_SHOWN = 8


def together(affected: Iterable[ReportedFinding]) -> list[tuple[ReportedFinding, tuple[ReportedFinding, ...]]]:
    """Each affected finding with the others that are told in its block, which have none of their own."""
    groups: dict[Hashable, list[ReportedFinding]] = {}
    for advised in affected:
        groups.setdefault(_common(advised), []).append(advised)
    return [(first, tuple(others)) for first, *others in groups.values()]


def others_text(others: Sequence[ReportedFinding]) -> str:
    """``max_length, max_prompt_length (removed in 0.13.0)``: the other names, with what happened to them."""
    names: dict[str, list[str]] = {}
    for advised in others[:_SHOWN]:
        names.setdefault(advised.finding.issue.summary.partition(": ")[2], []).append(_name(advised.finding))
    told = [", ".join(some) + (f" ({history})" if history else "") for history, some in names.items()]
    if len(others) > _SHOWN:
        told.append(counted(len(others) - _SHOWN, "other"))
    return "; ".join(told)


def _common(advised: ReportedFinding) -> Hashable:
    """What findings of one block have in common: the release, the call or import, the files, and what to do."""
    finding = advised.finding
    kind, *names = finding.issue.id.split(":")
    if kind != _MISSING or advised.probed or advised.suppressed is not None:
        return id(advised)
    files = frozenset(reason.location.path for reason in finding.because if reason.location is not None)
    fix = None if advised.advice is None else advice_text(advised.advice).replace(_name(finding), "")
    entries = tuple(map(id, finding.packages))
    # `code:trl:DPOTrainer:beta` is of a call, `code:trl:DPOTrainer` of an import.
    return tuple(names[:-1]), finding.issue.level, entries, files, fix, finding.contexts, finding.assumed


def _name(finding: Finding) -> str:
    return finding.issue.id.rpartition(":")[2]
