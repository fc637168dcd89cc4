"""What a report says of a folder beside its environments: files that list nothing, and programs that start no run."""

from __future__ import annotations

import json
from pathlib import Path

import gradcompat
from gradcompat.model.report import Report
from tests.renderers.reports import rendered

TRAIN = "from transformers import Trainer\nfrom pkg.model import build\nTrainer(model=build()).train()\n"


def notes(report: Report) -> list[tuple[str, str, bool]]:
    return [
        (Path(one.what).name, one.reason, one.gap)
        for audit in report.audits
        for one in audit.skipped
        if "fixes" not in one.what
    ]


def notebook(folder: Path, name: str, source: str) -> None:
    (folder / name).write_text(json.dumps({"cells": [{"cell_type": "code", "source": [source]}], "nbformat": 4}))


def test_a_file_that_lists_nothing_is_no_gap_beside_one_that_does(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\n")
    (tmp_path / "Dockerfile").write_text("FROM mcr.example/devcontainers/base:ubuntu\nRUN apt-get install git\n")
    (tmp_path / "pyproject.toml").write_text('[build-system]\nrequires = ["setuptools"]\n')
    notebook(tmp_path, "plots.ipynb", "print('installed nothing')")
    report = gradcompat.check(tmp_path)
    assert [Path(audit.source).name for audit in report.audits] == ["requirements.txt"]
    assert report.exit_status == 0
    assert {(what, reason) for what, reason, gap in notes(report) if not gap} >= {
        ("Dockerfile", "read, and lists no packages"),
        ("pyproject.toml", "read, and lists no packages"),
        ("plots.ipynb", "read, and lists no packages"),
    }


def test_a_file_that_lists_nothing_is_a_gap_by_itself(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM mcr.example/devcontainers/base:ubuntu\n")
    assert gradcompat.check(tmp_path).exit_status == 3
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\n")
    assert gradcompat.check(tmp_path, tmp_path / "Dockerfile").exit_status == 3


def test_what_cannot_be_read_of_an_empty_file_stays_a_gap(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\n")
    (tmp_path / "Dockerfile").write_text("FROM ubuntu\nRUN pip install -r missing.txt\n")
    assert gradcompat.check(tmp_path).exit_status == 3


def test_a_module_that_a_run_imports_does_not_ask_for_what_the_run_has_followed(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.57.6\n")
    (tmp_path / "train.py").write_text(TRAIN)
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "configs.py").write_text("SIZE = 1\n")
    for name in ("model.py", "export.py"):
        (package / name).write_text(
            "from transformers import AutoModel\nfrom .configs import SIZE\n"
            "def build():\n    return AutoModel.from_pretrained('m', size=SIZE)\n"
        )
    assert [one for one in notes(gradcompat.check(tmp_path)) if "not seen" in one[1]] == []


def test_a_note_names_three_places_once(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.57.6\n")
    (tmp_path / "pkg").mkdir()
    lines = "".join(f"    AutoModel.from_pretrained('m', **options{n})\n" for n in range(6))
    (tmp_path / "pkg" / "model.py").write_text(
        f"from transformers import AutoModel\ndef build({', '.join(f'options{n}' for n in range(6))}):\n{lines}"
    )
    for name in ("train.py", "again.py"):
        (tmp_path / name).write_text(TRAIN)
    report = gradcompat.check(tmp_path)
    told = [one for one in notes(report) if "put together elsewhere" in one[1]]
    assert len(told) == len(set(told)) == 6
    text = " ".join(rendered(report, "text").split())
    assert "(" + str(tmp_path / "pkg/model.py") + ":5) and 3 more" in text
