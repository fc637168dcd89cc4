"""Metrics in files made for programs: ``trainer_state.json``, histories of W&B, ``metrics.csv``, JSON lines.

Columns and keys have the tools' own names (``train/loss``, ``lr``, ``_step``), which :mod:`metrics` knows.

* A CSV file of a W&B chart has a column for each run, ``name - train/loss``, with ``__MIN`` and ``__MAX`` beside it.
  One run can be looked at; the first is taken, and the others are named as skipped.
* Lightning's CSV logger writes training and validation into one table, with empty cells.
* Tools write nan as ``NaN``, as ``null`` (which is then no value) or as a string.

CSV and JSON lines are read row by row, in constant memory; a JSON document as a whole, within the limits of
:mod:`gradcompat.formats.document`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from gradcompat.diagnosis.metrics import MAX_LINE, canonical, choose, is_other_objective, number
from gradcompat.errors import Malformed
from gradcompat.formats import json_text
from gradcompat.formats.document import Document
from gradcompat.model.environment import Location, Skipped
from gradcompat.quotation import parser_reason, quoted

Point = tuple[dict[str, float], int]
Kind = Literal["csv", "jsonl", "json"]

_MOST_COLUMNS = 2_000
_MOST_SKIPPED = 20  # a file of nothing but bad rows is told by its first
_BOUNDS = ("__MIN", "__MAX")
_LISTS = ("log_history", "history")
# What makes a table one of training, and what makes a row a point of its curve.
_OF_TRAINING = frozenset({"loss", "grad_norm"})
_OF_A_POINT = frozenset({"loss", "grad_norm", "learning_rate", "loss_scale"})


def recognise(head: str) -> Kind | None:
    """What kind of export a text is that begins so, or None: then it is a log, or no text of ours at all."""
    text = head.lstrip("\ufeff \t\r\n")
    first, _, rest = text.partition("\n")
    if text.startswith("{"):
        if _is_row(first):
            return "jsonl" if rest.lstrip().startswith("{") or not rest.strip() else None
        return "json" if any(f'"{name}"' in text for name in _LISTS) else None
    if text.startswith("["):
        return "json" if re.match(r'\[\s*\{\s*"', text) else None
    if "," in first and len(first) <= MAX_LINE:
        try:
            columns, _ = _columns(next(csv.reader([first.rstrip("\r")]), []), "")
        except (csv.Error, Malformed):
            return None
        return "csv" if _OF_TRAINING & set(columns.values()) else None
    return None


def read(document: Document, kind: Kind) -> Iterator[Point | Skipped]:
    """The metrics of a text that is in memory, row by row with its line.

    Raises:
        Malformed: if it is not of its kind as a whole.
    """
    if kind == "json":
        yield from _json(document)
    else:
        yield from read_rows(io.StringIO(document.text), document.path, kind)


def read_rows(lines: Iterable[str], path: str, kind: Kind) -> Iterator[Point | Skipped]:
    """The metrics of a table or of JSON lines, which may be longer than memory.

    Raises:
        Malformed: if it is not of its kind as a whole.
    """
    yield from _few(_csv(lines, path) if kind == "csv" else _json_lines(lines, path))


def _few(items: Iterator[Point | Skipped]) -> Iterator[Point | Skipped]:
    """All points, and the first of what was skipped."""
    skipped = 0
    for item in items:
        if isinstance(item, Skipped):
            skipped += 1
            if skipped > _MOST_SKIPPED:
                continue
        yield item
    if skipped > _MOST_SKIPPED:
        yield Skipped(what=f"{skipped - _MOST_SKIPPED:,} more rows", reason="as those before", gap=True)


def _json(document: Document) -> Iterator[Point | Skipped]:
    content = json_text.parse(document.text, document.path)
    steps: tuple[str | int, ...] = ()
    rows = content
    if isinstance(content, dict):
        name = next((name for name in _LISTS if isinstance(content.get(name), list)), None)
        if name is None:
            raise Malformed("has no list of logged metrics", path=document.path, hint=f"looked for {', '.join(_LISTS)}")
        rows, steps = content[name], (name,)
    if not isinstance(rows, list):
        raise Malformed("has no list of logged metrics", path=document.path)
    places = json_text.Places(document.text, document.path)
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            continue
        values = _row(row)
        if values is not None:
            yield values, places.of(*steps, index).line or 0


def _json_lines(lines: Iterable[str], path: str) -> Iterator[Point | Skipped]:
    for index, line in enumerate(lines, 1):
        text = line.strip("\ufeff \t\r\n\0")
        if not text:
            continue
        row: object = None
        if len(text) <= 50 * MAX_LINE:
            try:
                row = json.loads(text, parse_int=float)
            except (ValueError, RecursionError):
                row = None
        if not isinstance(row, dict):
            location = Location(path=path, line=index)
            yield Skipped(what="a line", reason="is not a JSON object", gap=True, location=location)
            continue
        values = _row(row)
        if values is not None:
            yield values, index


def _csv(lines: Iterable[str], path: str) -> Iterator[Point | Skipped]:
    rows = csv.reader(line.replace("\0", "") for line in lines)
    try:
        header = next(rows, None)
    except csv.Error as error:
        raise Malformed(f"is not a table: {parser_reason(str(error))}", path=path, line=1) from None
    columns, others = _columns(header or [], path)
    if not _OF_TRAINING & set(columns.values()):
        raise Malformed("has no column of a loss or a gradient norm", path=path, line=1)
    for other in others:
        yield Skipped(
            what=quoted(other, "other rows"),
            reason="another run of the same table",
            gap=True,
            location=Location(path=path, line=1),
        )
    names = [column.rpartition(" - ")[2] for column in header or []]
    try:
        for row in rows:
            cells = {names[index]: row[index] for index in columns if index < len(row)}
            values = _row(cells)
            if values is not None:
                yield values, rows.line_num
    except csv.Error as error:
        location = Location(path=path, line=rows.line_num)
        yield Skipped(what="the rest of the table", reason=parser_reason(str(error)), gap=True, location=location)


def _columns(header: list[str], path: str) -> tuple[dict[int, str], list[str]]:
    """Index and canonical name of each column of the first run; and the names of other runs."""
    if len(header) > _MOST_COLUMNS:
        raise Malformed(f"has more than {_MOST_COLUMNS:,} columns", path=path, line=1)
    columns: dict[int, str] = {}
    chosen: str | None = None
    others: list[str] = []
    for index, column in enumerate(header):
        if column.endswith(_BOUNDS):
            continue
        run, _, name = column.rpartition(" - ")
        known = canonical(name.strip("\ufeff "))
        if known is None:
            continue
        if run:
            chosen = run if chosen is None else chosen
            if run != chosen:
                if run not in others:
                    others.append(run)
                continue
        columns[index] = known
    return columns, others


def _row(row: Mapping[str, Any]) -> dict[str, float] | None:
    """The metrics of a row, if it is one of training."""
    if "train_runtime" in row:
        return None  # the summary at a Trainer's end
    values: dict[str, float] = {}
    for name, value in row.items():
        if not isinstance(name, str):
            continue
        found: float | None = None
        if isinstance(value, str):
            found = number(value) if len(value) < 50 else None
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            try:
                found = float(value)
            except OverflowError:
                found = None
        if found is not None:
            values[name.strip("\ufeff ")] = found
    chosen = choose(values)
    if "loss" in chosen and is_other_objective(values):
        chosen["other_objective"] = 1.0
    return chosen if chosen.keys() & _OF_A_POINT else None


def _is_row(line: str) -> bool:
    try:
        row = json.loads(line, parse_int=float)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and any(canonical(name) in _OF_TRAINING for name in row)
