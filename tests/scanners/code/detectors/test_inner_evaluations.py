"""Evaluations between the steps of an epoch."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from gradcompat.scanners.code.detectors.inner_evaluations import inner_evaluation

_STEPS = "for batch in loader:\n    loss(model(batch)).backward()\n    opt.step()\n"


def of_steps(inside: str, before: str = "") -> ast.Module:
    return ast.parse(f"{dedent(before)}{_STEPS}{indent(dedent(inside), '    ')}")


@pytest.mark.parametrize(
    ("inside", "told"),
    [
        ("for one in eval_dataloader:\n    print(model(one))\n", True),
        ("for i, one in enumerate(tqdm(self.val_loader)):\n    print(model(one))\n", True),
        ("for one in dev:\n    print(model(one))\n", True),
        ("with torch.no_grad():\n    for one in other_loader:\n        print(model(one))\n", True),
        ("for one in other_loader:\n    with torch.inference_mode():\n        print(model(one))\n", True),
        ("for one in other_loader:\n    print(model(one))\n", False),
        ("for one in eval_dataloader:\n    print(model(one))\n    break\n", False),
        ("for loss in val_losses:\n    print(loss)\n", False),
        ("for prompt in args.validation_prompts:\n    print(prompt)\n", False),
        ("for value in dataset_values:\n    print(value)\n", False),
        ("with torch.no_grad():\n    for p in model.parameters():\n        p.mul_(2)\n", False),
        ("for one in eval_dataloader:\n    model(one).backward()\n", False),
        ("with torch.no_grad():\n    for one in val_batch['x']:\n        print(one)\n", False),
        ("if i == len(loader) - 1:\n    for one in dev:\n        print(model(one))\n", False),
        ("if (i + 1) % len(loader) == 0:\n    for one in dev:\n        print(model(one))\n", False),
        ("if i % (len(loader) // 4) == 0:\n    for one in dev:\n        print(model(one))\n", True),
    ],
)
def test_a_loop_that_trains_nothing(inside: str, told: bool) -> None:
    assert (inner_evaluation(of_steps(inside).body) is not None) is told


@pytest.mark.parametrize(
    ("before", "inside", "apart"),
    [
        ("model, loader, dev = accelerator.prepare(model, loader, dev)\n", "", False),
        ("model, loader = accelerator.prepare(model, loader)\n", "", True),
        ("", "", False),
        ("parts = accelerator.prepare(*parts)\n", "", False),
        (
            "model, loader, dev = accelerator.prepare(model, loader, dev)\n",
            "accelerator.gradient_state.end_of_dataloader = False\n",
            True,
        ),
        (
            "model, loader, dev = accelerator.prepare(model, loader, dev)\n",
            "accelerator.gradient_state._set_end_of_dataloader(False)\n",
            True,
        ),
    ],
)
def test_a_loader_of_an_evaluation_that_accelerate_does_not_know(before: str, inside: str, apart: bool) -> None:
    found = inner_evaluation(of_steps(f"for one in dev:\n    print(model(one))\n{inside}", before).body)
    assert found is not None
    assert found.apart is apart


@pytest.mark.parametrize(
    ("inside", "told"),
    [
        ("for one in dev:\n    a.gather_for_metrics(model(one))\n", False),
        ("a.gather_for_metrics(batch)\nfor one in dev:\n    print(model(one))\n", True),
        ("if i % 9 == 0:\n    for one in dev:\n        l.append(model(one))\n    a.gather_for_metrics(l)\n", False),
    ],
)
def test_what_is_gathered_of_steps(inside: str, told: bool) -> None:
    found = inner_evaluation(of_steps(inside).body)
    assert found is not None
    assert (found.gathers is not None) is told


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("@torch.no_grad()\ndef check(loader):\n    for one in loader:\n        print(model(one))\n", True),
        ("def check(dev):\n    with torch.no_grad():\n        for one in dev:\n            print(model(one))\n", True),
        ("@torch.no_grad()\ndef check(parts):\n    for one in parts:\n        print(one)\n", False),
        ("@torch.no_grad()\ndef check(loader):\n    for one in loader:\n        return model(one)\n", False),
        ("@torch.no_grad()\ndef check(batch):\n    for one in batch:\n        print(model(one))\n", False),
        ("def check(names):\n    for one in names:\n        print(one)\n", False),
    ],
)
def test_a_function_without_gradients(function: str, told: bool) -> None:
    assert (inner_evaluation(of_steps("check(one)\n", function).body) is not None) is told
