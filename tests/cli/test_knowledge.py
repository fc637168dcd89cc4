"""``gradcompat knowledge snapshot``: what an index has is written, and what it lacks is said."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.index.snapshot import SHIPPED, Snapshot
from tests.conftest import Run
from tests.index.serving import Reply, Server, anchor, serving, wheel


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


@pytest.fixture(autouse=True)
def _only_this_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in list(os.environ):
        if variable.startswith(("PIP_", "UV_")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("GRADCOMPAT_CACHE", str(tmp_path / "cache"))


def test_what_an_index_has_is_written_and_what_it_lacks_is_said(run: Run, server: Server, tmp_path: Path) -> None:
    content = wheel("einops", "0.8.0", "numpy>=1.17")
    server.html("einops", anchor("einops-0.8.0-py3-none-any.whl", content))
    server.pages["/files/einops-0.8.0-py3-none-any.whl"] = Reply(body=content, ranges=True)
    path = tmp_path / "snapshot.zip"
    outcome = run(
        "knowledge",
        "snapshot",
        "--output",
        str(path),
        "--index-url",
        f"{server.base}/simple",
    )
    assert outcome.status == 3
    assert outcome.out.startswith("1 package, 1 release and the requirements of 0 written to ")
    assert any(line.startswith("missing: torch: ") for line in outcome.err.splitlines())
    taken = Snapshot(path)
    assert taken.names == ("einops",)
    (release,) = taken.releases("einops")
    assert (release.version, release.wheels) == (Version("0.8.0"), ("py3-none-any",))


def test_an_index_that_has_nothing_leaves_the_file_as_it_was(run: Run, server: Server, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.zip"
    path.write_bytes(SHIPPED.read_bytes())
    outcome = run(
        "knowledge",
        "snapshot",
        "--output",
        str(path),
        "--index-url",
        f"{server.base}/simple",
    )
    assert outcome.status == 2
    assert "has none of the " in outcome.err
    assert path.read_bytes() == SHIPPED.read_bytes()


def test_a_file_that_cannot_be_written(run: Run, server: Server, tmp_path: Path) -> None:
    server.html("einops", anchor("einops-0.8.0-py3-none-any.whl"))
    outcome = run(
        "knowledge", "snapshot", "--output", str(tmp_path / "no" / "such"), "--index-url", f"{server.base}/simple",
    )  # fmt: skip
    assert outcome.status == 2
    assert outcome.err.splitlines()[-1].endswith("cannot be written: No such file or directory")
