"""Records that are parsed line by line are those of the whole file; a line that is broken is told when it is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradcompat.errors import KnowledgeError
from gradcompat.knowledge import load as loading
from gradcompat.knowledge.load import COMPILED, TOLD_FROM, RecordLines, issue_from, load


def test_they_are_those_of_the_file() -> None:
    whole = json.loads(COMPILED.read_bytes())["issues"]
    records = load().records
    assert isinstance(records, RecordLines)
    assert len(records) == len(whole)
    assert list(records) == whole
    assert records[:3] == whole[:3]
    assert records[-1] == whole[-1]
    with pytest.raises(IndexError):
        records[len(whole)]


def test_what_matching_needs_is_parsed_alone() -> None:
    records = load().records
    assert isinstance(records, RecordLines)
    for position, whole in enumerate(records):
        keys = list(whole)
        needed = keys[: keys.index(TOLD_FROM)]
        assert records.beginning(position) == {key: whole[key] for key in needed}
    assert issue_from(records.beginning(0), lambda: records[0]) == issue_from(records[0])
    assert {"id", "level", "affected", "withdrawn", "instead_of"} <= records.beginning(0).keys()


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "compiled.json"
    copy.write_bytes(COMPILED.read_bytes())
    monkeypatch.setattr(loading, "COMPILED", copy)
    return copy


def test_a_broken_line_is_told_when_it_is_needed(shipped: Path) -> None:
    lines = shipped.read_bytes().split(b"\n")
    lines[2] = lines[2][:100] + b","
    shipped.write_bytes(b"\n".join(lines))
    base = load(shipped)
    assert base.records[0]["id"]
    with pytest.raises(KnowledgeError, match="cannot be read") as raised:
        base.in_force()
    assert raised.value.path == str(shipped)


def test_a_line_that_is_broken_behind_what_matching_needs_is_told_when_somebody_asks(shipped: Path) -> None:
    lines = shipped.read_bytes().split(b"\n")
    lines[1] = lines[1][:-20] + b","
    shipped.write_bytes(b"\n".join(lines))
    base = load(shipped)
    (issue,) = base._issues([0])
    assert issue.affected
    with pytest.raises(KnowledgeError, match="cannot be read"):
        issue.summary  # noqa: B018


@pytest.mark.parametrize("kept", [10, 5_000, -2, -20])
def test_a_file_that_is_cut_off_is_told_at_once(shipped: Path, kept: int) -> None:
    shipped.write_bytes(shipped.read_bytes()[:kept])
    with pytest.raises(KnowledgeError):
        load(shipped)


def test_records_in_other_lines_are_read_whole(shipped: Path) -> None:
    whole = json.loads(shipped.read_bytes())
    shipped.write_text(json.dumps(whole, indent=1), "utf-8")
    assert load(shipped).records == whole["issues"]
