"""The file of verdicts: written by the command, read again, and checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gradcompat.curation.watch.candidate import Candidate
from gradcompat.curation.watch.verdicts import add_verdicts, judged, problems, read_verdicts
from gradcompat.errors import KnowledgeError, UsageError

CANDIDATE = Candidate(
    rule="division", package="one", before="1.0", after="1.1", place="one.trainer: step", removed=("a / b",), weight=80
)
DAY = "2026-11-23"


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "watched.jsonl"
    assert read_verdicts(path) == ()
    first = judged(CANDIDATE, "nothing", "docs only", DAY)
    add_verdicts(path, [first, judged(replace(CANDIDATE, after="1.2"), "known", "", DAY)])
    again = judged(CANDIDATE, "record:GC-0001", "", DAY)
    add_verdicts(path, [again])
    assert [(hit.after, hit.verdict) for hit in read_verdicts(path)] == [("1.1", "record:GC-0001"), ("1.2", "known")]
    assert list(problems(path, ["GC-0001"])) == []


def test_the_id_is_that_of_the_change() -> None:
    same = replace(CANDIDATE, weight=1, line=7, links=("https://example.org/1",), elsewhere=3)
    assert same.id == CANDIDATE.id
    assert replace(CANDIDATE, removed=(), added=("a / b",)).id != CANDIDATE.id


def test_a_title_keeps_its_id_in_another_list() -> None:
    title = replace(CANDIDATE, rule="title", place="CHANGELOG.md", removed=(), added=("Fixed the loss (#1)",))
    assert replace(title, place="commits.md", before="0.9", after="1.0").id == title.id
    assert replace(title, added=("Fixed the loss (#2)",)).id != title.id


@pytest.mark.parametrize("verdict", ["", "good", "record:", "record:GC-1", "record:GC-0001 "])
def test_what_is_no_verdict(verdict: str) -> None:
    with pytest.raises(UsageError, match="is no verdict"):
        judged(CANDIDATE, verdict, "", DAY)


def test_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "watched.jsonl"
    add_verdicts(path, [judged(CANDIDATE, "record:GC-0009", "", DAY)])
    line = path.read_text("utf-8")
    path.write_text(
        line + line + line.replace('"1.0"', '"0.9"').replace("record:GC-0009", "maybe").replace(DAY, "today")
    )
    assert list(problems(path, ["GC-0001"])) == [
        (1, "`GC-0009` is no record"),
        (2, f"`{CANDIDATE.id}` was judged above"),
        (2, "`GC-0009` is no record"),
        (3, f"`{CANDIDATE.id}` is not the id of this candidate: the line was not written by `knowledge watch`"),
        (3, f"`{CANDIDATE.id}` was judged above"),
        (3, "`maybe` is no verdict: `known`, `nothing`, or `record:GC-0123`"),
        (3, "`today` is no day"),
    ]


@pytest.mark.parametrize("line", ["nothing", "{}", "[]", '"a"', "null", '{"id": 1}', "[" * 100_000])
def test_a_line_that_is_none(tmp_path: Path, line: str) -> None:
    path = tmp_path / "watched.jsonl"
    path.write_text(f"\n{line}\n")
    with pytest.raises(KnowledgeError, match="line 2 is no verdict on a candidate"):
        read_verdicts(path)
    with pytest.raises(KnowledgeError):
        add_verdicts(path, [judged(CANDIDATE, "known", "", DAY)])
    assert path.read_text() == f"\n{line}\n"
