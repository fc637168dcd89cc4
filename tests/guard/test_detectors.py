"""Every detector over plain measurements: what it finds, what it verifies, and where it says that it cannot."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from gradcompat.guard.detectors import (
    RUN_DETECTORS,
    STEP_DETECTORS,
    accumulated_gradient,
    auxiliary_loss,
    clipping,
    data_type,
    evaluation_mode,
    finite_loss,
    labels,
    learning_rate,
    logged_loss,
    missing_gradient,
    movement,
    objective_weight,
    optimizer_parameters,
    packing,
    replicas,
    resumed_data,
    stale_gradient,
    token_weights,
)
from gradcompat.guard.findings import Finding, Outcome, Unverified, Verified
from gradcompat.guard.measurement import (
    Batch,
    Clip,
    Gradients,
    LossTerm,
    MicroBatch,
    RankShare,
    Replay,
    Run,
    Schedule,
    Step,
    sampled,
)
from tests.guard.steps import gradients, step


def told(outcomes: object) -> list[tuple[str, str]]:
    """Detector and level of each finding."""
    return [(one.detector, one.level) for one in as_list(outcomes) if isinstance(one, Finding)]


def as_list(outcomes: object) -> list[Outcome]:
    return list(outcomes)  # type: ignore[call-overload, no-any-return]


def test_weights_that_add_up_to_one_are_verified() -> None:
    assert as_list(objective_weight.judge(step(0.25, 0.25, 0.25, 0.25, accumulation=4), ())) == [
        Verified("objective weight")
    ]


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ((1.0,) * 4, "4 times too large (gradient_accumulation_steps): their weight is 4, 1 is right"),
        ((1 / 16,) * 4, "4 times too small (gradient_accumulation_steps): their weight is 0.25, 1 is right"),
        ((4.0,) * 4, "16 times too large (gradient_accumulation_steps squared): their weight is 16, 1 is right"),
    ],
)
def test_a_factor_of_the_accumulation_is_an_error(weights: tuple[float, ...], text: str) -> None:
    (found,) = as_list(objective_weight.judge(step(*weights, accumulation=4), ()))
    assert isinstance(found, Finding)
    assert (found.level, found.text) == ("error", f"the gradients of step 1 are {text}")


def test_a_factor_of_the_ranks_is_named() -> None:
    share = RankShare(first=2.0, total=2.0, labels=10.0, loss=4.0)
    (found,) = as_list(objective_weight.judge(step(2.0, accumulation=1, ranks=(share, share)), ()))
    assert isinstance(found, Finding)
    assert "the number of processes" in found.text


def test_unequal_ranks_are_judged_by_their_mean() -> None:
    """Each rank divides by the labels of all ranks: their shares differ, and their mean is 1."""
    ranks = tuple(RankShare(first=one, total=one, labels=10 * one, loss=one) for one in (0.5, 1.5))
    judged = step(0.5, accumulation=1, ranks=ranks)
    assert told(objective_weight.judge(judged, ())) == []
    assert told(token_weights.judge(judged, ())) == []


def test_a_loss_that_is_weighted_on_purpose_is_told_from_a_defect_by_a_replay() -> None:
    half = step(0.125, 0.125, 0.125, 0.125, accumulation=4)
    assert told(objective_weight.judge(replace(half, replay=Replay(loss=1.0, weight=0.5)), ())) == []
    twice = step(0.5, 0.5, 0.5, 0.5, accumulation=4)
    assert told(objective_weight.judge(replace(twice, replay=Replay(loss=1.0, weight=0.5)), ())) == [
        ("objective weight", "error")
    ]


def test_two_halves_of_a_loss_are_a_whole() -> None:
    terms = (LossTerm("cross_entropy", 0.5, 10, 2.0), LossTerm("cross_entropy", 0.5, 10, 2.0))
    share = RankShare(first=0.5, total=1.0, labels=10.0, loss=2.0)
    judged = replace(step(1.0), micro_batches=(MicroBatch(2.0, terms),), ranks=(share,))
    assert told(objective_weight.judge(judged, ())) == []


def test_without_a_loss_function_the_loss_of_a_replay_decides() -> None:
    silent = replace(step(1.0, 1.0, 1.0, 1.0, accumulation=4), micro_batches=(MicroBatch(2.0),) * 4)
    assert as_list(objective_weight.judge(silent, ())) == [
        Unverified("objective weight", "no loss function of torch was called (fused or hand-written loss)")
    ]
    assert told(objective_weight.judge(replace(silent, replay=Replay(loss=8.0)), ())) == []
    assert told(objective_weight.judge(replace(silent, replay=Replay(loss=8.0, share=0.25)), ())) == []
    assert told(objective_weight.judge(replace(silent, replay=Replay(loss=2.0)), ())) == [("objective weight", "error")]


def test_several_backward_passes_of_a_loop_are_no_accumulation_until_all_steps_say_so() -> None:
    """The critic of a GAN calls backward twice; its optimizers are two."""
    alone = step(1.0, 1.0)
    assert told(objective_weight.judge(alone, ())) == []
    assert told(objective_weight.judge_run(Run(steps=(alone, alone)))) == [("objective weight", "warning")]
    assert told(objective_weight.judge_run(Run(steps=(alone, alone), optimizers=2))) == []
    assert told(objective_weight.judge_run(Run(steps=(alone, step(1.0))))) == []


def test_the_tail_of_an_epoch_is_a_note_and_a_step_on_every_micro_batch_an_error() -> None:
    first = step(0.25, accumulation=4)
    assert told(objective_weight.judge(first, ())) == [("objective weight", "note")]
    assert told(objective_weight.judge(step(0.25, accumulation=4, number=2), (first,))) == [
        ("objective weight", "error")
    ]


UNEQUAL = replace(
    step(0.25),
    micro_batches=tuple(MicroBatch(0.5, (LossTerm("cross_entropy", 0.25, count, 2.0),)) for count in (2, 10)),
)


def test_means_of_unequal_micro_batches_weigh_labels_unequally() -> None:
    assert told(token_weights.judge(UNEQUAL, ())) == [("token weights", "warning")]
    assert as_list(token_weights.judge(step(0.5, 0.5), ())) == [Verified("token weights")]


@pytest.mark.parametrize(
    ("first", "share", "outcome"), [(0.4, 0.4, Verified), (0.25, 0.4, Finding), (0.25, 0.25, Verified)]
)
def test_a_mean_of_means_without_a_loss_function(first: float, share: float, outcome: type) -> None:
    """Alone it loses 2; in the step of four it is divided by four, or by the labels of all."""
    micro = (MicroBatch(2.0 * first), *(MicroBatch(0.5),) * 3)
    measured = step(1.0, micro_batches=micro, replay=Replay(loss=2.0, share=share))
    found = as_list(objective_weight.judge(measured, ()))
    assert [type(one) for one in found] == [Verified, outcome]


def test_a_step_says_whether_its_labels_are_unequal() -> None:
    assert step(0.5, 0.5).facts == {"data.unequal_labels": False}
    assert step(0.5, 0.5, micro_batches=UNEQUAL.micro_batches).facts == {"data.unequal_labels": True}
    assert step(1.0, micro_batches=(MicroBatch(1.0),)).facts == {}


def test_samples_that_are_weighted_one_by_one_are_not_judged_but_for_a_factor() -> None:
    def measured(*weights: float) -> Step:
        terms = [LossTerm("mse_loss", weight, 10.0, 2.0, uneven=True) for weight in weights]
        return replace(step(*weights, accumulation=2), micro_batches=tuple(MicroBatch(1.0, (one,)) for one in terms))

    assert as_list(objective_weight.judge(measured(0.4, 0.42), ())) == [
        Unverified("objective weight", "samples are weighted one by one")
    ]
    assert told(objective_weight.judge(measured(1.0, 1.0), ())) == [("objective weight", "error")]
    assert as_list(token_weights.judge(measured(0.2, 0.8), ())) == [
        Unverified("token weights", "samples are weighted one by one")
    ]


def test_a_compiled_loss_is_said_to_be_one() -> None:
    micro = (MicroBatch(1.0),)
    for compiled, said in ((True, "torch.compile computes it"), (False, "fused or hand-written loss")):
        found = as_list(objective_weight.judge(step(1.0, micro_batches=micro, compiled=compiled), ()))
        assert found == [Unverified("objective weight", f"no loss function of torch was called ({said})")]


@pytest.mark.parametrize(("unexplained", "level"), [(0.4, "error"), (0.1, None)])
def test_an_added_loss_counts_once(unexplained: float, level: str | None) -> None:
    share = RankShare(first=1.0, total=1.0, labels=40.0, loss=2.0 + unexplained, unexplained=unexplained)
    replay = Replay(loss=2.1, weight=1.0, unexplained=0.1)
    judged = step(0.25, 0.25, 0.25, 0.25, accumulation=4, ranks=(share,), replay=replay)
    assert [found for _, found in told(auxiliary_loss.judge(judged, ()))] == ([level] if level else [])


def test_an_added_loss_that_cannot_be_replayed_is_not_verified() -> None:
    share = RankShare(first=1.0, total=1.0, labels=10.0, loss=2.5, unexplained=0.5)
    (found,) = as_list(auxiliary_loss.judge(step(1.0, ranks=(share,)), ()))
    assert isinstance(found, Unverified)


def test_a_loss_or_a_gradient_that_is_no_number() -> None:
    assert told(finite_loss.judge(step(math.nan), ())) == [("finite loss", "error")]
    assert told(finite_loss.judge(step(math.inf, 1.0), ())) == [("finite loss", "error")]
    judged = step(1.0, gradients=gradients(1.0, norm=math.inf))
    assert told(finite_loss.judge(judged, ())) == [("finite loss", "error")]
    assert told(finite_loss.judge(step(1.0), ())) == []


def test_gradients_that_do_not_arrive() -> None:
    graphless = Gradients(trainable=20, without_graph=("a",), norm=1.0)
    assert told(missing_gradient.judge(step(1.0, gradients=graphless), ())) == [("missing gradient", "error")]
    cut = Gradients(trainable=20, cut_off=("a",), cut_off_share=0.05, norm=1.0)
    assert told(missing_gradient.judge(step(1.0, gradients=cut), ())) == [("missing gradient", "note")]
    most = replace(cut, cut_off_share=0.6)
    assert told(missing_gradient.judge(step(1.0, gradients=most), ())) == [("missing gradient", "error")]
    zero = Gradients(trainable=2, zero=("a", "b"), norm=0.0)
    assert told(missing_gradient.judge(step(1.0, gradients=zero), ())) == [("missing gradient", "error")]
    (unread,) = as_list(missing_gradient.judge(step(1.0), ()))
    assert isinstance(unread, Unverified)


@pytest.mark.parametrize(
    ("kept", "cosine", "limit", "wrong"),
    [
        ((1.0, 1.0), 1.0, 0.0, False),
        ((0.1, 0.1), 1.0, None, False),  # a loop may clip, and says so to nobody
        ((0.1, 0.1), 1.0, 0.0, True),
        ((0.1, 0.1), 1.0, 1.0, False),  # the norm is at the limit
        ((0.1, 0.1), 1.0, 5.0, True),  # nothing was clipped
        ((0.5, 1.0), 1.0, 1.0, True),
        ((1.0, 1.0), 0.7, None, True),
        ((2.0, 2.0), 1.0, None, True),
    ],
)
def test_the_optimizer_gets_what_was_delivered(
    kept: tuple[float, ...], cosine: float, limit: float | None, wrong: bool
) -> None:
    judged = step(1.0, gradients=gradients(*kept, cosine=cosine), max_grad_norm=limit)
    assert bool(told(accumulated_gradient.judge(judged, ()))) is wrong


def test_what_was_put_together_from_partitions_is_not_clipped_yet() -> None:
    for kept, wrong in ((1.0, False), (0.25, True)):
        parts = gradients(kept, norm=None, partitioned=True)
        assert bool(told(accumulated_gradient.judge(step(1.0, gradients=parts), ()))) is wrong
        (unread,) = as_list(missing_gradient.judge(step(1.0, gradients=parts), ()))
        assert isinstance(unread, Unverified)
        assert as_list(clipping.judge(step(1.0, gradients=parts, max_grad_norm=1.0), ())) == [
            Unverified("clipping", "the norm of all gradients cannot be read (DeepSpeed)")
        ]
        assert as_list(clipping.judge(step(1.0, gradients=parts, max_grad_norm=0.0), ())) == []


def test_a_scale_that_is_still_in_the_gradients_is_named() -> None:
    judged = step(1.0, gradients=gradients(65536.0), loss_scale=65536.0)
    (found,) = as_list(accumulated_gradient.judge(judged, ()))
    assert isinstance(found, Finding)
    assert "GradScaler" in found.text


def test_clipping_that_did_not_happen() -> None:
    assert told(clipping.judge(step(1.0, gradients=gradients(1.0, norm=3.0), max_grad_norm=1.0), ())) == [
        ("clipping", "error")
    ]
    assert told(clipping.judge(step(1.0, gradients=gradients(1.0, norm=1.0), max_grad_norm=1.0), ())) == []
    assert as_list(clipping.judge(step(1.0, gradients=gradients(1.0, norm=3.0), max_grad_norm=0.0), ())) == []


@pytest.mark.parametrize(
    ("batch", "level"),
    [
        (Batch(offsets=(0.0, 1.0, 0.0), causal=True), None),
        (Batch(offsets=(0.0, 0.1, 1.0), causal=True), "error"),
        (Batch(offsets=(1.0, 0.1, 0.0), causal=True), "error"),
        (Batch(offsets=(1.0, 1.0, 1.0), causal=True), None),  # one token over and over
        (Batch(offsets=(1.0, 0.1, 0.0), causal=False), None),
        (Batch(unlabelled=(2, 2)), "error"),
        (Batch(unlabelled=(1, 2)), "warning"),
        (Batch(ends=(2, 2)), "error"),
        (Batch(ends=(2, 1)), None),
        (Batch(padding_labels=3), "warning"),
    ],
)
def test_labels(batch: Batch, level: str | None) -> None:
    found = told(labels.judge(step(1.0, batch=batch), ()))
    assert found == ([("labels", level)] if level else [])


@pytest.mark.parametrize(("mixes", "outcome"), [(True, Finding), (False, Verified), (None, Unverified)])
def test_packed_samples(mixes: bool | None, outcome: type) -> None:
    (found,) = as_list(packing.judge(step(1.0, batch=Batch(packed=True, mixes=mixes)), ()))
    assert isinstance(found, outcome)


@pytest.mark.parametrize(
    ("influence", "mixes", "outcome"), [(0.2, False, Finding), (0.0, True, Verified), (5e-4, None, Verified)]
)
def test_a_test_by_forward_passes_counts_more_than_a_mask(influence: float, mixes: bool | None, outcome: type) -> None:
    batch = Batch(packed=True, mixes=mixes, influence=influence)
    (found,) = as_list(packing.judge(step(1.0, batch=batch), ()))
    assert isinstance(found, outcome)


def test_a_test_by_forward_passes_that_is_not_possible_is_said() -> None:
    batch = Batch(packed=True, mixes=False, problem="the model gives no logits of tokens")
    assert as_list(packing.judge(step(1.0, batch=batch), ())) == [
        Unverified("packing, by forward passes", "the model gives no logits of tokens"),
        Verified("packing"),
    ]


def test_evaluation_mode_in_training() -> None:
    assert told(evaluation_mode.judge(step(1.0, evaluating=("Dropout",)), ())) == [("evaluation mode", "warning")]
    assert as_list(evaluation_mode.judge(step(1.0, evaluating=None), ())) == []


def test_replicas_that_differ_and_data_that_repeat() -> None:
    ranks = (
        RankShare(first=1, total=1, labels=1, loss=1, data=5, parameters=1.0),
        RankShare(first=1, total=1, labels=1, loss=1, data=6, parameters=1.5),
    )
    assert told(replicas.judge(step(1.0, ranks=ranks), ())) == [("replicas", "error")]
    repeated = tuple(replace(one, data=5, parameters=1.0) for one in ranks)
    assert told(replicas.judge(step(1.0, ranks=repeated), ())) == [("replicas", "warning")]
    assert as_list(replicas.judge(step(1.0), ())) == []


@pytest.mark.parametrize(
    ("resumed", "repeats", "outcome"),
    [
        (None, True, None),
        ("inside an epoch", None, Unverified),
        ("inside an epoch", False, Verified),
        ("inside an epoch", True, "warning"),
        ("somewhere", True, "note"),
    ],
)
def test_a_resumed_run_does_not_begin_again(resumed: Any, repeats: bool | None, outcome: object) -> None:
    found = as_list(resumed_data.judge(step(1.0, resumed=resumed, repeats=repeats), ()))
    assert [one.level if isinstance(one, Finding) else type(one) for one in found] == ([outcome] if outcome else [])


@pytest.mark.parametrize(
    ("clips", "accumulation", "outcome"),
    [
        ([("norm", 0, 4, 0.5)], 4, Verified),
        ([("norm", 0, 4, 0.5), ("norm", 0, 4, 0.5)], 4, "warning"),
        ([("norm", 0, 4, 0.5), ("norm", 0, 4, 1.0)], 4, Verified),  # the second one changes nothing
        ([("norm", 0, 1, 0.5), ("norm", 0, 2, 0.5)], 4, "error"),
        ([("norm", 0, 1, 0.5), ("norm", 0, 2, 0.5)], None, "warning"),
        ([("norm", 0, 1, 0.5), ("norm", 1, 1, 0.5)], None, Verified),  # groups
        ([("value", 0, 1, 0.5), ("norm", 0, 1, 0.5)], None, Verified),
        ([("norm", 0, 1, 1.0)], None, None),
    ],
)
def test_clipping_once(clips: list[Any], accumulation: int | None, outcome: object) -> None:
    calls = tuple(Clip(by, frozenset({group}), backward, kept) for by, group, backward, kept in clips)
    found = as_list(clipping.judge(step(1.0, clips=calls, accumulation=accumulation), ()))
    assert [one.level if isinstance(one, Finding) else type(one) for one in found] == ([outcome] if outcome else [])


def test_clipping_before_the_factor_of_the_scaler_is_out() -> None:
    (found,) = as_list(clipping.judge(step(1.0, clips=(Clip("norm", frozenset({0}), 1, 0.5, scale=65536.0),)), ()))
    assert isinstance(found, Finding)
    assert "scaler.unscale_(optimizer)" in found.text
    assert as_list(clipping.judge(step(1.0, clips=(Clip("norm", frozenset({0}), 1, 1.0, scale=65536.0),)), ())) == []


def test_a_gradient_of_an_earlier_step() -> None:
    old = gradients(1.0, stale=("weight.0",))
    assert told(stale_gradient.judge(step(1.0, gradients=old), ())) == [("stale gradient", "error")]
    assert as_list(stale_gradient.judge(step(1.0, gradients=gradients(1.0)), ())) == [Verified("stale gradient")]
    assert as_list(stale_gradient.judge(step(1.0), ())) == []


def test_parameters_that_move_without_a_gradient() -> None:
    (found,) = as_list(movement.judge_run(Run(steps=(step(1.0),), moved=3, unfounded=("a",))))
    assert isinstance(found, Finding)
    assert (found.level, found.text) == (
        "warning",
        "1 tensor has no gradient and moves in the step of the optimizer, a first",
    )


@pytest.mark.parametrize(("parameters", "wrong"), [((1.0, 1.0), []), ((1.0, 1.001), [("replicas", "error")])])
def test_replicas_after_the_last_step(parameters: tuple[float, ...], wrong: list[tuple[str, str]]) -> None:
    assert told(replicas.judge_end(parameters, 2)) == wrong


def test_a_finding_brings_the_settings_that_it_has_measured() -> None:
    (packed,) = as_list(packing.judge(step(1.0, batch=Batch(packed=True, mixes=True)), ()))
    (unequal,) = as_list(token_weights.judge(UNEQUAL, ()))
    replayed = step(1.0, 1.0, accumulation=2, replay=Replay(loss=2.0, weight=1.0))
    (undivided,) = as_list(objective_weight.judge(replayed, ()))
    assert [one.facts for one in (packed, unequal, undivided) if isinstance(one, Finding)] == [
        {"training.packing": True},
        {"data.unequal_labels": True},
        {"model.uses_num_items_in_batch": False},
    ]


def test_parameters_that_do_not_move() -> None:
    assert told(movement.judge_run(Run(steps=(step(1.0),), moved=0, still=("a",)))) == [("movement", "error")]
    assert told(movement.judge_run(Run(steps=(step(1.0),), moved=3, still=("a",)))) == [("movement", "note")]
    assert told(movement.judge_run(Run(steps=(step(1.0),), moved=1, still=("a", "b")))) == [("movement", "warning")]
    assert as_list(movement.judge_run(Run(steps=(step(1.0),), moved=1))) == [Verified("movement")]
    (unseen,) = as_list(movement.judge_run(Run(steps=(step(1.0, rates=(0.1,)),))))
    assert isinstance(unseen, Unverified)
    assert as_list(movement.judge_run(Run(steps=(step(1.0, rates=(0.0,)),)))) == []


def test_parameters_that_no_optimizer_holds() -> None:
    assert told(optimizer_parameters.judge_run(Run(steps=(), held=2, unheld=("a",)))) == [
        ("optimizer parameters", "warning")
    ]
    assert told(optimizer_parameters.judge_run(Run(steps=(), held=2, unheld=("a",), foreign=1))) == [
        ("optimizer parameters", "error")
    ]
    (flat,) = as_list(optimizer_parameters.judge_run(Run(steps=(), unheld=("a",))))
    assert isinstance(flat, Unverified)


def test_the_first_step_of_a_warm_up_may_have_the_rate_zero() -> None:
    warm = (step(1.0, rates=(0.0,)), step(1.0, rates=(1e-4,)))
    assert told(learning_rate.judge_run(Run(steps=warm))) == []
    assert told(learning_rate.judge_run(Run(steps=(warm[0], warm[0])))) == [("learning rate", "warning")]
    assert as_list(learning_rate.judge_run(Run(steps=warm))) == [Verified("learning rate")]


def scheduled(number: int, moves: int = 1, planned: tuple[float, ...] = (0.1,), **other: Any) -> Step:
    rates = other.pop("rates", (0.1,))
    return step(1.0, number=number, rates=rates, schedule=Schedule(moves=moves, planned=planned, **other))


@pytest.mark.parametrize(
    ("steps", "outcome"),
    [
        ((scheduled(1, 0), scheduled(2)), Verified),
        ((scheduled(1, 2), scheduled(2)), Verified),  # made and moved before the first step
        ((scheduled(1, 0), scheduled(2, 0)), Verified),  # a schedule of epochs
        ((scheduled(1, 0), scheduled(2, 4)), "warning"),
        ((scheduled(1, 0), scheduled(2, 4), scheduled(3, 1)), Verified),  # now and then: what resumes it
        ((scheduled(1, planned=()), scheduled(2, planned=())), Verified),
        ((scheduled(1, rates=(0.2,)), scheduled(2)), "warning"),
        ((scheduled(1, rates=(0.01,)), scheduled(2)), "note"),  # a warm-up by hand
        ((scheduled(1, rates=(0.1, 0.3), planned=(0.1, 0.1)), scheduled(2)), "warning"),
        ((scheduled(1, elsewhere=True), scheduled(2, 0, (), elsewhere=True)), "warning"),
    ],
)
def test_the_learning_rate_is_that_of_the_schedule(steps: tuple[Step, ...], outcome: object) -> None:
    found = as_list(learning_rate.judge_run(Run(steps=steps)))
    assert [one.level if isinstance(one, Finding) else type(one) for one in found] == [outcome]


@pytest.mark.parametrize(
    ("resumed", "position", "outcome"),
    [
        (0, 0, Verified),
        (100, 100, Verified),
        (100, 97, Verified),  # fp16 has skipped steps
        (100, 0, "warning"),
        (100, 200, "warning"),
        (100, None, Verified),
    ],
)
def test_the_schedule_of_a_resumed_run_goes_on(resumed: int, position: int | None, outcome: object) -> None:
    steps = tuple(
        replace(
            scheduled(number, number - 1, position=None if position is None else position + number - 1),
            taken=resumed + number - 1,
        )
        for number in (1, 2)
    )
    found = as_list(learning_rate.judge_run(Run(steps=steps)))
    assert [one.level if isinstance(one, Finding) else type(one) for one in found] == [outcome]


def test_the_scheduler_of_accelerate_moves_once_for_each_process() -> None:
    ranks = (RankShare(first=1.0, total=1.0, labels=10.0, loss=2.0),) * 2
    steps = tuple(replace(scheduled(number, 2), ranks=ranks) for number in (1, 2))
    assert as_list(learning_rate.judge_run(Run(steps=steps))) == [Verified("learning rate")]


def test_a_dtype_that_changes() -> None:
    assert told(data_type.judge_run(Run(steps=(), dtype_changed=("a",)))) == [("dtype", "warning")]
    (found,) = as_list(data_type.judge_run(Run(steps=(), moments_changed=("float32 to bfloat16",) * 2)))
    assert isinstance(found, Finding)
    assert found.text == "2 moments of the optimizer have changed their dtype (float32 to bfloat16)"
    assert as_list(data_type.judge_run(Run(steps=()))) == [Verified("dtype")]


@pytest.mark.parametrize(
    ("logged", "trained", "wrong"),
    [(8.0, [2.0], True), (0.5, [2.0], True), (2.01, [2.0], False), (3.0, [2.0, 4.0], False), (0.0, [math.nan], True)],
)
def test_the_log_shows_what_was_trained(logged: float, trained: list[float], wrong: bool) -> None:
    assert bool(told(logged_loss.judge_log(logged, trained, 4))) is wrong


def test_samples_of_gradients_are_compared() -> None:
    found = sampled([1.0, 2.0], [2.0, 4.0], "weight")
    assert found is not None
    assert found.kept == pytest.approx(2.0)
    assert found.cosine == pytest.approx(1.0)
    assert sampled([0.0, 0.0], [1.0, 1.0], "weight") is None


def test_every_detector_takes_a_step_of_which_little_is_known() -> None:
    for judge in STEP_DETECTORS.values():
        assert told(judge(step(1.0), ())) == []
    for judge_run in RUN_DETECTORS.values():
        assert told(judge_run(Run(steps=()))) == []
