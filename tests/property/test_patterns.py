"""The patterns of names against the standard library."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from gradcompat.terms.name_patterns import any_matches, matches, matching


@given(st.text("ab.*", max_size=8), st.text("ab.*?[]", max_size=6))
def test_a_pattern_is_that_of_fnmatch(name: str, pattern: str) -> None:
    assert matches(name, pattern) == fnmatchcase(name, pattern)


@given(st.lists(st.text("ab.*", max_size=8), max_size=20), st.lists(st.text("ab.*?[]", max_size=6), max_size=4))
def test_many_names_are_asked_at_once(names: list[str], patterns: list[str]) -> None:
    expected = any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
    assert any_matches(tuple(names), patterns) == expected
    met = {name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)}
    assert matching(tuple(names), patterns) == met
