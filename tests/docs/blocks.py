"""The blocks of a page, and what becomes of each.

A block of commands (``sh``, ``console``) or of ``python`` is run, in the order of the page. What has a title is written
as that file. Output (``text``, ``json``, …) behind commands is compared with what they print; ``...`` in it stands for
anything. A comment in the line before a block says what is special about it; parts are separated by semicolons::

    <!-- test: status 1; network -->

* ``status 1``: the exit status, where it is not 0; ``console`` blocks without it show what one may call, and take all
  but wrong usage
* ``network``, ``probe``: run under these markers of pytest alone
* ``as FILE``: the block is this file
* ``files FOLDER``, ``file PATH FILE``: these of the repository lie in the working folder from here on
* ``there PROGRAM=N``: the program runs a command on another machine; here one takes its place that leaves N words out
  and runs the rest
* ``in PATH WORD …``: that file of the repository runs or checks it; it has these words, or names the page

There is no other block: :func:`blocks` raises for what nothing would look at.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from markdown_it import MarkdownIt

SHELL = ("sh", "bash", "shell", "console", "shell-session", "zsh")
KEYS = ("status", "network", "probe", "as", "files", "file", "there", "in")

Role = Literal["commands", "python", "file", "output", "elsewhere"]


class Unmarked(ValueError):
    """A block that nothing would look at, or a mark that says nothing."""


@dataclass(frozen=True)
class Block:
    """A fenced block with its role."""

    role: Role
    language: str
    text: str
    line: int
    name: str = ""
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"network", "probe"} & self.marks.keys())

    @property
    def commands(self) -> list[str]:
        """Scripts to run: all lines of a ``sh`` block, or each that follows a prompt."""
        if self.language not in ("console", "shell-session"):
            return [self.text]
        return re.findall(r"^\$ (.+?)(?<!\\)$", self.text, re.MULTILINE | re.DOTALL)

    @property
    def shown(self) -> list[str]:
        """What a ``console`` block shows below each of its commands."""
        return re.split(r"^\$ .+?(?<!\\)\n", self.text, flags=re.MULTILINE | re.DOTALL)[1:]


def blocks(markdown: str, page: str) -> list[Block]:
    """All fenced blocks of a page.

    Raises:
        Unmarked: if nothing would look at one.
    """
    found: list[Block] = []
    for language, title, text, line, marks in _fences(markdown, page):
        where = f"{page}:{line}"
        name = marks["as"][0] if "as" in marks else title
        role: Role
        if "in" in marks:
            role = "elsewhere"
        elif name:
            role = "file"
        elif language in SHELL:
            role = "commands"
        elif language == "python":
            role = "python"
        elif found and found[-1].role in ("commands", "python", "elsewhere") and language:
            role = "output" if found[-1].role != "elsewhere" else "elsewhere"
        else:
            raise Unmarked(f"{where}: nothing looks at this block; tests/docs/blocks.py says how one is marked")
        found.append(Block(role=role, language=language, text=text, line=line, name=name, marks=marks))
    return found


def _fences(markdown: str, page: str) -> Iterator[tuple[str, str, str, int, dict[str, tuple[str, ...]]]]:
    mark: tuple[int, str] | None = None
    for token in MarkdownIt("commonmark").parse(markdown):
        if token.type == "code_block":
            raise Unmarked(f"{page}:{(token.map or [0])[0] + 1}: code by indentation; a fence says what it is")
        if token.type == "html_block" and (said := re.fullmatch(r"<!-- test: (.+?) -->\s*", token.content, re.DOTALL)):
            mark = ((token.map or [0, 0])[1], said[1])
        if token.type == "fence":
            start = (token.map or [0])[0]
            language, _, rest = token.info.strip().partition(" ")
            title = re.search(r'title="([^"]+)"', rest)
            near = mark is not None and mark[0] == start
            marks = _marks(mark[1], f"{page}:{start}") if mark is not None and near else {}
            mark = None
            yield language, title[1] if title else "", token.content, start + 1, marks
    if mark is not None:
        raise Unmarked(f"{page}: the mark `{mark[1]}` is before no block")


def _marks(text: str, where: str) -> dict[str, tuple[str, ...]]:
    marks: dict[str, tuple[str, ...]] = {}
    for one in text.split(";"):
        key, *values = shlex.split(one)
        if key not in KEYS:
            raise Unmarked(f"{where}: `{key}` is no mark")
        marks[key] = (*marks.get(key, ()), *values)
    return marks
