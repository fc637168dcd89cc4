"""A block of the text report says what counts, in eight lines at any width."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradcompat
from gradcompat.model.assumption import Assumption
from gradcompat.model.environment import Location
from gradcompat.model.finding import Reason
from gradcompat.model.issue import VersionRemedy
from gradcompat.renderers.affected_text import LINES, affected_block
from gradcompat.requirements.versions import VersionSet
from tests.renderers.reports import advised, entry, record, rendered, report, verdict
from tests.renderers.reports import audit as audited

GOLDEN = Path(__file__).parents[1] / "golden"
HEAD = re.compile(r"^(error|warning|note) [A-Z]+-\d+")
WHOLE = ("stated.txt", "parts-all.txt")  # made with --all
CUT = [path for path in sorted(GOLDEN.glob("*.txt")) if path.name not in WHOLE]

words = st.lists(st.text("abcdefgh./:_", min_size=1, max_size=60), min_size=1, max_size=60).map(" ".join)
places = st.builds(Location, path=st.text("ab/._", min_size=1, max_size=90), line=st.integers(1, 9999))
reasons = st.builds(Reason, sentence=words, location=st.none() | places)
assumptions = st.builds(Assumption, key=st.just("training.optim"), sentence=words, location=st.none() | places)


def blocks(text: str) -> list[list[str]]:
    """The paragraphs that a level heads."""
    paragraphs = [paragraph.split("\n") for paragraph in text.split("\n\n")]
    return [lines for lines in paragraphs if HEAD.match(lines[0])]


@pytest.mark.parametrize("path", CUT, ids=lambda path: path.name)
def test_no_block_of_a_golden_file_is_longer(path: Path) -> None:
    assert [lines for lines in blocks(path.read_text("utf-8")) if len(lines) > LINES] == []


@given(
    summary=words,
    note=st.none() | words,
    because=st.lists(reasons, min_size=1, max_size=6),
    assumed=st.lists(assumptions, max_size=4),
    contexts=st.lists(words, max_size=5),
    entries=st.integers(1, 5),
    probes=st.integers(0, 4),
    columns=st.integers(50, 110),
)
def test_no_block_is_longer(
    summary: str,
    note: str | None,
    because: list[Reason],
    assumed: list[Assumption],
    contexts: list[str],
    entries: int,
    probes: int,
    columns: int,
) -> None:
    remedy = VersionRemedy(kind="upgrade", package="transformers", versions=VersionSet.parse(">=4.52.1"), note=note)
    one = advised(replace(record(), summary=summary), *(entry(line=line) for line in range(1, entries + 1)))
    assert one.advice is not None
    finding = replace(
        one.finding, because=tuple(because), assumed=tuple(assumed), contexts=tuple(f"{text}.yaml" for text in contexts)
    )
    one = replace(
        one,
        finding=finding,
        advice=replace(one.advice, remedy=remedy),
        probed=tuple(verdict("reproduced") for _ in range(probes)),
    )
    block, whole = affected_block(one, columns), affected_block(one, columns, whole=True)
    lines = block.text.splitlines()
    assert len(lines) <= LINES
    assert block.cut == (block.text != whole.text)
    assert not whole.cut
    # What is wrong, where, why, what to change, how to convince oneself: none of them is left out whole.
    assert lines[0].startswith("error GC-0001")
    for label in ("at", "because", "fix", "more"):
        assert [line for line in lines if line.startswith(f"  {label} ")], label


def test_what_does_not_fit_is_shown_with_all() -> None:
    long = replace(
        advised(record()).finding, because=tuple(Reason(sentence="word " * 60, location=None) for _ in "abc")
    )
    some = report(audited(replace(advised(record()), finding=long)))
    told, whole = rendered(some, "text"), rendered(replace(some, show_all=True), "text")
    assert "--all shows what does not fit above" in " ".join(told.split())
    assert "…" in told
    assert "…" not in whole
    assert whole.count("word") == 180
    assert "--all" not in rendered(report(audited(advised(record()))), "text")


def test_a_file_is_named_once_in_a_sentence() -> None:
    because = (
        Reason(sentence="transformers 4.49.0 is there", location=entry().location),
        Reason(sentence="training.seed is 1", location=Location(path="train.yaml", line=7)),
        Reason(sentence="training.optim is x", location=Location(path="train.yaml", line=9)),
    )
    one = advised(record())
    text = affected_block(replace(one, finding=replace(one.finding, because=because)), 100).text
    assert "  because   training.seed is 1 (train.yaml:7) and training.optim is x (line 9)\n" in text


def test_entries_for_several_platforms_give_one_reason(tmp_path: Path) -> None:
    pin = "datasets==2.14.4; sys_platform == '{}'\n"
    lines = (pin.format("linux"), pin.format("darwin"), "fsspec==2024.3.1\n")
    (tmp_path / "requirements.txt").write_text("".join(lines), "utf-8")
    checked = gradcompat.check(tmp_path / "requirements.txt", only=["GC-0196"])
    for form in ("text", "junit"):
        text = " ".join(rendered(checked, form).split())
        assert text.count("datasets 2.14.4 is in") == 1
