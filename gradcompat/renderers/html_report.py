"""A report as one page that needs nothing else: no network, and readable on a phone, in the dark and without scripts.

Whatever the page holds, its policy lets the browser load nothing and run only the script that stands here.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TextIO

from gradcompat._version import __version__
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.issue import LEVELS
from gradcompat.model.report import Audit, Report
from gradcompat.renderers.results import (
    Result,
    by_audit,
    entries,
    fix,
    gap_text,
    measured,
    paragraphs,
    plain,
    reason,
    remarks,
    summary,
    suppression,
)
from gradcompat.renderers.suppressed_text import remark_text

_SUPPRESSED = "suppressed"
_STATES = {
    "affected": "affected",
    "conditional": "conditional",
    "refuted": "measured, and not there",
    "informational": "worth knowing",
    "not_affected": "does not apply",
    _SUPPRESSED: "suppressed",
}

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --error: #b3261e; --warning: #8a5a00; --note: #2f5d9b; }
@media (prefers-color-scheme: dark) { :root { --error: #ff8a80; --warning: #f0b429; --note: #8ab4f8; } }
body { font: 1rem/1.45 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem;
  overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; margin: 0; }
h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; padding: .75rem 0;
  background: Canvas; border-bottom: 1px solid var(--line); }
@media (min-width: 40rem) { form { position: sticky; top: 0; } }
input[type=search] { font: inherit; flex: 1 1 12rem; padding: .3rem .5rem; }
label { white-space: nowrap; }
article { border: 1px solid var(--line); border-left: .3rem solid var(--note); border-radius: .3rem;
  padding: .5rem .75rem; margin: .5rem 0; }
article > p { margin: .3rem 0; }
.tag { font-size: .85rem; color: var(--note); }
[data-state=affected][data-level=error] { border-left-color: var(--error); }
[data-state=affected][data-level=error] .tag { color: var(--error); }
[data-state=affected][data-level=warning] { border-left-color: var(--warning); }
[data-state=affected][data-level=warning] .tag, .gaps { color: var(--warning); }
.details { white-space: pre-line; }
[hidden] { display: none; }
"""

_SCRIPT = """
const form = document.querySelector("form"), shown = document.querySelector("output");
const all = [...document.querySelectorAll("article")];
const usual = all.filter(one => one.dataset.state !== "suppressed").length;
const texts = all.map(one => one.textContent.toLowerCase());
function filter() {
  const words = form.text.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const off = new Set([...form.querySelectorAll("[type=checkbox]:not(:checked)")].map(one => one.name));
  let count = 0;
  all.forEach((one, index) => {
    const { level, state } = one.dataset;
    one.hidden = off.has(level) || off.has(state) || !words.every(word => texts[index].includes(word));
    count += !one.hidden;
  });
  for (const part of document.querySelectorAll("section"))
    part.hidden = count < usual && !part.querySelector(":scope > ul, article:not([hidden])");
  shown.textContent = `${count} of ${all.length} shown`;
}
form.addEventListener("input", filter);
form.addEventListener("submit", event => event.preventDefault());
form.hidden = !all.length;
filter();
"""


def render(report: Report, out: TextIO) -> None:
    """Write the page."""
    places = RepositoryPaths()
    audits = by_audit(report, places, suppressed=report.show_suppressed is not False)
    everything = [result for _, found in audits for result in found]
    policy = (
        f"default-src 'none'; style-src '{_digest(_STYLE)}'; script-src '{_digest(_SCRIPT)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    out.write(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>gradcompat: {escape(summary(report))}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>gradcompat</h1>\n<p>{escape(summary(report))}</p>\n{_remarks(report, places)}{_form(everything)}<main>\n"
    )
    for audit, found in audits:
        _audit(audit, found, places, out)
    out.write(f"</main>\n<p>Made by gradcompat {__version__}.</p>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n")


def _remarks(report: Report, places: RepositoryPaths) -> str:
    lines = [
        f"<li>{_text(remark_text(replace(remark, location=location)))}</li>\n"
        for remark, location in remarks(report, places)
    ]
    return f'<ul class="gaps">\n{"".join(lines)}</ul>\n' if lines else ""


def _form(found: Sequence[Result]) -> str:
    """Hidden until the script shows it: without one it would do nothing. What is suppressed is off at first."""
    levels = {result.advised.finding.issue.level for result in found}
    states = {_state(result) for result in found}
    boxes: list[tuple[str, str]] = [(level, level) for level in reversed(LEVELS) if level in levels]
    boxes += [(state, word) for state, word in _STATES.items() if state in states]
    labels = "".join(
        f'<label><input type="checkbox" name="{name}"{"" if name == _SUPPRESSED else " checked"}> {escape(word)}'
        "</label>\n"
        for name, word in boxes
    )
    return (
        '<form hidden>\n<input type="search" name="text" placeholder="Filter" aria-label="Filter">\n'
        f'{labels}<output aria-live="polite"></output>\n</form>\n'
    )


def _state(result: Result) -> str:
    return result.state if result.advised.suppressed is None else _SUPPRESSED


def _audit(audit: Audit, found: Sequence[Result], places: RepositoryPaths, out: TextIO) -> None:
    out.write(f"<section>\n<h2>{_text(places.shown(audit.source))}</h2>\n")
    gaps = [gap_text(skipped) for skipped in audit.skipped if skipped.gap]
    if gaps:
        out.write('<ul class="gaps">\n' + "".join(f"<li>{escape(gap)}</li>\n" for gap in gaps) + "</ul>\n")
    for result in found:
        out.write(_article(result, places))
    if not audit.findings and not gaps:
        other = "other " if audit.suppressed else ""
        out.write(f'<p class="clean">No {other}known defect found.</p>\n')
    out.write("</section>\n")


def _article(result: Result, places: RepositoryPaths) -> str:
    issue = result.advised.finding.issue
    line = "" if result.location.line is None else f":{result.location.line}"
    aside = "" if result.advised.suppressed is None else "suppressed, "
    silent = ", silent" if issue.silent else ""
    where = f"{places.shown(result.location.path)}{line} {entries(result)}"
    sentences = [
        suppression(result, places),
        reason(result),
        fix(result),
        "" if result.state == "refuted" else measured(result),
    ]
    links = "".join(f"<li>{_link(reference.url)}</li>" for reference in issue.references)
    return (
        f'<article data-level="{issue.level}" data-state="{_state(result)}">\n'
        f"<h3>{_text(issue.summary)}</h3>\n"
        f'<p class="tag">{issue.level}, {aside}{_STATES[result.state]}{silent}: {_text(issue.id)}</p>\n'
        f"<p><code>{_text(where)}</code></p>\n"
        + "".join(f"<p>{escape(f'{text[:1].upper()}{text[1:]}')}</p>\n" for text in sentences if text)
        + f'<details><summary>More</summary><p class="details">{escape(paragraphs(issue.details))}</p>'
        f"<ul>{links}</ul></details>\n</article>\n"
    )


def _link(url: str) -> str:
    """A link only where it leads to a page."""
    text = _text(url)
    return f'<a href="{text}" rel="noreferrer noopener">{text}</a>' if re.match(r"https?://", url) else text


def _text(text: str) -> str:
    return escape(plain(text))


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
