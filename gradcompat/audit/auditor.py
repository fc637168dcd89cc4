"""From targets to audits: reads each environment, matches it, and says what could not be seen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from gradcompat.audit.change_advice import PLAN_QUESTIONS, advise_findings
from gradcompat.audit.environment_findings import MATCH_STEPS, match_runs
from gradcompat.audit.missing_versions import missing_versions
from gradcompat.audit.named_python import with_named_python
from gradcompat.audit.options import PLAN_STEPS, AuditOptions
from gradcompat.audit.replaced_versions import refused_by_requirements, replace_versions
from gradcompat.audit.stated_versions import with_stated_versions
from gradcompat.audit.targets import AuditRequest, File, Source, environment_of, size_of
from gradcompat.errors import SourceError, TooComplex
from gradcompat.knowledge.horizon import newer
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.messages import counted
from gradcompat.model.environment import Environment, Location, Skipped
from gradcompat.model.report import Audit, ReportedFinding
from gradcompat.startup.lazy_dataclasses import dataclass, replace

if TYPE_CHECKING:
    from gradcompat.model.code_use import ProjectCode
    from gradcompat.model.context import Context

# Of less a process costs more than it saves: to start it, and to send back what it found.
_BYTES_FOR_A_PROCESS = 1_000_000
_TOO_LARGE = "check it alone, on a machine with more memory"
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Task:
    """One source with its training runs, and what the code beside it takes from other packages, if any was read.

    Attributes:
        plan_steps: that the plan behind its advice may take.
        plan_questions: that this plan may ask.
    """

    source: Source
    contexts: tuple[Context, ...] = ()
    code: ProjectCode | None = None
    plan_steps: int = PLAN_STEPS
    plan_questions: int = PLAN_QUESTIONS


def tasks_of(request: AuditRequest) -> list[Task]:
    """Each source with its training runs and code, in their order."""
    if request.contexts is None:
        return [Task(source) for source in request.sources]
    display_path = [_display_path(source) for source in request.sources]
    runs, code = request.contexts.of(display_path), request.contexts.code(display_path)
    return [Task(*parts) for parts in zip(request.sources, runs, code, strict=True)]


def audit_all(request: AuditRequest, base: KnowledgeBase, options: AuditOptions) -> list[Audit]:
    """Audit everything that was asked for.

    What a lockfile should have resolved is audited itself where that cannot be read, and joins ``asked.sources``.
    """
    audits = audit_each(tasks_of(request), base, options)
    unresolved = [
        file
        for source, audited in zip(request.sources, audits, strict=True)
        if audited.kind is None and isinstance(source, File)
        for file in source.resolves
    ]
    if not unresolved:
        return audits
    first = len(request.sources)
    request.sources.extend(unresolved)
    return audits + audit_each(tasks_of(request)[first:], base, options)


def audit_each(tasks: Sequence[Task], base: KnowledgeBase, options: AuditOptions) -> list[Audit]:
    """Audit every source with its training runs, in their order; many files go to all processors.

    Behind the audits that took all steps, each of the others is a gap: whatever the number of processors.
    """
    size = size_of(task.source for task in tasks)
    most = MATCH_STEPS * max(size, _MEGABYTE) // _MEGABYTE  # more for larger files
    audits = list(_allowed(_audits(tasks, size, most, base, options), most))
    return [*audits, *(_beyond(task, len(audits), most) for task in tasks[len(audits) :])]


def _allowed(audits: Iterable[Audit], most: int) -> Iterator[Audit]:
    """The first audits, up to the one that takes the last of the steps."""
    taken = 0
    for done in audits:
        yield done
        taken += done.steps
        if taken > most:
            return


def _beyond(task: Task, audited: int, most: int) -> Audit:
    display_path = _display_path(task.source)
    message = f"not checked: the {counted(audited, 'environment')} before it took all of the {most:,} steps of a run"
    return _unread(display_path, TooComplex(message, path=display_path, hint="check it alone, or its folder"))


def _audits(tasks: Sequence[Task], size: int, most: int, base: KnowledgeBase, options: AuditOptions) -> Iterable[Audit]:
    """The audits of as many of the first tasks as there are steps for, or of more."""
    tasks = _sharing(tasks, PLAN_STEPS * max(size // _MEGABYTE, 1))
    files = sum(isinstance(task.source, File) for task in tasks)
    processors = min(_processors(), files, size // _BYTES_FOR_A_PROCESS)
    if processors > 1:
        from gradcompat.audit.worker_pool import map_in_processes

        # The processes work in another folder.
        placed = [replace(task, source=_placed(task.source)) for task in tasks]
        with suppress(OSError):  # the system has no process left for us
            return map_in_processes(
                _audit_here,
                placed,
                _lost,
                processors=processors,
                prepare=_prepare,
                arguments=(None if base.plain else base, options),
                steps_of=attrgetter("steps"),
                most_steps=most,
            )
    return (audit(task, base, options) for task in tasks)


def _sharing(tasks: Sequence[Task], steps: int) -> list[Task]:
    """The tasks with their shares of the steps of plans: those that train something share them among themselves.

    All others together may take as many once more, which few of them do: what runs are affected by is planned for.
    """
    training = sum(1 for task in tasks if task.contexts)
    return [
        replace(task, plan_steps=steps // among, plan_questions=PLAN_QUESTIONS // among)
        for task in tasks
        for among in (training if task.contexts else len(tasks),)
    ]


def _placed(source: Source) -> Source:
    return replace(source, path=source.path.absolute()) if isinstance(source, File) else source


def _processors() -> int:
    """How many this process may use: a container or a batch system may have left it fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _lost(task: Task) -> Audit:
    display_path = _display_path(task.source)
    return _unread(display_path, SourceError("the process that read it was killed", path=display_path, hint=_TOO_LARGE))


def _display_path(source: Source) -> str:
    return source.source if isinstance(source, Environment) else source.shown


_worker: tuple[KnowledgeBase, AuditOptions]


def _prepare(base: KnowledgeBase | None, options: AuditOptions) -> None:
    """Runs once in each process: the knowledge is loaded there, since reading it is cheaper than sending it.

    Only what was fetched, or is somebody's own, is sent: every process has to have the very same.
    """
    import gc

    from gradcompat.knowledge.load import load

    global _worker  # noqa: PLW0603  # a process pool has no other place for what its tasks share
    gc.disable()
    _worker = (load() if base is None else base, options)


def _audit_here(task: Task) -> Audit:
    return audit(task, *_worker)


def audit(task: Task, base: KnowledgeBase, options: AuditOptions) -> Audit:
    """Read one source, match it with each training run and advise; what cannot be read is an audit that says so.

    Args:
        task: what was asked for.
        base: the records.
        options: what counts.
    """
    try:
        environment, replaced = replace_versions(_stated(task.source, base, options), options.replacements, base.names)
        path = task.source.path if isinstance(task.source, File) else None
        audited = _audited(environment, task, path, base, options)
        if not replaced:
            return audited
        beside = refused_by_requirements(environment, replaced)
        return replace(audited, replaced=replaced, skipped=(*audited.skipped, *beside))
    except SourceError as error:
        return _unread(_display_path(task.source), error)
    except MemoryError:
        display_path = _display_path(task.source)
        return _unread(
            display_path, SourceError("needs more memory than is available", path=display_path, hint=_TOO_LARGE)
        )


def _stated(source: Source, base: KnowledgeBase, options: AuditOptions) -> Environment:
    """The environment with the Python that the project names, and the versions that the user says are installed."""
    environment = environment_of(source, options.cache)
    if isinstance(source, File):
        environment = with_named_python(environment, source.path, source.root)
    return with_stated_versions(environment, options.settings, base.names)


def _unread(display_path: str, error: SourceError) -> Audit:
    location = None if error.path is None else Location(path=error.path, line=error.line)
    skipped = Skipped(what=display_path, reason=error.message, location=location)
    return Audit(
        source=display_path, kind=None, packages=0, recognised=0, findings=(), skipped=(skipped,), hint=error.hint
    )


def _audited(
    environment: Environment,
    task: Task,
    path: Path | None,
    base: KnowledgeBase,
    options: AuditOptions,
) -> Audit:
    matched = match_runs(environment, task.contexts, base, options, code=task.code, whole=options.show_all)
    options = replace(options, plan_steps=min(options.plan_steps, task.plan_steps))
    advised = advise_findings(environment, matched, path, base, options, task.plan_questions)
    findings = tuple(
        ReportedFinding(finding=finding, advice=advised.advice.get(id(finding)))
        for finding in matched.findings
        if options.show_all or finding.status != "not_affected"
    )
    return Audit(
        source=environment.source,
        kind=environment.kind,
        packages=len(environment.packages),
        recognised=sum(1 for package in environment.packages if base.knows(base.names.canonical(package))),
        findings=findings,
        skipped=(
            *environment.skipped,
            *matched.skipped,
            *advised.skipped,
            *missing_versions(matched.environment, base, strict=options.strict or not options.presume),
        ),
        contexts=tuple(context.source for context in task.contexts),
        newer=newer(environment, matched.breaks, base),
        versions=_versions(environment, options.versions_of, base) if options.versions_of else {},
        steps=matched.steps + advised.steps,
    )


def _versions(
    environment: Environment, names: frozenset[str], base: KnowledgeBase
) -> dict[str, tuple[str | None, ...]]:
    versions: dict[str, tuple[str | None, ...]] = {}
    for package in environment.packages:
        if (name := base.names.canonical(package)) in names:
            versions[name] = tuple(dict.fromkeys((*versions.get(name, ()), package.version)))
    return versions
