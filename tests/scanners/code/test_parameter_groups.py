"""Which decay an optimizer has by its groups of parameters."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code


def settings(groups: str, rest: str = "", *, name: str = "AdamW") -> dict[str, object]:
    text = f"import argparse, torch\nargs = argparse.Namespace()\ngroups = {groups}\n"
    text += f"optimizer = torch.optim.{name}(groups{rest})\nloss.backward()\noptimizer.step()\n"
    context = python_code.scan(Document("train.py", text))
    return {one.key: one.value for one in context.settings}


@pytest.mark.parametrize(
    ("groups", "rest", "expected"),
    [
        ("[{'params': w, 'weight_decay': 0.1}, {'params': b, 'weight_decay': 0.0}]", "", 0.1),
        ("[{'params': [p for p in ps], 'weight_decay': 0.1}, {'params': b}]", "", 0.1),
        ("[dict(params=w, weight_decay=0.1), dict(params=b, weight_decay=0.0)]", "", 0.1),
        ("({'params': w, 'weight_decay': 0.1},)", "", 0.1),
        ("[{'params': w, 'weight_decay': 0.0}, {'params': b, 'weight_decay': 0.0}]", ", weight_decay=0.1", 0.0),
        ("[{'params': w}, {'params': b, 'weight_decay': 0.0}]", ", weight_decay=0.1", 0.1),
        ("[{'params': w, 'lr': 0.1}, {'params': b}]", ", weight_decay=0.2", 0.2),
        ("[{'params': w, 'weight_decay': args.decay}, {'params': b, 'weight_decay': 0.0}]", "", None),
        ("[w, b]", ", weight_decay=0.2", 0.2),
    ],
)
def test_the_decay_is_the_strongest_of_the_groups(groups: str, rest: str, expected: float | None) -> None:
    assert settings(groups, rest)["optimizer.weight_decay"] == expected


def test_a_group_without_decay_leaves_the_optimizers_own() -> None:
    groups = "[{'params': w}, {'params': b, 'weight_decay': 0.0}]"
    assert "optimizer.weight_decay" not in settings(groups, "")


def test_what_is_no_group_says_nothing() -> None:
    calls = settings("[{'name': w, 'weight_decay': 0.1}]", ", weight_decay=0.2")["code.calls"]
    assert isinstance(calls, tuple)
    assert any("weight_decay=0.2" in one for one in calls)


def test_a_pattern_of_calls_is_told_the_decay_of_groups() -> None:
    calls = settings("[{'params': w, 'weight_decay': 0.1}, {'params': b, 'weight_decay': 0.0}]")["code.calls"]
    assert isinstance(calls, tuple)
    assert any(one.startswith("torch.optim.AdamW(") and "weight_decay=0.1" in one for one in calls)
