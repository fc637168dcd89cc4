"""Whether a program can do without TensorBoard or wandb where its code fails with another error than an ImportError."""

from __future__ import annotations

import ast

import pytest

from gradcompat.scanners.code.detectors.narrow_imports import narrow_import, narrow_import_of_wandb

IMPORT = "from torch.utils.tensorboard import SummaryWriter"


@pytest.mark.parametrize(
    ("head", "line", "expected"),
    [
        ("ImportError", IMPORT, True),
        ("(ImportError, ModuleNotFoundError)", IMPORT, True),
        ("ImportError as error", "import tensorboard", True),
        ("Exception", IMPORT, False),
        ("(ImportError, TypeError)", IMPORT, False),
        ("", IMPORT, False),
        ("ImportError", "from tensorboardX import SummaryWriter", False),
    ],
)
def test_what_is_caught(head: str, line: str, expected: bool) -> None:
    text = f"try:\n    {line}\nexcept {head}:\n    SummaryWriter = None\n"
    assert (narrow_import(ast.parse(text).body) is not None) is expected


def test_an_import_that_nothing_guards_is_none() -> None:
    assert narrow_import(ast.parse(IMPORT).body) is None


@pytest.mark.parametrize(
    ("head", "line", "expected"),
    [
        ("ImportError", "import wandb", True),
        ("(ImportError, AssertionError)", "import wandb", True),
        ("Exception", "import wandb", False),
        ("(ImportError, AttributeError)", "import wandb", False),
        ("ImportError", "import wandbx", False),
    ],
)
def test_what_is_caught_of_wandb(head: str, line: str, expected: bool) -> None:
    text = f"try:\n    {line}\nexcept {head}:\n    wandb = None\n"
    assert (narrow_import_of_wandb(ast.parse(text).body) is not None) is expected
