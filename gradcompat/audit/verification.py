"""``check --probe``: measures in the environments that were checked whether their findings are really there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from gradcompat.errors import ProbeUnavailable, UsageError
from gradcompat.model.issue import Issue
from gradcompat.model.probe import Measurement, ProbeResult, ProbeSpec
from gradcompat.model.report import Audit, ReportedFinding
from gradcompat.probes.interpreters import interpreter_of
from gradcompat.probes.runner import Interpreter, Job
from gradcompat.probes.runner import run as run_jobs
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge
from gradcompat.startup.lazy_dataclasses import replace


def with_probe_results(
    audits: Sequence[Audit], *, targets: Sequence[str], python: str | None, device: str
) -> list[Audit]:
    """The audits with the verdicts of the probes of what was found.

    Args:
        audits: of environments that are installed here; a lockfile cannot be measured.
        targets: as the user named them.
        python: the interpreter that the user named.
        device: where to train.

    Raises:
        UsageError: if something else than an installed environment was checked.
        ProbeUnavailable: if its interpreter cannot be used.
    """
    elsewhere = next((audit for audit in audits if audit.kind not in (None, "installed")), None)
    if elsewhere is not None:
        hint = "name an environment's folder or `--python`, or leave `--probe` out"
        raise UsageError(f"`{elsewhere.source}` is not installed here, so nothing can be measured in it", hint=hint)
    return [_probed(audit, _interpreter(audit, targets, python), device) for audit in audits]


def _interpreter(audit: Audit, targets: Sequence[str], python: str | None) -> Path:
    if python is not None and audit.source == python:
        return interpreter_of(python)
    return interpreter_of(audit.source if audit.source in targets else None)


def _probed(audit: Audit, interpreter: Path, device: str) -> Audit:
    issues = [reported.finding.issue for reported in audit.findings if reported.finding.status != "not_affected"]
    wanted = of_issues([issue for issue in issues if issue.probes])
    if not wanted:
        return audit
    results = measure(wanted, Interpreter(path=interpreter), device=device)
    return replace(audit, findings=tuple(_with(reported, results) for reported in audit.findings))


def _with(advised: ReportedFinding, results: Sequence[ProbeResult]) -> ReportedFinding:
    own = tuple(result for result in results if advised.finding.issue.id in result.issues)
    return replace(advised, probed=own)


def of_issues(issues: Sequence[Issue]) -> dict[str, tuple[ProbeSpec, list[Issue]]]:
    """Each probe once, with the issues that it shows."""
    probes: dict[str, tuple[ProbeSpec, list[Issue]]] = {}
    for issue in issues:
        for probe in issue.probes:
            probes.setdefault(str(probe.spec), (probe.spec, []))[1].append(issue)
    return probes


def measure(
    probes: dict[str, tuple[ProbeSpec, list[Issue]]],
    interpreter: Interpreter,
    *,
    recipes: Collection[str] = (),
    device: str,
    processes: int | None = None,
    seed: int = 0,
    seconds: float | None = None,
    progress: Callable[[int, int, Measurement], None] | None = None,
) -> list[ProbeResult]:
    """Run each probe once; its verdict for each issue that it shows.

    Args:
        probes: by their specification, with the issues that each shows.
        interpreter: where.
        recipes: those of the probes that are also judged by all that they measure, whatever an issue looks at.
        device: what trains.
        processes: how many a distributed probe has; None for its own number.
        seed: of all generators.
        seconds: how long a probe may take; None for its own time.
        progress: is called with how many of how many were measured, and the last measurement.

    Returns:
        The verdict of each probe for each of its issues, and one without an issue for each of ``recipes``.
    """
    jobs = []
    unknown = {name: reason for name, (spec, _) in probes.items() if (reason := _missing(spec)) is not None}
    asked, probes = probes, {name: probe for name, probe in probes.items() if name not in unknown}
    for spec, _ in probes.values():
        recipe = recipe_of(spec)
        parameters = dict(spec.parameters)
        if processes is not None and "processes" in recipe.parameters:
            parameters["processes"] = processes
        asked_for = ProbeSpec(name=spec.name, parameters=parameters)
        jobs.append(Job.of(asked_for, recipe, device=device, seed=seed, seconds=seconds))
    count = 0

    def measured_one(measurement: Measurement) -> None:
        nonlocal count
        count += 1
        if progress is not None:
            progress(count, len(jobs), measurement)

    measurements = run_jobs(jobs, interpreter, measured_one)
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


def probe_exit_status(results: Sequence[ProbeResult]) -> int:
    """1 if something was reproduced, else 3 if something could not be measured, else 0."""
    outcomes = {result.outcome for result in results}
    if "reproduced" in outcomes:
        return 1
    return 3 if outcomes & {"inconclusive", "skipped"} else 0


def _missing(spec: ProbeSpec) -> str | None:
    """Why this gradcompat cannot measure it: records that were fetched may name recipes of a newer one."""
    try:
        recipe_of(spec)
    except ProbeUnavailable as error:
        return f"{error.message} in this version of gradcompat: upgrade it"
    return None


def _by_quantities(spec: ProbeSpec, issues: Sequence[Issue]) -> dict[tuple[str, ...], list[Issue]]:
    """Issues that look at the same values of one measurement have the same verdict."""
    groups: dict[tuple[str, ...], list[Issue]] = {}
    for issue in issues:
        for probe in issue.probes:
            if probe.spec == spec:
                groups.setdefault(probe.quantities, []).append(issue)
    return groups
