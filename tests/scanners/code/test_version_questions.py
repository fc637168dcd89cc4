"""Which way a program goes with which releases: read off its conditions, and answered where a release is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document, read_document
from gradcompat.model.release_question import Operator, Reading, ReleaseQuestion
from gradcompat.scanners.code import python_code

HEAD = """
import os
import platform
import sys
from importlib.metadata import version as installed
import packaging.version
import torch
import transformers
from packaging.version import Version, parse
from transformers.utils import is_torch_version
import pytorch_lightning as pl
"""
USE = "torch.optim.SGD"


def where(program: str) -> list[tuple[str, ...]]:
    """When a program uses ``torch.optim.SGD``: its questions as texts; an empty tuple for anyhow."""
    return ways(python_code.scan(Document(path="train.py", text=program)).settings)


def ways(settings: object) -> list[tuple[str, ...]]:
    return [
        tuple(f"{one.package} {one.part or ''}{one.operator} {one.literal}" for one in setting.where)
        for setting in settings  # type: ignore[attr-defined]
        if setting.key == "code.symbols" and USE in setting.value
    ]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ('Version(torch.__version__) < Version("2.7")', ["torch < 2.7"]),
        ('packaging.version.parse(torch.__version__) >= parse("2.7")', ["torch >= 2.7"]),
        ('Version("2.7") <= Version(torch.__version__)', ["torch >= 2.7"]),
        ('parse(parse(torch.__version__).base_version) < parse("2.7")', ["torch < 2.7"]),
        ('Version(torch.__version__.split("+")[0]) < Version("2.7")', ["torch < 2.7"]),
        ('torch.__version__ >= "2.7"', ["torch >= 2.7"]),
        ('transformers.__version__ >= "4.46"', ["transformers >= 4.46"]),
        ('platform.system() == "Windows"', ["sys.platform == win32"]),
        ('platform.system().lower() != "windows"', ["sys.platform != win32"]),
        ('sys.platform == "darwin"', ["sys.platform == darwin"]),
        ('not sys.platform.startswith("win")', ["sys.platform not startswith win"]),
        ('os.name == "nt"', ["sys.platform == win32"]),
        ('os.name == "posix"', ["sys.platform != win32"]),
        ('os.name == "java"', []),
        ("sys.platform == wanted", []),
        ('torch.__version__.startswith("1.")', ["torch startswith 1."]),
        ('not torch.__version__.startswith("1.")', ["torch not startswith 1."]),
        ('torch.__version__[:2] == "1."', ["torch (0, 2)== 1."]),
        ('int(torch.__version__.split(".")[0]) >= 2', ["torch (0, 1)>= (2,)"]),
        ('torch.__version__.split(".")[0] == "2"', ["torch (0, 1)== (2,)"]),
        ('tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 1)', ["torch (0, 2)>= (2, 1)"]),
        ('[int(x) for x in torch.__version__.split(".")[:2]] >= [2, 1]', ["torch (0, 2)>= (2, 1)"]),
        ("Version(torch.__version__).major < 2", ["torch (0, 1)< (2,)"]),
        ("Version(torch.__version__).release >= (2, 1)", ["torch >= (2, 1)"]),
        ('Version(installed("pytorch-lightning")) < Version("2")', ["pytorch-lightning < 2"]),
        ('Version(pl.__version__) < Version("2")', ["pytorch-lightning < 2"]),
        ('is_torch_version("<", "2.7")', ["torch < 2.7"]),
        (
            'Version(torch.__version__) < Version("2.7") and Version(pl.__version__) < Version("2")',
            ["torch < 2.7", "pytorch-lightning < 2"],
        ),
        ('Version(torch.__version__) < Version("2.7") and args.old', ["torch < 2.7"]),
        ('Version(torch.__version__) < Version("2.7") or args.old', []),
        ("args.old", []),
        ("sys.version_info >= (3, 10)", []),
        ("torch.version.cuda < '12'", []),
        ('Version(args.version) < Version("2.7")', []),
        ('torch.__version__ in ("2.6.0", "2.5.1")', []),
    ],
)
def test_a_condition(test: str, expected: list[str]) -> None:
    assert where(f"{HEAD}\nif {test}:\n    torch.optim.SGD(p)\n") == [tuple(expected)]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ('NEW = Version(torch.__version__) >= Version("2.7")\nif not NEW:\n    torch.optim.SGD(p)', ["torch < 2.7"]),
        ('number = torch.__version__\nif Version(number) < Version("2.7"):\n    torch.optim.SGD(p)', ["torch < 2.7"]),
        (
            'def is_new():\n    return Version(torch.__version__) >= Version("2.7")\n'
            "if is_new():\n    pass\nelse:\n    torch.optim.SGD(p)",
            ["torch < 2.7"],
        ),
        (
            'def make():\n    if Version(torch.__version__) >= Version("2.7"):\n        return 1\n'
            "    return torch.optim.SGD(p)\nmake()",
            ["torch < 2.7"],
        ),
        ('assert Version(torch.__version__) < Version("2.7")\ntorch.optim.SGD(p)', ["torch < 2.7"]),
        (
            'if Version(torch.__version__) >= Version("2.7"):\n    sys.exit("too new")\ntorch.optim.SGD(p)',
            ["torch < 2.7"],
        ),
        ('o = torch.optim.SGD(p) if Version(torch.__version__) < Version("2.7") else None', ["torch < 2.7"]),
        ('Version(torch.__version__) < Version("2.7") and torch.optim.SGD(p)', ["torch < 2.7"]),
        (
            'if Version(torch.__version__) < Version("2.7"):\n    pass\n'
            'elif Version(torch.__version__) < Version("2.9"):\n    torch.optim.SGD(p)',
            ["torch >= 2.7", "torch < 2.9"],
        ),
        # What only such a place calls is reached as that is.
        (
            'def old():\n    return torch.optim.SGD(p)\nif Version(torch.__version__) < Version("2.7"):\n    old()',
            ["torch < 2.7"],
        ),
        # A method is called by whoever has the object.
        (
            "class M(pl.LightningModule):\n    def training_step(self):\n        torch.optim.SGD(p)\n"
            'if Version(torch.__version__) < Version("2.7"):\n    M().training_step()',
            [],
        ),
        # A name that is bound twice stands for nothing.
        (
            'NEW = False\nNEW = Version(torch.__version__) >= Version("2.7")\nif not NEW:\n    torch.optim.SGD(p)',
            [],
        ),
        # Anyhow in one place is anyhow.
        ('if Version(torch.__version__) < Version("2.7"):\n    torch.optim.SGD(p)\ntorch.optim.SGD(q)', []),
    ],
)
def test_where_a_condition_leads(program: str, expected: list[str]) -> None:
    assert where(f"{HEAD}\n{program}\n") == [tuple(expected)]


def test_two_places_are_reached_in_two_ways() -> None:
    program = (
        f'{HEAD}\nif Version(torch.__version__) < Version("2.0"):\n    torch.optim.SGD(p)\n'
        'if Version(pl.__version__) < Version("2.0"):\n    torch.optim.SGD(p)\n'
    )
    assert where(program) == [("torch < 2.0",), ("pytorch-lightning < 2.0",)]


def test_a_question_of_another_module_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "compat.py").write_text(
        'import torch\nfrom packaging.version import Version\nOLD = Version(torch.__version__) < Version("2.7")\n',
        "utf-8",
    )
    program = tmp_path / "train.py"
    program.write_text(
        "import torch\nfrom compat import OLD\nfrom transformers import Trainer\n"
        "if OLD:\n    torch.optim.SGD(p)\nTrainer(model).train()\n",
        "utf-8",
    )
    document = read_document(program, "train.py", root_of_folder(tmp_path, "."))
    assert ways(python_code.scan(document).settings) == [("torch < 2.7",)]


def asked(
    package: str, operator: Operator, literal: str | tuple[int, ...], reading: Reading = "release"
) -> ReleaseQuestion:
    return ReleaseQuestion(package=package, operator=operator, literal=literal, reading=reading)


@pytest.mark.parametrize(
    ("question", "version", "expected"),
    [
        (asked("torch", "<", "2.7"), "2.13.0", False),
        (asked("torch", "<", "2.7"), "2.6.0+cu124", True),
        (asked("transformers", ">=", "4.5", "text"), "4.46.0", False),  # as texts are compared
        (asked("transformers", ">=", "4.5"), "4.46.0", True),
        (asked("transformers", "startswith", "4.", "text"), "4.46.0", True),
        (asked("transformers", "not startswith", "4.", "text"), "4.46.0", False),
        (asked("torch", ">=", (2, 1), "numbers"), "2.0.1", False),
        # Whether the build says 2.7.0 or 2.7.0+cu128 nobody knows.
        (asked("torch", "<=", "2.7.0"), "2.7.0", None),
        (asked("torch", ">=", "2.7.0"), "2.7.0", True),
        (asked("transformers", "<=", "4.46.0"), "4.46.0", True),
        (asked("torch", "<", "2.7"), "2.7.0.dev0", None),
        (asked("torch", "<", "2.7"), "main", None),
        (asked("torch", "<", "new"), "2.7.0", None),
    ],
)
def test_an_answer(question: ReleaseQuestion, version: str, expected: bool | None) -> None:
    assert question.holds(version) is expected
    assert question.opposite.holds(version) is (None if expected is None else not expected)


@pytest.mark.parametrize(
    ("operator", "literal", "platform", "expected"),
    [
        ("==", "win32", "win32", True),
        ("==", "win32", "linux", False),
        ("!=", "win32", "win32", False),
        ("startswith", "win", "darwin", False),
        # Most train on Linux, some on macOS, and on Windows only who says so.
        ("==", "win32", None, False),
        ("==", "linux", None, True),
        ("==", "darwin", None, True),
        ("!=", "linux", None, True),
    ],
)
def test_an_answer_of_a_system(operator: Operator, literal: str, platform: str | None, expected: bool) -> None:
    assert asked("sys.platform", operator, literal, "text").holds_on(platform) is expected
