"""``gradcompat probe``: measures in the user's interpreter whether defects are really there."""

from __future__ import annotations

import importlib
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gradcompat.audit.probe_selection import select_probes
from gradcompat.audit.verification import measure, probe_exit_status
from gradcompat.cli.console import known_records
from gradcompat.cli.parameters import Format, OwnRecords, Seed, Set
from gradcompat.errors import UsageError
from gradcompat.files.atomic_file import write_atomically
from gradcompat.model.probe import Measurement, ProbeResult
from gradcompat.probes.interpreters import interpreter_of
from gradcompat.probes.runner import Interpreter
from gradcompat.startup.lazy_patterns import lazy_pattern

_FORMATS = {"text": "gradcompat.renderers.probe_text", "json": "gradcompat.renderers.probe_json"}
_DEVICE = lazy_pattern(r"auto|cpu|mps|(?:cuda|xpu)(?::\d{1,3})?")


def command(
    *,
    identifiers: Annotated[
        list[str],
        typer.Argument(
            metavar="[ID|RECIPE]...",
            help="Records whose probes to run, or recipes by their names; without one, the records that apply here.",
            default_factory=list,
            show_default=False,
        ),
    ],
    every: Annotated[bool, typer.Option("--all", help="Run all probes.")] = False,
    python: Annotated[
        str | None,
        typer.Option("--python", metavar="PATH", help="The interpreter to measure in; without it, the active one."),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", metavar="auto|cpu|cuda[:N]|mps|xpu[:N]", help="The device to train on.")
    ] = "auto",
    processes: Annotated[
        int | None,
        typer.Option("--processes", metavar="N", min=2, max=64, help="The number of processes of a distributed probe."),
    ] = None,
    seed: Seed = 0,
    seconds: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=1, help="The time limit for each probe.")
    ] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="FILE", help="Keep the raw measurements in this file.")
    ] = None,
    facts: Set,
    knowledge: OwnRecords,
    form: Format = "text",
) -> int:
    """Measure whether defects can be reproduced, with tiny seeded training runs in your own interpreter.

    Nothing is downloaded, and none of your models is trained: models of a few thousand weights take a step or two. A
    recipe recipe that is named runs with its default parameters and is judged by all that it measures.

    Exit status:
      0  nothing is reproduced
      1  something is reproduced
      2  wrong usage
      3  something could not be measured

    Environment:
      VIRTUAL_ENV, CONDA_PREFIX  the environment to measure in, without --python; else ./.venv

    Examples:
      gradcompat probe
      gradcompat probe GC-0004 --python .venv/bin/python --device cuda
      gradcompat probe no_op_training
    """
    if form not in _FORMATS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(_FORMATS)}")
    if not _DEVICE.fullmatch(device):
        raise UsageError(f"`--device {device}` is not known", hint="known: auto, cpu, cuda, cuda:N, mps, xpu, xpu:N")
    base = known_records(knowledge)
    selected = select_probes(identifiers, base, every=every, python=python, facts=facts)
    # The terminal's Ctrl-C does not reach the other interpreter, which has a process group of its own: it is ended
    # on the way out.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interpreter = Interpreter(path=interpreter_of(python))
    results = measure(
        selected.probes,
        interpreter,
        recipes=selected.recipes,
        device=device,
        processes=processes,
        seed=seed,
        seconds=seconds,
        progress=_progress,
    )
    if record is not None:
        _keep(Path(record), results)
    status = probe_exit_status(results)
    importlib.import_module(_FORMATS[form]).render(results, status, sys.stdout)
    return status


def _keep(path: Path, results: Sequence[ProbeResult]) -> None:
    """The raw measurements; a file of an earlier run is whole or replaced."""
    from gradcompat.renderers.probe_json import data

    text = json.dumps(data(results, probe_exit_status(results)), indent=1) + "\n"
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", path=str(path)) from None


def _progress(done: int, total: int, measurement: Measurement) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{done} of {total} measured: {measurement.spec}")
        sys.stderr.write("\r\x1b[K" if done == total else "")
        sys.stderr.flush()
