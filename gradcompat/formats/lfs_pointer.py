"""Pointers of Git LFS, which stand where a file was not fetched: they tell its size and nothing of its content."""

from __future__ import annotations

from gradcompat.startup.lazy_patterns import lazy_pattern

_FIRST = b"version https://"
_POINTER = lazy_pattern(
    rb"version https://(?:git-lfs\.github\.com/spec|hawser\.github\.com/spec|git-media\.io/v)/?[^\n]*\n"
    rb"(?:ext-[^\n]*\n)*oid [^\n]+\nsize (\d{1,18})\r?\n?\Z"
)
_LARGEST = 1024  # bytes of a pointer, as the specification has it


def size_of_content(data: bytes) -> int | None:
    """The bytes of the file that a pointer stands for; None if the data is no pointer."""
    match = _POINTER.match(data) if len(data) < _LARGEST and data.startswith(_FIRST) else None
    return None if match is None else int(match[1])
