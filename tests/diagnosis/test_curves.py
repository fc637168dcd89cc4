"""Each detector on both sides of its threshold; healthy runs, real and made up, show nothing."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gradcompat.diagnosis.curves import Curves
from gradcompat.diagnosis.metrics import parse_line
from gradcompat.model.diagnosis import Observation
from gradcompat.model.environment import SettingValue
from tests.diagnosis import healthy_curves

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def observed(rows: Iterable[dict[str, float]], settings: dict[str, SettingValue] | None = None) -> list[Observation]:
    curves = Curves(settings)
    for line, row in enumerate(rows, 1):
        curves.add(row, line)
    return curves.observations()


def of_log(lines: Iterable[str]) -> list[Observation]:
    curves = Curves()
    for number, line in enumerate(lines, 1):
        values = parse_line(line)
        if values is not None:
            curves.add(values, number)
    return curves.observations()


def kinds(observations: list[Observation]) -> list[str]:
    return [one.kind for one in observations]


def healthy(steps: int = 30, **others: float) -> list[dict[str, float]]:
    """A run without a fault, whose values never repeat."""
    return [
        {
            "loss": 2.0 + math.sin(step) / 10 - step / 100,
            "grad_norm": 1.0 + math.cos(step) / 3,
            "learning_rate": 1e-4 * (1 - step / steps),
            "epoch": round(step / steps, 4),
            **others,
        }
        for step in range(1, steps + 1)
    ]


def changed(values: dict[int, dict[str, float]], steps: int = 30) -> list[dict[str, float]]:
    """That run with other values at some steps, which count from 1."""
    rows = healthy(steps)
    for step, others in values.items():
        rows[step - 1].update(others)
    return rows


def test_a_healthy_run() -> None:
    assert observed(healthy()) == []


# The loss


def test_a_hidden_nan() -> None:
    rows = changed({step: {"loss": 0.0, "grad_norm": math.nan} for step in range(11, 31)})
    assert observed(rows) == [
        Observation(
            kind="loss-zero",
            sentence="loss is exactly 0 in 20 of 30 steps, after 1.846",
            lines=(11, 12, 13),
            example=f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': {1e-4 * (1 - 11 / 30)!r}, 'epoch': 0.3667}}",
        ),
        Observation(
            kind="grad-norm-not-finite",
            sentence="grad_norm is nan in 20 of 30 steps",
            lines=(11, 12, 13),
            example=f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': {1e-4 * (1 - 11 / 30)!r}, 'epoch': 0.3667}}",
        ),
    ]


@pytest.mark.parametrize(
    ("norms", "found"),
    [
        ([math.nan], True),  # one is enough
        ([1.0, 1.0, 1.0], True),  # DeepSpeed 0.12
        ([0.0, 0.0], False),  # finite: no NaN
        ([None, None], True),  # older Trainers log none
        ([None], False),  # a batch without labels
        ([0.5, 0.7, 0.6], False),  # gradients flow: GRPO
    ],
)
def test_zeros_at_the_end(norms: list[float | None], found: bool) -> None:
    rows: list[dict[str, float]] = [{"loss": 1.5, "epoch": 0.1}, {"loss": 1.25, "epoch": 0.2}]
    for number, norm in enumerate(norms, 3):
        rows.append({"loss": 0.0, "epoch": number / 10} | ({} if norm is None else {"grad_norm": norm}))
    assert ("loss-zero" in kinds(observed(rows))) == found


@pytest.mark.parametrize(("zeros", "found"), [(2, False), (3, True)])
def test_zeros_in_the_middle(zeros: int, found: bool) -> None:
    rows = changed({step: {"loss": 0.0, "grad_norm": 0.0} for step in range(11, 11 + zeros)})
    assert kinds(observed(rows)) == (["loss-and-norm-zero"] if found else [])


@pytest.mark.parametrize(("before", "found"), [(0.009, False), (0.02, True)])
def test_a_loss_that_fades_is_rounded(before: float, found: bool) -> None:
    rows = [{"loss": loss} for loss in (0.5, 0.1, before, 0.0, 0.0, 0.0)]
    assert kinds(observed(rows)) == (["loss-zero"] if found else [])


def test_zeros_with_a_finite_norm_are_no_nan() -> None:
    (found,) = of_log(f'{{"loss": 0.0, "grad_norm": 0.0, "learning_rate": 5e-05, "epoch": 0.{n}}}' for n in (1, 2, 3))
    assert (found.kind, found.sentence, found.lines) == (
        "loss-and-norm-zero",
        "loss and grad_norm are exactly 0 in 3 of 3 steps",
        (1, 2, 3),
    )


def test_zeros_from_the_start_without_norms_say_little() -> None:
    assert kinds(observed([{"loss": 0.0, "epoch": step / 9} for step in range(9)])) == ["loss-zero-throughout"]


def test_nan_beside_zeros_is_evidence() -> None:
    rows = [{"loss": 0.0, "grad_norm": math.nan, "epoch": step / 9} for step in range(9)]
    assert kinds(observed(rows)) == ["loss-zero", "grad-norm-not-finite"]


def test_rewards_switch_no_detector_off() -> None:
    rows = [
        f"{{'loss': 0.{loss}, 'grad_norm': 0.0, 'learning_rate': 1e-06, 'rewards/chosen': 0.0, "
        f"'logps/chosen': -1{n}.0, 'epoch': 0.{n}}}"
        for loss in (6931, 0)
        for n in range(1, 6)
    ]
    (found,) = of_log(rows[:5])
    assert (found.kind, found.sentence) == ("grad-norm-zero", "grad_norm is exactly 0 in all 5 steps")
    assert kinds(of_log(rows[5:])) == ["grad-norm-zero"]
    assert of_log(rows[:4]) == []


def test_equal_rewards_are_no_nan() -> None:
    rows = [{"loss": 0.0, "grad_norm": 0.0, "other_objective": 1.0, "epoch": step / 9} for step in range(9)]
    assert kinds(observed(rows)) == ["grad-norm-zero"]
    assert kinds(observed([*rows, {"loss": 0.1, "grad_norm": 0.5, "other_objective": 1.0, "epoch": 1.0}])) == []
    assert "loss-zero" in kinds(observed([row | {"grad_norm": math.nan} for row in rows]))
    equal = observed([row | {"reward_std": 0.0} for row in rows])
    assert [(one.kind, one.sentence) for one in equal] == [
        ("rewards-equal", "reward_std and grad_norm are exactly 0 in all 9 steps")
    ]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_one_loss_that_is_not_finite(value: float) -> None:
    (found,) = observed(changed({7: {"loss": value}}))
    assert (found.kind, found.sentence, found.lines) == ("loss-not-finite", f"loss is {value} in 1 of 30 steps", (7,))


@pytest.mark.parametrize(
    ("first", "settings", "found"),
    [
        (17.0, {}, []),
        (18.0, {}, ["loss-too-high"]),
        (1400.0, {}, ["loss-too-high"]),
        (1600.0, {}, []),  # no cross entropy
        (13.65, {"training.gradient_accumulation_steps": 4}, ["loss-times-accumulation"]),
        (138.0, {"training.gradient_accumulation_steps": 32}, ["loss-times-accumulation"]),
        (138.0, {"training.gradient_accumulation_steps": 1}, ["loss-too-high"]),
        (138.0, {"training.gradient_accumulation_steps": 2}, ["loss-too-high"]),  # 69 is not plausible either
        (11.9, {"training.gradient_accumulation_steps": 4}, []),  # a new model
        (6.4, {"training.gradient_accumulation_steps": 2}, []),  # could be either
        (8.0, {"model.vocab_size": 64}, ["loss-too-high"]),
        (8.0, {"model.vocab_size": 32_000}, []),
    ],
)
def test_the_first_loss(first: float, settings: dict[str, SettingValue], found: list[str]) -> None:
    rows = [{"loss": first * factor, "epoch": number / 10} for number, factor in enumerate((1.0, 0.97, 0.95, 0.9))]
    assert kinds(observed(rows, settings)) == found


def test_the_loss_of_case_2() -> None:
    (found,) = observed([{"loss": 69.0}, {"loss": 66.0}], {"training.gradient_accumulation_steps": 16})
    assert found.sentence == (
        "the first loss is 69, which is implausible, "
        "and divided by the 16 micro-batches of a step it is a plausible 4.312"
    )


def test_a_loss_that_is_learnt_away_was_not_multiplied() -> None:
    """mT5 begins at 25 and is at 3 soon; the loss of LLaVA times 16 stays what it is."""
    falls = [{"loss": 2.5 + 23.0 * math.exp(-step / 4)} for step in range(60)]
    stays = [{"loss": 16 * (1.5 + 2.8 * math.exp(-step / 10))} for step in range(60)]
    assert observed(falls) == []
    assert observed(falls, {"training.gradient_accumulation_steps": 16}) == []
    assert kinds(observed(stays)) == ["loss-too-high"]
    assert kinds(observed(stays, {"training.gradient_accumulation_steps": 16})) == ["loss-times-accumulation"]


def test_a_bad_first_batch_is_no_high_loss() -> None:
    assert observed([{"loss": 30.0}, {"loss": 3.0}, {"loss": 2.9}]) == []


@pytest.mark.parametrize(
    ("steps", "row", "found"),
    [
        (19, {"loss": 1.2345, "learning_rate": 1e-4}, False),
        (20, {"loss": 1.2345, "learning_rate": 1e-4}, True),
        (49, {"loss": 1.2345}, False),
        (50, {"loss": 1.2345}, True),
        (199, {"loss": 0.693}, False),  # three digits are those of a progress bar
        (200, {"loss": 0.693}, True),
        (300, {"loss": 0.0051, "learning_rate": 1e-4}, False),  # rounded
        (300, {"loss": 0.6931, "other_objective": 1.0}, True),  # DPO that learns nothing
    ],
)
def test_a_loss_that_stays(steps: int, row: dict[str, float], found: bool) -> None:
    assert kinds(observed([row] * steps)) == (["loss-constant"] if found else [])


def test_a_warm_up_does_not_count_as_standing_still() -> None:
    rows = [{"loss": 0.6931, "learning_rate": 5e-7 * step / 100} for step in range(100)]
    assert observed(rows) == []


def epochs(means: Iterable[float], steps: int = 24) -> list[dict[str, float]]:
    return [
        {"loss": mean * (1 + math.sin(7 * step) / 10), "learning_rate": 1e-4, "epoch": round(epoch + step / steps, 4)}
        for epoch, mean in enumerate(means)
        for step in range(1, steps + 1)
    ]


def test_epochs_that_teach_nothing() -> None:
    same = sum(1 + math.sin(7 * step) / 10 for step in range(1, 25)) / 24
    assert kinds(observed(epochs((1.0, 1.0005, 1.001)))) == ["loss-constant"]
    assert same == pytest.approx(1.0, abs=0.02)
    assert observed(epochs((1.0, 1.0005))) == []
    assert observed(epochs((1.0, 0.98, 0.96))) == []
    assert observed(epochs((1.001, 1.0, 0.999))) == []  # it falls, slowly


# The gradient norm


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (range(1, 7), True),  # the first scales of fp16
        ((9, 20), True),
        ((30,), True),
        (range(1, 14), False),  # too many in a row
        ((29, 30), False),
        (range(2, 29, 2), False),  # too large a share
    ],
)
def test_an_overflow_now_and_then_is_harmless(steps: Iterable[int], found: bool) -> None:
    (one,) = observed(changed({step: {"grad_norm": math.inf} for step in steps}))
    assert (one.kind, one.harmless) == (("grad-norm-overflow", True) if found else ("grad-norm-not-finite", False))


def test_what_is_said_of_overflows() -> None:
    (one,) = observed(changed({3: {"grad_norm": math.inf}, 9: {"grad_norm": math.nan}}))
    assert (one.sentence, one.lines) == ("grad_norm is inf in 2 of 30 steps, each followed by finite ones", (3, 9))
    (one,) = observed(changed({3: {"grad_norm": math.inf}, 30: {"grad_norm": math.nan}}))
    assert one.sentence == "grad_norm is inf in 2 of 30 steps, the last among them"


def test_where_nothing_skips_a_step_no_overflow_is_harmless() -> None:
    rows = changed({3: {"grad_norm": math.nan}})
    assert kinds(observed(rows, {"precision.mode": "bf16"})) == ["grad-norm-not-finite"]
    assert kinds(observed(rows, {"precision.mode": "fp16"})) == ["grad-norm-overflow"]


@pytest.mark.parametrize(("steps", "found"), [(2, []), (3, ["grad-norm-zero"])])
def test_a_norm_of_zero(steps: int, found: list[str]) -> None:
    assert kinds(observed(changed({step: {"grad_norm": 0.0} for step in range(5, 5 + steps)}))) == found


def test_what_is_said_of_norms_that_stay() -> None:
    zeros = {step: {"grad_norm": 0.0} for step in (2, 3, 4, 8, 9, 10, 11)}
    same = {step: {"grad_norm": 0.8125} for step in range(17, 31)}
    assert [(one.sentence, one.lines) for one in observed(changed(zeros | same))] == [
        ("grad_norm is exactly 0 in 4 steps in a row, of 30", (8, 9, 10)),
        ("grad_norm is 0.8125 to the last digit in 14 steps in a row", (17, 18, 19)),
    ]


def test_no_gradient_where_there_is_nothing_to_learn() -> None:
    assert observed([{"loss": 0.001 * step, "grad_norm": 0.0} for step in range(1, 9)]) == []
    rows = [{"loss": 1.0 + step, "grad_norm": 0.0, "other_objective": 1.0} for step in range(9)]
    assert kinds(observed(rows)) == ["grad-norm-zero"]


@pytest.mark.parametrize(
    ("steps", "norm", "found"),
    [
        (range(27, 31), 0.8125, False),
        (range(26, 31), 0.8125, True),
        (range(10, 19), 0.8125, False),
        (range(10, 20), 0.8125, True),
        (range(10, 31), 1.0, False),  # after clipping: the loss moves
    ],
)
def test_a_constant_norm(steps: Iterable[int], norm: float, found: bool) -> None:
    rows = changed({step: {"grad_norm": norm} for step in steps})
    assert kinds(observed(rows)) == (["grad-norm-constant"] if found else [])


def test_the_nan_of_an_older_deepspeed() -> None:
    rows = changed({step: {"loss": 0.0, "grad_norm": 1.0} for step in range(11, 31)})
    assert [(one.kind, one.sentence) for one in observed(rows)] == [
        ("loss-zero", "loss is exactly 0 in 20 of 30 steps, after 1.846"),
        ("grad-norm-constant", "grad_norm is 1.0 to the last digit in 20 steps in a row"),
    ]


def test_a_tool_that_logs_micro_batches_prints_a_norm_several_times() -> None:
    rows = changed({step: {"grad_norm": 1.0 + (step // 6) / 7} for step in range(1, 31)})
    assert observed(rows) == []


@pytest.mark.parametrize(("spike", "found"), [(50.0, False), (200.0, True)])
def test_a_spike(spike: float, found: bool) -> None:
    observations = observed(changed({20: {"grad_norm": spike}}))
    assert [(one.kind, one.lines) for one in observations] == ([("grad-norm-spike", (20,))] if found else [])


def test_spikes_are_no_news_where_all_is_wild() -> None:
    rows = healthy(200)
    for step, row in enumerate(rows):
        row["grad_norm"] = 10 ** (3 * math.sin(1.7 * step))
    assert observed(rows) == []


# The run


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (range(1, 11), False),  # the steps that fp16 skips at the start
        (range(1, 12), True),
        (range(10, 14), False),
        (range(10, 15), True),
        (range(29, 31), False),  # the end of a decay
        (range(26, 31), True),
    ],
)
def test_a_learning_rate_of_zero(steps: Iterable[int], found: bool) -> None:
    rows = changed({step: {"learning_rate": 0.0} for step in steps})
    assert kinds(observed(rows)) == (["learning-rate-zero"] if found else [])


@pytest.mark.parametrize(
    ("norm", "steps", "kind", "harmless"),
    [
        (1.5, 2, "learning-rate-zero", False),
        (math.nan, 3, "learning-rate-still-zero", True),  # fp16 has skipped them
        (math.nan, 5, "learning-rate-zero", False),
    ],
)
def test_a_learning_rate_of_zero_on_every_line(norm: float, steps: int, kind: str, harmless: bool) -> None:
    rows = [{"loss": 2 - n / 9, "grad_norm": norm + n, "learning_rate": 0.0, "epoch": n / 9} for n in range(steps)]
    (found,) = [one for one in observed(rows) if "learning_rate" in one.sentence]
    assert (found.kind, found.harmless) == (kind, harmless)
    assert found.sentence == f"learning_rate is exactly 0 in all {steps} steps"
    assert not [one for one in observed(rows[:1]) if "learning_rate" in one.sentence]


def test_what_is_said_of_a_learning_rate_of_zero() -> None:
    zeros = {step: {"learning_rate": 0.0} for step in (*range(5, 11), *range(15, 20))}
    (one,) = observed(changed(zeros))
    assert (one.sentence, one.lines) == ("learning_rate is exactly 0 in 6 steps in a row, of 30", (5, 6, 7))


def test_a_loss_scale_that_collapses() -> None:
    scales = [{"loss_scale": 2.0**power} for power in range(15, -1, -1)]
    assert observed(scales[:-1]) == []
    (found,) = observed(scales)
    assert (found.kind, found.sentence, found.lines) == (
        "loss-scale-collapse",
        "the loss scale falls from 3.277e+04 to its minimum",
        (16,),
    )
    assert observed([{"loss_scale": 1.0, "loss": 1.0 + step, "step": step} for step in range(9)]) == []  # bf16


def test_a_tool_that_gives_up() -> None:
    (found,) = observed([{"loss_scale_minimum": 1.0}])
    assert found.sentence == "the loss scale falls to its minimum, where the tool gives up"


@pytest.mark.parametrize(("step", "skipped", "found"), [(10, 6, []), (100, 50, []), (100, 51, ["steps-skipped"])])
def test_skipped_steps(step: int, skipped: int, found: list[str]) -> None:
    assert kinds(observed([{"step": float(step), "skipped": float(skipped), "learning_rate": 1e-5}])) == found


def test_losses_that_come_again() -> None:
    once = healthy(12)
    again = [row | {"epoch": row["epoch"] + 1.0} for row in once]
    (found,) = observed(once + again)
    assert (found.kind, found.sentence, found.lines) == (
        "losses-repeat",
        "12 losses in a row are those of the beginning, to the last digit",
        (13, 14, 15),
    )
    assert observed(once + again[:7]) == []  # seven are too few


def test_a_run_that_is_started_again_is_another_run() -> None:
    assert observed(healthy() + healthy()) == []
    bad = changed({step: {"grad_norm": math.nan, "loss": 0.0} for step in range(20, 31)})
    assert [(one.kind, one.lines) for one in observed(bad + healthy())] == [
        ("loss-zero", (20, 21, 22)),
        ("grad-norm-not-finite", (20, 21, 22)),
    ]


def test_a_run_that_was_resumed() -> None:
    rows = healthy()
    (found,) = observed(rows[:20] + rows[14:])
    assert (found.kind, found.sentence, found.lines, found.harmless) == (
        "run-resumed",
        "the log goes back from epoch 0.6667 to 0.5",
        (21,),
        True,
    )


def test_an_epoch_that_falls_while_steps_rise_is_no_resumption() -> None:
    rows = [row | {"step": float(step)} for step, row in enumerate(healthy(), 1)]
    for row in rows[15:]:
        row["epoch"] = round(row["epoch"] - 0.4, 4)
    assert observed(rows) == []


def test_ranks_that_print_the_same_steps() -> None:
    rows = [row | {"step": float(step)} for step, row in enumerate(healthy(), 1)]
    assert observed([row for row in rows for _ in range(8)]) == []
    order = [index for start in range(0, 30, 2) for index in (start, start + 1, start, start + 1)]
    assert observed([rows[index] for index in order]) == []


# As a whole


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("trainer-4.57.6-healthy.log", []),
        ("trainer-5.23.0-healthy.log", []),
        ("lightning-2.6.6-bar.log", []),
        ("trainer-4.57.6-masked-nan.log", ["loss-zero", "grad-norm-not-finite"]),
        ("trainer-5.23.0-masked-nan.log", ["loss-zero", "grad-norm-not-finite"]),
        ("trainer-4.57.6-frozen.log", ["loss-constant"]),
    ],
)
def test_real_logs(name: str, found: list[str]) -> None:
    text = (LOGS / name).read_text("utf-8")
    assert kinds(of_log(text.replace("\r", "\n").split("\n"))) == found


def test_healthy_curves_of_many_kinds() -> None:
    """With 10,000 seeds there is one: a loss that stays where it is over three epochs."""
    alarms = [
        (seed, one.sentence) for seed in range(250) for one in of_log(healthy_curves.lines(seed)) if not one.harmless
    ]
    assert alarms == []


NUMBERS = st.floats() | st.sampled_from([0.0, -0.0, 1.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324])
ROWS = st.lists(
    st.dictionaries(
        st.sampled_from(
            ["loss", "grad_norm", "learning_rate", "epoch", "step", "loss_scale", "skipped", "loss_scale_minimum"]
        ),
        NUMBERS,
    ),
    max_size=40,
)


@given(ROWS)
def test_any_numbers_give_observations(rows: list[dict[str, float]]) -> None:
    found = kinds(observed(rows, {"training.gradient_accumulation_steps": 4}))
    assert len(found) == len(set(found))


def test_memory_does_not_grow() -> None:
    curves = Curves()
    rows = healthy(200)

    def size(value: object, seen: set[int]) -> int:
        if id(value) in seen or isinstance(value, type):
            return 0
        seen.add(id(value))
        inner = list(getattr(value, "__dict__", {}).values())
        inner += [getattr(value, name) for name in getattr(value, "__slots__", ()) if hasattr(value, name)]
        if isinstance(value, dict):
            inner += [*value.keys(), *value.values()]
        elif isinstance(value, Iterable) and not isinstance(value, str):
            inner += list(value)
        return sys.getsizeof(value) + sum(size(one, seen) for one in inner)

    sizes = []
    for round_ in range(20):
        for index, row in enumerate(rows):
            step = 200 * round_ + index
            curves.add(row | {"step": float(step), "epoch": step / 200, "loss": row["loss"] + step / 7}, step + 1)
        sizes.append(size(curves, set()))
    assert max(sizes[10:]) <= max(sizes[:10]) + 2_000


FEW_NORMS = st.lists(
    st.sampled_from([1.0, 1.5, 2.25]).flatmap(lambda norm: st.integers(1, 14).map(lambda n: [norm] * n))
)


@given(rows=FEW_NORMS, losses=st.lists(st.sampled_from([2.5, 2.75, 0.0]), min_size=1, max_size=3))
def test_rows_of_one_norm_are_those_that_a_plain_search_finds(rows: list[list[float]], losses: list[float]) -> None:
    norms = [norm for row in rows for norm in row]
    steps = [{"grad_norm": norm, "loss": losses[index % len(losses)]} for index, norm in enumerate(norms)]
    groups: list[tuple[float, list[int]]] = []
    for norm, group in groupby(range(len(norms)), key=norms.__getitem__):
        groups.append((norm, list(group)))
    plain = []
    if groups and sum(len(places) >= 3 for _, places in groups) < 2:
        norm, places = max(groups, key=lambda group: len(group[1]))
        positive = {losses[place % len(losses)] for place in places} - {0.0}
        needed = 5 if len(groups[-1][1]) == len(places) else 10
        if len(places) >= needed and not (norm == 1.0 and len(positive) > 1):
            plain.append((len(places), tuple(place + 1 for place in places[:3])))
    found = [one for one in observed(steps) if one.kind == "grad-norm-constant"]
    assert [(int(one.sentence.split()[-5]), one.lines) for one in found] == plain


@example(rows=[(2.0001, 1), (2.0, 59)], rate=True)
@given(
    rows=st.lists(st.tuples(st.sampled_from([2.0, 2.0001, 2.1234, 3.0]), st.integers(1, 60)), max_size=8),
    rate=st.booleans(),
)
def test_rows_of_one_loss_are_those_that_a_plain_search_finds(rows: list[tuple[float, int]], rate: bool) -> None:
    losses = [loss for loss, count in rows for _ in range(count)]
    best: tuple[int, tuple[int, ...]] | None = None
    start = 0
    for index, loss in enumerate(losses):
        if abs(loss - losses[start]) > 1e-3 * losses[start]:
            start = index
        row = losses[start : index + 1]
        needed = 200 if all(float(f"{one:.3g}") == one for one in row) else 20 if rate else 50
        if len(row) >= needed and (best is None or len(row) > best[0]):
            best = (len(row), tuple(range(start + 1, start + len(row) + 1))[:3])
    steps = [{"loss": loss, **({"learning_rate": 1e-5} if rate else {})} for loss in losses]
    found = [one for one in observed(steps) if one.kind == "loss-constant"]
    assert [(int(one.sentence.split(" for ")[1].split()[0]), one.lines) for one in found] == (
        [] if best is None else [best]
    )
