"""The findings of a report as machine formats tell them: one state, one place, one sentence, one fingerprint each.

What comes from files is made harmless here once (:func:`plain`); each format adds the escapes of its own syntax.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from gradcompat.audit.fingerprints import fingerprints
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.messages import counted, entry_text, joined
from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.model.issue import LEVELS, VersionRemedy
from gradcompat.model.report import Audit, Remark, Report, ReportedFinding
from gradcompat.renderers.probe_text import ran
from gradcompat.renderers.sources_text import sources_text
from gradcompat.renderers.suppressed_text import suppression_text
from gradcompat.renderers.terminal import safe
from gradcompat.renderers.text import advice_text

State = Literal["affected", "informational", "conditional", "dormant", "refuted", "not_affected"]

_COMMAND = re.compile(r"#(?=#)")
_MOST = 5  # entries and alternatives that a sentence names


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One finding in one environment.

    Attributes:
        state: its status; ``informational`` for what applies and is no defect, ``refuted`` for what may have been there
            and was measured not to be.
        counts: it is found, and no mere possibility.
        fails: it makes the exit status 1.
        pin: the entry that is shown, which is the one that has to move if one has; None if none takes part.
        location: where it is shown.
        fingerprint: stays the same while lines and versions move.
    """

    audit: Audit
    advised: ReportedFinding
    state: State
    counts: bool
    fails: bool
    pin: Package | None
    location: Location
    fingerprint: str


def results(report: Report, places: RepositoryPaths, *, suppressed: bool = False) -> Iterator[Result]:
    """Every finding, in the order of the report; what does not count comes behind the others of its audit, if asked."""
    marks = fingerprints(report.audits, places)
    for audit in report.audits:
        for advised in (*audit.findings, *(audit.suppressed if suppressed else ())):
            pin = _pin(advised)
            yield Result(
                audit=audit,
                advised=advised,
                state=_state(advised),
                counts=report.counts(advised),
                fails=report.fails(advised),
                pin=pin,
                location=_location(audit, pin),
                fingerprint=marks[id(advised)],
            )


def by_audit(report: Report, places: RepositoryPaths, *, suppressed: bool = False) -> list[tuple[Audit, list[Result]]]:
    """The findings of each audit."""
    found: dict[int, list[Result]] = {id(audit): [] for audit in report.audits}
    for result in results(report, places, suppressed=suppressed):
        found[id(result.audit)].append(result)
    return [(audit, found[id(audit)]) for audit in report.audits]


def _location(audit: Audit, pin: Package | None) -> Location:
    return Location(path=audit.source) if pin is None else pin.location


def suppression(result: Result, places: RepositoryPaths) -> str:
    """Why a finding does not count, and where that is said; empty if it does."""
    said = result.advised.suppressed
    return "" if said is None else plain(suppression_text(replace(said, location=_seen(said.location, places))))


def remarks(report: Report, places: RepositoryPaths) -> Iterator[tuple[Remark, Location]]:
    """What there is to say of the waivers or the baseline, and where that stands in the repository."""
    return ((remark, _seen(remark.location, places)) for remark in report.remarks)


def _seen(location: Location, places: RepositoryPaths) -> Location:
    return replace(location, path=places.shown(location.path))


def gaps(report: Report) -> Iterator[tuple[Audit, Skipped]]:
    """What was not checked and could hide a defect."""
    return ((audit, skipped) for audit in report.audits for skipped in audit.skipped if skipped.gap)


def gap_text(skipped: Skipped) -> str:
    """``not checked: torch: only a range is given, no version``."""
    return plain(f"not checked: {skipped.what}: {skipped.reason}")


def plain(text: str) -> str:
    """The text as :func:`safe` has it, and no ``##`` at all: a format may put a bracket behind it."""
    return _COMMAND.sub("# ", safe(text))


def message(result: Result) -> str:
    """What is wrong, why or if what, and the change that helps: a line of sentences, of which the first is enough."""
    sentences = [headline(result), reason(result), fix(result)]
    return " ".join(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences if sentence)


def headline(result: Result) -> str:
    """The record's summary and the entries that it is about."""
    return plain(f"{result.advised.finding.issue.summary} ({entries(result)})")


def entries(result: Result) -> str:
    """The entries that take part: ``torch 2.5.1, transformers 4.49.0``."""
    texts = list(dict.fromkeys(entry_text(package) for package in result.advised.finding.packages))
    more = [f"{len(texts) - _MOST} more"] if len(texts) > _MOST else []
    return plain(", ".join([*texts[:_MOST], *more]) or result.audit.source)


def reason(result: Result) -> str:
    """Why it applies, on what it hangs, or what was measured."""
    finding = result.advised.finding
    if result.state == "refuted":
        return plain(f"measured here: {measured(result)}")
    if result.state == "conditional":
        ways = [" and ".join(unknown.sentence for unknown in one) for one in finding.unknown]
        more = [f"in {len(ways) - _MOST} other cases"] if len(ways) > _MOST else []
        return plain(f"affected if {'; or '.join([*ways[:_MOST], *more])}")
    if result.state == "not_affected" or not finding.because:
        return ""
    pins = [package.location for package in finding.packages]
    parts = [
        one.sentence if one.location is None or one.location in pins else f"{one.sentence} ({one.location})"
        for one in finding.because
    ]
    return plain(f"because {joined(tuple(parts), 'and')}")


def measured(result: Result) -> str:
    """What the probes of a finding showed, in which versions and on which device; empty if none was run."""
    return plain(
        "; ".join(
            f"{one.outcome.replace('_', ' ')}: {one.reason} ({one.measurement.spec}; {ran(one)})"
            for one in result.advised.probed
        )
    )


def fix(result: Result) -> str:
    """The change that clears it, in the words of a plan; empty if none is known."""
    return "" if result.advised.advice is None else plain(f"fix: {advice_text(result.advised.advice)}")


def summary(report: Report) -> str:
    """``1 error, 18 conditional, 2 not checked (184 records of 2026-11-20)``."""
    found = [advised for audit in report.audits for advised in audit.findings]
    levels = Counter(one.finding.issue.level for one in found if _state(one) == "affected")
    parts = [counted(levels[level], level) for level in reversed(LEVELS) if levels[level]]
    conditional = sum(1 for one in found if _state(one) == "conditional")
    unchecked = sum(1 for _ in gaps(report))
    none = "no other known defect found" if report.suppressed else "no known defect found"
    parts = parts or [none if any(audit.packages for audit in report.audits) else "nothing checked"]
    parts += [f"{conditional} conditional"] if conditional else []
    parts += [f"{unchecked} not checked"] if unchecked else []
    parts += [f"{len(report.suppressed):,} suppressed"] if report.suppressed else []
    return f"{', '.join(parts)} ({sources_text(report.records, report.date, report.sources)})"


def paragraphs(text: str) -> str:
    """A text of several lines, each harmless."""
    return "\n".join(map(plain, text.strip().split("\n")))


def _state(advised: ReportedFinding) -> State:
    if advised.refuted:
        return "refuted"
    if advised.finding.status == "affected" and advised.finding.issue.informational:
        return "informational"
    return advised.finding.status


def _pin(advised: ReportedFinding) -> Package | None:
    packages = advised.finding.packages
    advice = advised.advice
    moved = advice.package if advice is not None and isinstance(advice.remedy, VersionRemedy) else None
    return next((one for one in packages if one.name == moved), next(iter(packages), None))
