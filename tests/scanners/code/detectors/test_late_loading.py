"""Whether a checkpoint is loaded when the training is over."""

from __future__ import annotations

import ast

import pytest

from gradcompat.scanners.code.detectors.late_loading import is_loaded_late
from gradcompat.scanners.code.names import Names

_TRAIN = "def train(engine):\n    engine.backward(loss)\n"


@pytest.mark.parametrize(
    ("program", "late"),
    [
        ("engine.backward(loss)\nengine.load_checkpoint(x)", True),
        ("for b in loader:\n    engine.backward(b)\nengine.load_checkpoint(x)\ntest(engine)", True),
        (f"{_TRAIN}train(engine)\nengine.load_checkpoint(x)", True),
        (f"{_TRAIN}def main():\n    train(engine)\n    engine.load_checkpoint(x)", True),
        ("engine.load_checkpoint(x)\nengine.backward(loss)", False),
        (f"{_TRAIN}engine.load_checkpoint(x)\ntrain(engine)", False),
        (f"{_TRAIN}train(engine)\nengine.load_checkpoint(x)\ntrain(engine)", False),
        ("for stage in range(3):\n    engine.backward(loss)\n    engine.load_checkpoint(x)", False),
        ("engine.load_checkpoint(x)\ntest(engine)", False),  # what trains is not seen
    ],
)
def test_what_trains_before_and_behind(program: str, late: bool) -> None:
    tree = ast.parse(program)
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call) and "load_checkpoint" in ast.dump(node))
    assert is_loaded_late(call, Names(tree)) is late
