"""``gradcompat run``: starts a training command with the guard in each of its Python processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from types import FrameType
from typing import Annotated, Any

import typer

from gradcompat.cli.console import print_note
from gradcompat.cli.parameters import repeatable
from gradcompat.errors import UsageError
from gradcompat.guard.findings import STOPPED
from gradcompat.guard.launch import environment
from gradcompat.guard.options import DEFAULT_REPORT, DEFAULT_STEPS, EXTRA, Options

_SIGNALLED = 128


def command(
    *,
    launched: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND...", help="What trains, with its arguments.", show_default=False),
    ] = None,
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", min=1, max=1000, help="Optimizer steps to look at.")
    ] = DEFAULT_STEPS,
    on_defect: Annotated[
        str, typer.Option("--on-defect", metavar="stop|warn", help="Stop before the wrong update, or only tell.")
    ] = "stop",
    report: Annotated[
        str, typer.Option("--report", metavar="FILE", help="Where versions, settings and measurements are written.")
    ] = DEFAULT_REPORT,
    also: Annotated[
        list[str],
        repeatable("--also", metavar="|".join(EXTRA), help="Verify that too; it costs more. Repeatable."),
    ],
) -> int:
    """Train with a guard that verifies the first optimizer steps, and stops before a wrong update.

    The guard measures what the steps really do: with which weight labels count under gradient accumulation and over
    ranks, whether all gradients arrive, whether parameters move, whether the log tells the truth. It works in every
    Python process below the command, so before torchrun, accelerate launch and the like too. The weights are bit for
    bit those of a run without it.

    Exit status:
      86  the guard has stopped the run
      2   wrong usage, or the command cannot be started
      N   any other status is that of the command; 128 and the number of the signal that has ended it

    Files:
      gradcompat-guard.json  what was measured, with versions and settings, and nothing of data or paths

    Environment:
      GRADCOMPAT_GUARD=1  guards a process that finds the folder of the guard on its PYTHONPATH

    Examples:
      gradcompat run -- python train.py --lr 1e-4
      gradcompat run --on-defect warn -- torchrun --nproc-per-node 2 train.py
      gradcompat run -- llamafactory-cli train config.yaml
    """
    if not launched:
        raise UsageError(
            "no command is given", hint="write what trains behind two dashes: `gradcompat run -- python train.py`"
        )
    if on_defect not in ("stop", "warn"):
        raise UsageError(f"`--on-defect {on_defect}` is not known", hint="known: stop, warn")
    if unknown := [one for one in also if one not in EXTRA]:
        raise UsageError(f"`--also {unknown[0]}` is not known", hint=f"known: {', '.join(EXTRA)}")
    path = os.path.abspath(report)
    options = Options(steps=steps, on_defect=on_defect, report=path, python=sys.executable, also=tuple(also))
    before = _written_at(path)
    status = _run(launched, environment(options, os.environ))
    if _written_at(path) == before:
        print_note("the guard has seen no optimizer step: nothing was verified")
    elif status and _stopped(path):
        return STOPPED
    return status


def _run(launched: list[str], variables: dict[str, str]) -> int:
    """Run the command to its end; signals are for it to answer."""
    try:
        process = subprocess.Popen(launched, env=variables)  # noqa: S603  # what the user asks for
    except OSError as error:
        raise UsageError(f"`{launched[0]}` cannot be started: {error.strerror}") from None

    def pass_on(number: int, _frame: FrameType | None) -> None:
        process.send_signal(number)

    signal.signal(signal.SIGTERM, pass_on)
    # Ctrl-C reaches the command from the terminal; a handler, since what is ignored would be ignored there too.
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    status = process.wait()
    return _SIGNALLED - status if status < 0 else status


def _written_at(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _stopped(path: str) -> bool:
    """Whether the report says that the guard has stopped the run: a launcher has a status of its own for that."""
    try:
        with open(path, encoding="utf-8") as file:
            content: Any = json.load(file)
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("stopped") is True
