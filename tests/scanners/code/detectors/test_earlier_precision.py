"""Arguments that ask for no half precision behind some that did."""

from __future__ import annotations

import pytest

from gradcompat.scanners.code.detectors.earlier_precision import after_half
from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import parse

HALF, FULL = "TrainingArguments('a', bf16=True)\n", "TrainingArguments('b')\n"


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (HALF + FULL, 4),
        (HALF + "TrainingArguments('b', fp16=False)\n", 4),
        (HALF + "SFTConfig('b')\n", 4),
        (HALF + HALF, None),
        (FULL + HALF, None),
        (HALF + "TrainingArguments('b', bf16=half)\n", None),
        (HALF + "TrainingArguments('b', **more)\n", None),
        (f"if short:\n    {HALF}else:\n    {FULL}", None),
        (f"def first():\n    {HALF}def second():\n    {FULL}", None),
        (f"def both():\n    {HALF}    {FULL}", 5),
        (HALF + "ModelConfig('b')\n", None),
    ],
)
def test_which_call_follows_half_precision(program: str, line: int | None) -> None:
    tree = parse(
        f"from transformers import TrainingArguments\nfrom trl import ModelConfig, SFTConfig\n{program}", "a.py"
    )
    found = after_half(tree, Names(tree))
    assert (None if found is None else found[1].lineno) == line
