"""Detectors that take stretches must see what they see step by step."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.diagnosis.curves import Curves
from gradcompat.diagnosis.stretches import Stretch, may_be_near
from gradcompat.model.environment import SettingValue
from tests.examples import examples

SETTINGS: list[dict[str, SettingValue]] = [
    {},
    {"training.gradient_accumulation_steps": 8, "precision.mode": "bf16"},
    {"model.vocab_size": 32_000},
]
CONSTANT = [{}, {"other_objective": 1.0}, {"grad_norm": math.nan}, {"loss": 0.0}, {"reward_std": 0.0}]


def columns(chance: random.Random) -> Iterator[tuple[dict[str, list[str]], dict[str, float]]]:
    """Stretches of a run with what detectors look for here and there."""
    digits, noise = chance.choice((1, 2, 3, 4, 12)), chance.choice((0.0, 1e-4, 1e-3, 0.1, 1.0))
    level, length = chance.choice((0.006, 0.5, 2.5, 14.0, 25.0, 160.0)), chance.choice((7, 100, 100_000))
    names = ["loss", *(name for name in ("grad_norm", "learning_rate", "epoch", "step") if chance.random() < 0.8)]
    if chance.random() < 0.2:
        names = [*names, "loss_scale", "skipped"]
    if chance.random() < 0.1:
        names.remove("loss")
    step = 0
    for _ in range(chance.randrange(1, 12)):
        found: dict[str, list[str]] = {name: [] for name in names}
        kept: dict[str, str] = {}
        constant = chance.choice(CONSTANT) if chance.random() < 0.2 else {}
        step = chance.choice((0, step // 2, step - 20)) if chance.random() < 0.15 else step
        sticks = chance.random() * (chance.random() < 0.4)
        for _ in range(chance.choice((1, 2, 15, 60, 150))):
            step += chance.random() > 0.003
            spike = 1000 if chance.random() < 0.004 else 1
            value = {
                "loss": f"{level * (1 + noise * chance.gauss(0, 1)):.{digits}f}",
                "grad_norm": f"{math.exp(noise * chance.gauss(0, 1)) * spike:.{digits}f}",
                "learning_rate": f"{max(0.0, 1e-4 - step * 1e-7):.8f}",
                "epoch": f"{step / length:.3f}",
                "step": str(step),
                "loss_scale": str(chance.choice((65536.0, 65536.0, 32768.0, 1.0))),
                "skipped": str(step // chance.choice((2, 100, 1000)) if chance.random() < 0.01 else step // 500),
            }
            for name, written in found.items():
                if chance.random() < 0.002:
                    value[name] = "0.0"
                if chance.random() < sticks:
                    value[name] = kept.get(name, value[name])
                kept[name] = value[name]
                written.append(value[name])
        numbers = {name: texts for name, texts in found.items() if name not in constant}
        if numbers:
            yield numbers, constant


@pytest.mark.parametrize("known", SETTINGS)
@settings(max_examples=examples(200))
@given(seed=st.integers(0, 10**9))
def test_stretches_show_what_their_steps_show(known: dict[str, SettingValue], seed: int) -> None:
    one_by_one, together = Curves(known), Curves(known)
    line = 1
    for found, constant in columns(random.Random(seed)):  # noqa: S311 - no secret
        written = {name: [text.encode() for text in texts] for name, texts in found.items()}
        stretch = Stretch(written, constant, line.__add__, len(next(iter(found.values()))))
        together.add_stretch(stretch)
        for index in range(len(stretch)):
            values = {name: float(texts[index]) for name, texts in found.items()}
            one_by_one.add({**values, **constant}, line + index)
        line += len(stretch)
        assert together.observations() == one_by_one.observations()


@given(st.lists(st.sampled_from([1.0, 1.1, 1.2, 5.0, 9.0]), min_size=1, max_size=60), st.integers(2, 20))
def test_neighbours_that_are_near_are_never_missed(values: list[float], count: int) -> None:
    windows = [values[index : index + count] for index in range(max(1, len(values) - count + 1))]
    near = any(max(window) - min(window) <= 0.25 for window in windows)
    assert may_be_near(values, 0.25, count) >= near


def test_values_that_jump_are_not_near() -> None:
    assert not may_be_near([1.0, 5.0] * 3 + [1.0] * 5 + [5.0, 1.0, 9.0] * 30, 0.25, 20)


def test_numbers_stay_as_they_were_written_until_they_are_needed() -> None:
    stretch = Stretch({"learning_rate": [b"4.5e-05", b"not read"]}, {}, int, 2)
    assert not stretch.has_zero("learning_rate")
    assert stretch.value("learning_rate", 0) == 4.5e-05


def test_steps_come_in_their_order_whichever_was_asked_for_first() -> None:
    stretch = Stretch({"loss": [b"1.5", b"2.5", b"3.5"]}, {}, (7).__add__, 3)
    assert [stretch.step(index).line for index in (2, 0, 1)] == [9, 7, 8]
    assert [step.loss for step in stretch.steps()] == [1.5, 2.5, 3.5]


def test_a_norm_that_stays_after_its_only_change() -> None:
    norms = [b"0.5", b"0.25", *[b"0.375"] * 12]
    for start in (0, 1):
        curves = Curves()
        curves.add_stretch(Stretch({"grad_norm": norms[start:]}, {}, int, len(norms) - start))
        assert [(one.kind, one.sentence) for one in curves.observations()] == [
            ("grad-norm-constant", "grad_norm is 0.375 to the last digit in 12 steps in a row")
        ]
