"""Runs commands of gradcompat in this process, and holds what they print against a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.cli.app import app
from gradcompat.cli.command_end import print_error
from gradcompat.errors import GradcompatError
from gradcompat.renderers.registry import RENDERERS

CANARY = "S3CRETCANARY"
FRAGMENT = 6  # characters in a row that would give it away
FORMATS = tuple(RENDERERS)


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Everything that a command prints, on both streams; it ends with a status that is documented."""
    capsys.readouterr()
    try:
        app(list(arguments))
    except SystemExit as ended:
        status = ended.code
    except GradcompatError as error:
        print_error(error)
        status = 2
    assert status in (0, 1, 2, 3), f"`gradcompat {' '.join(arguments)}` ended with {status}"
    out = capsys.readouterr()
    return out.out + out.err


def leaked(output: str, secret: str = CANARY) -> str | None:
    """The first piece of the secret that the output has; letter case and the signs of names do not matter."""
    flat = output.lower()
    secret = secret.lower()
    pieces = (secret[at : at + FRAGMENT] for at in range(len(secret) - FRAGMENT + 1))
    return next((piece for piece in pieces if piece in flat), None)


def write(path: Path, text: str) -> Path:
    """A file with that text, its folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path
