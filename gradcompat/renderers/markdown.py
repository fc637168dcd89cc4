"""A report as Markdown, for a comment or the summary of a CI step. What comes from files cannot become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TextIO

from gradcompat.audit.report_parts import places_text
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.report import Audit, Report, ReportedFinding
from gradcompat.renderers.results import (
    Asides,
    Result,
    State,
    asides,
    entries,
    fix,
    gap_text,
    measured,
    plain,
    range_texts,
    reason,
    remarks,
    results,
    suppression,
)
from gradcompat.renderers.summary_text import summary
from gradcompat.renderers.suppressed_text import counts_text, remark_text, replaced_text
from gradcompat.startup.lazy_patterns import lazy_pattern

_MARKUP = lazy_pattern(r"([\\`*_{}\[\]<>()#+!|~&@:-])")
# A forge links @name, #1, GH-1 and www.… even behind a backslash.
_MENTION = lazy_pattern(r"(?<=[@#])(?=\w)|(?<=\bGH)(?=-\d)|(?<=\bwww)(?=\.)", re.IGNORECASE)
_ITEM = lazy_pattern(r"^(\d+)\.")
_URL = lazy_pattern(r"https?://(?:(?![()<>|\\])[!-~])+")
# In the order of every report: the part, its title, whether it is folded.
_PARTS: tuple[tuple[State, str, bool], ...] = (
    ("conditional", "Could apply", False),
    ("dormant", "Not for you unless you use the feature", True),
    ("refuted", "Refuted here", True),
    ("not_affected", "Does not apply", True),
)


def render(report: Report, out: TextIO) -> None:
    """Write a table of what is affected for each environment, and below them lists of the rest."""
    places = RepositoryPaths()
    out.write(f"**gradcompat**: {escaped(summary(report))}\n\n")
    if counts := counts_text(report.suppressed):
        out.write(f"{escaped(counts)}\n\n")
    clean: list[str] = []
    for remark, location in remarks(report, places):
        out.write(f"- {escaped(remark_text(replace(remark, location=location)))}\n")
    out.write("\n" if report.remarks else "")
    found = [result for result in results(report, places, suppressed=report.show_suppressed is True) if result.shown]
    several = len(report.audits) > 1
    for audit in report.audits:
        mine = [hit for hit in found if hit.audit is audit and _is_of_audit(hit)]
        if several and not mine and not audit.replaced and audit.complete and not range_texts(audit):
            clean += [] if audit.suppressed else [escaped(places.shown(audit.source))]
            continue
        out.write(f"### {escaped(places.shown(audit.source))}\n\n")
        if audit.replaced:
            out.write(f"{escaped(replaced_text(audit.replaced))}\n\n")
        _sure(mine, places, out)
        if audit.cured:
            _listed("Would be cured:", map(_cured, audit.cured), out)
        if several:
            _read_in_part(audit, out)
    if clean:
        write_folded("No defect is sure in", clean, out)
    _not_sure([hit for hit in found if not _is_of_audit(hit)], asides(report), places, out)
    if not several:
        for audit in report.audits:
            _read_in_part(audit, out)


def _is_of_audit(result: Result) -> bool:
    """Is it told with its environment, and not once for all of them?"""
    return result.advised.suppressed is not None or result.state in ("affected", "informational")


def _sure(found: Sequence[Result], places: RepositoryPaths, out: TextIO) -> None:
    """What is sure in one environment, and what does not count."""
    aside = [result for result in found if result.advised.suppressed is not None]
    found = [result for result in found if result.advised.suppressed is None]
    affected = [result for result in found if result.state == "affected"]
    if affected:
        out.write("| | Defect | Where | Change |\n|---|---|---|---|\n")
        for result in affected:
            issue = result.advised.finding.issue
            showed = measured(result)
            cells = (
                issue.level,
                f"{_linked(result)} {escaped(issue.summary)}",
                f"{escaped(_where(result, places))}: {escaped(reason(result))}",
                f"{escaped(fix(result).removeprefix('fix: '))}{'<br>' if showed else ''}{escaped(showed)}",
            )
            out.write(f"| {' | '.join(cells)} |\n")
        out.write("\n")
    if lines := [_line(result, places) for result in found if result.state == "informational"]:
        write_folded(f"Worth knowing: {len(lines)}", lines, out)
    if aside:
        write_folded(f"Suppressed: {len(aside)}", [_suppressed(result, places) for result in aside], out)


def _not_sure(found: Sequence[Result], said: Asides, places: RepositoryPaths, out: TextIO) -> None:
    """What is told once, however many environments there are."""
    for state, title, folded in _PARTS:
        lines = [_line(result, places) for result in found if result.state == state]
        if lines and folded:
            write_folded(f"{title}: {len(lines)}", lines, out)
        elif lines:
            _listed(f"{title}:", lines, out)
        if state == "conditional" and said.questions:
            _listed("To know more, add what you know with `--set KEY=VALUE`:", map(escaped, said.questions), out)
        if state == "conditional" and said.minor:
            out.write(f"{escaped(said.minor)}; `--all` says when\n\n")
        if state == "dormant" and said.dormant:
            out.write(f"{escaped(said.dormant)}; `--all` lists the records\n\n")


def _read_in_part(audit: Audit, out: TextIO) -> None:
    """The ranges of an environment, and what was not checked of it."""
    if ranges := range_texts(audit):
        write_folded(f"Judged by the newest release of a range: {len(ranges)}", map(escaped, ranges), out)
    if gaps := [escaped(gap_text(skipped)) for skipped in audit.skipped if skipped.gap]:
        out.write("".join(f"- {gap}\n" for gap in gaps) + "\n")


def _line(result: Result, places: RepositoryPaths) -> str:
    """What is told of a finding that is not sure, or no defect: no level stands before it."""
    issue = result.advised.finding.issue
    text = f"{_linked(result)} {escaped(issue.summary)} ({escaped(_where(result, places))}): {escaped(reason(result))}"
    showed = "" if result.state == "refuted" else measured(result)
    return f"{text.removesuffix(': ')}{'; measured here: ' if showed else ''}{escaped(showed)}"


def _cured(advised: ReportedFinding) -> str:
    issue = advised.finding.issue
    return f"{issue.level} {escaped(f'{issue.id} {issue.summary} ({places_text(advised.finding)})')}"


def _suppressed(result: Result, places: RepositoryPaths) -> str:
    issue = result.advised.finding.issue
    where, why = escaped(_where(result, places)), escaped(suppression(result, places))
    level = issue.level if result.advised.finding.status == "affected" else "perhaps:"
    return f"{level} {_linked(result)} {escaped(issue.summary)} ({where}): {why}"


def _listed(title: str, lines: Iterable[str], out: TextIO) -> None:
    out.write(f"{title}\n\n" + "".join(f"- {line}\n" for line in lines) + "\n")


def write_folded(title: str, lines: Iterable[str], out: TextIO) -> None:
    """Write a list that a reader has to open."""
    out.write(f"<details><summary>{title}</summary>\n\n")
    out.write("".join(f"- {line}\n" for line in lines) + "\n</details>\n\n")


def _linked(result: Result) -> str:
    issue = result.advised.finding.issue
    return linked(
        issue.id, next((reference.url for reference in issue.references if reference.type in ("FIX", "REPORT")), None)
    )


def _where(result: Result, places: RepositoryPaths) -> str:
    path = places.shown(result.location.path)
    line = "" if result.location.line is None else f":{result.location.line}"
    return plain(f"{path}{line} {entries(result)}")


def escaped(text: str) -> str:
    """The text as Markdown that shows it: no markup, link, mention or reference."""
    shown = _MARKUP.sub(r"\\\1", _MENTION.sub("\u200b", plain(text)))
    return _ITEM.sub(r"\1\\.", shown.strip())  # blanks at the start would make it code in a list


def linked(text: str, url: str | None) -> str:
    """The text as a link, if the address is one that cannot end the link or begin a script."""
    fits = url is not None and _URL.fullmatch(url) is not None and plain(url) == url
    return f"[{escaped(text)}]({url})" if fits else escaped(text)
