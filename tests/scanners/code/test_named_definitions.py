"""Classes that nothing in a project names but their definition."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document, read_document
from gradcompat.scanners.code import named_definitions
from gradcompat.scanners.code.named_definitions import is_named

DEFINED = "import pytorch_lightning as pl\n\n\nclass Extra(pl.Callback):\n    pass\n"


def module(folder: Path) -> Document:
    (folder / "callbacks.py").write_text(DEFINED, "utf-8")
    document = read_document(folder / "callbacks.py", "callbacks.py", root_of_folder(folder, "."))
    return Document(document.path, document.text, document.file, document.root, shared={})


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("train.py", "from callbacks import Extra\n", True),
        ("configs/train.yaml", "callbacks:\n  _target_: src.callbacks.Extra  # at the end\n", True),
        ("run.sh", "python train.py +callbacks._target_=src.callbacks.Extra\n", True),
        ("demo.ipynb", '{"cells": ["Extra()"]}', True),
        ("configs/train.yaml", "# _target_: src.callbacks.Extra\n  # Extra\n", False),
        ("train.py", "from callbacks import Extras\n", False),
        ("README.md", "There is Extra.\n", False),
    ],
)
def test_what_names_a_class(tmp_path: Path, name: str, text: str, named: bool) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / name).write_text(text, "utf-8")
    assert is_named("Extra", module(tmp_path)) is named


def test_where_not_all_can_be_read_it_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = module(tmp_path)
    assert not is_named("Extra", document)
    assert is_named("Extra", Document("x.py", DEFINED))  # of no project
    monkeypatch.setattr(named_definitions, "_LARGEST", 10)  # bytes
    assert is_named("Extra", module(tmp_path))


def test_what_a_link_leads_to_outside_of_the_project_is_not_read(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "elsewhere.py").write_text("nothing\n", "utf-8")
    document = module(project)
    assert not is_named("Extra", document)
    (project / "linked.py").symlink_to(tmp_path / "elsewhere.py")
    assert is_named("Extra", module(project))  # it may be, there
