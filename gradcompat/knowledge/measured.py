"""What probes measured, release by release: a file of JSON lines a package, written by a command, never by hand."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gradcompat.errors import KnowledgeError
from gradcompat.files.atomic_file import write_atomically
from gradcompat.files.regular_files import read_regular
from gradcompat.model.probe import Measurement, ProbeSpec, Row
from gradcompat.requirements.versions import parse_version

if sys.platform != "win32":
    import fcntl

FOLDER = "measured"
_SUFFIX = ".jsonl"
_NO_ROW = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def read_rows(folder: Path) -> tuple[Row, ...]:
    """All rows of a folder, by package and release.

    Raises:
        KnowledgeError: if a line is no row.
    """
    rows = [row for path in sorted(folder.glob(f"*{_SUFFIX}")) for row in _rows(path)]
    return tuple(sorted(rows, key=_order))


def _rows(path: Path) -> Iterator[Row]:
    try:
        lines = read_regular(path).split(b"\n")
    except OSError as error:
        raise KnowledgeError(f"cannot be read: {error.strerror}", path=str(path)) from None
    for number, line in enumerate(lines, start=1):
        if number == len(lines) and not _is_row(line):
            return  # nothing, or what a run was killed in: the cell is measured again
        try:
            yield row_from(json.loads(line))
        except _NO_ROW as error:
            hint = "restore the file from version control, or delete the line to measure it again"
            raise KnowledgeError(
                f"is not a row of measurements: {error!r}", path=str(path), line=number, hint=hint
            ) from None


def _is_row(line: bytes) -> bool:
    try:
        row_from(json.loads(line))
    except _NO_ROW:
        return False
    return True


def append(folder: Path, rows: Iterable[Row]) -> None:
    """Add rows to the files of their packages; they are on the disk before this returns.

    Raises:
        KnowledgeError: if a file cannot be written.
    """
    by_package: dict[str, list[Row]] = {}
    for row in rows:
        by_package.setdefault(row.package, []).append(row)
    for package, added in by_package.items():
        path = folder / f"{package}{_SUFFIX}"
        data = b"".join(map(_line, added))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _alone(folder):
                _end_line(path)
                with path.open("ab") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            raise KnowledgeError(f"cannot be written: {error.strerror}", path=str(path)) from None


def _end_line(path: Path) -> None:
    """End a last line that is a row, and cut off one that a killed run has left half written."""
    if not os.path.exists(path):
        return
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        start = data.rfind(b"\n") + 1
        with path.open("r+b") as file:
            if _is_row(data[start:]):
                file.seek(0, os.SEEK_END)
                file.write(b"\n")
            else:
                file.truncate(start)


def tidy(folder: Path) -> None:
    """Sort each file and keep the newest row of each cell, so that a new measurement changes one line.

    Raises:
        KnowledgeError: if a file cannot be read or written; it is then as it was.
    """
    with _alone(folder):
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            latest = {row.cell: row for row in _rows(path)}
            data = b"".join(_line(row) for row in sorted(latest.values(), key=_order))
            try:
                if data != path.read_bytes():
                    write_atomically(path, data)
            except OSError as error:
                raise KnowledgeError(f"cannot be written: {error.strerror}", path=str(path)) from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other run writes into the folder meanwhile: what it added between reading and renaming would be gone."""
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _line(row: Row) -> bytes:
    # ASCII: a kill cuts no character, and no text holds what some readers take for the end of a line.
    return json.dumps(row_data(row)).encode("ascii") + b"\n"


def _order(row: Row) -> tuple[Any, ...]:
    version = parse_version(row.version)
    beside = tuple(sorted(row.beside.items()))
    return (row.package, str(row.measurement.spec), version is not None, version, row.measurement.device, beside)


def row_data(row: Row) -> dict[str, Any]:
    """One row as JSON-ready data."""
    measurement = row.measurement
    return {
        "package": row.package,
        "version": row.version,
        "probe": measurement.spec.name,
        "parameters": dict(sorted(measurement.spec.parameters.items())),
        "state": measurement.state,
        "reason": measurement.reason,
        "values": dict(measurement.values),
        "packages": dict(sorted(measurement.packages.items())),
        **({"beside": dict(sorted(row.beside.items()))} if row.beside else {}),
        "python": measurement.python,
        "platform": row.platform,
        "device": measurement.device,
        "seed": measurement.seed,
        "seconds": round(measurement.seconds, 2),
        "digest": row.digest,
        "date": row.date,
    }


def row_from(data: dict[str, Any]) -> Row:
    """One row from JSON data; raises KeyError or TypeError for what is none."""
    measurement = Measurement(
        spec=ProbeSpec(name=data["probe"], parameters=data["parameters"]),
        state=data["state"],
        reason=data["reason"],
        values=data["values"],
        packages=data["packages"],
        python=data["python"],
        device=data["device"],
        seed=data["seed"],
        seconds=data["seconds"],
    )
    return Row(
        package=data["package"],
        version=data["version"],
        measurement=measurement,
        platform=data["platform"],
        digest=data["digest"],
        date=data["date"],
        beside=data.get("beside", {}),
    )
