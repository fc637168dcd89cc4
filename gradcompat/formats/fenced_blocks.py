"""The code blocks of a pasted text: what stands between the fences of Markdown, with the language behind the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradcompat.formats.pasted_text import physical_lines
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

# What people call the languages of their blocks.
PYTHON = ("python", "py", "python3", "pycon")
YAML = ("yaml", "yml")
JSON = ("json", "jsonc", "json5")
SHELL = ("bash", "sh", "shell", "zsh", "console", "shell-session", "shellscript")

_FENCE = lazy_pattern(r"([ \t>]{0,40})(`{3,}|~{3,})[ \t]*([\w+#-]{0,20})[^`]*")
_MOST = 100
_LONGEST = 1_000_000  # characters; an issue has at most 65,536


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """One block.

    Attributes:
        language: in lower case; empty where none is given.
        line: its first line of content, counted from 1.
        text: its lines, as far to the left as the fence stands.
    """

    language: str
    line: int
    text: str


def has_fences(text: str) -> bool:
    """Could there be a block? A text that is too long for an issue is a log."""
    return len(text) <= _LONGEST and ("```" in text or "~~~" in text)


def fenced_blocks(text: str) -> Iterator[FencedBlock]:
    """The closed blocks of a text, the first hundred of them; a last one that is not closed ends with the text."""
    found = 0
    opened: tuple[str, str, str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(physical_lines(text), start=1):
        fence = _FENCE.fullmatch(line)
        if opened is None:
            if fence is not None:
                opened, lines = (fence[1], fence[2], fence[3].lower(), number + 1), []
            continue
        indent, mark, language, start = opened
        if fence is not None and fence[2].startswith(mark) and not fence[3]:
            yield FencedBlock(language, start, "\n".join(lines))
            opened = None
            found += 1
            if found == _MOST:
                return
        else:
            lines.append(line.removeprefix(indent))
    if opened is not None:
        yield FencedBlock(opened[2], opened[3], "\n".join(lines))


def without_blocks(text: str, left_out: Callable[[FencedBlock], bool]) -> str:
    """The text with some blocks and their fences blank, so that the others keep their lines."""
    lines = list(physical_lines(text))
    for block in fenced_blocks(text):
        if left_out(block):
            inside = len(block.text.split("\n")) if block.text else 0
            for index in range(block.line - 2, min(block.line + inside, len(lines))):
                lines[index] = ""
    return "\n".join(lines)
