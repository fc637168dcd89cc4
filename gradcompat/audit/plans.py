"""From targets to plans: reads each environment, matches it, and looks for the smallest change of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from gradcompat.audit.environment_findings import Matched, match_runs, with_facts
from gradcompat.audit.missing_versions import missing_versions
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.project_files import Project, project_of
from gradcompat.audit.report_parts import ids_in_order, open_ids
from gradcompat.audit.stated_versions import with_stated_versions
from gradcompat.audit.targets import AuditRequest, File, Source, environment_of, megabytes
from gradcompat.budget import Budget
from gradcompat.dependency_formats import BY_KIND
from gradcompat.errors import SourceError
from gradcompat.files.regular_files import read_regular
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.matching.view import View
from gradcompat.model.assumption import Assumption
from gradcompat.model.code_use import ProjectCode
from gradcompat.model.context import Context
from gradcompat.model.environment import Environment, Location, Skipped
from gradcompat.model.finding import Finding
from gradcompat.model.issue import LEVELS, Issue, is_break
from gradcompat.model.plan import Alternative, Change, CodeChange, Plan, SettingChange
from gradcompat.model.plan_report import Planned
from gradcompat.model.release import Catalogue, Requirers
from gradcompat.model.report import ReportedFinding
from gradcompat.planner.host_target import target_of
from gradcompat.planner.plan import plan
from gradcompat.planner.request import DEFAULT_STEPS, Request
from gradcompat.planner.single_move import SingleMove, shared_packages, single_move
from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_dataclasses import dataclass, replace

_Change = TypeVar("_Change", Change, SettingChange, CodeChange)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """What the user says of a plan beside the options of ``check``."""

    keep: frozenset[str] = frozenset()
    prereleases: bool = False

    @classmethod
    def of(cls, keep: Sequence[str], *, prereleases: bool) -> PlanOptions:
        """From the command line."""
        return cls(keep=frozenset(map(normalise, keep)), prereleases=prereleases)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningResult:
    """One environment with everything that ``plan`` and ``fix`` need of it.

    Attributes:
        source: as it was asked for.
        environment: None if it could not be read; then ``planned`` says why.
        found: the runs and findings.
        project: what is asked for directly, and where.
        planned: the plan, or why there is none.
    """

    source: Source
    environment: Environment | None
    found: Matched | None
    project: Project
    planned: Planned

    @property
    def incomplete(self) -> bool:
        """Could something of it not be read? Then nothing is said of what was not found."""
        return self.environment is None or bool(self.planned.skipped)

    @property
    def left(self) -> bool:
        """Does its plan leave findings?"""
        return self.planned.plan is not None and not self.planned.plan.complete


def plan_all(
    asked: AuditRequest, base: KnowledgeBase, catalogue: Catalogue, options: AuditOptions, wishes: PlanOptions
) -> tuple[PlanningResult, ...]:
    """Plan each environment that was asked for.

    All plans together have one budget, so much for each megabyte of environments.
    """
    shown = [source.source if isinstance(source, Environment) else source.shown for source in asked.sources]
    runs = asked.contexts.of(shown) if asked.contexts is not None else [()] * len(shown)
    code = asked.contexts.code(shown) if asked.contexts is not None else [None] * len(shown)
    read = [_task(*parts, base, options) for parts in zip(asked.sources, runs, code, strict=True)]
    waiting = [reading for reading in read if isinstance(reading, _Task) and _has_to_change(reading.found, options)]

    def make(task: _Task, budget: Budget) -> Plan | None:
        found, project = task.found, task.project
        return plan_of(task.environment, found, project, base, catalogue, options, wishes, budget=budget)

    made = iter(within(Budget(DEFAULT_STEPS * megabytes(asked.sources)), waiting, make))
    done = [
        reading
        if isinstance(reading, PlanningResult)
        else _result(reading, next(made) if _has_to_change(reading.found, options) else None, base, options)
        for reading in read
    ]
    beside = [*asked.skipped, *(asked.contexts.unread if asked.contexts is not None else ())]
    gaps = tuple(part for part in beside if part.gap and part.what not in {work.planned.source for work in done})
    if gaps and done:
        # What a folder held beside its environments is told once, with the first of them.
        planned = done[0].planned
        done[0] = replace(done[0], planned=replace(planned, skipped=(*planned.skipped, *gaps)))
    return tuple(done)


def exit_status(done: Sequence[PlanningResult], *, left: bool) -> int:
    """What the plans of one run come to: 2 if nothing could be read, 3 if something could not be read or verified.

    Args:
        done: every environment that was asked for.
        left: something is still to be done by the user; then 1, and else 0.
    """
    if done and all(work.environment is None for work in done):
        return 2
    plans = [work.planned.plan for work in done if work.planned.plan is not None]
    if any(work.incomplete for work in done) or any(plan.verified.unverified for plan in plans):
        return 3
    return int(left)


@dataclass(frozen=True, slots=True)
class _Task:
    """An environment that was read and matched."""

    source: Source
    environment: Environment
    found: Matched
    project: Project


def _task(
    source: Source,
    contexts: tuple[Context, ...],
    code: ProjectCode | None,
    base: KnowledgeBase,
    options: AuditOptions,
) -> _Task | PlanningResult:
    """What there is to plan; a result where the source cannot be read."""
    try:
        environment = with_stated_versions(environment_of(source), options.settings, base.names)
    except SourceError as error:
        shown = source.source if isinstance(source, Environment) else source.shown
        location = None if error.path is None else Location(path=error.path, line=error.line)
        skipped = (Skipped(what=shown, reason=error.message, location=location),)
        nothing = Planned(source=shown, kind=None, summaries={}, references={}, plan=None, skipped=skipped)
        return PlanningResult(source=source, environment=None, found=None, project=Project(), planned=nothing)
    found = match_runs(environment, contexts, base, options, code=code)
    project = project_of(environment, source.path if isinstance(source, File) else None)
    return _Task(source, environment, found, project)


def within(budget: Budget, tasks: Sequence[_Task], make: Callable[[_Task, Budget], Plan | None]) -> list[Plan | None]:
    """Make a plan of each task; they share the steps.

    Each may take its share of what is left. A plan that this did not suffice for is made once more with what the others
    have not taken, if that is half as much again: less would hardly come further.
    """
    plans: list[Plan | None] = [None] * len(tasks)
    waiting = list(range(len(tasks)))
    least = 0
    for _ in range(2):
        short = []
        for turn, index in enumerate(waiting):
            share = Budget(max(budget.left, 0) // (len(waiting) - turn))
            if share.most < least:
                continue
            made = plans[index] = make(tasks[index], share)
            budget.take(share.used)
            if made is not None and not made.verified.smallest:
                short.append(index)
        waiting, least = short if len(tasks) > 1 else [], budget.most // max(len(tasks), 1) * 3 // 2
    return plans


def _result(task: _Task, made: Plan | None, base: KnowledgeBase, options: AuditOptions) -> PlanningResult:
    source, environment, project = task.source, task.environment, task.project
    reported = tuple(
        ReportedFinding(finding=finding, advice=None)
        for finding in task.found.findings
        if finding.status != "not_affected"
    )
    made = None if made is None else _in_order(made, reported)
    missing = missing_versions(task.found.environment, base, strict=options.strict or not options.presume)
    named = _named(made, base, task.found.issues)
    planned = Planned(
        source=environment.source,
        kind=environment.kind,
        summaries={issue.id: issue.summary for issue in named},
        references={issue.id: issue.references[0].url for issue in named if issue.references},
        plan=made,
        assumed=_assumed(made, task.found),
        possible=_possible(reported, options),
        findings=reported,
        command=_command(environment, source, project, made),
        asked_in=project.files[0].shown if project.files and project.lockfile else None,
        skipped=tuple(skipped for skipped in (*environment.skipped, *task.found.skipped, *missing) if skipped.gap),
        ranges=tuple(skipped for skipped in missing if skipped.range and not skipped.gap),
    )
    return PlanningResult(source=source, environment=environment, found=task.found, project=project, planned=planned)


def _wanted(found: Matched, options: AuditOptions) -> list[Finding]:
    """What a plan is asked to cure, and what is below the level."""
    statuses = ("affected", "conditional") if options.strict else ("affected",)
    return [finding for finding in found.findings if finding.status in statuses]


def _has_to_change(found: Matched, options: AuditOptions) -> bool:
    """Is there a finding that has to go?"""
    least = LEVELS.index(options.fail_on or "note")
    return any(
        not finding.issue.informational and LEVELS.index(finding.issue.level) >= least
        for finding in _wanted(found, options)
    )


def _assumed(made: Plan | None, found: Matched) -> dict[str, tuple[Assumption, ...]]:
    """What the findings that a plan cures rest on beside facts."""
    cured = () if made is None else made.fixed
    return {
        finding.issue.id: finding.assumed
        for finding in found.findings
        if finding.assumed and finding.status == "affected" and finding.issue.id in cured
    }


def _possible(reported: Sequence[ReportedFinding], options: AuditOptions) -> tuple[str, ...]:
    """The findings that a plan leaves alone because they are not sure, and that would count if they were."""
    if options.strict:
        return ()
    least = LEVELS.index(options.fail_on or "note")
    issues = {one.finding.issue.id: one.finding.issue for one in reported if one.finding.status == "conditional"}
    counting = {
        identifier
        for identifier, issue in issues.items()
        if not issue.informational and LEVELS.index(issue.level) >= least
    }
    return tuple(identifier for identifier in open_ids(reported) if identifier in counting)


def _in_order(made: Plan, reported: Sequence[ReportedFinding]) -> Plan:
    """The plan in the order in which a report names what it cures and leaves; what only goes with it stands last."""
    places = {identifier: place for place, identifier in enumerate(ids_in_order(reported))}

    def place(identifier: str) -> tuple[int, str]:
        return places.get(identifier, len(places)), identifier

    def first(cures: Sequence[str]) -> tuple[int, str]:
        return min(map(place, cures), default=(len(places) + 1, ""))

    def cured(change: _Change) -> _Change:
        return replace(change, cures=tuple(sorted(change.cures, key=place)))

    return replace(
        made,
        changes=tuple(sorted(map(cured, made.changes), key=lambda change: (*first(change.cures), change.package))),
        settings=tuple(sorted(map(cured, made.settings), key=lambda change: (*first(change.cures), change.key))),
        code=tuple(sorted(map(cured, made.code), key=lambda change: (*first(change.cures), change.text))),
        fixed=tuple(sorted(made.fixed, key=place)),
        remaining=tuple(sorted(made.remaining, key=place)),
    )


def plan_of(
    environment: Environment,
    found: Matched,
    project: Project,
    base: KnowledgeBase,
    catalogue: Catalogue,
    options: AuditOptions,
    wishes: PlanOptions,
    *,
    changes_only: bool = False,
    budget: Budget | None = None,
    requirers: Requirers | None = None,
) -> Plan | None:
    """The plan of one environment within a budget of steps; None where nothing has to change.

    What a check tells of it (``changes_only``) is asked of the records about what is listed: of the others none finds
    anything before the plan adds a package that it speaks of. Few plans do; only those are made with all records.
    """
    if not _has_to_change(found, options):
        return None
    stated = with_facts(environment, options.settings, options.kept_at)
    wanted = _wanted(found, options)
    breaks = (*found.breaks, *found.breaks_ahead(base.names))
    request = _request(environment, stated, project, base, options, wishes)

    def made(recorded: Sequence[Issue], steps: Budget | None) -> Plan:
        return plan(
            stated,
            wanted,
            (*recorded, *breaks),
            base.names,
            catalogue,
            request,
            runs=_runs(environment, found),
            seen=_seen(environment, found),
            changes_only=changes_only,
            budget=steps,
            requirers=requirers,
        )

    if changes_only and budget is not None:
        steps = Budget(max(budget.left, 0))
        of_listed = made(found.recorded(), steps)
        if all(change.kind != "add" for change in of_listed.changes):
            budget.left = steps.left
            return of_listed
    return made(base.in_force(), budget)


def single_move_of(
    environment: Environment,
    found: Matched,
    project: Project,
    base: KnowledgeBase,
    catalogue: Catalogue,
    options: AuditOptions,
    wishes: PlanOptions,
    *,
    budget: Budget | None = None,
    requirers: Requirers | None = None,
) -> SingleMove | None:
    """The plan of one environment where it surely moves one package and nothing else; None where it may be another."""
    wanted = _wanted(found, options)
    stated = with_facts(environment, options.settings, options.kept_at)
    request = _request(environment, stated, project, base, options, wishes)
    shared = shared_packages(wanted, base.names, request)
    if not shared:
        return None
    # A record none of whose packages is listed finds nothing, and such a move adds none.
    issues = (*found.issues, *found.breaks_ahead(base.names, shared))
    return single_move(
        stated,
        wanted,
        issues,
        base.names,
        catalogue,
        request,
        runs=_runs(environment, found),
        seen=_seen(environment, found),
        budget=budget,
        requirers=requirers,
    )


def _request(
    environment: Environment,
    stated: Environment,
    project: Project,
    base: KnowledgeBase,
    options: AuditOptions,
    wishes: PlanOptions,
) -> Request:
    return Request(
        target=target_of(stated),
        level=options.fail_on or "note",
        conditional=options.strict,
        direct=project.direct,
        keep=wishes.keep,
        prereleases=wishes.prereleases,
        yanked=base.yanked,
        known=_requires_dist(environment) if environment.kind == "installed" else {},
    )


def _requires_dist(environment: Environment) -> dict[tuple[str, str], tuple[str, ...]]:
    from gradcompat.sources.requires_dist import requires_dist  # loads email, which a lockfile needs not

    return requires_dist(environment)


def _runs(environment: Environment, found: Matched) -> tuple[Environment, ...]:
    """The training runs, with all packages: a plan may add one that the environment does not have."""
    return tuple(
        run if run.packages is environment.packages else replace(run, packages=environment.packages)
        for run in found.runs.values()
    )


def _seen(environment: Environment, found: Matched) -> tuple[View, ...]:
    """The runs as they were matched, where that was with the same packages, and all that had to be compared was."""
    same = all(view.environment.packages is environment.packages for view in found.views)
    return found.views if same and not any(view.forks.budget.spent for view in found.views) else ()


def _command(environment: Environment, source: Source, project: Project, made: Plan | None) -> tuple[str, ...]:
    """What makes the tool of a lockfile write it anew with the plan."""
    if made is None or not made.changes or not project.lockfile or not isinstance(source, File):
        return ()
    from gradcompat.edit.lock_commands import command
    from gradcompat.edit.pins import PinEdit

    pins = [
        PinEdit(
            package=change.package, version_from=change.version_from, version_to=change.version_to, kind=change.kind
        )
        for change in made.changes
    ]
    return command(environment.kind, source.path, pins, text=head_of(source.path, environment.kind)) or ()


def head_of(path: Path, kind: str) -> str:
    """The text of a file of which only its head says how it was made; nothing of any other."""
    if (entry := BY_KIND.get(kind)) is None or not entry.header:
        return ""
    try:
        return read_regular(path).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return ""  # it has been read before; who edits it will say what became of it


def _named(made: Plan | None, base: KnowledgeBase, found: Sequence[Issue]) -> tuple[Issue, ...]:
    """The issues that a plan names."""
    if made is None:
        return ()
    ids = {*made.fixed, *made.introduced, *made.remaining, *made.tolerated}
    ways: tuple[Plan | Alternative, ...] = (made, *made.alternatives)
    for way in ways:
        ids.update(way.fixed, way.remaining)
        for changes in (way.changes, way.settings, way.code):
            ids.update(identifier for change in changes for identifier in change.cures)
    breaks = {issue.id: issue for issue in found if is_break(issue.id)}
    issues = (breaks.get(identifier) or base.get(identifier) for identifier in sorted(ids))
    return tuple(issue for issue in issues if issue is not None)
