"""Real git repositories for tests, whatever the machine's own configuration says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


@dataclass(frozen=True)
class Repository:
    """A repository in a folder of its own."""

    path: Path

    def git(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """What git prints, without the last line end."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            input=stdin,
            env={**_outside(), **ENVIRONMENT, **(env or {})},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().rstrip("\n")

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")

    def commit(self, files: Mapping[str, str] | None = None) -> str:
        """Commit everything that is there, and these files; the id of the commit."""
        self.write(files or {})
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "A change")
        return self.git("rev-parse", "HEAD")


def repository(path: Path, files: Mapping[str, str] | None = None) -> Repository:
    """A new one with a branch called main, and a first commit if there are files."""
    path.mkdir(parents=True, exist_ok=True)
    made = Repository(path)
    made.git("init", "--quiet", "--initial-branch=main")
    if files is not None:
        made.commit(files)
    return made


def _outside() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
