"""How a program speaks with the runner of GitHub Actions: inputs, outputs and commands.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def value(name: str) -> str:
    """A variable of the environment without the blanks around it; empty where it is missing."""
    return os.environ.get(name, "").strip()


def lines(name: str) -> list[str]:
    """The lines of an input that say something."""
    return [line for line in map(str.strip, value(name).splitlines()) if line]


def is_on(name: str) -> bool:
    """Whether an input is ``true``.

    Raises:
        SystemExit: if it is neither that nor ``false``.
    """
    text = value(name).lower()
    if text not in ("true", "false", ""):
        fail(f"`{name.removeprefix('INPUT_').lower().replace('_', '-')}` is true or false, and not `{text}`")
    return text == "true"


def event() -> Mapping[str, Any]:
    """What started the workflow; empty where the runner does not say."""
    path = value("GITHUB_EVENT_PATH")
    data = json.loads(Path(path).read_text("utf-8")) if path else {}
    return data if isinstance(data, dict) else {}


def put(outputs: Mapping[str, str]) -> None:
    """Set outputs of the step. A value of many lines ends where a word stands that nobody could guess."""
    end = secrets.token_hex(16)
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as file:
        file.writelines(f"{name}<<{end}\n{text}\n{end}\n" for name, text in outputs.items())


def say(command: str, text: str) -> None:
    """An annotation of the run: ``error``, ``warning`` or ``notice``."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    sys.stdout.write(f"::{command} title=gradcompat::{escaped}\n")
    sys.stdout.flush()


def fail(text: str) -> None:
    """End with an error.

    Raises:
        SystemExit: always.
    """
    say("error", text)
    raise SystemExit(1)
