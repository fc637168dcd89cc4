"""One key of a line is found in its text as it is in the decoded line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.releases.lines import packed, runs_in, unpacked
from gradcompat.releases.runs import Run

KEYS = st.text("ab._:*?", min_size=1, max_size=4)
RUNS = st.lists(
    st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(-1, 3), st.text('ab" [],>\n'))), min_size=1
)


@given(st.dictionaries(KEYS, RUNS, max_size=6), KEYS)
def test_a_key_in_the_text(line: dict[str, list[Run]], key: str) -> None:
    text = json.dumps(packed(line), separators=(",", ":")) if line else ""
    for one in (*line, key):
        assert runs_in(text, one) == unpacked(json.loads(text or "[]")).get(one)


@pytest.mark.parametrize("key", ["c", "d", "x"])
def test_what_only_a_value_has_is_no_key(key: str) -> None:
    assert runs_in('[["a b",0,">c d"],["e",1,"[\\"x\\"",3,null]]', key) is None
