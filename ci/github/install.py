"""Installs gradcompat for a job, apart from everything else there: ``prepare`` says where, ``install`` does it.

Without the input ``version`` it is the source that stands beside this file, so a workflow that pins the action by its
commit has pinned gradcompat, too. pip is the client because it reads no configuration from the folder that is audited.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from workflow import fail, put, say, value

SOURCE = Path(__file__).resolve().parents[2]
_VERSION = re.compile(r"[0-9][0-9A-Za-z.!+]*")


def requirement() -> str:
    """What pip installs.

    Raises:
        SystemExit: if the input is no version.
    """
    version = value("INPUT_VERSION")
    if not version:
        return str(SOURCE)
    if _VERSION.fullmatch(version) is None:
        fail(f"`version` is a release such as 1.2.3, and not `{version}`")
    return f"gradcompat=={version}"


def prepare() -> None:
    """Say where the environment and the caches are, and what their content hangs on."""
    wanted = requirement()
    content = (SOURCE / "pyproject.toml").read_bytes() if wanted == str(SOURCE) else wanted.encode()
    key = hashlib.sha256(b"\0".join((sys.version.encode(), content))).hexdigest()[:16]
    temporary = Path(os.environ["RUNNER_TEMP"])
    put({"key": key, "cache": str(temporary / "gradcompat-cache"), "environment": str(temporary / f"gradcompat-{key}")})


def install() -> None:
    """Make the environment, unless an earlier step of this job did, and put gradcompat into it."""
    wanted, folder = requirement(), Path(os.environ["ENVIRONMENT"])
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    program = python.with_name("gradcompat.exe" if os.name == "nt" else "gradcompat")
    if not program.exists():
        # Isolated, and not in the folder of the project: a module of its own there would be imported.
        subprocess.run([sys.executable, "-I", "-m", "venv", str(folder)], check=True, cwd=folder.parent)
        pip = [str(python), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if subprocess.run([*pip, "--", wanted], check=False, cwd=folder).returncode:
            fail(f"pip could not install gradcompat from {'its source' if wanted == str(SOURCE) else wanted}")
    version = subprocess.run([str(program), "--version"], check=True, capture_output=True, text=True).stdout.strip()
    say("debug", f"{version} in {folder}")
    put({"python": str(python), "program": str(program), "version": version.removeprefix("gradcompat ")})


if __name__ == "__main__":
    {"prepare": prepare, "install": install}[sys.argv[1]]()
