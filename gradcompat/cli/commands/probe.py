"""``gradcompat probe``: measures in the user's interpreter whether defects are really there."""

from __future__ import annotations

import difflib
import importlib
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gradcompat.audit.matching import match_runs
from gradcompat.audit.options import NO_SUCH_ID, AuditOptions
from gradcompat.audit.targets import environment_of, resolve_targets
from gradcompat.audit.verification import measure, of_issues
from gradcompat.cli.console import known_records
from gradcompat.cli.parameters import Format, OwnRecords, Set
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.issue import Issue
from gradcompat.model.probe import Measurement, ProbeResult, ProbeSpec
from gradcompat.probes.interpreters import interpreter_of
from gradcompat.probes.runner import Interpreter
from gradcompat.recipes.table import BY_NAME
from gradcompat.vocabulary import parse_setting

_FORMATS = {"text": "gradcompat.renderers.probe_text", "json": "gradcompat.renderers.probe_json"}
_RECORD_ID = re.compile(r"[A-Za-z]+-[0-9]+")
_DEVICE = re.compile(r"auto|cpu|mps|(?:cuda|xpu)(?::\d{1,3})?")


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
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The seed of all random generators.")] = 0,
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
    recipe that is named runs with its default parameters and is judged by all that it measures.

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
    return run(
        identifiers,
        every=every,
        python=python,
        device=device,
        processes=processes,
        seed=seed,
        seconds=seconds,
        record=record,
        facts=facts,
        knowledge=knowledge,
        form=form,
    )


def run(
    identifiers: Sequence[str],
    *,
    every: bool,
    python: str | None,
    device: str,
    processes: int | None,
    seed: int,
    seconds: float | None,
    record: str | None,
    facts: Sequence[str],
    knowledge: Sequence[str] = (),
    form: str,
) -> int:
    """Run probes and print their verdicts.

    Returns:
        0 if nothing was reproduced, 1 if something was, 3 if something could not be measured.

    Raises:
        UsageError: if an option makes no sense, or a record has no probe.
        ProbeUnavailable: if the interpreter cannot be used.
    """
    if form not in _FORMATS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(_FORMATS)}")
    if not _DEVICE.fullmatch(device):
        raise UsageError(f"`--device {device}` is not known", hint="known: auto, cpu, cuda, cuda:N, mps, xpu, xpu:N")
    base = known_records(knowledge)
    recipes = {name for one in identifiers if (name := one.lower()) in BY_NAME}
    named = [one for one in identifiers if one.lower() not in recipes]
    if every and not identifiers:
        wanted = _every(base)
    else:
        wanted = _wanted(named, base) if identifiers else _applying(python, facts, base)
    probes = of_issues(wanted)
    for name in sorted(recipes):
        probes.setdefault(name, (ProbeSpec(name=name), []))
    # The terminal's Ctrl-C does not reach the other interpreter, which has a process group of its own: it is ended
    # on the way out.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interpreter = Interpreter(path=interpreter_of(python))
    results = measure(
        probes,
        interpreter,
        recipes=recipes,
        device=device,
        processes=processes,
        seed=seed,
        seconds=seconds,
        progress=_progress,
    )
    if record is not None:
        _keep(Path(record), results)
    status = exit_status(results)
    importlib.import_module(_FORMATS[form]).render(results, status, sys.stdout)
    return status


def _wanted(identifiers: Sequence[str], base: KnowledgeBase) -> list[Issue]:
    issues = []
    for identifier in {one.upper(): one for one in identifiers}.values():
        issue = base.get(identifier)
        if issue is None:
            raise _unknown(identifier)
        if not issue.probes:
            raise UsageError(f"`{issue.id}` has no probe", hint=f"`gradcompat explain {issue.id}` has its evidence")
        issues.append(issue)
    return issues


def _unknown(identifier: str) -> UsageError:
    if _RECORD_ID.fullmatch(identifier):
        return UsageError(f"there is no record `{identifier.upper()}`", hint=NO_SUCH_ID)
    close = " or ".join(f"`{name}`" for name in difflib.get_close_matches(identifier.lower(), BY_NAME))
    known = f"did you mean {close}?" if close else f"recipes are {', '.join(BY_NAME)}"
    return UsageError(f"`{identifier}` is neither a record nor a recipe", hint=known)


def _every(base: KnowledgeBase) -> list[Issue]:
    return [issue for issue in base.in_force() if issue.probes]


def _applying(python: str | None, facts: Sequence[str], base: KnowledgeBase) -> list[Issue]:
    """The records with a probe that an environment has, or may have."""
    (source,) = resolve_targets((), python).sources
    found = match_runs(environment_of(source), (), base, AuditOptions(settings=tuple(map(parse_setting, facts))))
    return [one.issue for one in found.findings if one.status != "not_affected" and one.issue.probes]


def exit_status(results: Sequence[ProbeResult]) -> int:
    """1 if something was reproduced, else 3 if something could not be measured, else 0."""
    outcomes = {result.outcome for result in results}
    if "reproduced" in outcomes:
        return 1
    return 3 if outcomes & {"inconclusive", "skipped"} else 0


def _keep(path: Path, results: Sequence[ProbeResult]) -> None:
    """The raw measurements, by rename, so that a file of an earlier run is whole or replaced."""
    from gradcompat.renderers.probe_json import data

    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(data(results, exit_status(results)), indent=1) + "\n", "utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"cannot be written: {error.strerror}", path=str(path)) from None


def _progress(done: int, total: int, measurement: Measurement) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{done} of {total} measured: {measurement.spec}")
        sys.stderr.write("\r\x1b[K" if done == total else "")
        sys.stderr.flush()
