"""Issues and messages that list nothing: the versions that their sentences mention."""

from __future__ import annotations

import pytest

from gradcompat.errors import SourceError
from gradcompat.formats.document import Document
from gradcompat.sources.any_format import read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "I use transformers==4.46.0 and torch==2.5.0 with `accelerate` 1.0.1 on one A100.\nLoss is high.\n",
            {"transformers": "4.46.0", "torch": "2.5.0", "accelerate": "1.0.1"},
        ),
        (
            "### System Info\n\ntorch 2.0.1\ntransformers 4.37.0\n\n### Information\n\n- [X] My own scripts\n"
            "\n### Reproduction\n\nThe weights remain zero, and the loss goes down.\n\n### Expected\n\nweights\n",
            {"torch": "2.0.1", "transformers": "4.37.0"},
        ),
        (
            "**Environment**\n- OS: Ubuntu 22.04\n- torch 2.1\n- lightning 2.0.3\n\nThe loss does not go down.\n",
            {"torch": "2.1", "lightning": "2.0.3"},
        ),
        (
            "After upgrading transformers from 4.47.1 to 4.48.0 my loss is higher.\n",
            {"transformers": "4.48.0"},
        ),
        (
            "My PyTorch is version 2.4, but with trl version 0.12.1 and peft (0.13.2) it is wrong.\n",
            {"trl": "0.12.1", "peft": "0.13.2"},
        ),
        (
            "It works with torch 2.5.1 and trl 0.12.0. Fixed in peft 0.14.0! I have accelerate 1.2.1.\n",
            {"accelerate": "1.2.1"},
        ),
        (
            "trl 0.12.1, torch 2.5.1. The model does not learn, as if it had no gradients.\n",
            {"trl": "0.12.1", "torch": "2.5.1"},
        ),
        (
            "I have trl 0.12.1.\n```python\nprint('torch 2.5.1')\n```\n```\npeft 0.1.2 is new\n```\n",
            {"trl": "0.12.1"},
        ),
    ],
)
def test_what_sentences_mention(text: str, expected: dict[str, str]) -> None:
    environment = read(Document("-", text))
    assert {package.name: package.version for package in environment.packages} == expected
    assert not environment.closed


def test_python_and_the_gpu_beside_them() -> None:
    environment = read(Document("-", "I train with trl 0.12.1 and Python 3.11 on an A100, and it is slow.\n"))
    assert (environment.python, environment.virtual["__cuda_arch"]) == ("3.11", "8.0")


def test_a_story_of_several_versions_is_a_gap() -> None:
    environment = read(Document("-", "With trl 0.12.1 it is fine, with trl 0.13.0 it is not; I have peft 0.13.2.\n"))
    assert [package.name for package in environment.packages] == ["peft"]
    (gap,) = environment.skipped
    assert (gap.what, gap.gap) == ("trl", True)
    assert "0.12.1, 0.13.0" in gap.reason


@pytest.mark.parametrize(
    "text",
    [
        "The loss is too large, what can I do?\n",
        "transformers>=4.46.0 is needed by torch 2.5.1\n",
        "I went back from transformers 4.46.0\n",
        "a newer torch is in https://example.org/torch-2.5.1\n",
        "my-torch 2.5.1 is not torch\n",
    ],
)
def test_sentences_that_mention_none(text: str) -> None:
    with pytest.raises(SourceError):
        read(Document("-", text))


def test_the_place_is_that_of_the_version() -> None:
    (package,) = read(Document("-", "Hi,\nI use trl 0.12.1 here.\n")).packages
    assert package.location is not None
    assert (package.location.line, package.location.column) == (2, 11)


def test_a_script_below_a_list_is_no_part_of_it() -> None:
    environment = read(Document("-", "torch 2.5.1\ntrl 0.12.1\n```bash\npython train.py --bf16\n```\n"))
    assert (environment.kind, len(environment.packages), environment.skipped) == ("pip-list", 2, ())
