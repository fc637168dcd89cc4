"""Reading the releases that an index has: what is fetched, what is kept, and what goes on after a stop."""

from __future__ import annotations

import io
import os
import random
import tarfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.curation.reading_campaign import Reading, releases_to_read
from gradcompat.errors import KnowledgeError, UsageError
from gradcompat.index.catalog import Lookup, catalogue_of
from gradcompat.releases.answers import Presence
from gradcompat.releases.table import ReleaseTable
from tests.index.serving import Reply, Server, anchor, serving
from tests.releases.packages import wheel

NOISE = random.Random(0).randbytes(400_000)  # noqa: S311 - it only has to be incompressible


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("GRADCOMPAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with serving() as one:
        yield one


def serve(server: Server, files: Mapping[str, bytes], *, ranges: bool = False) -> None:
    server.html("one", *(anchor(name, content) for name, content in files.items()))
    for name, content in files.items():
        server.pages[f"/files/{name}"] = Reply(body=content, ranges=ranges)


def release(version: str, **more: str) -> dict[str, bytes]:
    """A wheel of which one module says its version; the bytes before and behind it are fetched by nobody."""
    sources: dict[str, str | bytes] = {"one/a.bin": NOISE, "one/__init__.py": f"v{version.replace('.', '_')} = 1\n"}
    sources |= {f"one/{name}.py": source for name, source in more.items()}
    return {f"one-{version}-py3-none-any.whl": wheel({**sources, "one/z.bin": NOISE}).getvalue()}


def read(server: Server, tmp_path: Path, *, again: bool = False) -> tuple[Reading, list[str]]:
    """Read everything that the server has of the package, in this process."""
    said: list[str] = []
    lookup = Lookup(index_url=f"{server.base}/simple/")
    with catalogue_of(lookup, said.append) as catalogue, ThreadPoolExecutor(1) as executor:
        reading = Reading(
            package="one",
            releases=releases_to_read("one", catalogue, "2023-01-01"),
            catalogue=catalogue,
            rows=tmp_path / "rows",
            folder=tmp_path / "tables",
            say=said.append,
        )
        reading.run(1, executor, local=False, again=again)
    return reading, said


def opened(tmp_path: Path) -> ReleaseTable:
    return ReleaseTable(tmp_path / "tables" / "one.table")


def test_only_modules_are_fetched_of_a_wheel(server: Server, tmp_path: Path) -> None:
    files = release("1.0")
    serve(server, files, ranges=True)
    reading, said = read(server, tmp_path)
    assert reading.lost == {}
    assert said[:2] == ["one: 1 release to fetch of 1", "1 of 1: one 1.0: 1 module"]
    fetched = [one.headers["range"] for one in server.asked if one.path.startswith("/files/")]
    spans = [span.removeprefix("bytes=").split("-") for span in fetched]
    assert sum(int(last) - int(first or 0) for first, last in spans) < 200_000 < len(next(iter(files.values())))
    assert opened(tmp_path).presence(Version("1.0"), "one", "v1_0") is Presence.PRESENT


def test_a_table_is_extended_by_new_releases_alone(server: Server, tmp_path: Path) -> None:
    serve(server, {**release("1.0"), **release("1.2")})
    read(server, tmp_path)
    serve(server, {**release("1.0"), **release("1.1"), **release("1.2"), **release("2.0rc1")})
    server.asked.clear()
    (tmp_path / "cache").rename(tmp_path / "old")
    _, said = read(server, tmp_path)
    assert {path for path in server.paths if path.endswith(".whl")} == {"/files/one-1.1-py3-none-any.whl"}
    assert said[0] == "one: 1 release to fetch of 3"
    table = opened(tmp_path)
    assert [str(one) for one in table.versions] == ["1.0", "1.1", "1.2"]
    for version in table.versions:
        here = f"v{str(version).replace('.', '_')}"
        assert table.names(version, "one") == {here}


def test_rows_that_are_kept_are_not_read_again(server: Server, tmp_path: Path) -> None:
    serve(server, {**release("1.0"), **release("1.1")})
    server.pages["/files/one-1.1-py3-none-any.whl"] = Reply(404)
    reading, said = read(server, tmp_path)
    assert list(reading.lost) == [Version("1.1")]
    assert any("one 1.1 not fetched: " in sentence for sentence in said)
    (tmp_path / "tables" / "one.table").unlink()  # what a kill before the table was written leaves
    serve(server, {**release("1.0"), **release("1.1")})
    server.asked.clear()
    reading, said = read(server, tmp_path)
    assert said[0] == "one: 1 release to fetch of 2"
    assert reading.lost == {}
    assert [str(one) for one in opened(tmp_path).versions] == ["1.0", "1.1"]


def test_a_row_that_is_broken_is_read_again(server: Server, tmp_path: Path) -> None:
    serve(server, release("1.0"))
    read(server, tmp_path)
    (tmp_path / "tables" / "one.table").unlink()
    (kept,) = (tmp_path / "rows" / "one").glob("*.row")
    kept.write_bytes(b"\x1f\x8b")
    with pytest.raises(KnowledgeError, match="is no row of a release"):
        read(server, tmp_path)
    read(server, tmp_path)
    assert len(opened(tmp_path).versions) == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "its wheel is not a zip that can be read"),
        (b"PK\x03\x04" + bytes(200), "its wheel is not a zip that can be read"),
        (wheel({"one/a.bin": b"1"}).getvalue(), "it has no module that can be read"),
        (wheel({"one/a.py": b"print 'x'"}).getvalue(), "it has no module that can be read"),
        (wheel({"one/a.py": b"x" * (5 * 2**20)}).getvalue(), "it has no module that can be read"),
        (
            wheel({"../a.py": b"x", "one/b c.py": b"y", "/one/c.py": b"z"}).getvalue(),
            "it has no module that can be read",
        ),
    ],
)
def test_a_release_that_cannot_be_read_is_unknown(server: Server, tmp_path: Path, content: bytes, reason: str) -> None:
    serve(server, {**release("1.0"), "one-1.1-py3-none-any.whl": content})
    reading, _ = read(server, tmp_path)
    table = opened(tmp_path)
    assert reading.lost == {}
    assert table.unread == {Version("1.1"): reason}
    assert table.presence(Version("1.1"), "one", "v1_0") is Presence.UNKNOWN
    assert [str(one) for one in table.versions] == ["1.0"]


@pytest.mark.parametrize(
    "source",
    [b"x" * (5 * 2**20), b"(" * 5000, b"print 'x'", b"\xff\xfe\x00", b"# coding: nothing\nx = 1", b"x = '\x00'"],
)
def test_a_module_that_cannot_be_read_is_unknown(server: Server, tmp_path: Path, source: bytes) -> None:
    content = wheel({"one/__init__.py": b"a = 1", "one/odd.py": source}).getvalue()
    serve(server, {"one-1.0-py3-none-any.whl": content})
    read(server, tmp_path)
    table = opened(tmp_path)
    assert table.presence(Version("1.0"), "one.odd") is Presence.PRESENT
    assert table.presence(Version("1.0"), "one.odd", "x") is Presence.UNKNOWN
    assert table.why_open(Version("1.0"), "one.odd") is not None
    assert table.presence(Version("1.0"), "one", "x") is Presence.ABSENT


def test_an_sdist_stands_in_where_there_is_no_wheel(server: Server, tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, source in {"setup.py": b"import sys", "src/one/__init__.py": b"a = 1", "docs/conf.py": b""}.items():
            info = tarfile.TarInfo(f"one-1.0/{path}")
            info.size = len(source)
            archive.addfile(info, io.BytesIO(source))
    serve(server, {"one-1.0.tar.gz": out.getvalue()})
    read(server, tmp_path)
    table = opened(tmp_path)
    assert table.imports == ("one",)
    assert table.presence(Version("1.0"), "one", "a") is Presence.PRESENT
    assert table.presence(Version("1.0"), "one", "b") is Presence.UNKNOWN  # a build may write `one/b.py`
    assert table.presence(Version("1.0"), "one.version") is Presence.UNKNOWN


def test_a_package_without_releases(server: Server, tmp_path: Path) -> None:
    server.html("one")
    with pytest.raises(UsageError, match="has no release of `one` since 2023-01-01"):
        read(server, tmp_path)
