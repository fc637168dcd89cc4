"""Optimizers by their names, and classes of the program in whose own code a defect is not."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan


def symbols(program: str) -> set[str]:
    values = [one.value for one in scan(Document(path="train.py", text=program)).settings if one.key == "code.symbols"]
    return {name for value in values if isinstance(value, tuple) for name in value}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('load_optimizer("adasmooth")', True),
        ('load_optimizer(optimizer="AdaSmooth")', True),
        ('create_optimizer(model, "adasmooth", lr=1e-3)', True),
        ('create_optimizer(model, optimizer_name="adasmooth")', True),
        ('create_optimizer("adasmooth", "lion")', False),
        ('load_optimizer("lion")', False),
        ("load_optimizer(args.optimizer)", False),
        ("load_optimizer()", False),
    ],
)
def test_an_optimizer_by_its_name(call: str, expected: bool) -> None:
    program = f"import torch\nfrom pytorch_optimizer import create_optimizer, load_optimizer\n{call}\n"
    assert ("pytorch_optimizer.AdaSmooth" in symbols(program)) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("self.optimizer.load_state_dict(torch.load(checkpoint))", True),
        ("super()._load_optimizer_and_scheduler(checkpoint)", False),
    ],
)
def test_a_trainer_that_loads_its_optimizer_itself(body: str, expected: bool) -> None:
    program = (
        "import torch\nfrom transformers import Trainer\nclass Own(Trainer):\n"
        f"    def _load_optimizer_and_scheduler(self, checkpoint):\n        {body}\nOwn(model).train()\n"
    )
    assert ("transformers.Trainer._load_optimizer_and_scheduler.own" in symbols(program)) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [("torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)", True), ("return super().step(closure)", False)],
)
def test_an_optimizer_that_clips(body: str, expected: bool) -> None:
    program = (
        "import torch\nclass Own(torch.optim.AdamW):\n"
        f"    def step(self, closure=None):\n        {body}\nOwn(parameters)\n"
    )
    assert ("torch.optim.step.clips" in symbols(program)) is expected
