"""Whole commands over files whose names and contents try to be something else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradcompat.cli.app import app
from gradcompat.errors import GradcompatError
from tests.renderers.test_hostile_outputs import LISTED, obeyed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no such file names")

FOLDER = "::error::x \x1b[31m ##[group]\u202e\u2066 <b> @team"
CONFIG = """\
# trl sft
model_name_or_path: "llava-hf/{0}"
dataset_name: "{0}"
output_dir: "{0}"
optim: "{0}"
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
"""
LOCK = """\
version = 1
revision = 3
requires-python = ">=3.11"

[[package]]
name = "transformers"
version = "4.49.0"
source = { registry = "https://index.example/simple" }
"""
COMMANDS = [
    ("check", "."),
    ("check", ".", "--all", "--strict"),
    ("check", ".", "--format", "json"),
    ("check", ".", "--format", "github"),
    ("check", ".", "--format", "gitlab"),
    ("check", ".", "--format", "sarif"),
    ("check", ".", "--format", "junit"),
    ("check", ".", "--format", "openvex"),
    ("check", ".", "--format", "cyclonedx-vex"),
    ("check", ".", "--format", "html"),
    ("inspect", "."),
    ("inspect", ".", "--format", "json"),
    ("plan", ".", "--offline"),
    ("plan", ".", "--offline", "--format", "json"),
    ("constraints", f"{FOLDER}/uv.lock", "--offline"),
    ("diagnose", "train.log"),
    ("diagnose", "train.log", "--format", "json"),
    ("fix", ".", "--offline", "--dry-run"),
]


def quoted(text: str) -> str:
    """As the inside of a string of TOML or YAML, which have no lone surrogates."""
    return "".join(
        char if char.isalnum() else f"\\U{ord(char):08x}" for char in text if not "\ud800" <= char <= "\udfff"
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / FOLDER).mkdir()
    entries = [
        f'\n[[package]]\nname = "{quoted(text)}"\nversion = "{quoted(text)}"\n'
        'source = { registry = "https://index.example/simple" }\n'
        for text in LISTED
    ]
    (folder / FOLDER / "uv.lock").write_text(LOCK + "".join(entries), "utf-8")
    (folder / FOLDER / "train.yaml").write_text(CONFIG.format(quoted(" ".join(LISTED))), "utf-8")
    lines = [" ".join(text.split("\n")).encode("utf-8", "replace").decode("utf-8") for text in LISTED]
    listed = [line for line in lines if "\0" not in line]  # what has one is no text
    (folder / "requirements.txt").write_text("".join(f"{line}\ntorch=={line}\n" for line in listed), "utf-8")
    told = "".join(f"ValueError: {line}\n{line}\n{{'loss': 0.0, 'x': {line!r}}}\n" for line in lines)
    (folder / "train.log").write_text(f"transformers version: 4.49.0\n{told}", "utf-8")
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nothing_is_obeyed(project: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    monkeypatch.chdir(project)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    result = CliRunner().invoke(app, command, env={"COLUMNS": "80"})
    assert result.exception is None or isinstance(result.exception, (SystemExit, GradcompatError)), result.exception
    lines = [
        line
        for line in result.output.splitlines()
        if not line.startswith(("::error file=", "::warning file=", "::notice file="))
    ]
    assert lines or result.output
    assert obeyed("\n".join(lines), "\n") == []
    if "json" in command:
        assert "\u202e" not in result.stdout
        json.loads(result.stdout)
