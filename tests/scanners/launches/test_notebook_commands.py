"""Trainings that cells of a notebook start by commands."""

from __future__ import annotations

import json

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.launches.notebook_commands import launches


def said(*cells: str, key: str) -> list[tuple[str, object, int | None]]:
    """What each command says of one setting: the run, the value and the line."""
    made = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    text = json.dumps({"nbformat": 4, "cells": made}, indent=1)
    contexts = launches(Document("n.ipynb", text))
    return [(one.source, s.value, s.location.line) for one in contexts for s in one.settings if s.key == key]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("!yolo detect train model=yolo26n.pt epochs=3", 3),
        ("! yolo train epochs=3", 3),
        ("%%bash\nyolo train epochs=3", 3),
        ("!yolo train \\\n  epochs=3", 3),
        ("epochs = 3\n!yolo train epochs={epochs}", None),
    ],
)
def test_a_command(cell: str, value: int | None) -> None:
    assert [found for _, found, _ in said(cell, key="training.num_train_epochs")] == [value]


@pytest.mark.parametrize("cell", ["!yolo predict source=x.jpg", "print('!yolo train epochs=3')", "%%html\n!yolo train"])
def test_what_trains_nothing(cell: str) -> None:
    assert said(cell, key="training.framework") == []


def test_lines_are_those_of_the_notebook() -> None:
    found = said("import torch\nprint(1)\n", "%%time\n!yolo train epochs=3", "x = 1", key="training.num_train_epochs")
    assert found == [("n.ipynb (line 15)", 3, 15)]
    assert launches(Document("n.ipynb", "!{")) == launches(Document("n.ipynb", '{"cells": "\\n!yolo"}')) == []
