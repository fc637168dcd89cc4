"""What was looked at: `watched.jsonl` beside the records, a line for each candidate that somebody has judged."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from gradcompat.curation.watch.candidate import RULES, Candidate
from gradcompat.errors import KnowledgeError, UsageError
from gradcompat.regular_files import read_regular

FILE = "watched.jsonl"
KNOWN, NOTHING, RECORD = "known", "nothing", "record:"
_ID = re.compile(r"[0-9a-f]{8}")
_RECORD = re.compile(r"record:(GC-\d{4})")
_TEXTS = ("id", "rule", "package", "before", "after", "place", "verdict", "why", "date")
_LISTS = ("removed", "added")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A candidate with its verdict.

    Attributes:
        verdict: ``known`` (a record has it), ``nothing`` (no defect), or ``record:GC-0000``, which came of it.
        why: in the judge's words; may be empty.
        date: of the verdict.
    """

    id: str
    rule: str
    package: str
    before: str
    after: str
    place: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    verdict: str
    why: str
    date: str

    def of(self) -> Candidate:
        """The candidate, without what ranks and links it."""
        return Candidate(
            rule=self.rule,
            package=self.package,
            before=self.before,
            after=self.after,
            place=self.place,
            removed=self.removed,
            added=self.added,
            weight=0,
        )


def judged(candidate: Candidate, verdict: str, why: str, day: str) -> Judged:
    """A candidate with a verdict.

    Raises:
        UsageError: if it is no verdict.
    """
    if verdict not in (KNOWN, NOTHING) and not _RECORD.fullmatch(verdict):
        raise UsageError(f"`{verdict}` is no verdict", hint="`known`, `nothing`, or `record:GC-0123`")
    return Judged(
        id=candidate.id,
        rule=candidate.rule,
        package=candidate.package,
        before=candidate.before,
        after=candidate.after,
        place=candidate.place,
        removed=candidate.removed,
        added=candidate.added,
        verdict=verdict,
        why=why,
        date=day,
    )


def read_verdicts(path: Path) -> tuple[Judged, ...]:
    """What was judged; nothing where there is no file.

    Raises:
        KnowledgeError: if the file cannot be read, or a line is none of its lines.
    """
    return tuple(hit for _, hit in _lines(path))


def _lines(path: Path) -> Iterator[tuple[int, Judged]]:
    if not os.path.exists(path):
        return
    try:
        text = read_regular(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise KnowledgeError(f"cannot be read: {reason}", path=str(path)) from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield number, _parsed(line, number, path)


def _parsed(line: str, number: int, path: Path) -> Judged:
    try:
        found: Any = json.loads(line)
        texts = [found.pop(name) for name in _TEXTS]
        lists = [tuple(found.pop(name)) for name in _LISTS]
        if found or not all(isinstance(one, str) for one in (*texts, *lists[0], *lists[1])):
            raise ValueError
        names = dict(zip(_TEXTS, texts, strict=True))
        return Judged(**names, removed=lists[0], added=lists[1])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        hint = "`gradcompat knowledge watch --verdict` writes this file"
        raise KnowledgeError(f"line {number} is no verdict on a candidate", path=str(path), hint=hint) from None


def add_verdicts(path: Path, new: Collection[Judged]) -> None:
    """Put verdicts into the file; a new one takes the place of an older one on the same candidate.

    Raises:
        KnowledgeError: if the file cannot be read or written.
    """
    kept = {hit.id: hit for hit in read_verdicts(path)} | {hit.id: hit for hit in new}
    lines = (json.dumps(asdict(hit), ensure_ascii=False) + "\n" for hit in sorted(kept.values(), key=_order))
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text("".join(lines), "utf-8", newline="\n")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise KnowledgeError(f"cannot be written: {error.strerror}", path=str(path)) from None


def _order(hit: Judged) -> tuple[str, ...]:
    return hit.package, hit.date, hit.after, hit.place, hit.id


def problems(path: Path, records: Collection[str]) -> Iterator[tuple[int, str]]:
    """What is wrong with the file, each with its line.

    Args:
        path: the file.
        records: the ids of all records.

    Raises:
        KnowledgeError: if the file cannot be read.
    """
    seen: set[str] = set()
    for number, hit in _lines(path):
        named = _RECORD.fullmatch(hit.verdict)
        if not _ID.fullmatch(hit.id) or hit.rule not in RULES or hit.of().id != hit.id:
            yield number, f"`{hit.id}` is not the id of this candidate: the line was not written by `knowledge watch`"
        if hit.id in seen:
            yield number, f"`{hit.id}` was judged above"
        seen.add(hit.id)
        if named is not None and named[1] not in records:
            yield number, f"`{named[1]}` is no record"
        elif named is None and hit.verdict not in (KNOWN, NOTHING):
            yield number, f"`{hit.verdict}` is no verdict: `known`, `nothing`, or `record:GC-0123`"
        try:
            date.fromisoformat(hit.date)
        except ValueError:
            yield number, f"`{hit.date}` is no day"
