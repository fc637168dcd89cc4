"""Sentences over several lines."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from gradcompat.renderers.terminal import safe, wrapped

words = st.lists(st.text("ab-.", max_size=30), max_size=30)


@given(
    words, st.sampled_from([" ", "  "]), st.integers(10, 60), st.sampled_from(["", "  "]), st.sampled_from(["", "- "])
)
def test_words_break_as_textwrap_breaks_them(
    given: list[str], blank: str, columns: int, first: str, following: str
) -> None:
    text = blank.join(given)
    lines = textwrap.wrap(
        safe(text),
        columns,
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )
    assert wrapped(text, columns, first, following) == ("\n".join(lines) or first)
