"""The patterns of names against the standard library."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from gradcompat.name_patterns import matches


@given(st.text("ab.*", max_size=8), st.text("ab.*?[]", max_size=6))
def test_a_pattern_is_that_of_fnmatch(name: str, pattern: str) -> None:
    assert matches(name, pattern) == fnmatchcase(name, pattern)
