"""What is wrong with tables that `knowledge read` has not written as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradcompat.curation.release_row import READER
from gradcompat.curation.table_lint import lint_tables
from gradcompat.curation.table_rows import table_bytes, write_table
from gradcompat.releases.table import FOLDER
from gradcompat.releases.table_file import encoded
from tests.releases.packages import rows

HEADER = {
    "reader": READER, "package": "one", "imports": ["one"], "versions": ["1.0", "1.1"], "unread": {}, "built": [],
    "skipped": [],
}  # fmt: skip


def problems(folder: Path) -> list[str]:
    return [one.message for one in lint_tables(folder)]


def test_shipped_tables() -> None:
    assert problems(FOLDER) == []


def test_what_was_just_written(tmp_path: Path) -> None:
    made = rows({"1.0": {"one/__init__.py": "import torch\nclass A: ..."}})
    write_table(tmp_path, "one", table_bytes("one", *made))
    assert problems(tmp_path) == []


@pytest.mark.parametrize(
    ("header", "line", "message"),
    [
        ({"versions": ["1.1", "1.0"]}, [], "its releases are not sorted"),
        ({"versions": ["1.0", "x"]}, [], "`x` is not a version"),
        ({"package": "two"}, [], "is the table of `two`"),
        ({"reader": 0}, [], "was written by reader 0"),
        ({"built": [7]}, [], "numbers a release that it does not have"),
        ({"imports": ["two"]}, [["a", 0, 1]], "names: `one` is below none of its modules at the top"),
        ({}, [["a", 1, 1, 0, None]], "names: `one`: the releases of `a` are no ranges"),
        ({}, [["a", 5, 1]], "names: `one`: the releases of `a` are no ranges"),
        ({}, [["a", 0, None]], "names: `one`: the releases of `a` are no ranges"),
        ({}, [["a", 0, 1, 1, 1]], "names: `one`: the releases of `a` are no ranges"),
        ({}, 7, "was not written by `knowledge read`"),
    ],
)
def test_what_was_changed(tmp_path: Path, header: dict[str, object], line: object, message: str) -> None:
    write_table(tmp_path, "one", encoded({**HEADER, **header}, {"names": {"one": line}}))
    assert any(found.startswith(message) for found in problems(tmp_path)), problems(tmp_path)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    good = encoded(HEADER, {"names": {"one": [["a", 0, 1]]}})
    write_table(tmp_path, "one", good)
    (tmp_path / "one.table").write_bytes(good[:-20])
    assert problems(tmp_path) == ["is damaged"]
    (tmp_path / "one.table").write_bytes(b"\x00")
    assert problems(tmp_path)[0] == "is no table of releases"
    write_table(tmp_path, "one", good)
    (tmp_path / "index.json").write_text(json.dumps({}))
    assert problems(tmp_path)[0].startswith("does not list the tables that are here")
