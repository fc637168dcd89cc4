"""A program that runs inside a release, over an interpreter with torch, and prints a line of JSON for each class."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any


def lines_of(python: Path, layer: str, program: Path, *arguments: str) -> list[dict[str, Any]]:
    """What it prints. Nothing is fetched.

    Args:
        python: the interpreter.
        layer: the folders of the release, joined as in PYTHONPATH.
        program: its file.
        arguments: what it is started with.
    """
    done = subprocess.run(
        [python, "-W", "ignore", program, *arguments],
        env={**os.environ, "PYTHONPATH": layer, "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
