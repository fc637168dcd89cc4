"""The hook, tried with the real pre-commit: it starts where a file is changed that the check reads."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradcompat.dependency_formats import FORMATS
from gradcompat.scanners.registry import SCANNERS
from tests.ci.projects import EXAMPLE, git
from tests.conftest import ROOT

pytestmark = pytest.mark.e2e

(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
FILES = re.compile(HOOK["files"])
PATTERNS = sorted({pattern for one in (*FORMATS, *SCANNERS) for pattern in one.names})


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_starts_for_every_file_that_is_read(pattern: str) -> None:
    for filling in ("", "a", "A-b.c"):
        name = pattern.replace("*", filling)
        assert FILES.search(name), name
        assert FILES.search(f"some/folder/{name.capitalize()}"), name


@pytest.mark.parametrize("name", ["README.md", "src/main.rs", "Cargo.lock", "docs/notes.txt", "a.toml", "uv.lock/a"])
def test_it_does_not_start_for_others(name: str) -> None:
    assert FILES.search(name) is None


def pre_commit(folder: Path, *arguments: str) -> tuple[int, str]:
    program = shutil.which("pre-commit", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        pytest.skip("pre-commit is not installed")
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env |= {"PRE_COMMIT_HOME": str(folder / ".git" / "pre-commit"), "GIT_CONFIG_GLOBAL": os.devnull, "COLUMNS": "100"}
    done = subprocess.run(
        [program, *arguments],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout


def test_it_is_valid(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", tmp_path)
    status, out = pre_commit(tmp_path, "validate-manifest", ".pre-commit-hooks.yaml")
    assert (status, out) == (0, "")


@pytest.mark.network
def test_it_stops_a_commit_that_brings_a_defect(tmp_path: Path) -> None:
    """pre-commit installs gradcompat from a clone of this source, as it does from any repository."""
    source, here = tmp_path / "source", tmp_path / "project"
    ignored = shutil.ignore_patterns(".git", ".*_cache", ".venv", ".hypothesis", "tests", "__pycache__")
    shutil.copytree(ROOT, source, ignore=ignored)
    shutil.copytree(EXAMPLE, here)
    (here / "README.md").write_text("A project.\n")
    for folder in (source, here):
        git(folder, "init", "--quiet")
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", "Begin")
    hook: dict[str, Any] = {"id": HOOK["id"]}
    config = {"repos": [{"repo": str(source), "rev": git(source, "rev-parse", "HEAD"), "hooks": [hook]}]}

    def tried(*files: str) -> tuple[int, str]:
        (here / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        git(here, "add", ".pre-commit-config.yaml")
        return pre_commit(here, "run", "--files", *files)

    status, out = tried("uv.lock")
    assert status == 1, out
    assert "error GC-0004, silent: " in out
    assert "train.yaml:12" in out
    status, out = tried("README.md")
    assert (status, "Skipped" in out) == (0, True), out
    hook["args"] = [".", "--ignore", "GC-0004"]
    status, out = tried("train.yaml", "uv.lock", "pyproject.toml")
    assert (status, out.count("gradcompat")) == (0, 1), out
