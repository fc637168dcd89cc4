"""Detectors that look at the loss: not finite, exactly zero, implausible at the start, never moving."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from statistics import median

from gradcompat.diagnosis.steps import Places, Step, shown
from gradcompat.diagnosis.stretches import Stretch, may_be_near
from gradcompat.messages import counted
from gradcompat.model.diagnosis import Observation
from gradcompat.model.environment import SettingValue


class LossNotFinite:
    """``loss-not-finite``: a loss of nan or inf, one is enough: a healthy run has none.

    (A gradient is another matter: see :class:`NormNotFinite`.)
    """

    def __init__(self) -> None:
        self._places = Places()
        self._steps = self._bad = 0
        self._value = math.nan

    def add(self, step: Step) -> None:
        if step.loss is None:
            return
        self._steps += 1
        if not math.isfinite(step.loss):
            if not self._bad:
                self._value = step.loss
            self._bad += 1
            self._places.add(step)

    def pass_over(self, stretch: Stretch) -> bool:
        if stretch.states("loss"):
            if not stretch.is_finite("loss"):
                return False
            self._steps += len(stretch)
        return True

    def observations(self) -> list[Observation]:
        if not self._bad:
            return []
        sentence = f"loss is {shown(self._value)} in {self._bad:,} of {counted(self._steps, 'step')}"
        return [
            Observation(
                kind="loss-not-finite", sentence=sentence, lines=self._places.lines, example=self._places.example
            )
        ]


class LossZero:
    """``loss-zero``: a loss of exactly 0 that no rounding explains, with a sign that it stands for NaN.

    With ``logging_nan_inf_filter``, its default, a Trainer adds the mean so far, at first 0, in place of a NaN, so that
    it prints 0.0. The zero alone does not say so: the norm beside it is nan, or one positive number that never changes
    (DeepSpeed 0.12), or where no norms are printed, the loss has dropped to 0 from far above it. Other zeros:

    * ``loss-and-norm-zero``: the norm is exactly 0, too, and so finite: there is nothing to learn from.
    * ``loss-zero-throughout``: no norms are printed, and the loss was never anything else. It may be either.
    * Trainers round to four digits, so that a loss fades to 0.0 from below 0.01; a NaN comes from anywhere above.
    * Where gradient norms differ and are positive, gradients flow. GRPO's loss is 0 at the start of each round, and its
      gradient is not. Equal rewards make both zero there, so beside rewards only norms of nan count, at the end.
    * A batch without labels gives single zeros, and fp16 single norms of nan or inf: two zeros in a row count at the
      end of a log, three in the middle. At the end one is enough where the norm of that step is nan.
    """

    FADED = 0.01

    def __init__(self) -> None:
        self._steps = self._zeros = 0
        self._nonzero: float | None = None  # the last loss that was not zero
        self._found: tuple[str, float | None, Places] | None = None  # in the middle
        self._new_row()

    def _new_row(self) -> None:
        self._row = 0
        self._row_places = Places()
        self._nan_norms = self._zero_norms = 0
        self._other = False
        self._norms: set[float] = set()  # positive ones, two at most

    def add(self, step: Step) -> None:
        if step.loss is None:
            return
        self._steps += 1
        if step.loss != 0.0:
            if self._row:
                self._close()
                self._new_row()
            self._nonzero = step.loss
            return
        self._row += 1
        self._zeros += 1
        self._row_places.add(step)
        self._other |= step.other_objective
        norm = step.grad_norm
        if norm is None:
            return
        if math.isnan(norm):
            self._nan_norms += 1
        elif norm == 0.0:
            self._zero_norms += 1
        elif 0 < norm < math.inf and len(self._norms) < 2:
            self._norms.add(norm)

    def pass_over(self, stretch: Stretch) -> bool:
        if stretch.states("loss"):
            if stretch.has_zero("loss"):
                return False
            self._steps += len(stretch)
            if self._row:
                self._close()
                self._new_row()
            self._nonzero = stretch.value("loss", -1)
        return True

    def _close(self) -> None:
        """The loss is nonzero again: where no reward explains them, three zeros are still too many."""
        if self._found is None and not self._other:
            kind = self._kind(needed=3)
            self._found = None if kind is None else (kind, self._nonzero, self._row_places)

    def _kind(self, needed: int) -> str | None:
        """What the current row of zeros is, if there are enough of them."""
        flows = len(self._norms) > (0 if self._nan_norms or self._zero_norms else 1)
        faded = self._nonzero is not None and abs(self._nonzero) <= self.FADED
        if self._row < needed or flows or ((faded or self._other) and self._nan_norms < needed):
            return None
        if self._nan_norms or self._norms:
            return "loss-zero"
        if self._zero_norms:
            return "loss-and-norm-zero"
        return "loss-zero-throughout" if self._nonzero is None else "loss-zero"

    def observations(self) -> list[Observation]:
        found = self._found
        if found is None:
            kind = self._kind(needed=1 if self._nan_norms else 2)
            if kind is None:
                return []
            found = (kind, self._nonzero, self._row_places)
        kind, before, places = found
        what = "loss and grad_norm are" if kind == "loss-and-norm-zero" else "loss is"
        after = "" if before is None else f", after {shown(before)}"
        sentence = f"{what} exactly 0 in {self._zeros:,} of {counted(self._steps, 'step')}{after}"
        return [Observation(kind=kind, sentence=sentence, lines=places.lines, example=places.example)]


class InitialLoss:
    """``loss-times-accumulation``, ``loss-too-high``: the first losses are higher than a language model can explain.

    A model that knows nothing has a loss of ln(vocabulary): 10.4 for 32,000 tokens, 11.9 for the 152,000 of Qwen, 12.5
    for 256,000. A pretrained one begins between 0.3 and 6.

    * Without further knowledge the bound is 17.9, one and a half times ln(152,000): initialisations that are worse
      than uniform stay below it.
    * If gradient accumulation is known to be on, 13 is enough when the loss divided by the number of micro-batches is
      that of a pretrained model or of a new one (0.3 to 12.5). A loss of 6.4 with two micro-batches could be either, so
      nothing is said of it.
    * The bound of a known vocabulary (``model.vocab_size``) is one and a half times its logarithm.
    * Above 1,500 it is no cross entropy at all, whatever the accumulation: a sum, or a regression.

    The first loss must exceed the bound, and the median of the first five must not be much below it: a first batch that
    is bad is no defect. And the loss must stay high. A pretrained model that is certain of something else begins beyond
    the bound, too (mT5, which was never fine-tuned, at 25; a drafting head for speculative decoding, likewise), but it
    has learnt better after some hundred steps; what is multiplied stays multiplied. The latest losses must be above
    half of the bound, or where accumulation is known, above a fifth of the first.
    """

    PRETRAINED = (0.3, 12.5)
    ANY = 17.9
    ACCUMULATING = 13.0
    NO_CROSS_ENTROPY = 1500.0
    STAYS = 0.5
    STAYS_OF_FIRST = 0.2

    def __init__(self, settings: Mapping[str, SettingValue]) -> None:
        accumulation = settings.get("training.gradient_accumulation_steps")
        self._accumulation = accumulation if isinstance(accumulation, int) and accumulation > 1 else None
        vocabulary = settings.get("model.vocab_size")
        self._vocabulary = vocabulary if isinstance(vocabulary, int) and vocabulary > 1 else None
        self._bound = self.ANY if self._vocabulary is None else 1.5 * math.log(self._vocabulary)
        self._least = self._bound if self._accumulation is None else min(self._bound, self.ACCUMULATING)
        self._first: list[float] = []
        self._latest = 0.0  # about the mean of the last ten
        self._places = Places()
        self._other = False

    def add(self, step: Step) -> None:
        self._other |= step.other_objective
        if step.loss is None or not math.isfinite(step.loss):
            return
        if not self._first:
            self._latest = step.loss
        self._latest += 0.1 * (step.loss - self._latest)
        if len(self._first) < 5:
            self._first.append(step.loss)
            self._places.add(step)

    def pass_over(self, stretch: Stretch) -> bool:
        if not stretch.states("loss"):
            self._other |= stretch.other_objective
            return True
        if len(self._first) < 5 or not stretch.is_finite("loss"):
            return False
        self._other |= stretch.other_objective
        if self._first[0] > self._least:  # otherwise it does not matter what came later
            for loss in stretch.column("loss"):
                self._latest += 0.1 * (loss - self._latest)
        return True

    def observations(self) -> list[Observation]:
        if not self._first or self._other:
            return []
        first, usual = self._first[0], median(self._first)
        bound, least = self._bound, self._least
        if self._accumulation is not None:
            low, high = self.PRETRAINED
            stays = self._latest > self.STAYS_OF_FIRST * first
            if first > least and usual > 0.7 * least and low <= first / self._accumulation <= high and stays:
                divided = shown(first / self._accumulation)
                sentence = (
                    f"the first loss is {shown(first)}, which is implausible, and divided by the "
                    f"{self._accumulation} micro-batches of a step it is a plausible {divided}"
                )
                return [self._observation("loss-times-accumulation", sentence)]
        if bound < first <= self.NO_CROSS_ENTROPY and usual > 0.7 * bound and self._latest > self.STAYS * bound:
            known = f"{math.log(self._vocabulary):.1f}" if self._vocabulary else "10 to 12.5"
            sentence = f"the first loss is {shown(first)}, and a language model that knows nothing has {known}"
            return [self._observation("loss-too-high", sentence)]
        return []

    def _observation(self, kind: str, sentence: str) -> Observation:
        return Observation(kind=kind, sentence=sentence, lines=self._places.lines[:1], example=self._places.example)


class StuckLoss:
    """``loss-constant``: the loss never moves although the learning rate is positive.

    Two signs, as a loss that merely falls too slowly to be seen is what the end of every good run looks like:

    * the same value, to a thousandth, in 20 steps after warm-up (50 where no learning rate is logged; 200 if the
      values have only three digits, as in progress bars, where a plateau looks the same);
    * three whole epochs or more from the beginning on, each of 20 steps or more, whose means agree to 0.3 %, the last
      with the first to 0.1 % or above it: a model that learns anything knows its data better when it sees them again.

    Losses below 0.01 are left alone, since four digits show nothing there, and so are the means of other objectives
    than the cross entropy of tokens: those of adversaries and rewards need not fall.
    """

    SAME = 1e-3
    SMALLEST = 0.01
    LEAST = 20
    EPOCH_STEPS = 20
    EPOCHS_AGREE = 3e-3
    FALLEN = 1e-3

    def __init__(self) -> None:
        self._rate: float | None = None
        self._value = 0.0
        self._row = 0
        self._start_of_row: Step | None = None
        self._coarse = True
        self._places = Places()
        self._found: tuple[int, float, Places] | None = None
        self._other = False
        # The means of epochs: the current one, and the least and greatest of the whole ones before it.
        self._epoch: int | None = None
        self._sum = 0.0
        self._count = 0
        self._epochs = 0
        self._low, self._high = math.inf, -math.inf
        self._first_mean = self._last_mean = 0.0
        self._length = self.EPOCH_STEPS
        self._whole = True
        self._start = Places()

    def add(self, step: Step) -> None:
        self._other |= step.other_objective
        loss, before = step.loss, self._rate
        if step.learning_rate is not None:
            self._rate = step.learning_rate
        if loss is None or not math.isfinite(loss):
            return
        self._add_to_epoch(step, loss)
        self._add_to_row(step, loss, before)

    def pass_over(self, stretch: Stretch) -> bool:
        if not stretch.states("loss"):
            self._other |= stretch.other_objective
            if stretch.states("learning_rate"):
                self._rate = stretch.value("learning_rate", -1)
            return True
        if not stretch.is_finite("loss"):
            return False
        losses = stretch.column("loss")
        of_epoch = self._of_epoch(stretch)
        # A row that one loss belongs to does not go on with the next if the two are far from each other.
        far = 2.5 * self.SAME * max(map(abs, losses))
        start = next(_jumps(losses, range(1, len(losses)), far), None)
        end = next(_jumps(losses, range(len(losses) - 1, 0, -1), far), None)
        if of_epoch is None or start is None or end is None or may_be_near(losses, far, self.LEAST):
            return False
        self._other |= stretch.other_objective
        if of_epoch:
            self._sum = reduce(add, losses, self._sum)
            self._count += len(losses)
        for index in range(start):
            self._add_at(stretch, index)
        if stretch.states("learning_rate"):
            self._rate = stretch.value("learning_rate", end - 1)
        self._row = 0
        for index in range(end, len(losses)):
            self._add_at(stretch, index)
        return True

    def _add_at(self, stretch: Stretch, index: int) -> None:
        step, before = stretch.step(index), self._rate
        if step.learning_rate is not None:
            self._rate = step.learning_rate
        if step.loss is not None:
            self._add_to_row(step, step.loss, before)

    def _of_epoch(self, stretch: Stretch) -> bool | None:
        """Whether a stretch belongs to the current epoch; None if only a part of it does."""
        if not stretch.states("epoch"):
            return False
        # The steps of the stretch go on, or it would not be here.
        low, high = stretch.value("epoch", 0), stretch.value("epoch", -1)
        return True if math.ceil(low - 1e-9) == math.ceil(high - 1e-9) == self._epoch else None

    def _add_to_row(self, step: Step, loss: float, before: float | None) -> None:
        warming_up = self._rate is not None and (self._rate == 0 or (before is not None and self._rate > before))
        if warming_up or abs(loss) < self.SMALLEST:
            self._row = 0
            return
        if not self._row or abs(loss - self._value) > self.SAME * abs(self._value):
            self._row, self._value, self._start_of_row = 1, loss, step
            return
        # Most rows have one step, so what is kept of a row begins with its second.
        if self._start_of_row is not None:
            self._coarse, self._places = _is_coarse(self._value), Places()
            self._places.add(self._start_of_row)
            self._start_of_row = None
        self._row += 1
        self._places.add(step)
        self._coarse = self._coarse and _is_coarse(loss)
        needed = 200 if self._coarse else 50 if self._rate is None else self.LEAST
        if self._row >= needed and (self._found is None or self._row > self._found[0]):
            self._found = (self._row, self._value, self._places)

    def _add_to_epoch(self, step: Step, loss: float) -> None:
        if step.epoch is None or not math.isfinite(step.epoch):
            return
        epoch = math.ceil(step.epoch - 1e-9)
        if epoch != self._epoch:
            if self._epoch is None:
                self._whole = epoch <= 1
                self._start.add(step)
            else:
                self._close_epoch()
            self._epoch, self._sum, self._count = epoch, 0.0, 0
        self._sum += loss
        self._count += 1

    def _close_epoch(self) -> None:
        if self._count < self.EPOCH_STEPS:
            self._whole &= self._count <= 1  # epoch 0.0 is a step of its own
            return
        self._epochs, self._low, self._high = self._with_epoch()
        self._length = self._count
        self._last_mean = self._sum / self._count
        self._first_mean = self._first_mean or self._last_mean

    def _with_epoch(self) -> tuple[int, float, float]:
        """How many epochs there are with the current one, and the least and the greatest of their means."""
        mean = self._sum / self._count
        return self._epochs + 1, min(self._low, mean), max(self._high, mean)

    def observations(self) -> list[Observation]:
        if self._found is not None:
            row, value, places = self._found
            sentence = f"loss stays at {shown(value)} for {counted(row, 'step')}"
            if self._rate:
                sentence += " with a positive learning rate"
            return [Observation(kind="loss-constant", sentence=sentence, lines=places.lines, example=places.example)]
        if self._other:
            return []
        epochs, low, high, last = self._epochs, self._low, self._high, self._last_mean
        if self._count >= self._length:
            epochs, low, high = self._with_epoch()
            last = self._sum / self._count
        fallen = self._first_mean - last > self.FALLEN * low
        agree = low > self.SMALLEST and high - low <= self.EPOCHS_AGREE * low and not fallen
        if self._whole and epochs >= 3 and agree and self._rate is not None:
            sentence = (
                f"the mean loss of {epochs} epochs is the same, {shown(low)} to {shown(high)}: "
                "the second look at the data is no better than the first"
            )
            return [
                Observation(
                    kind="loss-constant", sentence=sentence, lines=self._start.lines, example=self._start.example
                )
            ]
        return []


def _jumps(losses: Sequence[float], indices: Iterable[int], far: float) -> Iterator[int]:
    """Those of the losses that are far from the one before."""
    return (index for index in indices if abs(losses[index] - losses[index - 1]) > far)


def _is_coarse(loss: float) -> bool:
    """Whether three digits say it all."""
    return float(f"{loss:.3g}") == loss
