"""What tests of commands that ask an index share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gradcompat.index.client import PackageIndex
from tests.cli.indexed import CONFIG, REQUIREMENTS
from tests.index.serving import QUICK, Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one finding; nobody waits in it, and nothing of this machine's configuration counts."""
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
    (tmp_path / "train.yaml").write_text(CONFIG, "utf-8")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GRADCOMPAT_CACHE", str(tmp_path / "cache"))
    options = PackageIndex.__init__.__kwdefaults__
    assert options is not None
    monkeypatch.setitem(options, "limits", replace(QUICK, silence=0.3, total=1, attempts=2))
    monkeypatch.setitem(options, "sleep", lambda _: None)
    return tmp_path
