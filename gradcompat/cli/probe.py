"""``gradcompat probe``: measures in the user's interpreter whether defects are really there."""

from __future__ import annotations

import difflib
import importlib
import json
import os
import re
import signal
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from gradcompat.cli.auditing import Options, asked_for, environment_of, matched
from gradcompat.cli.interpreters import interpreter_of
from gradcompat.cli.knowing import known_records
from gradcompat.cli.options import NO_SUCH_ID
from gradcompat.errors import ProbeUnavailable, UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.issue import Issue
from gradcompat.model.probe import Measurement, ProbeResult, ProbeSpec
from gradcompat.probes.runner import Interpreter, Job
from gradcompat.probes.runner import run as run_jobs
from gradcompat.recipes.judging import judge
from gradcompat.recipes.table import BY_NAME, recipe_of
from gradcompat.vocabulary import parse_setting

_FORMATS = {"text": "gradcompat.renderers.probe_text", "json": "gradcompat.renderers.probe_json"}
_RECORD_ID = re.compile(r"[A-Za-z]+-[0-9]+")
_DEVICE = re.compile(r"auto|cpu|mps|(?:cuda|xpu)(?::\d{1,3})?")


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

    Args:
        identifiers: ids of records, and names of recipes, which run with their default parameters.
        every: run the probe of every record.
        python: the interpreter to measure in; None for the active one.
        device: where to train.
        processes: how many processes a distributed probe has.
        seed: of all generators.
        seconds: how long each probe may take.
        record: the file that keeps the raw measurements.
        facts: settings as ``key=value``, which decide what applies where nothing is named.
        knowledge: files, folders and URLs of own records.
        form: the format of the output.

    Returns:
        0 if nothing was reproduced, 1 if something was, 3 if something could not be measured.

    Raises:
        UsageError: if an option makes no sense, a name is neither a record nor a recipe, or a record has no probe.
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
    results = measured(
        probes, interpreter, recipes=recipes, device=device, processes=processes, seed=seed, seconds=seconds
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
    (source,) = asked_for((), python).sources
    found = matched(environment_of(source), (), base, Options(settings=tuple(map(parse_setting, facts))))
    return [one.issue for one in found.findings if one.status != "not_affected" and one.issue.probes]


def of_issues(issues: Sequence[Issue]) -> dict[str, tuple[ProbeSpec, list[Issue]]]:
    """Each probe once, with the issues that it shows."""
    probes: dict[str, tuple[ProbeSpec, list[Issue]]] = {}
    for issue in issues:
        for probe in issue.probes:
            probes.setdefault(str(probe.spec), (probe.spec, []))[1].append(issue)
    return probes


def measured(
    probes: dict[str, tuple[ProbeSpec, list[Issue]]],
    interpreter: Interpreter,
    *,
    recipes: Collection[str] = (),
    device: str,
    processes: int | None = None,
    seed: int = 0,
    seconds: float | None = None,
) -> list[ProbeResult]:
    """Run each probe once.

    Args:
        probes: each with the issues that it shows, by what it is called.
        interpreter: where they run.
        recipes: those of the probes that are also judged by all that they measure, whatever an issue looks at.
        device: where to train.
        processes: how many processes a distributed probe has; None for what the recipe has by default.
        seed: of all generators.
        seconds: how long each may take; None for what the recipe says.

    Returns:
        The verdict of each probe for each of its issues, and one without an issue for each of ``recipes``.
    """
    jobs = []
    unknown = {name: reason for name, (spec, _) in probes.items() if (reason := _missing(spec)) is not None}
    asked, probes = probes, {name: one for name, one in probes.items() if name not in unknown}
    for spec, _ in probes.values():
        recipe = recipe_of(spec)
        parameters = dict(spec.parameters)
        if processes is not None and "processes" in recipe.parameters:
            parameters["processes"] = processes
        asked_for = ProbeSpec(name=spec.name, parameters=parameters)
        jobs.append(Job.of(asked_for, recipe, device=device, seed=seed, seconds=seconds))
    count = 0

    def tell(measurement: Measurement) -> None:
        nonlocal count
        count += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{count} of {len(jobs)} measured: {measurement.spec}")
            sys.stderr.write("\r\x1b[K" if count == len(jobs) else "")
            sys.stderr.flush()

    measurements = run_jobs(jobs, interpreter, tell)
    results = [
        ProbeResult(
            measurement=Measurement(spec=asked[name][0], state="skipped", reason=reason, seed=seed),
            outcome="skipped",
            reason=reason,
            issues=tuple(issue.id for issue in asked[name][1]),
        )
        for name, reason in unknown.items()
    ]
    for measurement, (spec, issues) in zip(measurements, probes.values(), strict=True):
        groups = _by_quantities(spec, issues)
        if str(spec) in recipes:
            groups.setdefault((), [])
        for quantities, speaking in groups.items():
            outcome, reason = judge(recipe_of(spec), measurement, quantities)
            references = dict.fromkeys(reference.url for issue in speaking for reference in issue.references)
            results.append(
                ProbeResult(
                    measurement=measurement,
                    outcome=outcome,
                    reason=reason,
                    issues=tuple(issue.id for issue in speaking),
                    references=tuple(references),
                )
            )
    return results


def _missing(spec: ProbeSpec) -> str | None:
    """Why this gradcompat cannot measure it: records that were fetched may name recipes of a newer one."""
    try:
        recipe_of(spec)
    except ProbeUnavailable as error:
        return f"{error.message} in this gradcompat: recipes come with a newer one"
    return None


def _by_quantities(spec: ProbeSpec, issues: Sequence[Issue]) -> dict[tuple[str, ...], list[Issue]]:
    """Issues that look at the same values of one measurement have the same verdict."""
    groups: dict[tuple[str, ...], list[Issue]] = {}
    for issue in issues:
        for probe in issue.probes:
            if probe.spec == spec:
                groups.setdefault(probe.quantities, []).append(issue)
    return groups


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
