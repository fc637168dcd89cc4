"""Methods of what a function is handed, as methods of its class."""

from __future__ import annotations

import textwrap

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

HEAD = """
from typing import Any
import accelerate
from accelerate import Accelerator
"""


def saves(text: str) -> list[str]:
    """The names by which ``save_model`` is called."""
    context = scan(Document("x.py", HEAD + textwrap.dedent(text)))
    found = [one.value for one in context.settings if one.key == "code.symbols"]
    symbols = [str(name) for value in found if isinstance(value, tuple) for name in value]
    return [name for name in symbols if name.endswith("save_model")]


@pytest.mark.parametrize(
    "text",
    [
        "def save(one, model):\n    one.save_model(model)\nmain = Accelerator()\nsave(main, m)",
        "def save(one, model):\n    one.save_model(model)\nsave(one=Accelerator(), model=m)",
        "def save(one: Accelerator, model):\n    one.save_model(model)",
        "def save(model, *, one: accelerate.Accelerator):\n    one.save_model(model)",
        "class Run:\n    def save(self, one: Accelerator):\n        one.save_model(self.model)",
        "def train(one):\n    save(one)\ndef save(one):\n    one.save_model(m)\ntrain(Accelerator())",
    ],
)
def test_a_parameter_is_of_the_type_of_what_is_handed_over_or_said(text: str) -> None:
    assert saves(text) == ["accelerate.Accelerator.save_model"]


@pytest.mark.parametrize(
    "text",
    [
        "def save(one, model):\n    one.save_model(model)",
        "def save(one: Any, model):\n    one.save_model(model)",
        "def save(one: str, model):\n    one.save_model(model)",
        "def save(one, model):\n    one.save_model(model)\nsave(Accelerator(), m)\nsave(other, m)",
        "def save(one: Accelerator, model):\n    one = one.inner()\n    one.save_model(model)",
    ],
)
def test_a_parameter_of_which_nothing_is_known_has_no_type(text: str) -> None:
    assert saves(text) == ["save_model"]
