"""Archives that may be anything, and files that are read in parts."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from contextlib import suppress
from typing import IO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.index import archives
from gradcompat.index.archives import Lacking, metadata_of_tar, metadata_of_wheel, metadata_of_zip
from gradcompat.index.metadata import parse_metadata
from gradcompat.index.ranges import RangeFile
from tests.index.serving import metadata, sdist, wheel

LIMIT = 10_000


def a_zip(**members: bytes) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out


@given(st.data())
def test_any_change_of_an_archive_gives_metadata_or_is_refused(data: st.DataObject) -> None:
    good = data.draw(st.sampled_from([wheel("torch", "1", "numpy"), sdist("torch", "1", metadata("torch", "1"))]))
    at = data.draw(st.integers(0, len(good) - 1))
    bad = good[:at] + data.draw(st.binary(max_size=4)) + good[at + data.draw(st.integers(0, 9)) :]
    with suppress(ValueError):
        metadata_of_wheel(io.BytesIO(bad), LIMIT)
    with suppress(ValueError):
        metadata_of_zip(io.BytesIO(bad), LIMIT)
    for whole in (True, False):
        with suppress(ValueError):
            metadata_of_tar(bad, LIMIT, whole=whole)


@given(st.one_of(st.binary(), st.text().map(lambda text: f"Name: a\nVersion: 1\n{text}".encode())))
def test_any_metadata_is_read_or_refused(content: bytes) -> None:
    with suppress(ValueError):
        assert not any("\n" in line for line in parse_metadata(content).requires)


def test_metadata_that_is_vendored_does_not_count() -> None:
    built = a_zip(**{"torch/_vendor/six-1.dist-info/METADATA": b"six", "torch-1.dist-info/METADATA": b"torch"})
    assert metadata_of_wheel(built, LIMIT) == b"torch"


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({}, "has no METADATA"),
        ({"a-1.dist-info/METADATA": b"", "b-1.dist-info/METADATA": b""}, "has more than one METADATA"),
        ({"a-1.dist-info/METADATA": bytes(LIMIT + 1)}, "has a METADATA that is too large"),
    ],
)
def test_wheels_that_lack_what_is_looked_for(members: dict[str, bytes], sentence: str) -> None:
    with pytest.raises(Lacking) as caught:
        metadata_of_wheel(a_zip(**members), LIMIT)
    assert str(caught.value) == sentence


def test_an_sdist_that_unpacks_to_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_UNPACKED", 2**20)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, size in (("a-1/zeros", 2**21), ("a-1/PKG-INFO", 0)):
            info = tarfile.TarInfo(name)
            info.size = size
            archive.addfile(info, io.BytesIO(bytes(size)))
    with pytest.raises(ValueError, match=r"^is not a tar\.gz that can be read$"):
        metadata_of_tar(gzip.compress(out.getvalue()), LIMIT, whole=True)


def test_a_link_in_an_sdist_is_not_followed() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("a-1/PKG-INFO")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(Lacking, match="has no PKG-INFO"):
        metadata_of_tar(out.getvalue(), LIMIT, whole=True)


@given(
    st.binary(max_size=60_000),
    st.integers(0, 100),
    st.lists(st.tuples(st.integers(0, 70_000), st.integers(0, 40_000)), max_size=8),
)
def test_a_file_in_parts_reads_like_a_file(content: bytes, tail: int, reads: list[tuple[int, int]]) -> None:
    tail = min(tail, len(content))
    fetched: list[tuple[int, int]] = []

    def fetch(start: int, end: int) -> bytes:
        fetched.append((start, end))
        return content[start:end]

    parts = RangeFile(fetch, len(content), content[len(content) - tail :], len(content))
    plain = io.BytesIO(content)
    for position, size in reads:
        assert parts.seek(position) == plain.seek(position)
        assert parts.read(size) == plain.read(size)
        assert parts.tell() == plain.tell()
    # Nothing is fetched twice.
    assert sum(end - start for start, end in fetched) <= len(content) - tail


def test_no_more_of_a_file_is_fetched_than_is_allowed() -> None:
    parts = RangeFile(lambda start, end: bytes(end - start), 2**40, b"", 50_000)
    with pytest.raises(ValueError, match="is not a zip that can be read"):
        metadata_of_wheel(cast("IO[bytes]", parts), LIMIT)
    with pytest.raises(EOFError):
        parts.read()
