"""What indexes answered, on disk: shared by processes, safe to kill, and never needed.

An entry is one file, which is only ever replaced as a whole: a line of JSON (what it is of, what the index said about
it, the lengths and checksums of the parts) and the parts. What cannot be read, or is not what was written, is not
there. The time of the file's last change is when the index was last asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gradcompat.files.abandoned_files import PREFIX, remove_abandoned
from gradcompat.startup.lazy_dataclasses import dataclass

# Another form of the entries gets another folder, so that two versions of gradcompat do not take turns in one.
_FORM = "index-1"
_STAGED = ".answer"
_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the cache has of one address.

    Attributes:
        meta: what the index said about it.
        parts: the content.
        age: seconds since the index was last asked; less than none where clocks disagree.
    """

    meta: Mapping[str, str]
    parts: tuple[bytes, ...]
    age: float


class Cache:
    """A folder of entries; without one, nothing is kept.

    Attributes:
        trouble: why nothing is written any more, a sentence; None while all is well.
    """

    def __init__(self, folder: Path | None, now: Callable[[], float] = time.time) -> None:
        self._folder = None if folder is None else folder / _FORM
        self._now = now
        self._lock = threading.Lock()
        self.trouble: str | None = None

    def read(self, kind: str, key: str) -> Entry | None:
        """What is there under a key; None if there is nothing, or nothing sound."""
        if self._folder is None:
            return None
        try:
            with _path(self._folder, kind, key).open("rb") as file:
                status = os.fstat(file.fileno())
                data = file.read(_LARGEST) if status.st_size <= _LARGEST else b""
        except (OSError, ValueError):
            return None
        head, _, rest = data.partition(b"\n")
        try:
            header = json.loads(head)
            if header["key"] != key:
                return None
            meta = {str(name): str(value) for name, value in header["meta"].items()}
            parts, start = [], 0
            for length, checksum in header["parts"]:
                part = rest[start : start + length]
                if len(part) != length or zlib.crc32(part) != checksum:
                    return None
                parts.append(part)
                start += length
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        return Entry(meta=meta, parts=tuple(parts), age=self._now() - status.st_mtime)

    def write(self, kind: str, key: str, parts: Sequence[bytes], meta: Mapping[str, str] | None = None) -> None:
        """Keep something, or say in :attr:`trouble` why that does not work."""
        if self._folder is None or self.trouble is not None:
            return
        header = {"key": key, "meta": dict(meta or {}), "parts": [[len(part), zlib.crc32(part)] for part in parts]}
        data = b"".join((json.dumps(header).encode(), b"\n", *parts))
        if len(data) > _LARGEST:
            return
        path = _path(self._folder, kind, key)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # `mkstemp` gives it to this user alone: a private index is private here, too.
            remove_abandoned(path.parent, _STAGED)
            number, temporary = tempfile.mkstemp(dir=path.parent, prefix=PREFIX, suffix=_STAGED)
            try:
                with os.fdopen(number, "wb") as file:
                    file.write(data)
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
        except (OSError, ValueError) as error:
            self._failed(error)

    def confirm(self, kind: str, key: str) -> None:
        """The index was asked again, and has nothing else."""
        if self._folder is None:
            return
        try:
            os.utime(_path(self._folder, kind, key))
        except (OSError, ValueError) as error:
            self._failed(error)

    def _failed(self, error: OSError | ValueError) -> None:
        reason = error.strerror if isinstance(error, OSError) else error
        with self._lock:
            if self.trouble is None:
                self.trouble = f"`{self._folder}`: what the index answers cannot be kept: {reason}"


def _path(folder: Path, kind: str, key: str) -> Path:
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
    return folder / kind / digest[:2] / digest[2:]
