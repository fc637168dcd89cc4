"""Detectors that look at how a run goes on: learning rate, loss scale, skipped steps, restarts."""

from __future__ import annotations

import math

from gradcompat.diagnosis.steps import Places, Step, is_behind, shown
from gradcompat.diagnosis.stretches import Stretch
from gradcompat.messages import counted
from gradcompat.model.diagnosis import Observation


class RateZero:
    """``learning-rate-zero``: the learning rate is exactly 0 for long, or on every line.

    A warm-up begins with one step of 0, and the end of a decay is 0 for one or two. A run in fp16 that skips its first
    steps stays at 0 for up to ten of them. So five steps count in the middle, at the end, or if there are no others,
    and more than ten at the start. Two are enough if there are no others and all their norms are finite, so that none
    was skipped; if not, it is called ``learning-rate-still-zero``, which is harmless.
    """

    NEEDED = 5
    AT_THE_START = 11
    ON_EVERY_LINE = 2

    def __init__(self) -> None:
        self._row = self._longest = self._steps = 0
        self._started = self._overflown = False
        self._places = Places()
        self._found = Places()

    def add(self, step: Step) -> None:
        if step.learning_rate is None:
            return
        self._steps += 1
        if step.learning_rate != 0.0:
            if self._row:
                self._close()
                self._row = 0
            self._started = True
            return
        if not self._row:
            self._places = Places()
        self._row += 1
        self._overflown |= step.grad_norm is not None and not math.isfinite(step.grad_norm)
        self._places.add(step)

    def pass_over(self, stretch: Stretch) -> bool:
        if stretch.states("learning_rate"):
            if stretch.has_zero("learning_rate"):
                return False
            self._steps += len(stretch)
            if self._row:
                self._close()
                self._row = 0
            self._started = True
        return True

    def _close(self) -> None:
        needed = self.NEEDED if self._started else self.AT_THE_START
        if self._row >= needed and self._row > self._longest:
            self._longest, self._found = self._row, self._places

    def observations(self) -> list[Observation]:
        if self._row == self._steps >= self.ON_EVERY_LINE:
            harmless = self._overflown and self._row < self.NEEDED
            kind = "learning-rate-still-zero" if harmless else "learning-rate-zero"
            sentence = f"learning_rate is exactly 0 in all {self._steps:,} steps"
            return [self._observation(kind, sentence, self._places, harmless)]
        row, places = (self._row, self._places) if self._row >= self.NEEDED else (0, self._places)
        if self._longest > row:
            row, places = self._longest, self._found
        if not row:
            return []
        sentence = f"learning_rate is exactly 0 in {row:,} steps in a row, of {self._steps:,}"
        return [self._observation("learning-rate-zero", sentence, places)]

    def _observation(self, kind: str, sentence: str, places: Places, harmless: bool = False) -> Observation:
        return Observation(kind=kind, sentence=sentence, lines=places.lines, example=places.example, harmless=harmless)


class LossScale:
    """``loss-scale-collapse``, ``steps-skipped``: fp16 finds no loss scale at which gradients are finite.

    Scales begin at 2^16 or 2^32 and fall until they fit, to 2^8 at the least in healthy runs, and rise again. It counts
    if the scale falls to 1 from 16 or above, or if a tool gives up; and if after 50 steps more than half were skipped.
    (A scale of 1 from the beginning is what tools print that use bf16.)
    """

    COLLAPSED = 1.0
    HIGH = 16.0
    ENOUGH_STEPS = 50

    def __init__(self) -> None:
        self._highest = 0.0
        self._collapse = Places()
        self._gave_up = False
        self._skips = Places()
        self._skipped = self._steps = 0.0

    def add(self, step: Step) -> None:
        if step.scale_at_minimum:
            self._gave_up = True
            self._collapse.add(step)
        scale = step.loss_scale
        if scale is not None and math.isfinite(scale):
            self._highest = max(self._highest, scale)
            if scale <= self.COLLAPSED and self._highest >= self.HIGH:
                self._collapse.add(step)
        if step.skipped is not None and step.step is not None and step.step >= self.ENOUGH_STEPS:
            if step.skipped > step.step / 2 and math.isfinite(step.skipped + step.step):
                self._skips.add(step)
            self._skipped, self._steps = step.skipped, step.step

    def pass_over(self, stretch: Stretch) -> bool:
        skips = stretch.states("skipped") and stretch.states("step")
        if skips:
            # With few skips or few steps, half of the steps is more than what was skipped.
            least = min(stretch.column("step"))
            most = max(stretch.column("skipped"))
            if least < self.ENOUGH_STEPS or not most <= least / 2 or not stretch.is_finite("step"):
                return False
        if stretch.states("loss_scale"):
            scales = stretch.column("loss_scale")
            highest = max(self._highest, *scales)
            if not stretch.is_finite("loss_scale") or (min(scales) <= self.COLLAPSED and highest >= self.HIGH):
                return False
            self._highest = highest
        if skips:
            self._skipped, self._steps = stretch.value("skipped", -1), stretch.value("step", -1)
        return True

    def observations(self) -> list[Observation]:
        found = []
        if self._collapse.example:
            start = f" from {shown(self._highest)}" if self._highest >= self.HIGH else ""
            end = ", where the tool gives up" if self._gave_up else ""
            sentence = f"the loss scale falls{start} to its minimum{end}"
            found.append(Observation(kind="loss-scale-collapse", sentence=sentence, lines=self._collapse.lines))
        if self._skips.example and self._skipped > self._steps / 2:
            sentence = f"{self._skipped:,.0f} of {counted(int(self._steps), 'step')} were skipped"
            found.append(Observation(kind="steps-skipped", sentence=sentence, lines=self._skips.lines))
        return found


class Repeats:
    """``losses-repeat``, or ``run-resumed``, which is harmless: the run does again what it did before.

    * The losses of the run's beginning come once more in the same order, eight in a row and at least six of them
      different, at *other* steps: either nothing is learnt and the data come in the same order, or a resumed run began
      anew with weights and data, while its counter went on.
    * The counter falls back, but not to the beginning, and goes on from there for three steps: the run was resumed from
      a checkpoint before its end. The steps between are done twice, as they must be, with the data of then. (Ranks that
      print out of order fall back for one or two.)

    Only the first 64 losses are kept to compare with.
    """

    KEPT = 64
    NEEDED = 8
    DIFFERENT = 6
    CONFIRMED = 3

    def __init__(self) -> None:
        self._head: list[tuple[float, tuple[float, float]]] = []
        self._match = 0
        self._matched = Places()
        self._longest = 0
        self._found = Places()
        self._position: tuple[float, float] | None = None
        self._highest: tuple[float, float] | None = None
        self._fallen: list[Step] = []
        self._from: tuple[float, float] | None = None
        self._resumed = Places()
        self._resumed_at: tuple[tuple[float, float], tuple[float, float]] | None = None

    def add(self, step: Step) -> None:
        position = step.position
        if step.loss is None or position is None:
            return
        self._compare(step, step.loss, position)
        if self._highest is not None and is_behind(position, self._highest):
            if self._position is not None and is_behind(position, self._position):
                self._fallen, self._from = [], self._position
            self._fallen.append(step)
            start = self._fallen[0].position
            if len(self._fallen) == self.CONFIRMED and self._from is not None and start is not None:
                self._resumed.add(self._fallen[0])
                self._resumed_at = self._resumed_at or (self._from, start)
        else:
            self._highest = position
            if self._fallen:
                self._fallen = []
        self._position = position

    def pass_over(self, stretch: Stretch) -> bool:
        start, end = stretch.position(0), stretch.position(-1)
        if not stretch.states("loss") or start is None:
            return True
        # The steps of the stretch go on (or it would not be here), and so does its first one if it is not behind.
        if len(self._head) < self.KEPT or (self._highest is not None and start < self._highest):
            return False
        losses, first = stretch.column("loss"), self._head[0][0]
        index = 0
        while index < len(losses):
            if not self._match:
                try:
                    index = losses.index(first, index)
                except ValueError:
                    break
            step = stretch.step(index)
            if step.position is not None:
                self._compare(step, losses[index], step.position)
            index += 1
        self._highest = self._position = end
        self._fallen = []
        return True

    def _compare(self, step: Step, loss: float, position: tuple[float, float]) -> None:
        if len(self._head) < self.KEPT:
            self._head.append((loss, position))
        elif not self._match and self._head[0][0] != loss:
            return
        if self._match >= len(self._head) or self._head[self._match][0] != loss:
            self._match = 0
        value, place = self._head[self._match]
        if value != loss or place == position:
            self._match = 0
            return
        if not self._match:
            self._matched = Places()
        self._match += 1
        self._matched.add(step)
        different = len({value for value, _ in self._head[: self._match]})
        if self._match >= self.NEEDED and different >= self.DIFFERENT and self._match > self._longest:
            self._longest, self._found = self._match, self._matched

    def observations(self) -> list[Observation]:
        found = []
        if self._longest:
            sentence = f"{self._longest} losses in a row are those of the beginning, to the last digit"
            found.append(
                Observation(
                    kind="losses-repeat", sentence=sentence, lines=self._found.lines, example=self._found.example
                )
            )
        if self._resumed_at is not None:
            before, after = self._resumed_at
            word, index = ("epoch", 0) if before[0] != after[0] else ("step", 1)
            sentence = f"the log goes back from {word} {shown(before[index])} to {shown(after[index])}"
            found.append(Observation(kind="run-resumed", sentence=sentence, lines=self._resumed.lines, harmless=True))
        return found
