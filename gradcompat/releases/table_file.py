"""The file of a package's table: one line of JSON, then blocks that are compressed each on its own.

A table has sections, and a section has a line for each module, those near the top of the package first. A question
about one module decompresses one block and decodes one line of it.
"""

from __future__ import annotations

import bz2
import json
import lzma
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gradcompat.errors import KnowledgeError

# Raised with every change of what stands in a line.
FORMAT = 2
# The text of a block, before it is compressed: larger ones are smaller on disk, and slower to ask about one module.
# Most questions are about modules near the top of a package.
_BLOCK, _DEEP_BLOCK = 512 * 1024, 2 * 2**20
_DEEP = 3  # dots
# Asked of code that imports what may not go together.
_SELDOM = frozenset({"needs"})


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
            self._sections: Mapping[str, list[tuple[str, int, int]]] = self.header["sections"]
            if self.header["format"] != FORMAT:
                raise KnowledgeError("is a table of another format", path=str(path), hint=_AGAIN)
        except (ValueError, KeyError, TypeError):
            raise KnowledgeError("is no table of releases", path=str(path), hint=_AGAIN) from None
        self._start = len(first)
        self._blocks: dict[tuple[str, int], bytes] = {}

    def line(self, section: str, module: str) -> Any:
        """What a section says of a module; None for nothing.

        Raises:
            KnowledgeError: if the file is broken.
        """
        blocks = self._sections.get(section, [])
        number = bisect_right(blocks, place_of(module), key=lambda block: place_of(block[0])) - 1
        if number < 0:
            return None
        text = self._block(section, number)
        start = text.find(f"\n{module}\t".encode())
        if start < 0:
            return None
        start += len(module.encode()) + 2
        return json.loads(text[start : text.index(b"\n", start)])

    def modules(self, section: str) -> Iterator[str]:
        """The modules of a section."""
        for number in range(len(self._sections.get(section, []))):
            for line in self._block(section, number).decode().split("\n"):
                if line:
                    yield line.partition("\t")[0]

    def lines(self, section: str) -> Iterator[tuple[str, Any]]:
        """Every module of a section with what is said of it."""
        for number in range(len(self._sections.get(section, []))):
            for line in self._block(section, number).decode().split("\n"):
                if line:
                    module, _, content = line.partition("\t")
                    yield module, json.loads(content)

    def _block(self, section: str, number: int) -> bytes:
        """The lines of a block, with a line break on both sides of each."""
        found = self._blocks.get((section, number))
        if found is None:
            _, offset, length = self._sections[section][number]
            try:
                with open(self._path, "rb") as file:
                    file.seek(self._start + offset)
                    found = _unpacked(file.read(length))
            except (OSError, lzma.LZMAError, EOFError, ValueError):
                raise KnowledgeError("is damaged", path=str(self._path), hint=_AGAIN) from None
            self._blocks[section, number] = found
        return found


def encoded(header: Mapping[str, object], sections: Mapping[str, Mapping[str, object]]) -> bytes:
    """The bytes of a table.

    Args:
        header: what is said of the whole table.
        sections: section → module → what is said of it.
    """
    content = bytearray()
    index: dict[str, list[tuple[str, int, int]]] = {}
    for section, by_module in sections.items():
        index[section] = []
        for first, text in _blocks(by_module):
            packed = _packed(text, quick=section not in _SELDOM)
            index[section].append((first, len(content), len(packed)))
            content += packed
    head = json.dumps({"format": FORMAT, **header, "sections": index}, separators=(",", ":"))
    return head.encode() + b"\n" + content


def _blocks(by_module: Mapping[str, object]) -> Iterator[tuple[str, bytes]]:
    first, text = "", bytearray(b"\n")
    for module in sorted(by_module, key=place_of):
        line = f"{module}\t{json.dumps(by_module[module], separators=(',', ':'))}\n".encode()
        if len(text) > 1 and len(text) + len(line) > (_DEEP_BLOCK if place_of(first)[0] else _BLOCK):
            yield first, bytes(text)
            text = bytearray(b"\n")
        first = first if len(text) > 1 else module
        text += line
    if len(text) > 1:
        yield first, bytes(text)


def _packed(text: bytes, *, quick: bool) -> bytes:
    """A block by the shorter of two codecs, or by the quicker one; lists of names are shorter by bzip2."""
    found = lzma.compress(text, lzma.FORMAT_XZ, lzma.CHECK_CRC32, preset=9 | lzma.PRESET_EXTREME)
    other = found if quick else bz2.compress(text)
    return other if len(other) < len(found) else found


def _unpacked(packed: bytes) -> bytes:
    return bz2.decompress(packed) if packed.startswith(b"BZh") else lzma.decompress(packed, lzma.FORMAT_XZ)


def place_of(module: str) -> tuple[bool, str]:
    """What modules are sorted by."""
    return module.count(".") >= _DEEP, module


_AGAIN = "`gradcompat knowledge read PACKAGE` writes it again"
