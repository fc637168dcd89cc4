"""The file of a package's table: one line of JSON, then blocks that are compressed each on its own.

A table has sections, and a section says something of each module. What an import executes and needs is asked of many
modules at once, and stands by itself; the other sections stand beside one another, a line a module, as the names of a
module come again in what is said of its functions and classes. Modules near the top of the package are first. A
question about one module decompresses one block and decodes a part of one line of it.
"""

from __future__ import annotations

import json
import lzma
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gradcompat.errors import KnowledgeError

# Raised with every change of what stands in a line.
FORMAT = 3
# Sections whose lines stand beside one another.
_BESIDE: Mapping[str, tuple[str, ...]] = {"modules": ("names", "signatures", "classes", "models"), "needs": ("needs",)}
_PLACES = {section: (kind, column) for kind, some in _BESIDE.items() for column, section in enumerate(some)}
# The text of a block before it is compressed: larger ones are smaller on disk, and slower to ask about one module. Most
# questions are about modules near the top of a package, and what imports need is asked of all of them.
_BLOCK, _DEEP_BLOCK, _NEEDS_BLOCK = 2**16, 2**20, 2**22
_DEEP = 2  # dots
# Packages below the top that nearly everybody imports from.
_ASKED = frozenset({"transformers.data", "transformers.models.auto", "transformers.utils", "trl.trainer"})
# Texts have no alignment (``pb``).
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0}]


class TableFile:
    """A table that is read as far as it is asked."""

    def __init__(self, path: Path) -> None:
        """Read the first line.

        Args:
            path: the file.

        Raises:
            KnowledgeError: if it is no table, or one of another format.
        """
        self._path = path
        try:
            with open(path, "rb") as file:
                first = file.readline()
        except OSError as error:
            raise KnowledgeError(f"cannot be read: {error.strerror}", path=str(path)) from None
        try:
            self.header: Mapping[str, Any] = json.loads(first)
            self._blocks: Mapping[str, list[tuple[str, int, int]]] = self.header["blocks"]
            if self.header["format"] != FORMAT:
                raise KnowledgeError("is a table of another format", path=str(path), hint=_AGAIN)
        except (ValueError, KeyError, TypeError):
            raise KnowledgeError("is no table of releases", path=str(path), hint=_AGAIN) from None
        self._start = len(first)
        self._opened: dict[tuple[str, int], dict[str, str]] = {}

    def line(self, section: str, module: str) -> Any:
        """What a section says of a module; None for nothing.

        Raises:
            KnowledgeError: if the file is broken.
        """
        text = self.text(section, module)
        return json.loads(text) if text else None

    def text(self, section: str, module: str) -> str:
        """The same as the file has it; empty for nothing.

        Raises:
            KnowledgeError: if the file is broken.
        """
        kind, column = _PLACES[section]
        blocks = self._blocks[kind]
        number = bisect_right(blocks, place_of(module), key=lambda block: place_of(block[0])) - 1
        line = None if number < 0 else self._block(kind, number).get(module)
        return "" if line is None else line.split("\t")[column]

    def modules(self, section: str) -> Iterator[str]:
        """The modules of a section."""
        for module, _ in self.texts(section):
            yield module

    def lines(self, section: str) -> Iterator[tuple[str, Any]]:
        """Every module of a section with what is said of it."""
        for module, text in self.texts(section):
            yield module, json.loads(text)

    def texts(self, section: str) -> Iterator[tuple[str, str]]:
        """Every module of a section with what is said of it, as the file has it."""
        kind, column = _PLACES[section]
        for number in range(len(self._blocks[kind])):
            for module, line in self._block(kind, number).items():
                if text := line.split("\t")[column]:
                    yield module, text

    def _block(self, kind: str, number: int) -> dict[str, str]:
        """The lines of a block by their modules."""
        found = self._opened.get((kind, number))
        if found is None:
            _, offset, length = self._blocks[kind][number]
            try:
                with open(self._path, "rb") as file:
                    file.seek(self._start + offset)
                    text = lzma.decompress(file.read(length), lzma.FORMAT_XZ).decode()
                found = dict(line.split("\t", 1) for line in text.split("\n") if line)
            except (OSError, lzma.LZMAError, EOFError, ValueError):
                raise KnowledgeError("is damaged", path=str(self._path), hint=_AGAIN) from None
            self._opened[kind, number] = found
        return found


def encoded(header: Mapping[str, object], sections: Mapping[str, Mapping[str, object]]) -> bytes:
    """The bytes of a table.

    Args:
        header: what is said of the whole table.
        sections: section → module → what is said of it.
    """
    content = bytearray()
    index: dict[str, list[tuple[str, int, int]]] = {}
    for kind, beside in _BESIDE.items():
        index[kind] = []
        for first, text in _blocks([sections.get(section, {}) for section in beside]):
            packed = lzma.compress(text, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=_FILTERS)
            index[kind].append((first, len(content), len(packed)))
            content += packed
    head = json.dumps({"format": FORMAT, **header, "blocks": index}, separators=(",", ":"))
    return head.encode() + b"\n" + content


def _blocks(beside: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, bytes]]:
    """The texts of some sections beside one another, with the module that each begins with."""
    first, text = "", bytearray()
    for module in sorted({module for by_module in beside for module in by_module}, key=place_of):
        said = [json.dumps(one[module], separators=(",", ":")) if module in one else "" for one in beside]
        line = "\t".join([module, *said]).encode() + b"\n"
        most = _NEEDS_BLOCK if len(beside) == 1 else _DEEP_BLOCK if place_of(first)[0] else _BLOCK
        if text and len(text) + len(line) > most:
            yield first, bytes(text)
            text = bytearray()
        first = first if text else module
        text += line
    if text:
        yield first, bytes(text)


def place_of(module: str) -> tuple[bool, str]:
    """What modules are sorted by: whether they are deep in the package, and their names."""
    near = module.count(".") < _DEEP or not _ASKED.isdisjoint((module, module.rpartition(".")[0]))
    return not near, module


_AGAIN = "`gradcompat knowledge read PACKAGE` writes it again"
