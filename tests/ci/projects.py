"""A project in a real git repository, with a pull request as a runner checks it out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "llava-finetune"


def git(folder: Path, *arguments: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env = {**kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    options = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *options, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write(folder: Path, *, affected: bool, name: str = "uv.lock") -> None:
    """The example, with the release that is affected or with the one that cures it."""
    text = (EXAMPLE / "uv.lock").read_text("utf-8")
    if not affected:
        old = 'name = "transformers"\nversion = "4.49.0"'
        assert old in text
        text = text.replace(old, 'name = "transformers"\nversion = "4.52.1"')
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    shutil.copy(EXAMPLE / "train.yaml", (folder / name).parent)


def commit(folder: Path, text: str) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", text)
    return git(folder, "rev-parse", "HEAD")


class Remote:
    """A repository that others clone, with a main branch and a branch to merge into it."""

    def __init__(self, folder: Path, *, affected: bool) -> None:
        self.folder = folder
        folder.mkdir()
        git(folder, "init", "--quiet")
        git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
        (folder / "README.md").write_text("A project.\n")
        commit(folder, "Begin")
        write(folder, affected=affected)
        self.base = commit(folder, "Train")

    def request(self, *, affected: bool, name: str = "uv.lock", files: Mapping[str, str] = MappingProxyType({})) -> str:
        """Push a change, and merge it with main as a forge does."""
        git(self.folder, "checkout", "--quiet", "-B", "change", "main")
        (self.folder / "NOTES.md").write_text("About to change.\n")
        commit(self.folder, "Prepare")
        write(self.folder, affected=affected, name=name)
        (self.folder / "README.md").write_text(f"A project that is {'wrong' if affected else 'right'}.\n")
        for path, text in files.items():
            (self.folder / path).write_text(text, "utf-8")
        commit(self.folder, "Change")
        git(self.folder, "checkout", "--quiet", "--detach", "main")
        git(self.folder, "merge", "--quiet", "--no-ff", "--message", "Merge", "change")
        merge = git(self.folder, "rev-parse", "HEAD")
        git(self.folder, "update-ref", "refs/pull/7/merge", merge)
        git(self.folder, "checkout", "--quiet", "main")
        return merge

    def checkout(self, folder: Path, reference: str, depth: int = 1) -> None:
        """What actions/checkout does: only this commit."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        git(folder, "init", "--quiet")
        git(folder, "remote", "add", "origin", self.folder.as_uri())
        git(
            folder,
            "fetch",
            "--quiet",
            "--no-tags",
            f"--depth={depth}",
            "origin",
            f"+{reference}:refs/remotes/pull/7/merge",
        )
        git(folder, "checkout", "--quiet", "--force", "refs/remotes/pull/7/merge")


def event(folder: Path, data: object) -> str:
    path = folder / "event.json"
    path.write_text(json.dumps(data))
    return str(path)
