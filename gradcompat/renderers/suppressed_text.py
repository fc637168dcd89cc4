"""What does not count, and what there is to say of the waivers or the baseline, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gradcompat.messages import joined
from gradcompat.model.report import Remark, Replaced, ReportedFinding, Suppression

_BY = {
    "waiver": ("by a waiver", "by waivers"),
    "baseline": ("by the baseline",),
    "diff": ("there before",),
    "pinned": ("there with the pinned versions, too",),
}


def counts_text(suppressed: Sequence[ReportedFinding]) -> str:
    """``3 suppressed: 2 by waivers, 1 by the baseline``; empty if nothing is."""
    kinds: Counter[str] = Counter(finding.suppressed.kind for finding in suppressed if finding.suppressed is not None)
    words = {kind: said[0] if kinds[kind] == 1 else said[-1] for kind, said in _BY.items() if kinds[kind]}
    if len(words) < 2:
        return "".join(f"{kinds[kind]:,} suppressed, {said}" for kind, said in words.items())
    return f"{sum(kinds.values()):,} suppressed: {', '.join(f'{kinds[kind]:,} {said}' for kind, said in words.items())}"


def suppression_text(suppression: Suppression) -> str:
    """``waiver, gradcompat.toml:4, until 2027-01-31: we know``."""
    until = "" if suppression.until is None else f", until {suppression.until}"
    return f"{suppression.kind}, {suppression.location}{until}: {suppression.reason}"


def remark_text(remark: Remark) -> str:
    """``warning: gradcompat.toml:4: unused waiver of GC-0004: nothing that was found here needs it``."""
    return f"{remark.level}: {remark.location}: {remark.text}"


def replaced_text(replaced: Sequence[Replaced]) -> str:
    """``with transformers 5.5.4 in place of 4.49.0 (uv.lock:12)``; empty if nothing was replaced."""
    moved: dict[tuple[str, str, str | None], list[str]] = {}
    for one in replaced:
        places = moved.setdefault((one.package, one.version_to, one.version_from), [])
        places.append(str(one.location))
    parts = [
        f"{name} {version}{'' if was is None else f' in place of {was}'} ({', '.join(dict.fromkeys(places))})"
        for (name, version, was), places in moved.items()
    ]
    return f"with {joined(tuple(parts), 'and')}" if parts else ""
