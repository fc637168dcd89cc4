"""Lines of text that went through a terminal, an issue or a chat: without colours, quote marks and code fences."""

from __future__ import annotations

from collections.abc import Iterator

from gradcompat.formats.document import Document
from gradcompat.model.environment import Location, Skipped
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

MAX_LINES = 500_000  # a log of a long training run; a list of packages has a few hundred

_LINE_END = lazy_pattern(r"\r\n?|\n")
_ANSI = lazy_pattern(r"\x1b\[[0-9;?]{0,32}[A-Za-z]|\x1b\][^\x07\x1b]{0,256}\x07")
_QUOTE = lazy_pattern(r"[ \t]*>[ \t]?")
_FENCE = lazy_pattern(r"\s*(?:```|~~~)[\w-]*\s*|\s*</?(?:details|summary|pre|code)>.*")


@dataclass(frozen=True, slots=True)
class PastedLine:
    """One line.

    Attributes:
        number: counted from 1.
        text: what is left of it; fences and blank lines are empty.
        shift: how many characters were taken off its front; None where colours stood in it.
    """

    number: int
    text: str
    shift: int | None

    def at(self, path: str, offset: int) -> Location:
        """The place of a character of ``text``."""
        column = None if self.shift is None else self.shift + offset + 1
        return Location(path=path, line=self.number, column=column)


def physical_lines(text: str) -> Iterator[str]:
    """The lines of a text without their ends, which are those that editors count; one at a time."""
    start = 1 if text.startswith("\ufeff") else 0
    for end in _LINE_END.finditer(text, start):
        yield text[start : end.start()]
        start = end.end()
    yield text[start:]


def pasted_lines(document: Document) -> tuple[list[PastedLine], list[Skipped]]:
    """Every line of the document, cleaned; a text that is too long is cut, and that is said."""
    lines: list[PastedLine] = []
    for number, raw in enumerate(physical_lines(document.text), start=1):
        if number > MAX_LINES:
            reason = f"is longer than {MAX_LINES:,} lines: the rest is not read"
            return lines, [
                Skipped(what=document.path, reason=reason, location=Location(path=document.path, line=number))
            ]
        lines.append(_cleaned(number, raw))
    return lines, []


def _cleaned(number: int, raw: str) -> PastedLine:
    line, colours = _ANSI.subn("", raw)
    start = 0
    while quote := _QUOTE.match(line, start):
        start = quote.end()
    line = line[start:].rstrip()
    if _FENCE.fullmatch(line):
        line = ""
    return PastedLine(number, line, None if colours else start)
