"""A file on a server that is read in parts, so that the metadata of a wheel of two gigabytes costs some kilobytes."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping
from typing import IO, cast

from gradcompat.errors import IndexUnavailable
from gradcompat.index.location import named
from gradcompat.index.transport import Answer, Transport
from gradcompat.startup.lazy_patterns import lazy_pattern

# Of most wheels the whole directory is in it; of those with ten thousand files it takes one request more.
_TAIL = 64 * 1024
_AHEAD = 16 * 1024
# What lies between two spans that are fetched together: less than another request costs.
_GAP = 128 * 1024
_AT_ONCE = 32 * 2**20


class RangeFile(io.RawIOBase):
    """The file; what was fetched once is kept."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int, tail: bytes, limit: int) -> None:
        """Take the end of the file, where a zip has its directory.

        Args:
            fetch: the bytes from one position up to another one.
            size: of the whole file.
            tail: its end.
            limit: how many bytes may be fetched in all.
        """
        self._fetch = fetch
        self._size = size
        self._parts = [(size - len(tail), tail)]
        self._left = limit - len(tail)
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError("a position before the start of the file")
        self._position = start + offset
        return self._position

    def prefetch(self, spans: Iterable[tuple[int, int]]) -> None:
        """Fetch what will be read: spans that lie close together, in one request.

        Args:
            spans: the first position of each and the one behind its last, in any order.

        Raises:
            EOFError: if it would take more of the file than is fetched.
            IndexUnavailable: if the server does not send it.
        """
        joined: list[list[int]] = []
        for start, behind in sorted(spans):
            end = min(behind, self._size)
            if joined and start - joined[-1][1] <= _GAP and end - joined[-1][0] <= _AT_ONCE:
                joined[-1][1] = max(end, joined[-1][1])
            elif end > start:
                joined.append([start, end])
        for start, end in joined:
            if end - start > self._left:
                raise EOFError("it would take more of the file than is fetched")
            content = self._fetch(start, end)
            self._left -= len(content)
            self._parts.append((start, content))

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any buffer would do; zipfile has these
        """Fill the buffer, unless the file ends: unlike other raw files, this one does not return early."""
        wanted = min(len(buffer), self._size - self._position)
        done = 0
        while done < wanted:
            piece = self._at(self._position, wanted - done)
            buffer[done : done + len(piece)] = piece
            done += len(piece)
            self._position += len(piece)
        return max(done, 0)

    def _at(self, position: int, length: int) -> bytes:
        """Some of the bytes from a position on, at least one."""
        for start, content in self._parts:
            if start <= position < start + len(content):
                return content[position - start : position - start + length]
        # Up to what is there already, and a little ahead, because a zip is read in small steps.
        following = min((start for start, _ in self._parts if start > position), default=self._size)
        end = min(position + max(length, _AHEAD), following)
        if end - position > self._left:
            raise EOFError("it would take more of the file than is fetched")
        content = self._fetch(position, end)
        self._left -= len(content)
        self._parts.append((position, content))
        return content[:length]


def remote_file(transport: Transport, url: str, limit: int) -> tuple[IO[bytes], bytes | None]:
    """A file to read in parts, and all of its bytes where the server sends no parts.

    Args:
        transport: how to ask.
        url: where it is.
        limit: how many bytes may be fetched in all.

    Raises:
        TooLarge: if the server sends no parts, and the whole is too large.
        IndexUnavailable: if there is no such file.
    """
    answer = _part(transport, url, f"-{_TAIL}", limit)
    if answer.status in (400, 416, 501):
        # Some servers do not know ranges that count from the end, or none that are longer than the file.
        size = _bounds(_part(transport, url, "0-0", limit).headers, url)[2]
        answer = _part(transport, url, f"{max(0, size - _TAIL)}-{size - 1}", limit)
    if answer.status == 200:
        return io.BytesIO(answer.content), answer.content
    start, end, size = _bounds(answer.headers, url)
    if end != size or end - start != len(answer.content):
        raise IndexUnavailable("sent another part of the file than it was asked for", path=named(url))

    def fetch(first: int, behind: int) -> bytes:
        part = _part(transport, url, f"{first}-{behind - 1}", behind - first)
        if (
            part.status != 206
            or _bounds(part.headers, url) != (first, behind, size)
            or len(part.content) != behind - first
        ):
            raise IndexUnavailable("sent another part of the file than it was asked for", path=named(url))
        return part.content

    return cast("IO[bytes]", RangeFile(fetch, size, answer.content, limit)), None


def _part(transport: Transport, url: str, span: str, limit: int) -> Answer:
    # Compressed parts would be parts of something else.
    headers = {"Range": f"bytes={span}", "Accept-Encoding": "identity"}
    return transport.get(url, limit=limit, headers=headers, accepted=(200, 206, 400, 416, 501))


def _bounds(headers: Mapping[str, str], url: str) -> tuple[int, int, int]:
    """The first position, the one behind the last, and the size of the file."""
    found = _CONTENT_RANGE.fullmatch(headers.get("content-range", ""))
    if found is None:
        raise IndexUnavailable("does not say which part of the file it sent", path=named(url))
    return int(found[1]), int(found[2]) + 1, int(found[3])


_CONTENT_RANGE = lazy_pattern(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)
