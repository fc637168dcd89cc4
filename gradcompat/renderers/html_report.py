"""A report as one page that needs nothing else: no network, and readable on a phone, in the dark and without scripts.

Whatever the page holds, its policy lets the browser load nothing and run only the script that stands here.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gradcompat._version import __version__
from gradcompat.audit.report_parts import places_text
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.issue import LEVELS
from gradcompat.model.report import Audit, Report
from gradcompat.renderers.results import (
    Result,
    asides,
    entries,
    fix,
    gap_text,
    measured,
    paragraphs,
    plain,
    range_texts,
    reason,
    remarks,
    results,
    suppression,
)
from gradcompat.renderers.summary_text import summary
from gradcompat.renderers.suppressed_text import counts_text, remark_text, replaced_text

_TEMPLATES = Path(__file__).parent / "templates"
_SUPPRESSED = "suppressed"
_STATES = {
    "affected": "affected",
    "informational": "worth knowing",
    "conditional": "could apply",
    "dormant": "feature not used",
    "refuted": "refuted here",
    "not_affected": "does not apply",
    _SUPPRESSED: "suppressed",
}
_OF_AUDIT = ("affected", "informational", _SUPPRESSED)  # what is told with its environment, the rest once for all
_REST = ("dormant", "refuted", "not_affected")  # behind the questions


def render(report: Report, out: TextIO) -> None:
    """Write the page."""
    templates = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    paths = RepositoryPaths()
    every = results(report, paths, suppressed=report.show_suppressed is not False)
    found = [result for result in every if result.shown]
    sections = [_section(audit, [hit for hit in found if hit.audit is audit], paths) for audit in report.audits]
    style, script = ((_TEMPLATES / name).read_text("utf-8") for name in ("report.css", "report.js"))
    page = templates.get_template("report.html.jinja").stream(
        policy=(
            f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
        # Both are files of ours, and the policy has their digests: not a sign of them may change.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        summary=summary(report),
        counts=counts_text(report.suppressed),
        remarks=[plain(remark_text(replace(remark, location=place))) for remark, place in remarks(report, paths)],
        boxes=_boxes(found),
        sections=sections,
        said=asides(report),
        possible=[_article(result, paths) for result in found if _state(result) == "conditional"],
        rest=[_article(result, paths) for result in found if _state(result) in _REST],
        version=__version__,
    )
    out.writelines(page)


def _boxes(found: Sequence[Result]) -> list[tuple[str, str, bool]]:
    """What can be filtered: its name, its label, and whether it is shown at first."""
    levels = {level for result in found if (level := _level(result)) is not None}
    states = {_state(result) for result in found}
    boxes: list[tuple[str, str]] = [(level, level) for level in reversed(LEVELS) if level in levels]
    boxes += [(state, word) for state, word in _STATES.items() if state in states]
    return [(name, word, name != _SUPPRESSED) for name, word in boxes]


def _state(result: Result) -> str:
    return result.state if result.advised.suppressed is None else _SUPPRESSED


def _level(result: Result) -> str | None:
    """How much depends on what is affected; nothing else is headed by a level."""
    return result.advised.finding.issue.level if result.state == "affected" else None


def _section(audit: Audit, found: Sequence[Result], paths: RepositoryPaths) -> dict[str, Any]:
    gaps = [gap_text(skipped) for skipped in audit.skipped if skipped.gap]
    other = "other " if audit.suppressed else ""
    return {
        "source": plain(paths.shown(audit.source)),
        "replaced": plain(replaced_text(audit.replaced)),
        "cured": [
            plain(
                f"{finding.finding.issue.level} {finding.finding.issue.id}: {finding.finding.issue.summary} "
                f"({places_text(finding.finding)})"
            )
            for finding in audit.cured
        ],
        "gaps": gaps,
        "ranges": range_texts(audit),
        "articles": [_article(result, paths) for result in found if _state(result) in _OF_AUDIT],
        "clean": "" if audit.findings or gaps else f"No {other}known defect found.",
    }


def _article(result: Result, paths: RepositoryPaths) -> dict[str, Any]:
    issue = result.advised.finding.issue
    line = "" if result.location.line is None else f":{result.location.line}"
    aside = "" if result.advised.suppressed is None else "suppressed"
    silent = ", silent" if issue.silent else ""
    sentences = [
        suppression(result, paths),
        reason(result),
        fix(result),
        "" if result.state == "refuted" else measured(result),
    ]
    level = _level(result)
    words = ", ".join(([] if level is None else [level]) + ([aside] if aside else []) + [_STATES[result.state]])
    return {
        "level": level or "",
        "state": _state(result),
        "summary": plain(issue.summary),
        "tag": f"{words}{silent}: {plain(issue.id)}",
        "where": plain(f"{paths.shown(result.location.path)}{line} {entries(result)}"),
        "sentences": [f"{text[:1].upper()}{text[1:]}" for text in sentences if text],
        "details": paragraphs(issue.details),
        "references": [plain(reference.url) for reference in issue.references],
    }


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
