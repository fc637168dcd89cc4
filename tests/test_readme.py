"""The README is true: its example prints what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradcompat.cli.app import app
from tests.conftest import ROOT, Run

SCREEN = 45  # lines
README = (ROOT / "README.md").read_text("utf-8")


def test_the_example_prints_what_is_shown(run: Run, tmp_path: Path) -> None:
    command = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[0]
    shown = re.findall(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[0]
    arguments = shlex.split(command.rsplit("&& .venv/bin/gradcompat", 1)[1])
    outcome = run(*arguments, cwd=ROOT)
    assert outcome.status == 1
    assert len(shown.splitlines()) <= SCREEN
    assert re.sub(r"\(\d+ records of [\d-]+\)", "(... records of ...)", outcome.out) == shown


@pytest.mark.parametrize(
    ("recipe", "picture"), [("accumulation_equivalence", "accumulation.svg"), ("gradient_flow", "gradient-flow.svg")]
)
def test_pictures_show_what_was_measured(recipe: str, picture: str) -> None:
    shown = CliRunner().invoke(app, ["knowledge", "matrix", "transformers", recipe, "--format", "svg"]).stdout
    assert (ROOT / "docs" / picture).read_text("utf-8") == shown
