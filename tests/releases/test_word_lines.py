"""On which lines words stand, for statements that are searched only where they do."""

from __future__ import annotations

import ast

import pytest

from gradcompat.curation.module_reader import KnownPieces, read_module
from gradcompat.curation.word_lines import WordLines

TEXT = "a = 1\nb = [\n    Exec(),\n]\nc = 2\n"


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), TEXT.replace("\n", "\r")])
def test_a_statement_with_a_word_on_one_of_its_lines(text: str) -> None:
    lines = WordLines(("exec", "other"), text)
    assert [lines.within(statement) for statement in ast.parse(text).body] == [False, True, False]


def test_a_word_on_the_first_or_the_last_line_counts() -> None:
    text = "x = [exec,\n1]\ny = [\n1, exec]\nz = 1"
    assert [WordLines(("exec",), text).within(statement) for statement in ast.parse(text).body] == [True, True, False]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = 1\nglobals().update({})\n", "names made at import time"),
        ("x = 1\nfor one in (1, 2):\n    globals()[\n        'a'\n    ] = one\n", "names made at import time"),
        ("x = 1\nexec(\n    'y = 1'\n)\n", "names made at import time"),
        ("import sys\nsetattr(sys.modules[__name__], 'a', 1)\n", "names made at import time"),
        ("import sys\nsys.modules['one'] = 1\n", "a module that replaces itself"),
    ],
)
def test_what_makes_names_is_found_in_pieces_as_in_the_whole(source: str, reason: str) -> None:
    pieces = read_module(source.encode(), "one", package=False, cache=KnownPieces())
    assert pieces.open == reason
    assert pieces == read_module(source.encode(), "one", package=False)


RENAMES = """
def first(new, old=None):
    if old is not None:
        warnings.warn(
            "`old` is Depre"
            "cated, use `new`"
        )
        new = old


class Config:
    def second(self, new, old=None):
        if old:
            warn("`old` was renamed to `new`")
"""


def test_renames_are_found_in_pieces_as_in_the_whole() -> None:
    pieces = read_module(RENAMES.encode(), "one", package=False, cache=KnownPieces())
    assert pieces.signatures["Config.second"] == ("new", "old=None", "old>new")
    assert pieces == read_module(RENAMES.encode(), "one", package=False)
