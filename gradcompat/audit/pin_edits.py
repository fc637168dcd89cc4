"""The advice of a finding as edits of single lines, where the file that was checked is one that people write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradcompat.dependency_formats import BY_KIND
from gradcompat.edit.encoding import decoded
from gradcompat.edit.pins import PinEdit
from gradcompat.edit.registry import edit_text
from gradcompat.errors import EditError
from gradcompat.files.regular_files import read_regular
from gradcompat.model.environment import Location
from gradcompat.model.issue import VersionRemedy
from gradcompat.model.report import Audit, LineEdit, ReportedFinding
from gradcompat.startup.lazy_dataclasses import replace


def with_edits(audit: Audit) -> Audit:
    """The audit, with the edits of each finding whose advice is to move one pin of an editable file."""
    entry = BY_KIND.get(audit.kind or "")
    if entry is None or entry.editor is None:
        return audit
    findings = tuple(replace(advised, edits=_edits(advised, entry.kind)) for advised in audit.findings)
    return replace(audit, findings=findings)


def _edits(advised: ReportedFinding, kind: str) -> tuple[LineEdit, ...]:
    """Nothing where the move alone does not cure, where it brings something else, or where the file has no such pin."""
    advice = advised.advice
    if advice is None or not isinstance(advice.remedy, VersionRemedy) or advice.target is None:
        return ()
    if not advice.clears or advice.introduces or len(advice.changes) > 1:
        return ()
    name = advice.package or advice.remedy.package
    pins = [package for package in advised.finding.packages if package.name == name]
    places = {(package.version, package.location.path) for package in pins}
    if len(places) != 1:
        return ()
    ((version, display_path),) = places
    if version is None:
        return ()
    try:
        text = decoded(read_regular(display_path), display_path).text
        pin = PinEdit(package=name, version_from=version, version_to=advice.target, kind=advice.remedy.kind)
        result = edit_text(kind, Path(display_path), display_path, text, [pin])
    except (EditError, OSError, ValueError):
        return ()
    return tuple(_changed(text, result.text, display_path)) if name in result.settled else ()


def _changed(before: str, after: str, path: str) -> Iterator[LineEdit]:
    """Each line that changed, from the first other word to the last; nothing if lines came or went."""
    old, new = before.split("\n"), after.split("\n")
    if len(old) != len(new):
        return
    for number, (a, b) in enumerate(zip(old, new, strict=True), start=1):
        if a == b:
            continue
        shorter = min(len(a), len(b))
        head = next((index for index in range(shorter) if a[index] != b[index]), shorter)
        tail = next((index for index in range(shorter - head) if a[-1 - index] != b[-1 - index]), shorter - head)
        while head and _in_word(a[head - 1]):
            head -= 1
        while tail and _in_word(a[-tail]):
            tail -= 1
        location = Location(path=path, line=number, column=head + 1)
        yield LineEdit(location=location, end_column=len(a) - tail + 1, text=b[head : len(b) - tail])


def _in_word(char: str) -> bool:
    return char.isalnum() or char in ".+!_"
