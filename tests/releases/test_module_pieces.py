"""Modules are taken apart so that what did not change is not parsed again; what comes out is what the whole says."""

from __future__ import annotations

import pytest

from gradcompat.curation.module_pieces import pieces
from gradcompat.curation.module_reader import KnownPieces, read_module

PLAIN = '''"""Docstring.
class Example: this is text
"""
import os
from . import near

@decorated(
    "x",
)
@twice
class A(Base):
    """class B: in a text"""
    from .below import inner
    def method(self, a, b=1): ...

VALUE = 1
async def f(x): ...
def g(): ...
__all__ = ["A"]
'''
IN_A_STRING = 'x = 1\ndef f(): ...\nTEXT = """\ndef not_there(): ...\n"""\n'
IN_BRACKETS = "def f(a): ...\nx = [\nname,\n]\ny = (\nclass_,\n)\n"
CONTINUED = "def f(): ...\nx = \\\ny\n"
HOOK = "_GONE = ('old',)\ndef __getattr__(name):\n    if name in _GONE:\n        return 1\n    raise AttributeError\n"
CLASS_IN_TEXT = 'def f():\n    return """\nclass A:\n    pass\n"""\n'


@pytest.mark.parametrize("text", [PLAIN, IN_A_STRING, IN_BRACKETS, CONTINUED, HOOK, CLASS_IN_TEXT, "", "\ufeffx = 1\n"])
def test_what_the_pieces_say_is_what_the_whole_says(text: str) -> None:
    source = text.encode()
    whole = read_module(source, "one.two", package=False)
    cache = KnownPieces()
    assert read_module(source, "one.two", package=False, cache=cache) == whole
    # A second file that begins with other lines: definitions come out of the cache, their lines do not.
    longer = b"\n\n\n" + source.removeprefix(b"\xef\xbb\xbf")
    assert read_module(longer, "one.two", package=False, cache=cache) == read_module(longer, "one.two", package=False)


@pytest.mark.parametrize("first", ["# coding=utf-8", "# -*- coding: UTF-8 -*-", "#!python\n# coding: utf8"])
def test_a_file_that_says_it_is_in_utf_8_is_taken_apart(first: str) -> None:
    assert pieces(f"{first}\nx = 1\n".encode()) is not None


def test_pieces_are_the_text() -> None:
    found = pieces(PLAIN.encode())
    assert found is not None
    listed = list(found)
    assert "".join(piece.text for piece in listed) == PLAIN
    assert [piece.text.split("\n")[0] for piece in listed if piece.definition] == [
        "class Example: this is text",
        "@decorated(",
        "async def f(x): ...",
        "def g(): ...",
    ]


@pytest.mark.parametrize("source", [b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", b"x = '\xe9'\n", b"\xff\xfe"])
def test_other_encodings_are_left_whole(source: bytes) -> None:
    assert pieces(source) is None
