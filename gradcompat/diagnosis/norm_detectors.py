"""Detectors that look at the gradient norm: not finite, zero, constant, spikes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from itertools import pairwise
from operator import eq
from statistics import median

from gradcompat.diagnosis.steps import Places, Step, shown
from gradcompat.diagnosis.stretches import Stretch
from gradcompat.messages import counted
from gradcompat.model.diagnosis import Observation
from gradcompat.model.environment import SettingValue


class NormNotFinite:
    """``grad-norm-not-finite``, or ``grad-norm-overflow``, which is harmless: a norm of nan or inf.

    Training in fp16 tries loss scales that are too large, now and then and several times at the start; the step is then
    skipped, its norm is printed as inf or nan, and the next ones are finite. So it counts only

    * if it goes on to the end of the log for two steps, or for one with a loss of zero or nan beside it, or
    * if there are more than 12 in a row (2^16 falls to 16 in that many), or more than 30 % of at least 20 steps, or
    * if no step has a finite norm, or
    * if the training is known not to be in fp16, where nothing skips a step.
    """

    LONGEST = 12
    SHARE = 0.3

    def __init__(self, settings: Mapping[str, SettingValue]) -> None:
        self._never_skips = settings.get("precision.mode") in ("bf16", "no")
        self._places = Places()
        self._steps = self._bad = self._row = self._longest = 0
        self._value = math.nan
        self._loss: float | None = None

    def add(self, step: Step) -> None:
        if step.grad_norm is None:
            return
        self._steps += 1
        if math.isfinite(step.grad_norm):
            self._row = 0
            return
        if not self._bad:
            self._value = step.grad_norm
        self._bad += 1
        self._row += 1
        self._longest = max(self._longest, self._row)
        self._loss = step.loss
        self._places.add(step)

    def pass_over(self, stretch: Stretch) -> bool:
        if not stretch.is_finite("grad_norm"):
            return False
        self._steps += len(stretch)
        self._row = 0
        return True

    def observations(self) -> list[Observation]:
        if not self._bad:
            return []
        lost = self._loss is not None and (self._loss == 0.0 or not math.isfinite(self._loss))
        sentence = f"grad_norm is {shown(self._value)} in {self._bad:,} of {counted(self._steps, 'step')}"
        kind = "grad-norm-not-finite"
        harmless = not (
            self._never_skips
            or self._row >= 2
            or (self._row and lost)
            or self._longest > self.LONGEST
            or self._bad == self._steps
            or (self._steps >= 20 and self._bad > self.SHARE * self._steps)
        )
        if harmless:
            kind = "grad-norm-overflow"
            sentence += ", each followed by finite ones" if not self._row else ", the last among them"
        return [
            Observation(
                kind=kind,
                sentence=sentence,
                lines=self._places.lines,
                example=self._places.example,
                harmless=harmless,
            )
        ]


class NormZero:
    """``grad-norm-zero``: a gradient norm of exactly 0 in three steps in a row, while there is a loss to learn from.

    With a loss below 0.01 a gradient of zero is what is to be expected. Where the loss is exactly zero too,
    :class:`LossZero` says so. Beside rewards the loss says nothing, and steps whose rewards are equal have no gradient:
    there it counts if none of five steps or more has any. It is called ``rewards-equal`` if the log shows that they are
    (``reward_std`` of 0).
    """

    NEEDED = 3
    NEEDED_BESIDE_REWARDS = 5
    FADED = 0.01

    def __init__(self) -> None:
        self._row = self._longest = self._steps = self._zeros = self._equal = 0
        self._places = Places()
        self._found = Places()
        self._all = Places()
        self._other = False

    def add(self, step: Step) -> None:
        if step.grad_norm is None:
            return
        self._steps += 1
        self._other |= step.other_objective
        if step.grad_norm == 0.0:
            self._zeros += 1
            self._equal += step.reward_std == 0.0
            self._all.add(step)
        faded = step.loss is not None and abs(step.loss) < self.FADED
        if step.grad_norm != 0.0 or faded or step.other_objective:
            self._row = 0
            return
        if not self._row:
            self._places = Places()
        self._row += 1
        self._places.add(step)
        if self._row > self._longest:
            self._longest, self._found = self._row, self._places

    def pass_over(self, stretch: Stretch) -> bool:
        if stretch.has_zero("grad_norm"):
            return False
        self._steps += len(stretch)
        self._other |= stretch.other_objective
        self._row = 0
        return True

    def observations(self) -> list[Observation]:
        if self._other:
            return self._beside_rewards()
        if self._longest < self.NEEDED:
            return []
        sentence = f"grad_norm is exactly 0 in {self._longest:,} steps in a row, of {self._steps:,}"
        return [
            Observation(kind="grad-norm-zero", sentence=sentence, lines=self._found.lines, example=self._found.example)
        ]

    def _beside_rewards(self) -> list[Observation]:
        if self._zeros < max(self._steps, self.NEEDED_BESIDE_REWARDS):
            return []
        kind, what = "grad-norm-zero", "grad_norm is"
        if self._equal == self._zeros:
            kind, what = "rewards-equal", "reward_std and grad_norm are"
        sentence = f"{what} exactly 0 in all {self._steps:,} steps"
        return [Observation(kind=kind, sentence=sentence, lines=self._all.lines, example=self._all.example)]


class ConstantNorm:
    """``grad-norm-constant``: the norm is the same to the last digit in five steps or more, up to the end or for ten.

    Norms of different batches never agree in four digits for long. DeepSpeed 0.12 reports a NaN norm as 1.0. Two other
    things look alike and are left out:

    * plateaus that follow one another, since a tool prints the last norm until there is a new one: it logs
      micro-batches;
    * a round number beside a loss that is positive and moves: a tool that logs the norm after clipping.
    """

    NEEDED = 5
    IN_THE_MIDDLE = 10
    ROUND = frozenset({0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0})

    def __init__(self) -> None:
        self._value: float | None = None
        self._start: Step | None = None
        self._row = self._longest = self._steps = self._plateaus = 0
        self._places = Places()
        self._found = Places()
        self._found_value = 0.0
        self._losses: set[float] = set()  # positive ones during the plateau, two at most
        self._found_moving = False

    def add(self, step: Step) -> None:
        norm = step.grad_norm
        if norm is None or not math.isfinite(norm) or norm == 0.0:
            return
        self._steps += 1
        if not self._row or norm != self._value:
            self._plateaus += self._row >= 3
            self._value, self._row, self._start = norm, 1, step
            return
        # Most rows have one step, so what is kept of a row begins with its second.
        if self._start is not None:
            self._places, self._losses = Places(), set()
            self._keep(self._start)
            self._start = None
        self._row += 1
        self._keep(step)
        if self._row > self._longest:
            self._longest, self._found, self._found_value = self._row, self._places, norm
            self._found_moving = len(self._losses) > 1

    def pass_over(self, stretch: Stretch) -> bool:
        norms = stretch.column("grad_norm")
        if stretch.has_zero("grad_norm") or not stretch.is_finite("grad_norm"):
            return False
        start, end = 1, len(norms) - 1
        if any(map(eq, norms, norms[1:])):
            changes = [index for index in range(1, len(norms)) if norms[index] != norms[index - 1]]
            if not changes or any(behind - before > 2 for before, behind in pairwise(changes)):
                return False
            start, end = changes[0], changes[-1]
        # Two that agree between others are no row, so only the first row and the last one matter.
        for index in range(min(start + 1, len(norms))):
            self.add(stretch.step(index))
        if end > start:
            self._row = 0
            self._steps += end - start - 1
        for index in range(max(end, start + 1), len(norms)):
            self.add(stretch.step(index))
        return True

    def _keep(self, step: Step) -> None:
        self._places.add(step)
        if step.loss and math.isfinite(step.loss) and len(self._losses) < 2:
            self._losses.add(step.loss)

    def observations(self) -> list[Observation]:
        at_the_end = self._row == self._longest
        staircase = self._plateaus + (self._row >= 3) > 1
        clipped = self._found_moving and self._found_value in self.ROUND
        if self._longest < (self.NEEDED if at_the_end else self.IN_THE_MIDDLE) or staircase or clipped:
            return []
        sentence = f"grad_norm is {self._found_value!r} to the last digit in {self._longest:,} steps in a row"
        return [
            Observation(
                kind="grad-norm-constant", sentence=sentence, lines=self._found.lines, example=self._found.example
            )
        ]


class NormSpikes:
    """``grad-norm-spike``: a norm a hundred times the median of the last 50, and ten times the greatest of them.

    Healthy runs have spikes of ten times the usual; norms of reinforcement learning span two orders of magnitude from
    step to step, but then the greatest of the window is close. The first ten steps are never judged.
    """

    WINDOW = 50
    BEFORE = 10
    TIMES_MEDIAN = 100
    TIMES_GREATEST = 10

    def __init__(self) -> None:
        self._window: deque[float] = deque(maxlen=self.WINDOW)
        self._places = Places()
        self._spikes = self._steps = 0
        self._worst = self._usual = 0.0

    def add(self, step: Step) -> None:
        norm = step.grad_norm
        if norm is None or not math.isfinite(norm) or norm <= 0.0:
            return
        self._steps += 1
        window = self._window
        # The last norm of the window is quickly compared, and tells of most that they are no spikes.
        if (
            len(window) >= self.BEFORE
            and norm > self.TIMES_GREATEST * window[-1]
            and norm > self.TIMES_GREATEST * max(window)
        ):
            usual = median(window)
            if norm > self.TIMES_MEDIAN * usual:
                self._spikes += 1
                self._places.add(step)
                if norm > self._worst:
                    self._worst, self._usual = norm, usual
                return  # and it is no part of what is usual
        window.append(norm)

    def pass_over(self, stretch: Stretch) -> bool:
        if not stretch.is_finite("grad_norm"):
            return False
        norms = stretch.column("grad_norm")
        least, before = min(norms), self._window[-1] if self._window else norms[0]
        if least <= 0.0:
            return False
        if max(norms) > self.TIMES_GREATEST * min(least, before) and any(
            norm > self.TIMES_GREATEST * other for norm, other in zip(norms, (before, *norms), strict=False)
        ):
            return False
        self._steps += len(norms)
        self._window.extend(norms[-self.WINDOW :])
        return True

    def observations(self) -> list[Observation]:
        if not self._spikes:
            return []
        sentence = (
            f"grad_norm rises to {shown(self._worst)} from a median of {shown(self._usual)}, "
            f"in {self._spikes:,} of {counted(self._steps, 'step')}"
        )
        return [
            Observation(
                kind="grad-norm-spike", sentence=sentence, lines=self._places.lines, example=self._places.example
            )
        ]
