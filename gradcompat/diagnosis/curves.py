"""What the curves of a run show: metrics go in one step at a time, and only a few numbers for each detector are kept.

The detectors stand in :mod:`loss_detectors`, :mod:`norm_detectors` and :mod:`progress_detectors`, each with its
thresholds and why they are what they are. They are set so that a healthy run shows nothing: a person who looks at the
curve would see each of the things that they report.

A log may hold several runs one after the other. Where the position falls back to where the run began, the next one
starts; where it falls back less far, the run was resumed.

Each detector takes single steps (``add``). It may also pass over a stretch of steps in which there is nothing that it
looks for, and is then as if it had taken each of them; where there may be something it declines (``pass_over`` returns
False), and is given the steps.
"""

from __future__ import annotations

from collections.abc import Mapping

from gradcompat.diagnosis.loss_detectors import InitialLoss, LossNotFinite, LossZero, StuckLoss
from gradcompat.diagnosis.norm_detectors import ConstantNorm, NormNotFinite, NormSpikes, NormZero
from gradcompat.diagnosis.progress_detectors import LossScale, RateZero, Repeats
from gradcompat.diagnosis.steps import Step, is_behind
from gradcompat.diagnosis.stretches import Stretch
from gradcompat.model.diagnosis import Observation
from gradcompat.model.environment import SettingValue

# What ended after fewer steps and then began anew was no run: ranks that print out of order, a sanity check.
_SHORTEST_RUN = 5


class Curves:
    """Observations on the metrics of a log.

    Args:
        settings: what is known of the training, by the keys of the vocabulary: gradient accumulation, the size of the
            vocabulary, the precision.
    """

    def __init__(self, settings: Mapping[str, SettingValue] | None = None) -> None:
        self._settings = settings or {}
        self._found: dict[str, Observation] = {}
        self._run = _Run(self._settings)

    def add(self, values: Mapping[str, float], line: int) -> None:
        """Take in the metrics of a line, as :func:`gradcompat.diagnosis.metrics.parse_line` gives them.

        ``line`` is 0 where a file has no lines.
        """
        self._add(Step(values, line))

    def add_stretch(self, stretch: Stretch) -> None:
        """Take in the metrics of many lines, as one by one, but quickly."""
        if not self._run.pass_over(stretch):
            for step in stretch.steps():
                self._add(step)

    def _add(self, step: Step) -> None:
        if step.loss is not None or step.grad_norm is not None:
            if self._run.is_repeated_by(step):
                return
            if self._run.ends_before(step):
                self._found = self._all()
                self._run = _Run(self._settings)
        self._run.add(step)

    def observations(self) -> list[Observation]:
        """What was seen so far, each kind once: in the run in which it showed first."""
        return list(self._all().values())

    def _all(self) -> dict[str, Observation]:
        found = dict(self._found)
        for observation in self._run.observations():
            found.setdefault(observation.kind, observation)
        return found


class _Run:
    """One run of those in a log: where it began and where it is, and its detectors."""

    def __init__(self, settings: Mapping[str, SettingValue]) -> None:
        self._first: tuple[float, float] | None = None
        self._position: tuple[float, float] | None = None
        self._count = 0
        of_losses = (LossNotFinite(), LossZero(), InitialLoss(settings), StuckLoss())
        of_norms = (NormNotFinite(settings), NormZero(), ConstantNorm(), NormSpikes())
        of_progress = (RateZero(), LossScale(), Repeats())
        self._detectors = (*of_losses, *of_norms, *of_progress)
        # A log has millions of steps: detectors of norms are not asked where there is none.
        self._without_norms = (*of_losses, *of_progress)
        self._without_norm = tuple(detector.add for detector in self._without_norms)
        self._with_norm = tuple(detector.add for detector in self._detectors)

    def is_repeated_by(self, step: Step) -> bool:
        """Whether it is the step of before once more: from another rank, or of a progress bar that was drawn again."""
        return step.step is not None and step.position == self._position

    def ends_before(self, step: Step) -> bool:
        """Whether another run begins with the step."""
        position = step.position
        if position is None or self._first is None or self._position is None or self._count < _SHORTEST_RUN:
            return False
        return is_behind(position, self._position) and position <= self._first

    def add(self, step: Step) -> None:
        if step.loss is not None or step.grad_norm is not None:
            position = step.position
            if position is not None:
                self._first = self._first or position
                self._position = position
            self._count += 1
        for add in self._without_norm if step.grad_norm is None else self._with_norm:
            add(step)

    def pass_over(self, stretch: Stretch) -> bool:
        """Take in a stretch all of whose steps belong to the run, each detector its own way; False if some may not."""
        norms = stretch.states("grad_norm")
        if norms or stretch.states("loss"):
            if not stretch.go_on(self._position):
                return False
            position = stretch.position(-1)
            if position is not None:
                self._first = self._first or stretch.position(0)
                self._position = position
            self._count += len(stretch)
        for detector in self._detectors if norms else self._without_norms:
            if not detector.pass_over(stretch):
                for step in stretch.steps():
                    detector.add(step)
        return True

    def observations(self) -> list[Observation]:
        return [observation for detector in self._detectors for observation in detector.observations()]
