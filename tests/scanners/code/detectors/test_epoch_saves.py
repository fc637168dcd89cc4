"""Whether a program saves the state of accelerate between epochs alone."""

from __future__ import annotations

import ast

import pytest

from gradcompat.scanners.code.detectors.epoch_saves import saves_between_epochs
from gradcompat.scanners.code.names import Names

_STEP = "        accelerator.backward(loss)\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"for epoch in range(3):\n    for x in loader:\n{_STEP}    accelerator.save_state('a')\n", True),
        (f"for n in tqdm(range(3)):\n    for x in loader:\n{_STEP}    accelerator.save_state('a')\n", True),
        (f"for epoch in range(3):\n    for x in loader:\n{_STEP}        accelerator.save_state('a')\n", False),
        (
            f"for epoch in range(3):\n    for x in loader:\n{_STEP}        accelerator.save_state('a')\n"
            "    accelerator.save_state('a')\n",
            False,
        ),
        (f"for batch in loader:\n    for micro in batch:\n{_STEP}    accelerator.save_state('a')\n", False),
        (f"def save():\n    accelerator.save_state('a')\nfor e in range(3):\n    for x in loader:\n{_STEP}", False),
        (f"for epoch in range(3):\n    for x in loader:\n{_STEP}", False),
    ],
)
def test_where_a_state_is_saved(text: str, expected: bool) -> None:
    assert saves_between_epochs(Names(ast.parse(text))) is expected
