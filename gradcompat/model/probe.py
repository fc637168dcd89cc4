"""Probes: what is to be run, what came back, and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from gradcompat.startup.lazy_dataclasses import dataclass, field

Outcome = Literal["reproduced", "not_reproduced", "inconclusive", "skipped"]
ParameterValue = bool | int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSpec:
    """One measurement: a recipe with its parameters.

    Attributes:
        name: the recipe's, as records name it: ``accumulation_equivalence``.
        parameters: what it is run with, ``{"model": "llava", "labels": "unequal"}``.
    """

    name: str
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in sorted(self.parameters.items()))})"

    def within(self, other: ProbeSpec) -> bool:
        """Whether another one is the same with further parameters, or with none."""
        return self.name == other.name and self.parameters.items() <= other.parameters.items()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one run of a recipe gave, before anybody judges it.

    Attributes:
        spec: what was run.
        state: ``measured``; ``skipped`` where the environment lacks what the recipe needs; ``failed`` where the recipe
            itself raised; ``crashed`` where the process died; ``hung`` where its time was over; ``memory`` where it
            took more than it may.
        reason: why, where it was not measured: one sentence without full stop.
        values: numbers, truths and words by name, as the recipe returned them; a NaN or an infinity stands as text
            (``nan``, ``inf``, ``-inf``), since JSON has none.
        packages: name → version of what was imported, as the modules themselves say.
        python: version of the interpreter.
        device: ``cpu``, ``cuda:0 NVIDIA H200``, ….
        seed: that it ran with.
        seconds: wall-clock time of the recipe alone, without the start of the process.
        output: the last lines that the process wrote, for whoever looks into a failure.
    """

    spec: ProbeSpec
    state: Literal["measured", "skipped", "failed", "crashed", "hung", "memory"]
    reason: str = ""
    values: Mapping[str, bool | int | float | str | None] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    python: str = ""
    device: str = "cpu"
    seed: int = 0
    seconds: float = 0.0
    output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """A measurement with its verdict, and the issues that it speaks of."""

    measurement: Measurement
    outcome: Outcome
    reason: str
    issues: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What is measured once: two rows of one cell are the same measurement, and the later one counts.

    Attributes:
        package: the package that is varied.
        version: its release.
        spec: the probe, with its parameters.
        device: where it trains.
        seed: of all generators.
        beside: names and versions of packages that were asked for beside it.
    """

    package: str
    version: str
    spec: str
    device: str
    seed: int
    beside: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One cell of a matrix: a probe in one release of a package.

    Attributes:
        package: the package that was varied, as PEP 503 normalises it.
        version: its release.
        measurement: what came back, without what the process printed.
        platform: ``sys.platform`` and the machine: ``linux-x86_64``.
        digest: of the code that measured; another digest is another measurement.
        date: when, as ``2026-11-20``.
        beside: name → version of packages that somebody asked for beside it, whatever the metadata say; others were
            chosen as fits the release.
    """

    package: str
    version: str
    measurement: Measurement
    platform: str
    digest: str
    date: str
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def cell(self) -> Cell:
        """Which cell of the matrix it is."""
        return Cell(
            package=self.package,
            version=self.version,
            spec=str(self.measurement.spec),
            device=self.measurement.device,
            seed=self.measurement.seed,
            beside=tuple(sorted(self.beside.items())),
        )
