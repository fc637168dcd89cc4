"""Options of the guard, from arguments or from the environment of the process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

ENABLED = "GRADCOMPAT_GUARD"
STEPS = "GRADCOMPAT_GUARD_STEPS"
ON_DEFECT = "GRADCOMPAT_GUARD_ON_DEFECT"
REPORT = "GRADCOMPAT_GUARD_REPORT"
PYTHON = "GRADCOMPAT_GUARD_PYTHON"
ALSO = "GRADCOMPAT_GUARD_ALSO"
DEFAULT_STEPS = 2
DEFAULT_REPORT = "gradcompat-guard.json"

# What costs more than measuring the first steps, and is done where it is asked for.
LATER_LOSSES = "later-losses"
PACKING = "packing"
CHECKPOINT = "checkpoint"
EXTRA = (LATER_LOSSES, PACKING, CHECKPOINT)


@dataclass(frozen=True)
class Options:
    """How a run is guarded.

    Attributes:
        steps: optimizer steps that are looked at.
        on_defect: ``stop`` ends the run before the wrong update, ``warn`` prints.
        report: the file that is written; empty for none.
        python: an interpreter that has gradcompat with its dependencies, to match records; empty for this one.
        also: what is verified only where it is asked for. ``later-losses``: a flag on the device notices a loss that is
            not finite after the guarded steps. ``packing``: two forward passes show whether packed samples influence
            each other. ``checkpoint``: the first checkpoint is read back and compared.
    """

    steps: int = DEFAULT_STEPS
    on_defect: str = "stop"
    report: str = DEFAULT_REPORT
    python: str = ""
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.steps < 1:
            raise ValueError(f"steps is {self.steps}, and has to be 1 or more")
        if self.on_defect not in ("stop", "warn"):
            raise ValueError(f"on_defect is {self.on_defect!r}, and has to be 'stop' or 'warn'")
        unknown = [one for one in self.also if one not in EXTRA]
        if isinstance(self.also, str) or unknown:
            raise ValueError(f"also is {self.also!r}, and has to be some of {', '.join(EXTRA)}")


def from_environment(environ: Mapping[str, str] | None = None) -> Options:
    """The options that ``gradcompat run`` or the user has put into the environment.

    Raises:
        ValueError: if a variable has a value that makes no sense.
    """
    values = os.environ if environ is None else environ
    steps = values.get(STEPS, str(DEFAULT_STEPS))
    if not steps.isdecimal():
        raise ValueError(f"{STEPS} is {steps!r}, and has to be a number of steps")
    return Options(
        steps=int(steps),
        on_defect=values.get(ON_DEFECT, "stop"),
        report=values.get(REPORT, DEFAULT_REPORT),
        python=values.get(PYTHON, ""),
        also=tuple(one.strip() for one in values.get(ALSO, "").split(",") if one.strip()),
    )
