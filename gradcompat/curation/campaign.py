"""A campaign of measurements: probes over the releases of a package, each row kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from gradcompat.knowledge.measured import append
from gradcompat.messages import counted
from gradcompat.model.probe import Cell, ProbeSpec, Row
from gradcompat.model.release import Catalogue, Release
from gradcompat.probes.bisection import to_measure
from gradcompat.probes.matrix import Task, asked_cell, digest, measure, measured, tasks
from gradcompat.probes.overlay_environments import Base, Origin
from gradcompat.probes.pool import work
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge, wrong_values

# What a cluster is given beyond what it works on, so that no worker waits for us.
_IN_FLIGHT = 256


@dataclass(kw_only=True)
class Campaign:
    """Probes over the releases of a package: what is wanted, what is there, and what came to nothing.

    Attributes:
        current: measure with what an install of today brings, a recipe at a time, and say why what did not run.
        rows: every row that is kept, those of earlier runs too.
        say: is told what happens, a sentence at a time.
        today: the day that a row is dated with.
        lost: releases and probes that came to nothing in this run; another run tries them again.
    """

    specs: Sequence[ProbeSpec]
    releases: Sequence[Release]
    base: Base
    catalogue: Catalogue
    origin: Origin
    cache: Path
    folder: Path
    held: Sequence[Release]
    device: str
    seed: int
    rows: list[Row]
    say: Callable[[str], object]
    today: Callable[[], date]
    current: bool = False
    lost: set[tuple[str, str]] = field(default_factory=set)
    measured: int = 0

    def run(self, jobs: int, executor: Executor, *, local: bool, bisect: bool) -> None:
        """Measure everything, or with ``bisect`` only what shows where verdicts change.

        Args:
            jobs: how many releases at a time, where the processes are local.
            executor: what runs the cells.
            local: whether it is of this machine.
            bisect: only the ends, and then between neighbours whose verdicts differ.
        """
        if not bisect:
            self._round(dict.fromkeys(self.releases, self.specs), jobs, executor, local)
            return
        while following := self._next():
            self._round(following, jobs, executor, local)
        self.say("only boundaries were looked for: a gap between two releases that agree goes unnoticed")

    def _round(self, wanted: Mapping[Release, Sequence[ProbeSpec]], jobs: int, executor: Executor, local: bool) -> None:
        """Measure what of this is not measured yet."""
        left = tasks(
            {
                one: [spec for spec in specs if (str(one.version), str(spec)) not in self.lost]
                for one, specs in wanted.items()
            },
            self.base,
            self.catalogue,
            self.cache,
            held=self.held,
            done=self.rows,
            device=self.device,
            seed=self.seed,
            today=self.today(),
            origin=self.origin,
            current=self.current,
        )
        cells = sum(len(task.specs) for task in left)
        self.say(f"{counted(cells, 'cell')} to measure in {counted(len({task.version for task in left}), 'release')}")
        count = 0

        def keep(task: Task, rows: tuple[Row, ...]) -> None:
            nonlocal count
            append(self.folder, rows)
            self.rows += rows
            self.measured += len(rows)
            count += len(task.specs)
            about = f"{task.specs[0].name}: " if self.current else ""
            self.say(f"{count} of {cells}: {task.package} {task.version}: {about}{_states(rows)}")
            if self.current:
                for sentence in _not_run(rows):
                    self.say(sentence)
            missing = {str(spec) for spec in task.specs} - {str(row.measurement.spec) for row in rows}
            if missing:
                self._lose(task, missing, "; ".join(task.unknown) or f"there is no device `{task.device}` for it now")

        in_flight = jobs if local else _IN_FLIGHT
        for task, reason in measure(left, executor, keep, at_once=in_flight, work=work if local else measured):
            self._lose(task, [str(spec) for spec in task.specs], str(reason) or type(reason).__name__)

    def _lose(self, task: Task, specs: Collection[str], reason: str) -> None:
        self.lost |= {(task.version, spec) for spec in specs}
        self.say(f"{counted(len(specs), 'cell')} of {task.package} {task.version} not measured: {reason}")

    def _next(self) -> dict[Release, list[ProbeSpec]]:
        """What a bisection looks at next."""
        found: dict[Release, list[ProbeSpec]] = {}
        for spec in self.specs:
            verdicts = self._verdicts(spec)
            places = [release for release in self.releases if (str(release.version), str(spec)) not in self.lost]
            for release in to_measure(places, verdicts):
                found.setdefault(release, []).append(spec)
        return found

    def _verdicts(self, spec: ProbeSpec) -> dict[Release, object]:
        """The outcome and what is wrong in it, so that bounds of each single quantity are found too."""
        recipe = recipe_of(spec)
        by_version = {str(release.version): release for release in self.releases}
        found: dict[Release, object] = {}
        wanted = Cell(
            package=self.releases[0].name,
            version="",
            spec=str(spec),
            device=self.device,
            seed=self.seed,
            beside=tuple(sorted((release.name, str(release.version)) for release in self.held)),
        )
        code = digest(recipe)
        for row in self.rows:
            same = row.digest == code and replace(asked_cell(row), version="") == wanted
            if same and row.version in by_version:
                outcome, _ = judge(recipe, row.measurement)
                wrong = wrong_values(recipe, row.measurement) if outcome == "reproduced" else ()
                found[by_version[row.version]] = (outcome, wrong)
        return found


def _states(rows: Sequence[Row]) -> str:
    states = [row.measurement.state for row in rows]
    return ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)) or "nothing"


def _not_run(rows: Sequence[Row]) -> Iterator[str]:
    """Why probes have no measurement, each reason once."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.measurement.state != "measured":
            reasons.setdefault(row.measurement.reason, []).append(str(row.measurement.spec))
    for reason, specs in reasons.items():
        others = f" and {counted(len(specs) - 1, 'other')}" if len(specs) > 1 else ""
        yield f"  {specs[0]}{others} did not run: {reason}"
