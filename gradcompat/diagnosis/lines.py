r"""A log of any size as blocks of whole lines, in constant memory; and single lines without what terminals need.

Lines are counted as ``grep -n`` counts them: only ``\n`` ends one. Between two line ends a progress bar rewrites its
line with ``\r`` many times; each state is a segment of that line, so that what was printed over a bar is not lost.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from gradcompat.errors import Malformed, NotFound
from gradcompat.startup.lazy_patterns import lazy_pattern

BLOCK = 1 << 20
_HEAD = 4096
MAX_SHOWN = 160
_NO_ENDS = bytes(byte for byte in range(256) if byte not in b"\r\n")

_UTF16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_COMPRESSED = (
    (b"\x1f\x8b", "gzip -dc"),
    (b"BZh", "bzip2 -dc"),
    (b"\xfd7zXZ\0", "xz -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd -dc"),
)
_CONTROLS = bytes(range(9)) + bytes(range(14, 27)) + bytes(range(28, 32)) + b"\x7f"

_ANSI = lazy_pattern(rb"\x1b\[[0-9;?]{0,32}[A-Za-z]|\x1b\][^\x07\x1b\n]{0,256}\x07")
# `[rank0]:`, `[rank0]:[W102 …]`, `a0047: `, `(TrainWorker pid=17, ip=10.0.0.1) `, `[1,0]<stderr>: `, `0: ` of srun -l,
# `(worker1, rank=1) `; launchers nest, and so do these. `libcudart.so.12: ` is what the loader complains of.
_PREFIX = lazy_pattern(
    r"(?:\[rank\d{1,6}\]:\s?|\[default\d{1,3}\]:|\[\d{1,6},\d{1,6}\]<std(?:err|out)>:\s?"
    r"|\((?:\w{1,60}(?:\(\w{1,60}\))? )?pid=\d{1,9}(?:, ip=[\d.]{7,15})?\)\s?"
    r"|\([\w.-]{1,60}, rank=\d{1,6}\)\s?"
    r"|(?:(?!lib[\w+-]{1,40}\.so)[a-z][\w.-]{0,60}\d|\s{0,5}\d{1,5}): (?=\S|  )){1,4}"
)
_FRAME = "│┃"


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive whole lines.

    Attributes:
        first: the number of the first of them, or of the line that a piece belongs to.
        ends: how many line ends there are.
        data: the lines with their ends.
    """

    first: int
    ends: int
    data: bytes


def blocks(stream: BinaryIO, path: str) -> Iterator[Block]:
    r"""The stream in blocks that end with a line, escapes, NUL bytes and the ``\r`` of Windows' line ends taken out.

    A line longer than a block comes in pieces, cut at a progress bar's ``\r`` if there is one.

    Raises:
        Malformed: if it is binary or compressed.
        NotFound: if it cannot be read on.
    """
    head = _read(stream, path)
    decode = _decoder(head, path)
    number, rest = 1, b""
    chunk = head
    while chunk:
        data = rest + decode(chunk)
        cut = data.rfind(b"\n") + 1
        if cut == 0 and len(data) >= BLOCK:
            cut = data.rfind(b"\r", 0, len(data) - 1) + 1 or len(data)
        if cut:
            ends = data.count(b"\n", 0, cut)
            yield Block(number, ends, _plain(data[:cut]))
            number += ends
        rest = data[cut:]
        chunk = _read(stream, path)
    if rest:
        yield Block(number, rest.count(b"\n"), _plain(rest))


def _read(stream: BinaryIO, path: str) -> bytes:
    try:
        return stream.read(BLOCK)
    except OSError as error:
        raise NotFound(f"cannot be read: {error.strerror}", path=path) from None


class _Utf16:
    """PowerShell writes logs in UTF-16; they go on as UTF-8."""

    def __init__(self, encoding: str) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")

    def __call__(self, chunk: bytes) -> bytes:
        return self._decoder.decode(chunk).encode("utf-8", "replace")


def _decoder(head: bytes, path: str) -> _Utf16 | type[bytes]:
    for mark, tool in _COMPRESSED:
        if head.startswith(mark):
            hint = f"`{tool} {path} | gradcompat diagnose -` reads it"
            raise Malformed("is compressed", path=path, hint=hint)
    for mark, encoding in _UTF16:
        if head.startswith(mark):
            return _Utf16(encoding)
    start = head[:_HEAD]
    if start[1::2].count(0) * 2 > len(start) * 0.8:
        return _Utf16("utf-16-le")
    # A log may hold a few NULs, where a machine has crashed; text has hardly any other control characters.
    controls = len(start) - len(start.translate(None, _CONTROLS))
    if controls * 10 > len(start) and start.strip(b"\0"):
        raise Malformed("is binary, not a log", path=path)
    return bytes


def _plain(data: bytes) -> bytes:
    if b"\x1b" in data:
        data = _ANSI.sub(b"", data)
    if b"\0" in data:
        data = data.replace(b"\0", b"")
    if b"\r" in data and b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    return data


class Passage:
    r"""The segments of a block as one text, each ended by ``\n``, behind the last ones of the block before.

    Args:
        block: the block.
        carried: the last segments of the one before with the numbers of their lines, for messages that are wrapped.

    Attributes:
        text: the text.
        start: where in it the block begins.
    """

    def __init__(self, block: Block, carried: Sequence[tuple[int, bytes]]) -> None:
        before = b"".join(segment + b"\n" for _, segment in carried)
        self.start = len(before)
        data = block.data
        self._bars = b"\r" in data
        self.text = before + (data.replace(b"\r", b"\n") if self._bars else data)
        self._carried = carried
        self._data = data
        self._counted, self._line = 0, block.first

    def number(self, start: int) -> int:
        """The line of the segment that begins there."""
        if start < self.start:
            return self._carried[self.text.count(b"\n", 0, start)][0]
        here = start - self.start
        if here < self._counted:
            self._line -= self._data.count(b"\n", here, self._counted)
        else:
            self._line += self._data.count(b"\n", self._counted, here)
        self._counted = here
        return self._line

    def numbers(self, start: int, end: int) -> Callable[[int], int]:
        """What gives the line of the first, second, … segment, counted from 0, of those between two places."""
        first = self.number(start)
        if not self._bars:
            return first.__add__
        ends = self._data[start - self.start : end - self.start].translate(None, _NO_ENDS)
        return lambda index: first + ends.count(b"\n", 0, index)

    def pieces(self, size: int) -> Iterator[tuple[int, int]]:
        """The segments of the block in pieces of some size, and before them those of the block before, if any."""
        if self.start:
            yield 0, self.start
        start, whole = self.start, len(self.text)
        while start < whole:
            end = self.text.rfind(b"\n", start, start + size) + 1 or self.end_of(start) + 1
            yield start, min(end, whole)
            start = end

    def end_of(self, start: int) -> int:
        """Where the segment ends that begins there."""
        end = self.text.find(b"\n", start)
        return len(self.text) if end < 0 else end

    def before(self, start: int, most: int) -> list[tuple[int, int]]:
        """The segments before the one that begins there: where they begin and end."""
        spans: list[tuple[int, int]] = []
        while start and len(spans) < most:
            end = start - 1
            start = self.text.rfind(b"\n", 0, end) + 1
            spans.append((start, end))
        return spans[::-1]

    def behind(self, end: int, most: int) -> list[tuple[int, int]]:
        """The segments behind the one that ends there."""
        spans: list[tuple[int, int]] = []
        while end + 1 < len(self.text) and len(spans) < most:
            start = end + 1
            end = self.end_of(start)
            spans.append((start, end))
        return spans

    def last(self, most: int, longest: int) -> tuple[tuple[int, bytes], ...]:
        """The last segments, of each so many bytes from its beginning, with the numbers of their lines."""
        spans = self.before(len(self.text) + (not self.text.endswith(b"\n")), most)
        return tuple((self.number(start), self.text[start : min(end, start + longest)]) for start, end in spans)


def cleaned(segment: bytes) -> str:
    """The text of a segment, without the prefix of a rank or a host and without the frame that rich draws."""
    text = segment.decode("utf-8", "replace")
    prefix = _PREFIX.match(text)
    if prefix:
        text = text[prefix.end() :]
    text = text.rstrip()
    if text[-1:] in _FRAME:
        text = text[:-1].rstrip()
    if text[:1] in _FRAME:
        text = text[1:].removeprefix(" ").removeprefix("❱ ")
    return text


def shown(text: str, around: int = 0) -> str:
    """A piece of a line that is short enough to print, with the place ``around`` in it."""
    text = text.rstrip()
    start = max(0, min(around - 40, len(text) - MAX_SHOWN)) if len(text) > MAX_SHOWN else 0
    piece = text[start : start + MAX_SHOWN].strip()
    return ("…" if start else "") + piece + ("…" if start + MAX_SHOWN < len(text) else "")
