"""Evaluations of a trainer in front of its training."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

_HEAD = "from trl import DPOTrainer\ntrainer = DPOTrainer(model, train_dataset=data)\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trainer.evaluate()\ntrainer.train()\n", True),
        ("print(trainer.evaluate(test))\ntrainer.train()\ntrainer.evaluate()\n", True),
        ("trainer.train()\ntrainer.evaluate()\n", False),
        ("for _ in range(3):\n    trainer.evaluate()\n    trainer.train()\n", False),
        ("def score():\n    trainer.evaluate()\n\n\ntrainer.train()\n", False),
        ("trainer.evaluate()\n", False),
        ("if first:\n    trainer.evaluate()\ntrainer.train()\n", True),
        ("try:\n    trainer.evaluate()\nfinally:\n    trainer.train()\n", True),
        ("if only:\n    trainer.evaluate()\nelse:\n    trainer.train()\n", False),
        ("if only:\n    trainer.evaluate()\n    raise SystemExit\ntrainer.train()\n", False),
        ("if only:\n    trainer.evaluate()\n    sys.exit(0)\ntrainer.train()\n", False),
        ("def main():\n    if only:\n        return trainer.evaluate()\n    trainer.train()\n", False),
        ("def main():\n    if only:\n        trainer.evaluate()\n        return\n    trainer.train()\n", False),
        ("base = DPOTrainer(other)\nbase.evaluate()\ntrainer.train()\n", False),
    ],
)
def test_an_evaluation_in_front_of_the_training(text: str, expected: bool) -> None:
    used = [one.value for one in scan(Document("x.py", _HEAD + text)).settings if one.key == "code.symbols"]
    symbols = {name for value in used if isinstance(value, tuple) for name in value}
    assert ("trl.DPOTrainer.evaluate.before_training" in symbols) is expected
