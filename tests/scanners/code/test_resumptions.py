"""A function of the program that loads the state of a run resumes it where it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import read_document
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.code.python_code import scan

CLASS = """
from accelerate import Accelerator
{imports}
class Runner{bases}:
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)

    {decorator}
    def load(self, folder):
        self.accelerator.load_state(folder)

    def train(self):
        {within}
        for batch in self.loader:
            self.accelerator.backward(self.model(**batch).loss)
"""
PROGRAM = """
import json
import os
import sys
from runner import Runner
runner = Runner(model)
{call}
runner.train()
"""


def resumes(
    folder: Path, call: str, *, imports: str = "", bases: str = "", decorator: str = "", within: str = ""
) -> list[SettingValue | None]:
    text = CLASS.format(imports=imports, bases=bases, decorator=decorator, within=within)
    (folder / "runner.py").write_text(text, "utf-8")
    (folder / "train.py").write_text(PROGRAM.format(call=call), "utf-8")
    context = scan(read_document(folder / "train.py", "train.py", root_of_folder(folder, ".")))
    return [one.value for one in context.settings if one.key == "training.resume_from_checkpoint"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("", []),
        ("json.load(config)", []),  # of another package
        ("if False:\n    runner.load('out')", []),
        ("runner.load('out')", [True]),
        ("if os.path.isdir('out'):\n    runner.load('out')", [None]),
        ("if os.path.isdir('out'):\n    runner.load('out')\nrunner.load('again')", [True]),
        ("atexit.register(runner.load, 'out')", [True]),  # handed on
        ("getattr(runner, 'load')('out')", [True]),
    ],
)
def test_a_run_is_resumed_where_the_function_is_called(
    tmp_path: Path, call: str, expected: list[SettingValue | None]
) -> None:
    assert resumes(tmp_path, call) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"within": "if os.path.isdir('out'):\n            self.load('out')"}, [None]),
        ({"within": "self.load('out')"}, [True]),
        # Others may call it.
        ({"decorator": "@registered"}, [True]),
        ({"imports": "import lightning", "bases": "(lightning.Callback)"}, [True]),
        ({"imports": "import fire"}, [True]),
        ({"imports": "import hydra"}, [True]),
        ({"imports": "import hydra", "within": "if self.cfg.resume:\n            self.load('out')"}, [None]),
    ],
)
def test_who_else_may_call_it(tmp_path: Path, parts: dict[str, str], expected: list[SettingValue | None]) -> None:
    assert resumes(tmp_path, "", **parts) == expected


@pytest.mark.parametrize(
    ("constant", "expected"),
    [("None", []), ("'out'", [True]), ("''", []), ("find()", [None])],
)
@pytest.mark.parametrize("test", ["RESUME", "RESUME is not None"])
def test_a_constant_says_whether_there_is_anything_to_resume_from(
    tmp_path: Path, constant: str, expected: list[SettingValue | None], test: str
) -> None:
    if (constant, test) == ("''", "RESUME is not None"):
        expected = [True]
    assert resumes(tmp_path, f"RESUME = {constant}\nif {test}:\n    runner.load(RESUME)") == expected
