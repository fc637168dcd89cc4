"""On which lines of a text some words stand: most statements have none of them, and their syntax is not searched."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator


class WordLines:
    """The lines, from 1 on as those of syntax trees."""

    def __init__(self, words: Iterable[str], text: str) -> None:
        """Look for the words.

        Args:
            words: in small letters, of whatever case they are in the text; parts of longer words count.
            text: what the syntax trees are parsed from.
        """
        self._lines: list[int] = []
        text = text.lower()
        places = sorted({place for word in words for place in _places(word, text)})
        if places and "\r" in text:  # a line break to Python, too
            text = re.sub(r"\r(?!\n)", "\n", text)
        line, behind = 1, 0
        for place in places:
            line += text.count("\n", behind, place)
            behind = place
            self._lines.append(line)

    def within(self, node: ast.stmt) -> bool:
        """Does one of the words stand on a line of the statement?"""
        lines = self._lines
        number = bisect_left(lines, node.lineno)
        return number < len(lines) and lines[number] <= (node.end_lineno or node.lineno)


def _places(word: str, text: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)
