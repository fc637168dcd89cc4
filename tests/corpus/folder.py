"""The folder of the corpus, with every file that its index lists."""

from __future__ import annotations

import csv
from pathlib import Path

FILES = 216  # more may come; with fewer a test would compare nothing, and pass


def problem(folder: Path) -> str | None:
    """Why tests over this folder would prove nothing; None if it is the whole corpus."""
    index = folder / "index.csv"
    if not index.is_file():
        return f"{folder} is no corpus: it has no index.csv"
    with index.open(encoding="utf-8", newline="") as file:
        listed = [row["file"] for row in csv.DictReader(file) if row.get("file")]
    if len(listed) < FILES:
        return f"{index} lists {len(listed)} files, and the corpus has {FILES} or more"
    absent = [name for name in listed if not (folder / name).is_file()]
    if absent:
        return f"{folder} lacks {len(absent)} of the files that its index lists, {absent[0]} among them"
    return None
