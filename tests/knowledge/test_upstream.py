"""Reports that could be filed: their form, and that the program of each shows what it says."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

from gradcompat.knowledge.load import load
from tests.conftest import ROOT
from tests.probes.really import INTERPRETER, LAYERS, NEEDS_TORCH

FOLDER = ROOT / "knowledge" / "upstream"
REPORTS = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
MOST_LINES = 40
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FIELDS = re.compile(r"^\* (Package|Versions|Record): (.+)$", re.MULTILINE)
_VERSION = re.compile(r"([a-z][\w-]*) (\d+(?:\.\d+)+)")
_HOW_LONG = 300  # seconds; most take ten


def program(path: Path) -> str:
    (found,) = _BLOCK.findall(path.read_text("utf-8"))
    return str(found)


def test_there_are_reports() -> None:
    assert len(REPORTS) >= 5


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_the_form_of_a_report(path: Path) -> None:
    text = path.read_text("utf-8")
    assert re.match(r"# \S.{20,150}\n\n", text)
    fields = dict(_FIELDS.findall(text))
    versions = dict(_VERSION.findall(fields["Versions"]))
    assert fields.keys() == {"Package", "Versions", "Record"}
    assert fields["Package"] in versions
    assert fields["Record"] == "none" or load().get(fields["Record"]) is not None
    headings = re.findall(r"^## (.+)$", _BLOCK.sub("", text), re.MULTILINE)
    assert headings == ["Expected", "Actual", "Searches"]
    searches = text.partition("## Searches\n")[2]
    assert re.search(r"\d{4}-\d\d-\d\d", searches)
    assert "\n* " in searches


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_the_program_of_a_report(path: Path) -> None:
    source = program(path)
    assert len(source.splitlines()) <= MOST_LINES
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
    }
    packages = (name.replace("-", "_") for name, _ in _VERSION.findall(path.read_text("utf-8")))
    named = {"copy", "os", "tempfile", *packages}
    assert imported <= named
    assert [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert) and node.msg is not None]


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=NEEDS_TORCH) for path in REPORTS], ids=lambda path: path.stem
)
def test_the_program_shows_the_defect(path: Path, tmp_path: Path) -> None:
    """In the versions that the report names; in others it may be mended."""
    stated = dict(_VERSION.findall(dict(_FIELDS.findall(path.read_text("utf-8")))["Versions"]))
    package = dict(_FIELDS.findall(path.read_text("utf-8")))["Package"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, LAYERS)), "TRANSFORMERS_VERBOSITY": "error"}
    asked = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    version = subprocess.run(
        [INTERPRETER, "-c", asked], env=environment, capture_output=True, text=True, check=False
    ).stdout.strip()
    if version != stated[package]:
        pytest.skip(f"is about {package} {stated[package]}, and this is {version or 'none'}")
    # From a file, since a process that it spawns imports it.
    file = tmp_path / "report.py"
    file.write_text(program(path), "utf-8")
    outcome = subprocess.run(
        [INTERPRETER, str(file)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=_HOW_LONG,
        check=False,
    )
    assert outcome.returncode == 1, outcome.stdout
    assert "AssertionError: " in outcome.stderr, outcome.stderr
