"""Calls of a project's own classes, as calls of the classes that they derive from."""

from __future__ import annotations

import textwrap

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

HEAD = """
from dataclasses import dataclass
import torch
from torch.optim import SGD
from transformers import TrainingArguments
from trl import RewardConfig, RewardTrainer
"""


def calls(text: str, name: str) -> list[str]:
    context = scan(Document("x.py", HEAD + textwrap.dedent(text)))
    found = next(one.value for one in context.settings if one.key == "code.calls")
    assert isinstance(found, tuple)
    return [str(one) for one in found if str(one).startswith(f"{name}(")]


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "def notes(self): return 1",
        "def compute_loss(self, model, inputs): return model(**inputs).loss",  # which its record asks for
        "def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)\n        self.seen = 0",
        "def __init__(self, weight, *args, **kwargs):\n        super(Mine, self).__init__(*args, **kwargs)",
    ],
)
def test_a_class_of_ones_own_is_called_as_its_base(body: str) -> None:
    given = "0.5, 'Qwen/Qwen2-0.5B'" if "weight" in body else "'Qwen/Qwen2-0.5B'"
    text = f"class Mine(RewardTrainer):\n    {body}\nMine({given}, args=RewardConfig('out')).train()\n"
    assert calls(text, "trl.RewardTrainer") == ["trl.RewardTrainer('Qwen/Qwen2-0.5B', args=_1)"]


@pytest.mark.parametrize(
    "body",
    [
        "def __new__(cls, *args, **kwargs): return object()",
        "def __init__(self, model, args):\n        self.model = model",
        "def __init__(self, *args, **kwargs):\n        if args:\n            super().__init__(*args, **kwargs)",
        "def __init__(self, *args, **kwargs):\n        super(Other, self).__init__(*args, **kwargs)",
    ],
)
def test_a_class_that_may_make_something_else_is_not(body: str) -> None:
    text = f"class Mine(RewardTrainer):\n    {body}\nMine('Qwen/Qwen2-0.5B', args=RewardConfig('out')).train()\n"
    assert calls(text, "trl.RewardTrainer") == []


def test_what_a_constructor_hands_on_is_what_the_base_gets() -> None:
    text = """
    class Mine(RewardTrainer):
        def __init__(self, model, weight=1, peft_config=None, **kwargs):
            super().__init__(model=model, peft_config=peft_config, args=made(), **kwargs)
            self.weight = weight

    class More(Mine):
        def __init__(self, *args, **kwargs):
            kwargs.setdefault("tag", 1)
            super().__init__(*args, **kwargs)

    Mine("Qwen/Qwen2-0.5B", weight=2, eval_dataset=None)
    More("Qwen/Qwen2-1.5B", eval_dataset=None)
    """
    assert calls(text, "trl.RewardTrainer") == [
        "trl.RewardTrainer(model='Qwen/Qwen2-0.5B', peft_config=None, args=_1, eval_dataset=None)",
        "trl.RewardTrainer(model='Qwen/Qwen2-1.5B', peft_config=None, args=_1, **_)",
    ]


def test_a_parameter_that_is_bound_anew_is_not_read() -> None:
    text = """
    class Mine(RewardTrainer):
        def __init__(self, model, **kwargs):
            model = load(model)
            super().__init__(model, **kwargs)

    Mine("Qwen/Qwen2-0.5B")
    """
    assert calls(text, "trl.RewardTrainer") == ["trl.RewardTrainer(_1)"]


def test_fields_of_a_dataclass_have_defaults_of_their_own() -> None:
    text = """
    @dataclass
    class Mine(TrainingArguments):
        use_liger_kernel: bool = True
        data_seed: int = 3
        margin: float = 0.1 + 1

    Mine("out", data_seed=7)
    """
    name = "transformers.TrainingArguments"
    assert calls(text, name) == [f"{name}('out', use_liger_kernel=True, data_seed=7, margin=_1)"]


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        ("def step(self, closure=None):\n        return super().step(closure)", False),
        ("def step(self, closure=None):\n        return None", False),
        ("weight_decay = 0.1", True),
    ],
)
def test_a_class_that_does_the_work_itself_is_not_its_base(body: str, counts: bool) -> None:
    text = f"class Mine(SGD):\n    {body}\nMine(model.parameters(), lr=0.1, nesterov=True)\n"
    assert bool(calls(text, "torch.optim.SGD")) is counts
