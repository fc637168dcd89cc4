"""What was measured of a training step: plain numbers, so that detectors need neither torch nor a device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class LossTerm:
    """One call of a loss function in one micro-batch.

    Attributes:
        function: its name in ``torch.nn.functional``.
        weight: with which the mean over its labels counts in the objective, after every scaling.
        labels: how many labels it averages over.
        mean: the mean loss of a label.
        uneven: its elements count with weights of their own (min-SNR, focal loss).
    """

    function: str
    weight: float
    labels: float
    mean: float
    uneven: bool = False


@dataclass(frozen=True)
class MicroBatch:
    """One backward pass: the loss it started from, without the factor of a GradScaler, and its terms."""

    loss: float
    terms: tuple[LossTerm, ...] = ()


@dataclass(frozen=True)
class RankShare:
    """What one rank contributes to the objective of a step.

    Attributes:
        first: sum over micro-batches of the weights of the first term.
        total: sum of the weights of all terms.
        labels: number of labels of the first term.
        loss: sum of the losses that backward started from.
        unexplained: the part of ``loss`` that no loss function accounts for.
        data: a digest of the first batch; 0 where there is none.
        parameters: a digest of sampled parameters after the step before.
        failing: this rank has a defect of its own.
    """

    first: float
    total: float
    labels: float
    loss: float
    unexplained: float = 0.0
    data: int = 0
    parameters: float = 0.0
    failing: bool = False


@dataclass(frozen=True)
class Replay:
    """The first micro-batch once more, alone.

    Attributes:
        loss: what it loses as a batch of its own.
        weight: of its first term; None where no loss function is called.
        unexplained: the part that no loss function accounts for.
        share: of its labels in all labels of the step; None if not known.
    """

    loss: float
    weight: float | None = None
    unexplained: float = 0.0
    share: float | None = None


@dataclass(frozen=True)
class GradientSample:
    """What the optimizer gets of one tensor, against what autograd delivered for it.

    Attributes:
        name: of the parameter.
        kept: the ratio; 1 if every micro-batch arrived and nothing was scaled.
        cosine: of the angle between the two.
    """

    name: str
    kept: float
    cosine: float


@dataclass(frozen=True)
class Clip:
    """One call that clips gradients.

    Attributes:
        by: the norm of all, or each value.
        parameters: numbers of the trainable parameters that it was given.
        backward: passes of this step before it.
        kept: of the gradients; 1 if they were below the limit.
        scale: factor of a GradScaler that was still in the gradients; 1 if there was none.
    """

    by: Literal["norm", "value"]
    parameters: frozenset[int]
    backward: int
    kept: float
    scale: float = 1.0


@dataclass(frozen=True)
class Gradients:
    """The gradients as the optimizer gets them.

    Attributes:
        trainable: number of trainable tensors.
        without_graph: those whose module ran with gradients disabled.
        cut_off: those whose module ran and that got no gradient.
        cut_off_share: of these in all trainable weights or tensors, whichever is more.
        zero: those whose gradient is exactly 0.
        norm: of all gradients together; None if they are not whole here.
        samples: a few tensors.
        leftover: gradients of the step before were still there when this one began.
        stale: those whose gradient is the one of an earlier step, which no backward pass of this one has reached; None
            where that is not known.
        partitioned: the samples were put together from partitions before anything was clipped, and the rest is unknown.
        flat: ranks have parts of one flat tensor (FSDP 1), of which the norm is known.
    """

    trainable: int
    without_graph: tuple[str, ...] = ()
    cut_off: tuple[str, ...] = ()
    cut_off_share: float = 0.0
    zero: tuple[str, ...] = ()
    norm: float | None = None
    samples: tuple[GradientSample, ...] = ()
    leftover: bool = False
    stale: tuple[str, ...] | None = ()
    partitioned: bool = False
    flat: bool = False


@dataclass(frozen=True)
class Batch:
    """What the first micro-batch says of labels and of packed samples.

    Attributes:
        offsets: share of the counted labels that equal the input token 0, 1 and 2 positions ahead; None if unknown.
        causal: the model predicts the next token.
        unlabelled: samples without a label that counts, and all samples.
        ends: rows that end with the end-of-sequence token, and how many of these leave just that label out.
        padding_labels: labels that count at padding positions.
        packed: several samples share a row, by ``position_ids``.
        mixes: attention lets a sample see the one before; None if no mask was seen.
        influence: of the first sample on logits of those behind it, as a share of their spread; None if not measured.
        problem: why it was asked for and could not be measured.
    """

    offsets: tuple[float, float, float] | None = None
    causal: bool = False
    unlabelled: tuple[int, int] = (0, 0)
    ends: tuple[int, int] = (0, 0)
    padding_labels: int = 0
    packed: bool = False
    mixes: bool | None = None
    influence: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Schedule:
    """What the schedulers of the learning rate ask of an optimizer step.

    Attributes:
        moves: of the scheduler that has moved most often since the step before.
        planned: rates of the parameter groups; empty where several schedulers drive them, or one says none.
        elsewhere: schedulers move, and all of them drive another optimizer.
        position: how often the only scheduler has moved since its training began; None if it does not say.
    """

    moves: int = 0
    planned: tuple[float, ...] = ()
    elsewhere: bool = False
    position: int | None = None


@dataclass(frozen=True)
class Step:
    """Everything measured of one optimizer step before its update.

    Attributes:
        number: from 1 on.
        micro_batches: the backward passes of this rank.
        ranks: what each rank contributes; one entry without data parallelism.
        accumulation: micro-batches that were asked for; None if nobody said.
        replay: where one was needed and possible.
        gradients: None where they cannot be read.
        max_grad_norm: clipping that was asked for; 0 if off, None if unknown.
        clips: calls that clip gradients, in their order.
        taken: optimizer steps that the framework counts before this one; None if nobody counts.
        rates: learning rates of the parameter groups.
        schedule: None if no scheduler has moved yet.
        loss_scale: factor of a GradScaler.
        evaluating: modules that act differently in training and are in evaluation mode, by class; None where no model
            was seen.
        batch: of the first micro-batch, in step 1.
        compiled: torch.compile has a part of the model.
        engine: of DeepSpeed, which may divide gradients behind the loss.
        resumed: where in its data the run goes on, in step 1; None if it is not resumed.
        repeats: the first batch is one that an earlier run began with; None if that is not known.
        apart: other ranks train with this one and do not answer.
    """

    number: int
    micro_batches: tuple[MicroBatch, ...]
    ranks: tuple[RankShare, ...]
    accumulation: int | None = None
    replay: Replay | None = None
    gradients: Gradients | None = None
    max_grad_norm: float | None = None
    clips: tuple[Clip, ...] = ()
    taken: int | None = None
    rates: tuple[float, ...] = ()
    schedule: Schedule | None = None
    loss_scale: float = 1.0
    evaluating: tuple[str, ...] | None = ()
    batch: Batch | None = None
    compiled: bool = False
    engine: bool = False
    resumed: Literal["inside an epoch", "somewhere"] | None = None
    repeats: bool | None = None
    apart: bool = False

    @property
    def facts(self) -> Mapping[str, bool]:
        """Settings that the step has decided, by the keys of the records."""
        if not self.terms:
            return {}
        counts = {micro.terms[0].labels for micro in self.micro_batches} | {
            rank.labels / len(self.micro_batches) for rank in self.ranks
        }
        return {"data.unequal_labels": len(counts) > 1}

    @property
    def first(self) -> float:
        """Weight of the first term, over all micro-batches, as the mean over ranks."""
        return sum(rank.first for rank in self.ranks) / len(self.ranks)

    @property
    def total(self) -> float:
        """Weight of all terms, as the mean over ranks."""
        return sum(rank.total for rank in self.ranks) / len(self.ranks)

    @property
    def loss(self) -> float:
        """What was trained on, as the mean over ranks."""
        return sum(rank.loss for rank in self.ranks) / len(self.ranks)

    @property
    def unexplained(self) -> float:
        """The part of the loss that no loss function accounts for, as the mean over ranks."""
        return sum(rank.unexplained for rank in self.ranks) / len(self.ranks)

    @property
    def terms(self) -> int:
        """Terms of a micro-batch; 0 if none was seen or their numbers differ."""
        counts = {len(micro.terms) for micro in self.micro_batches}
        return counts.pop() if len(counts) == 1 else 0

    @property
    def uneven(self) -> bool:
        """Whether elements of a first term count with weights of their own."""
        return any(micro.terms[0].uneven for micro in self.micro_batches if micro.terms)

    @property
    def finite(self) -> bool:
        """Whether every loss is a number."""
        return all(math.isfinite(micro.loss) for micro in self.micro_batches)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read back, against the model.

    Attributes:
        equal: parameters that are the same bit for bit.
        different: those that have other numbers, or another shape.
        missing: trainable ones that are not in it.
        cast: those whose numbers are the model's in another dtype.
        unknown: tensors of the file that have no name of the model.
    """

    equal: int = 0
    different: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    cast: tuple[str, ...] = ()
    unknown: int = 0


@dataclass(frozen=True)
class Run:
    """What is known when the last guarded step is over.

    Attributes:
        steps: all of them.
        optimizers: that have stepped.
        moved: parameters that moved in some step whose learning rate is not 0.
        still: those that did not.
        still_low_precision: those among them in bfloat16 or float16.
        unfounded: parameters that an optimizer has moved while they had no gradient.
        unheld: trainable parameters of the model that no optimizer holds.
        foreign: parameters of optimizers that no model has.
        held: parameters of the model that an optimizer holds.
        dtype_changed: parameters whose dtype is another one now.
        moments_changed: moments of the optimizer whose dtype is another one than it was or was saved in, each by how.
    """

    steps: tuple[Step, ...]
    optimizers: int = 1
    moved: int = 0
    still: tuple[str, ...] = ()
    still_low_precision: int = 0
    unfounded: tuple[str, ...] = ()
    unheld: tuple[str, ...] = ()
    foreign: int = 0
    held: int = 0
    dtype_changed: tuple[str, ...] = field(default=())
    moments_changed: tuple[str, ...] = ()


def sampled(sums: Sequence[float], gradients: Sequence[float], name: str) -> GradientSample | None:
    """Compare elements of a gradient with what autograd delivered for them; None if nothing was delivered."""
    delivered = math.sqrt(math.fsum(one * one for one in sums))
    if delivered == 0.0:
        return None
    product = math.fsum(one * other for one, other in zip(sums, gradients, strict=True))
    got = math.sqrt(math.fsum(one * one for one in gradients))
    return GradientSample(
        name=name,
        kept=product / delivered**2,
        cosine=product / (delivered * got) if got else 0.0,
    )
