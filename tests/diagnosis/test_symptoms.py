"""What a line must hold for a pattern, and patterns on lines that terminals have wrapped."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.diagnosis.anchors import Anchors, ignores_case, pieces
from gradcompat.diagnosis.symptoms import Pattern, find, find_wrapped, patterns_of
from gradcompat.knowledge.load import COMPILED
from tests.building import issue, versions
from tests.diagnosis.reading import with_symptoms


def pattern(text: str) -> Pattern:
    (one,), _ = patterns_of([with_symptoms(issue((versions("torch"),)), text)])
    return one


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("report_ipg_memory_usage", (b"report_ipg_", b"memory_usage")),
        (r"start \(0\) \+ length \(\d+\) exceeds", (b"start (0) ", b"+ length (")),
        (r"KeyError: torch\.(float32|bfloat16)", (b"KeyError: torch.",)),
        ("colou?r of the loss", (b"r of the loss",)),
        ("one thing|another thing", (b"one thing", b"another thing")),
        (r"(?i)Requires_Grad\s*False", (b"requires_grad",)),
        (r"a/slash/ends[ab]pieces_of_text", (b"pieces_of_text",)),
        (r"x{2,3}behind", (b"behind",)),
        ("gradients?[ab]", (b"gradient",)),
    ],
)
def test_pieces(text: str, found: tuple[bytes, ...]) -> None:
    assert pieces(text) == found


@pytest.mark.parametrize("text", [r"\d+", "a.b.c", "(only|groups)", "[abc]def|x"])
def test_a_pattern_without_words_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="has no literal text of 4 characters"):
        pieces(text)


def test_a_pattern_that_cannot_be_used_is_said() -> None:
    useful, useless = patterns_of([with_symptoms(issue((versions("torch"),)), r"\d+", "(broken", "RuntimeError: x")])
    assert [one.text for one in useful] == ["RuntimeError: x"]
    assert useless == (
        (r"\d+", "has no words that a line could be searched for"),
        ("(broken", "is not a regular expression: missing ), unterminated subpattern at position 0"),
    )


def test_every_symptom_of_the_records_can_be_searched_for() -> None:
    records = json.loads(COMPILED.read_text("utf-8"))["issues"]
    for symptom in {symptom for record in records for symptom in record["symptoms"]}:
        re.compile(symptom)
        assert pieces(symptom)


WORDS = st.text("abAB' ", min_size=1, max_size=6).map(str.encode)


@given(
    st.dictionaries(WORDS, st.sampled_from([1, 2, 4])),
    st.dictionaries(WORDS.map(bytes.lower), st.sampled_from([8, 16])),
    st.text("abAB' \n", max_size=60).map(str.encode),
)
def test_anchors_give_each_line_with_all_that_it_holds(
    exact: dict[bytes, int], caseless: dict[bytes, int], text: bytes
) -> None:
    expected = []
    start = 0
    for line in text.split(b"\n"):
        marks = 0
        for found in (
            *(mark for word, mark in exact.items() if word in line),
            *(mark for word, mark in caseless.items() if word in line.lower()),
        ):
            marks |= found
        if marks:
            expected.append((start, start + len(line), marks))
        start += len(line) + 1
    assert list(Anchors(exact, caseless).lines(text)) == expected


def test_case() -> None:
    assert ignores_case("(?i)x")
    assert not ignores_case("x(?:i)")


def test_windows_paths_are_read_with_slashes() -> None:
    assert find(pattern("site-packages/peft/tuners"), r"  File D:\v\site-packages\peft\tuners\lora.py") == 12


def test_a_long_line_is_searched_to_its_end() -> None:
    assert find(pattern("needle in it"), "x" * 50_000 + "needle in it") == 50_000


ERROR = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"


@pytest.mark.parametrize("column", range(1, len(ERROR)))
def test_a_message_is_found_wherever_a_terminal_has_cut_it(column: int) -> None:
    wanted = pattern("element 0 of tensors does not require grad and does not have a grad_fn")
    before = "x" * 80
    texts = [before + ERROR[:column], ERROR[column:]]
    found = [find_wrapped(wanted, texts, [len(text) for text in texts], middle) for middle in (0, 1)]
    # Cut in a space, or with one of its pieces in the first line, from where the second one is reached.
    assert (0, 80 + ERROR.index("element")) in found or column <= ERROR.index("element")


def test_short_lines_are_not_joined() -> None:
    wanted = pattern("element 0 of tensors")
    assert find_wrapped(wanted, ["an element 0", "of tensors"], [12, 10], 0) is None
