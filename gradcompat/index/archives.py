"""Finding the metadata inside a wheel or an sdist, which may be anything."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from typing import IO

from gradcompat.startup.lazy_patterns import lazy_pattern

# How much of an unpacked sdist is looked through; it is not kept.
_UNPACKED = 256 * 2**20
# What the modules for archives raise for one that is none, or half of one.
BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
)


class Lacking(ValueError):
    """The archive is sound, and what is looked for is not in it."""


def metadata_of_wheel(file: IO[bytes], limit: int) -> bytes:
    """The METADATA of a wheel.

    Args:
        file: the wheel; only its directory and the one member are read.
        limit: how large the member may be.

    Raises:
        ValueError: if it is broken, :class:`Lacking` if it has none; the message is a sentence without subject.
    """
    return _member(file, _WHEELS, limit)


def metadata_of_zip(file: IO[bytes], limit: int) -> bytes:
    """The PKG-INFO of an sdist that is a zip.

    Raises:
        ValueError: if it is broken, :class:`Lacking` if it has none.
    """
    return _member(file, _SDISTS, limit)


def metadata_of_tar(content: bytes, limit: int, *, whole: bool) -> bytes | None:
    """The PKG-INFO of an sdist that is a tar.gz.

    Args:
        content: the sdist, or its beginning.
        limit: how large the member may be.
        whole: it is all of it; of a beginning, None says that the member is not in it.

    Raises:
        ValueError: if it is broken, :class:`Lacking` if it has none.
    """
    try:
        with (
            gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked,
            tarfile.open(fileobj=_Bounded(unpacked), mode="r|") as tar,
        ):
            for member in tar:
                if member.isreg() and _SDISTS(member.name):
                    return _read(tar, member, limit)
    except Lacking:
        raise
    except BROKEN:
        if whole:
            raise ValueError("is not a tar.gz that can be read") from None
    if whole:
        raise Lacking("has no PKG-INFO")
    return None


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo, limit: int) -> bytes:
    if member.size > limit:
        raise Lacking("has a PKG-INFO that is too large")
    found = tar.extractfile(member)
    data = b"" if found is None else found.read()
    if len(data) != member.size:
        raise EOFError
    return data


class _Bounded(io.RawIOBase):
    """A stream that ends with an error where it goes on for too long."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile) -> None:
        self._file = file
        self._left = _UNPACKED

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, 2**20) if size >= 0 else 2**20)
        self._left -= len(data)
        if self._left < 0:
            raise EOFError("it unpacks to more than is looked through")
        return data


def _member(file: IO[bytes], wanted: Callable[[str], object], limit: int) -> bytes:
    name = "METADATA" if wanted is _WHEELS else "PKG-INFO"
    try:
        with zipfile.ZipFile(file) as archive:
            found = [member for member in archive.infolist() if wanted(member.filename)]
            if len(found) != 1:
                raise Lacking(f"has no {name}" if not found else f"has more than one {name}")
            with archive.open(found[0]) as member:
                data = member.read(limit + 1)
    except Lacking:
        raise
    except BROKEN:
        raise ValueError("is not a zip that can be read") from None
    if len(data) > limit:
        raise Lacking(f"has a {name} that is too large")
    return data


_WHEELS = lazy_pattern(r"[^/]+\.dist-info/METADATA").fullmatch
_SDISTS = lazy_pattern(r"(\./)?[^/]+/PKG-INFO").fullmatch
