"""A report as Markdown, for a comment or the summary of a CI step. What comes from files cannot become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TextIO

from gradcompat.model.report import Audit, Report
from gradcompat.renderers.places import Places
from gradcompat.renderers.results import (
    Result,
    by_audit,
    entries,
    fix,
    gap_text,
    measured,
    plain,
    reason,
    summary,
)

_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@:-])")
_MENTION = re.compile(r"(?<=[@#])(?=\w)")  # a forge links @name and #1 even behind a backslash
_TITLES = {
    "conditional": "Depends on what was not seen",
    "refuted": "Measured, and not there",
    "informational": "Worth knowing",
    "not_affected": "Does not apply",
}


def render(report: Report, out: TextIO) -> None:
    """Write a table of what is affected, and below it folded lists of the rest, for each environment."""
    places = Places()
    out.write(f"**gradcompat**: {_escaped(summary(report))}\n\n")
    clean: list[str] = []
    for audit, found in by_audit(report, places):
        if found or not audit.complete:
            _audit(audit, found, places, out)
        else:
            clean.append(_escaped(places.shown(audit.source)))
    if clean:
        _folded("Nothing found in", clean, out)


def _audit(audit: Audit, found: Sequence[Result], places: Places, out: TextIO) -> None:
    out.write(f"### {_escaped(places.shown(audit.source))}\n\n")
    affected = [result for result in found if result.state == "affected"]
    if affected:
        out.write("| | Defect | Where | Change |\n|---|---|---|---|\n")
        for result in affected:
            issue = result.advised.finding.issue
            showed = measured(result)
            cells = (
                issue.level,
                f"{_linked(result)} {_escaped(issue.summary)}",
                f"{_escaped(_where(result, places))}: {_escaped(reason(result))}",
                f"{_escaped(fix(result).removeprefix('fix: '))}{'<br>' if showed else ''}{_escaped(showed)}",
            )
            out.write(f"| {' | '.join(cells)} |\n")
        out.write("\n")
    gaps = [_escaped(gap_text(skipped)) for skipped in audit.skipped if skipped.gap]
    if gaps:
        out.write("".join(f"- {gap}\n" for gap in gaps) + "\n")
    for state, title in _TITLES.items():
        lines = [
            f"{result.advised.finding.issue.level} {_linked(result)} {_escaped(result.advised.finding.issue.summary)} "
            f"({_escaped(_where(result, places))}): {_escaped(reason(result))}".removesuffix(": ")
            for result in found
            if result.state == state
        ]
        if lines:
            _folded(f"{title}: {len(lines)}", lines, out)


def _folded(title: str, lines: Iterable[str], out: TextIO) -> None:
    out.write(f"<details><summary>{title}</summary>\n\n")
    out.write("".join(f"- {line}\n" for line in lines) + "\n</details>\n\n")


def _linked(result: Result) -> str:
    issue = result.advised.finding.issue
    url = next((one.url for one in issue.references if one.type in ("FIX", "REPORT")), None)
    fits = url is not None and re.fullmatch(r"https?://[^\s()<>|\\]+", url) is not None
    return f"[{_escaped(issue.id)}]({url})" if fits else _escaped(issue.id)


def _where(result: Result, places: Places) -> str:
    path = places.shown(result.location.path)
    line = "" if result.location.line is None else f":{result.location.line}"
    return plain(f"{path}{line} {entries(result)}")


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", _MENTION.sub("\u200b", plain(text)))
