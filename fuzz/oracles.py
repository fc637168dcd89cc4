"""What makes an input a finding: an error that nobody declared, a leak, a report that is none, a file that is lost."""

from __future__ import annotations

import json
import re
import sys
import traceback
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from fuzz.canaries import CANARIES, leaked
from fuzz.inputs import Entry
from fuzz.targets import INTERNAL_ERROR, PACKAGE

SECONDS = 2.0  # processor time for 1 MB of anything, and for anything smaller
MEGABYTES = 300.0  # of memory, likewise
_JSON = frozenset({"json", "sarif", "gitlab", "cyclonedx-vex", "openvex"})
_XML = frozenset({"junit"})
_LINES = frozenset({"text", "errors", "github", "markdown"})
# Everything that a terminal obeys, that turns the direction of a text, or that some tools take for the end of a line.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_STATUSES = (0, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that an input must not do.

    Attributes:
        oracle: which rule it breaks.
        where: what tells it from others of this oracle; findings alike are counted, not listed.
        detail: for whoever mends it.
    """

    oracle: str
    where: str
    detail: str = ""

    @property
    def signature(self) -> str:
        """One line that is the same for findings alike."""
        return f"{self.oracle}: {self.where}"


def undeclared(error: BaseException) -> Finding:
    """An exception that nobody declared, by the place in gradcompat that it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    place = f"{inside[-1].filename[len(PACKAGE) + 1 :]}:{inside[-1].name}" if inside else "outside"
    detail = "".join(traceback.format_exception(error))[-3000:]
    said = "" if inside else f": {str(error)[:80]}"
    return Finding("exception", f"{type(error).__name__} in {place}{said}", detail)


def spent(seconds: float, megabytes: float, size: int, target: str, place: str) -> list[Finding]:
    """More than an input of that size may take; limits grow with the size from 1 MB on."""
    scale = max(1.0, size / 1_000_000)
    found = []
    if seconds > SECONDS * scale:
        found.append(Finding("time", f"{target} in {place}", f"{seconds:.1f} s for {size} bytes"))
    if megabytes > MEGABYTES * scale:
        found.append(Finding("memory", target, f"{megabytes:.0f} MB for {size} bytes"))
    return found


def told(texts: Mapping[str, str], target: str, secrets: Collection[str] = tuple(CANARIES)) -> list[Finding]:
    """What is wrong with the reports themselves.

    Args:
        texts: by the name of the report.
        target: what was done, and with what.
        secrets: the kinds of canaries that no report may repeat.
    """
    found = _leaks(texts, target, secrets)
    for name, text in texts.items():
        if not target.startswith(("check", "process", "inspect", "plan", "fix", "diagnose")):
            continue
        if target.startswith("fix") and name == "text":
            continue  # a diff, which has to be what the file is
        if name in _LINES and (hit := _CONTROL.search(text)):
            found.append(
                Finding(
                    "control",
                    f"{hit[0]!r} in {name} of {target.split(maxsplit=1)[0]}",
                    repr(text[max(0, hit.start() - 200) : hit.end() + 50]),
                )
            )
        if name in _JSON and text:
            found += _parsed(name, text)
        if name in _XML and text:
            try:
                ElementTree.fromstring(text)  # noqa: S314  # written by the program under test
            except ElementTree.ParseError as error:
                found.append(Finding("malformed", name, str(error)))
        if name == "github":
            strange = [line for line in text.split("\n") if line and not re.match(r"::(error|warning|notice) ", line)]
            found += [Finding("malformed", name, line[:300]) for line in strange[:1]]
    return found


def _leaks(texts: Mapping[str, str], target: str, secrets: Collection[str]) -> list[Finding]:
    places: dict[str, list[str]] = {}
    for name, text in texts.items():
        # A patch has the lines around a change as they are (SECURITY.md), but of no file outside of the folder.
        counted = {"outside"} if target.startswith("fix") and name == "text" else secrets
        for kind in leaked(text):
            if kind in counted:
                places.setdefault(kind, []).append(name)
    return [
        Finding("leak", f"{kind} in {target}", f"in {', '.join(names)}: {_around(texts[names[0]], kind)}")
        for kind, names in places.items()
    ]


def _around(text: str, kind: str) -> str:
    at = max(text.lower().find(CANARIES[kind][:8]), 0)
    return text[max(0, at - 200) : at + 100]


def _parsed(name: str, text: str) -> list[Finding]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    try:
        json.loads(text, parse_constant=refuse)
        text.encode("utf-8")
    except (ValueError, RecursionError) as error:
        return [Finding("malformed", name, str(error))]
    return []


def ended(status: int | None, texts: Mapping[str, str], target: str) -> list[Finding]:
    """An exit status that is not one of ours, or that says that we do not know what happened."""
    if status is None or status in _STATUSES:
        return []
    said = texts.get("errors", "").strip().splitlines()
    oracle = "internal error" if status == INTERNAL_ERROR else "status"
    return [
        Finding(
            oracle,
            f"{status} of {target.split(maxsplit=1)[0]} {re.sub(r'[0-9]+', 'N', said[0])[:100] if said else ''}",
            "\n".join(said),
        )
    ]


def silent(status: int | None, texts: Mapping[str, str], target: str) -> list[Finding]:
    """A status other than 0 of which no line says why."""
    if status in (1, 2, 3) and not any(texts.get(name, "").strip() for name in ("text", "errors", "json")):
        return [Finding("silence", f"status {status} of {target}")]
    return []


def unnamed(entries: Iterable[Entry], reports: Iterable[str], kind: str) -> list[Finding]:
    """Files that a report has to name, as read or as a gap, and does not."""
    said = "\n".join(reports)
    return [
        Finding("lost", f"{entry.path}{' unreadable ' + entry.kind if entry.unreadable else ''} of {kind}", said[:2000])
        for entry in entries
        if entry.named and entry.path not in said
    ]


def clean_beside_a_gap(entries: Iterable[Entry], status: int | None, kind: str) -> list[Finding]:
    """A folder is called clean although something in it cannot be read."""
    lost = [entry.path for entry in entries if entry.unreadable]
    return [Finding("clean", f"beside an unreadable {lost[0]} of {kind}")] if status == 0 and lost else []


_RANK = {0: 0, 3: 1, 2: 1, 1: 2}  # how much attention a status asks for


def lowered(before: int | None, after: int | None, added: Entry) -> list[Finding]:
    """Another file, which cannot be read, made the result look better."""
    if before is None or after is None or _RANK.get(after, 9) >= _RANK.get(before, 0):
        return []
    return [Finding("lowered", f"{before} to {after} by {added.path}", repr(added))]


def imported(marker: Path, root: Path, before: Set[str]) -> list[Finding]:
    """Code of the folder that was run or imported."""
    found = []
    if marker.exists():
        said = marker.read_text("utf-8", "replace").strip().splitlines()
        marker.unlink()
        found.append(Finding("imported", Path(said[0]).name if said else "something", "\n".join(said)))
    for name in sys.modules.keys() - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(root)):
            found.append(Finding("imported", name))
            del sys.modules[name]
    return found
