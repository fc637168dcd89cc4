"""Class methods that nothing in a program names, and what they use."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import read_document
from gradcompat.scanners.code.python_code import scan
from gradcompat.terms.comparison import texts

MODEL = """
import torch
from torch import nn
{imports}
class GPT({bases}):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    {decorator}
    def from_pretrained(cls, name):
        from transformers import GPT2LMHeadModel
        return GPT2LMHeadModel.from_pretrained(name)
"""
PROGRAM = "import torch\nfrom model import GPT\nmodel = GPT()\ntorch.optim.SGD(model.parameters(), lr=0.1).step()\n"


def uses_transformers(
    folder: Path,
    program: str = PROGRAM,
    imports: str = "",
    bases: str = "nn.Module",
    decorator: str = "@classmethod",
) -> bool:
    (folder / "model.py").write_text(MODEL.format(imports=imports, bases=bases, decorator=decorator))
    (folder / "train.py").write_text(program)
    context = scan(read_document(folder / "train.py", "train.py", root_of_folder(folder, ".")))
    values = [one.value for one in context.settings if one.key == "code.symbols"]
    return any(name.startswith("transformers.") for value in values if isinstance(value, tuple) for name in value)


@pytest.mark.parametrize("bases", ["nn.Module", "torch.nn.Module", "object", ""])
@pytest.mark.parametrize("decorator", ["@classmethod", "@staticmethod"])
def test_what_a_method_uses_that_nothing_names_is_not_used(tmp_path: Path, bases: str, decorator: str) -> None:
    assert not uses_transformers(tmp_path, bases=bases, decorator=decorator)


def test_a_method_of_the_same_name_of_another_package_does_not_name_it(tmp_path: Path) -> None:
    loading = "from timm.models import Backbone\nBackbone.from_pretrained('resnet18')\n"
    assert not uses_transformers(tmp_path, PROGRAM + loading)


@pytest.mark.parametrize(
    "named",
    [
        "GPT.from_pretrained('gpt2')\n",
        "model.from_pretrained('gpt2')\n",
        "getattr(GPT, 'from_pretrained')('gpt2')\n",
        "import model as made\nmade.GPT.from_pretrained('gpt2')\n",
        "def load(kind):\n    return kind.from_pretrained('gpt2')\nload(GPT)\n",
    ],
)
def test_a_method_that_is_named_is_used(tmp_path: Path, named: str) -> None:
    assert uses_transformers(tmp_path, PROGRAM + named)


@pytest.mark.parametrize(
    ("imports", "bases", "decorator"),
    [
        ("from transformers import PreTrainedModel", "PreTrainedModel", "@classmethod"),
        ("from models.base import Base", "Base", "@classmethod"),
        ("", "nn.Module", "@torch.no_grad()"),
        ("", "nn.Module", ""),
        ("import fire", "nn.Module", "@classmethod"),
    ],
)
def test_a_method_that_others_may_call_is_used(tmp_path: Path, imports: str, bases: str, decorator: str) -> None:
    assert uses_transformers(tmp_path, imports=imports, bases=bases, decorator=decorator)


def test_two_programs_of_a_folder_have_what_each_of_them_calls(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL.format(imports="", bases="nn.Module", decorator="@classmethod"))
    (tmp_path / "first.py").write_text(PROGRAM + "GPT.from_pretrained('gpt2')\n")
    (tmp_path / "second.py").write_text(PROGRAM)
    root = root_of_folder(tmp_path, ".")
    used = []
    for name in ("first.py", "second.py"):
        context = scan(read_document(tmp_path / name, name, root))
        symbols = {one for setting in context.settings if setting.key == "code.symbols" for one in texts(setting.value)}
        used.append(any(one.startswith("transformers.") for one in symbols))
    assert used == [True, False]
