"""``check --baseline FILE``: what an earlier report has does not count again.

The file is what ``check --format json`` wrote, and findings are compared by their fingerprints. What was waived when it
was written is not in it: a waiver that ends has to show what it hid. Nor is what was dormant: a feature that comes into
use has to show what hangs on it. What could not be checked is never in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradcompat.audit.fingerprints import fingerprints
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.errors import SourceError, UsageError
from gradcompat.formats.document import read_document
from gradcompat.formats.json_text import parse
from gradcompat.messages import counted
from gradcompat.model.environment import Location
from gradcompat.model.finding import Status
from gradcompat.model.report import SCHEMA_VERSION, Audit, Remark, ReportedFinding, Suppression
from gradcompat.suppression.apply import RuleBuilder, SuppressionRules
from gradcompat.suppression.prior_finding import PriorFinding, is_known, weight, weight_of

_HINT = "write one with `gradcompat check … --output json=FILE`"
_STATUSES: tuple[Status, ...] = ("affected", "conditional", "dormant", "not_affected")


@dataclass(frozen=True, slots=True)
class _Entry:
    """One finding of the file: of which record, in which environment, and what it was."""

    issue: str
    source: str
    before: PriorFinding


def judging_by(file: str, options: AuditOptions, path: Path | None = None) -> RuleBuilder:
    """Read the file now, and compare with it later.

    Args:
        file: what an earlier check wrote, as it is called.
        options: of this check; what it does not look for is not gone.
        path: where it lies, if not where its name says.

    Raises:
        UsageError: if the file cannot be read, or is anything else than such a report.
    """
    try:
        content = parse(read_document(path or Path(file), file).text, file)
    except SourceError as error:
        raise UsageError(_lowered(error.message), path=file, line=error.line, hint=_HINT) from None
    entries = _entries(content, file)

    def judging(audits: Sequence[Audit]) -> SuppressionRules:
        return _judgement(audits, entries, Location(path=file), options)

    return judging


def _judgement(
    audits: Sequence[Audit], entries: Mapping[str, _Entry], location: Location, options: AuditOptions
) -> SuppressionRules:
    places = RepositoryPaths()
    marks = fingerprints(audits, places)
    # The file was written in this folder, as a rule, or in the root of the repository.
    runs: dict[str, str] = {}
    for entry in entries.values():
        for run in entry.before.runs:
            runs |= {run: run, places.shown(run): run}

    def judge(_: Audit, advised: ReportedFinding) -> Suppression | None:
        entry = entries.get(marks[id(advised)])
        if not is_known(advised, None if entry is None else entry.before, lambda run: runs.get(places.shown(run), run)):
            return None
        return Suppression(kind="baseline", reason="the baseline has it", location=location)

    # An environment that was not checked now may have all that it had.
    checked = {places.shown(audit.source) for audit in audits if audit.kind is not None}
    found = {marks[id(advised)] for audit in audits for advised in audit.findings if weight_of(advised) > 0}
    gone = [
        mark
        for mark, entry in entries.items()
        if mark not in found
        and not checked.isdisjoint((entry.source, places.shown(entry.source)))
        and (not options.only or entry.issue in options.only)
        and entry.issue not in options.ignore
    ]
    if not gone:
        return SuppressionRules(judge=judge)
    verb = "is" if len(gone) == 1 else "are"
    text = f"{counted(len(gone), 'finding')} of the baseline {verb} gone: update it, or they can come back unnoticed"
    return SuppressionRules(
        judge=judge, remarks=(Remark(kind="gone-from-baseline", level="note", text=text, location=location),)
    )


def _entries(content: Any, file: str) -> dict[str, _Entry]:
    """Fingerprint → the finding; without what was waived, was dormant or did not apply."""
    if isinstance(content, dict) and ("$schema" in content or "runs" in content) and "findings" not in content:
        raise UsageError("is SARIF: a baseline is a report in gradcompat's own JSON", path=file, hint=_HINT)
    if not isinstance(content, dict) or not {"schema_version", "environments", "findings"} <= content.keys():
        raise UsageError("is not a report of `gradcompat check`", path=file, hint=_HINT)
    version = content["schema_version"]
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise UsageError(
            f"is a report of schema version {_brief(version)}", path=file, hint=f"only {SCHEMA_VERSION} is known"
        )
    if not isinstance(content["findings"], list):
        raise UsageError("is a broken report: `findings` is not a list", path=file, hint=_HINT)
    entries: dict[str, _Entry] = {}
    for number, finding in enumerate(content["findings"]):
        mark, entry, waived = _entry(finding, f"findings[{number}]", file)
        if waived or entry.before.weight == 0:
            continue
        if mark in entries:
            raise UsageError(f"is a broken report: `findings[{number}]` is there twice", path=file, hint=_HINT)
        entries[mark] = entry
    return entries


def _entry(finding: Any, place: str, file: str) -> tuple[str, _Entry, bool]:
    if not isinstance(finding, dict):
        raise UsageError(f"is a broken report: `{place}` is not a finding", path=file, hint=_HINT)
    for key in ("fingerprint", "id", "source"):
        if not isinstance(finding.get(key), str) or not finding[key]:
            raise UsageError(f"is a broken report: `{place}` has no `{key}`", path=file, hint=_HINT)
    status, runs, probe = finding.get("status"), finding.get("contexts", []), finding.get("probe")
    if status not in _STATUSES:
        raise UsageError(f"is a broken report: `{place}.status` is {_brief(status)}", path=file, hint=_HINT)
    if not isinstance(runs, list) or not all(isinstance(run, str) for run in runs):
        raise UsageError(f"is a broken report: `{place}.contexts` is not a list of names", path=file, hint=_HINT)
    suppressed = finding.get("suppressed")
    if suppressed is not None and not isinstance(suppressed, dict):
        raise UsageError(f"is a broken report: `{place}.suppressed` is not an object", path=file, hint=_HINT)
    before = PriorFinding(
        weight(
            status,
            refuted=isinstance(probe, dict) and probe.get("refuted") is True,
            informational=finding.get("informational") is True,
        ),
        frozenset(runs),
    )
    waived = suppressed is not None and suppressed.get("kind") == "waiver"
    return finding["fingerprint"], _Entry(finding["id"], finding["source"], before), waived


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _lowered(message: str) -> str:
    return message if message.startswith(("is ", "cannot", "there ")) else f"is no report: {message}"
