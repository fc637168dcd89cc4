"""``gradcompat knowledge read`` in a process of its own, with an index of the test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.releases.answers import Presence
from gradcompat.releases.table import ReleaseTable
from tests.conftest import Run
from tests.index.serving import Reply, Server, anchor
from tests.releases.packages import wheel

pytestmark = pytest.mark.e2e


def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    return {
        **kept,
        "PIP_CONFIG_FILE": os.devnull,
        "UV_NO_CONFIG": "1",
        "GRADCOMPAT_CACHE": str(tmp_path / "cache"),
    }


def test_tables_are_written_and_extended(run_process: Run, server: Server, tmp_path: Path) -> None:
    content = wheel({"one/__init__.py": "a = 1"}).getvalue()
    files = [f"one-{version}-py3-none-any.whl" for version in ("1.0", "1.1")]
    server.html("one", *(anchor(name, content) for name in files))
    for name in files:
        server.pages[f"/files/{name}"] = Reply(body=content)
    arguments = ("knowledge", "read", "One", "--tables", "tables", "--index-url", f"{server.base}/simple/")
    outcome = run_process(*arguments, env=environment(tmp_path))
    assert (outcome.status, outcome.out) == (0, "")
    assert "one: 2 releases to fetch of 2\n" in outcome.err
    assert "one: 2 releases written to tables/one.table" in outcome.err
    table = ReleaseTable(tmp_path / "tables" / "one.table")
    assert table.presence(Version("1.1"), "one", "a") is Presence.PRESENT
    again = run_process(*arguments, env=environment(tmp_path))
    assert (again.status, again.err) == (0, "one: 0 releases to fetch of 2\n")


def test_what_cannot_be_fetched_makes_the_exit_status_3(run_process: Run, server: Server, tmp_path: Path) -> None:
    server.html("one", anchor("one-1.0-py3-none-any.whl", b""))
    arguments = ("knowledge", "read", "one", "--tables", "tables", "--index-url", f"{server.base}/simple/")
    outcome = run_process(*arguments, env=environment(tmp_path))
    assert outcome.status == 3
    assert "1 of 1: one 1.0 not fetched: " in outcome.err
    assert "404" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("one", "--since", "yesterday"), "`--since yesterday` is not a day"),
        (("keras", "--offline", "--since", "2099-01-01"), "has no release of `keras` since 2099-01-01"),
    ],
)
def test_wrong_usage(run_process: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    outcome = run_process("knowledge", "read", *arguments, "--tables", "tables", env=environment(tmp_path))
    assert outcome.status == 2
    assert message in outcome.err
