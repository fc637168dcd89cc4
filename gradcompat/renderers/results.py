"""The findings of a report as machine formats tell them: one state, one place, one sentence, one fingerprint each.

What comes from files is made harmless here once (:func:`plain`); each format adds the escapes of its own syntax.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from gradcompat.audit.fingerprints import fingerprints
from gradcompat.audit.report_parts import Parts, condition_text, parts_of, ranges
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.messages import entry_text, joined
from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.model.finding import Finding
from gradcompat.model.issue import VersionRemedy
from gradcompat.model.report import Audit, Remark, Report, ReportedFinding
from gradcompat.renderers.affected_text import advice_text
from gradcompat.renderers.parts_text import assumed_text, dormant_text, minor_text, more_text, question_lines
from gradcompat.renderers.probe_text import ran
from gradcompat.renderers.range_lines import range_lines
from gradcompat.renderers.suppressed_text import suppression_text
from gradcompat.renderers.terminal import safe
from gradcompat.renderers.text import feature_text
from gradcompat.startup.lazy_patterns import lazy_pattern

State = Literal["affected", "informational", "conditional", "dormant", "refuted", "not_affected"]
_STATES: tuple[State, ...] = get_args(State)  # in the order of the parts

_COMMAND = lazy_pattern(r"#(?=#)")
_MOST = 5  # entries and alternatives that a sentence names


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One finding in one environment.

    Attributes:
        state: its status; ``informational`` for what applies and is no defect, ``refuted`` for what may have been there
            and was measured not to be.
        shown: it is told by itself, and not only by a question, beside another environment or among the features that
            are not used.
        more: what it stands for besides itself, and is not shown; empty if there is nothing.
        counts: it is found, and no mere possibility.
        fails: it makes the exit status 1.
        pin: the entry that is shown, which is the one that has to move if one has; None if none takes part.
        location: where it is shown.
        fingerprint: stays the same while lines and versions move.
    """

    audit: Audit
    advised: ReportedFinding
    state: State
    shown: bool
    more: str
    counts: bool
    fails: bool
    pin: Package | None
    location: Location
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asides:
    """What is told beside the findings, a sentence each; once, however many environments there are.

    Attributes:
        questions: the facts that would decide other findings.
        minor: what is left of what could apply; empty if there is nothing.
        dormant: the features that are presumed not to be used; empty if there are none, or if each record is listed.
    """

    questions: tuple[str, ...]
    minor: str
    dormant: str


def results(report: Report, places: RepositoryPaths, *, suppressed: bool = False) -> Iterator[Result]:
    """Every finding, in the order of the report.

    What is sure comes first, environment by environment, and behind it what does not count, if asked; then each other
    part over all environments.
    """
    marks = fingerprints(report.audits, places)
    parts = report_parts(report)
    told = (*parts.affected, *parts.informational, *parts.possible, *parts.refuted, *parts.not_affected)
    place = {id(advised): number for number, advised in enumerate(told)}
    more = {} if report.show_all else {id(finding): more_text(parts, finding) for finding in parts.possible}
    sure = [
        (audit, advised)
        for audit in report.audits
        for advised in (
            *sorted(
                (finding for finding in audit.findings if _is_sure(finding)), key=lambda one: _STATES.index(_state(one))
            ),
            *(audit.suppressed if suppressed else ()),
        )
    ]
    rest = [(audit, advised) for audit in report.audits for advised in audit.findings if not _is_sure(advised)]
    # What is not told by itself stands behind the rest of its part.
    rest.sort(key=lambda pair: (_STATES.index(_state(pair[1])), place.get(id(pair[1]), len(told))))
    for audit, advised in (*sure, *rest):
        pin = _pin(advised)
        yield Result(
            audit=audit,
            advised=advised,
            state=_state(advised),
            shown=report.show_all or id(advised) in place or advised.suppressed is not None,
            more=more.get(id(advised), ""),
            counts=report.counts(advised),
            fails=report.fails(advised),
            pin=pin if advised.finding.location is None else None,
            location=advised.finding.location or _location(audit, pin),
            fingerprint=marks[id(advised)],
        )


def report_parts(report: Report) -> Parts:
    """The parts of a report; what no file decides is told once, however many environments there are."""
    return parts_of(report.findings, everything=report.show_all)


def asides(report: Report) -> Asides:
    """What is told beside the findings."""
    parts = report_parts(report)
    return Asides(
        questions=tuple(map(plain, question_lines(parts))),
        minor=plain(minor_text(parts)),
        dormant="" if report.show_all else plain(dormant_text(parts)),
    )


def range_texts(audit: Audit) -> tuple[str, ...]:
    """The packages of one environment of which only a range is known, a sentence each."""
    return tuple(map(plain, range_lines([(audit.source, ranges(audit.findings, audit.skipped))])))


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
        return plain(f"could apply if {condition_text(finding)}{_taking(finding)}{result.more}")
    if result.state == "dormant":
        return plain(f"not for you unless you use {feature_text(finding)}")
    if result.state == "not_affected" or not finding.because:
        return plain(_taking(finding).removeprefix(", "))
    pins = [package.location for package in finding.packages]
    parts = [
        one.sentence if one.location is None or one.location in pins else f"{one.sentence} ({one.location})"
        for one in finding.because
    ]
    # Entries for several platforms say the same.
    return plain(f"because {joined(tuple(dict.fromkeys(parts)), 'and')}{_taking(finding)}")


def _taking(finding: Finding) -> str:
    return f", taking it that {assumed_text(finding)}" if finding.assumed else ""


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


def paragraphs(text: str) -> str:
    """A text of several lines, each harmless."""
    return "\n".join(map(plain, text.strip().split("\n")))


def _state(advised: ReportedFinding) -> State:
    if advised.refuted:
        return "refuted"
    if advised.finding.status == "affected" and advised.finding.issue.informational:
        return "informational"
    return advised.finding.status


def _is_sure(advised: ReportedFinding) -> bool:
    return advised.finding.status == "affected"


def _pin(advised: ReportedFinding) -> Package | None:
    packages = advised.finding.packages
    advice = advised.advice
    moved = advice.package if advice is not None and isinstance(advice.remedy, VersionRemedy) else None
    return next((package for package in packages if package.name == moved), next(iter(packages), None))
