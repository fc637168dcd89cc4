"""What a text is by its content, where a list of requirements alone is told without the patterns of other formats."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.sources import recognise
from tests.examples import examples

NEVER = re.compile(r"(?!)")
LINES = st.one_of(
    st.from_regex(recognise._REQUIREMENT.pattern, fullmatch=True),
    st.sampled_from(
        ["torch==2.5.1", "torch 2.5.1", "torch=2.5.1=py312", "version = 1", "version==1", "torch: 2.5.1", "- torch", ""]
    ),
)


@settings(max_examples=examples(200))
@given(lines=st.lists(LINES, min_size=1, max_size=5))
def test_requirements_are_told_as_by_all_patterns(lines: list[str]) -> None:
    text = "\n".join(lines)
    quickly = recognise.recognise(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recognise, "_REQUIREMENT", NEVER)
        assert quickly == recognise.recognise(text)


def test_no_pattern_is_compiled_for_a_list_of_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognise, "FORMATS", None)
    assert recognise.recognise("torch==2.5.1\ntransformers[torch]>=4.46, <4.50\naccelerate~=1.0\n") == "requirements"
