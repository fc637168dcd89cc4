"""What was looked at: `watched.jsonl` beside the records, a line for each candidate that somebody has judged."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from gradcompat.curation.watch.candidate import RULES, Change
from gradcompat.errors import KnowledgeError, UsageError
from gradcompat.files.atomic_file import write_atomically
from gradcompat.files.regular_files import read_regular

FILE = "watched.jsonl"
KNOWN, NOTHING, RECORD = "known", "nothing", "record:"
_RECORD = re.compile(r"record:(GC-\d{4})")
_TEXTS = ("id", "rule", "package", "before", "after", "place", "verdict", "why", "date")
_LISTS = ("removed", "added")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(Change):
    """A change with its verdict.

    Attributes:
        verdict: ``known`` (a record has it), ``nothing`` (no defect), or ``record:GC-0000``, which came of it.
        why: in the judge's words; may be empty.
        date: of the verdict.
    """

    verdict: str
    why: str
    date: str


def judged(change: Change, verdict: str, why: str, day: str) -> Judged:
    """A change with a verdict.

    Raises:
        UsageError: if it is no verdict.
    """
    if verdict not in (KNOWN, NOTHING) and not _RECORD.fullmatch(verdict):
        raise UsageError(f"`{verdict}` is no verdict", hint="`known`, `nothing`, or `record:GC-0123`")
    differing = {each.name: getattr(change, each.name) for each in fields(Change)}
    return Judged(**differing, verdict=verdict, why=why, date=day)


def read_verdicts(path: Path) -> tuple[Judged, ...]:
    """What was judged; nothing where there is no file.

    Raises:
        KnowledgeError: if the file cannot be read, or a line is none of its lines.
    """
    return tuple(hit for _, _, hit in _lines(path))


def _lines(path: Path) -> Iterator[tuple[int, str, Judged]]:
    """Each line: its number, the id that stands in it, and the rest."""
    if not os.path.exists(path):
        return
    try:
        text = read_regular(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise KnowledgeError(f"cannot be read: {reason}", path=str(path)) from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield number, *_parsed(line, number, path)


def _parsed(line: str, number: int, path: Path) -> tuple[str, Judged]:
    try:
        found: Any = json.loads(line)
        texts: dict[str, Any] = {name: found.pop(name) for name in _TEXTS}
        lists: dict[str, Any] = {name: tuple(found.pop(name)) for name in _LISTS}
        said = (*texts.values(), *(text for each in lists.values() for text in each))
        if found or not all(isinstance(text, str) for text in said):
            raise ValueError
        return texts.pop("id"), Judged(**texts, **lists)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        hint = "`gradcompat knowledge watch --verdict` writes this file"
        raise KnowledgeError(f"line {number} is no verdict on a candidate", path=str(path), hint=hint) from None


def add_verdicts(path: Path, new: Collection[Judged]) -> None:
    """Put verdicts into the file; a new one takes the place of an older one on the same candidate.

    Raises:
        KnowledgeError: if the file cannot be read or written.
    """
    kept = {hit.id: hit for hit in read_verdicts(path)} | {hit.id: hit for hit in new}
    rows = ({"id": hit.id, **asdict(hit)} for hit in sorted(kept.values(), key=_order))
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        write_atomically(path, text.encode())
    except OSError as error:
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
    for number, stated, hit in _lines(path):
        named = _RECORD.fullmatch(hit.verdict)
        if stated != hit.id or hit.rule not in RULES:
            yield number, f"`{stated}` is not the id of this candidate: the line was not written by `knowledge watch`"
        if stated in seen:
            yield number, f"`{stated}` was judged above"
        seen.add(stated)
        if named is not None and named[1] not in records:
            yield number, f"`{named[1]}` is no record"
        elif named is None and hit.verdict not in (KNOWN, NOTHING):
            yield number, f"`{hit.verdict}` is no verdict: `known`, `nothing`, or `record:GC-0123`"
        try:
            date.fromisoformat(hit.date)
        except ValueError:
            yield number, f"`{hit.date}` is no day"
