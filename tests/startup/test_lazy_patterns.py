"""A lazy pattern is the pattern."""

from __future__ import annotations

import re

from gradcompat.startup.lazy_patterns import lazy_pattern


def test_it_has_the_methods_of_a_pattern() -> None:
    lazy, pattern = lazy_pattern(r"(?P<name>a+)b", re.IGNORECASE), re.compile(r"(?P<name>a+)b", re.IGNORECASE)
    text = "xAAb ab"
    for _ in range(2):
        assert lazy.sub(r"<\g<name>>", text) == pattern.sub(r"<\g<name>>", text) == "x<AA> <a>"
        assert [one["name"] for one in lazy.finditer(text)] == ["AA", "a"]
        assert lazy.fullmatch("b") is None
        assert (lazy.pattern, lazy.groups, lazy.flags) == (pattern.pattern, pattern.groups, pattern.flags)
    assert lazy_pattern(rb"a").search(b"ba") is not None
