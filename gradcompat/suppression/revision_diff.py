"""``check --diff BASE``: what was found at an earlier revision already does not count, so that a change shows its own.

BASE is compared as ``git diff BASE...`` does: with the commit where the two parted. Nothing is checked out. What could
be read for the same targets is laid out in a private folder and audited with the same options; where a file could not
be read as it was, what is found in it now counts as new.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from gradcompat.audit.auditor import Task, audit_each, tasks_of
from gradcompat.audit.fingerprints import fingerprints
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.audit.targets import AuditRequest, File, resolve_targets
from gradcompat.config.project_file import OWN, SHARED, project_file
from gradcompat.config.schema import configuration
from gradcompat.dependency_formats import by_name
from gradcompat.errors import UsageError
from gradcompat.files.regular_files import read_regular
from gradcompat.formats.project_walk import is_installed
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.environment import Location, SettingValue
from gradcompat.model.report import Audit, Remark, ReportedFinding, Suppression
from gradcompat.suppression.apply import RuleBuilder, SuppressionRules
from gradcompat.suppression.git import Commit, Repository
from gradcompat.suppression.prior_finding import PriorFinding, is_known, weight_of
from gradcompat.suppression.revision_tree import Earlier, Wanted, materialize_tree
from gradcompat.vocabulary import parse_setting

_HINT = "name the lockfiles or folders of the repository: gradcompat check . --diff main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is compared with what.

    Attributes:
        commit: of then.
        targets: as they are named → their paths from the top of the repository.
        contexts: the same of ``--context``; None for a file that lies elsewhere and is the same for both.
        facts: what the user stated.
    """

    repository: Repository
    commit: Commit
    targets: dict[str, str]
    contexts: dict[str, str | None]
    facts: tuple[str, ...]


def comparison(
    revision: str, targets: Sequence[str], python: str | None, contexts: Sequence[str], facts: Sequence[str]
) -> Comparison:
    """Find the commit, and the targets in the repository.

    Raises:
        UsageError: if there is no such revision, or a target is no file of the repository.
    """
    if python is not None:
        raise UsageError("`--diff` compares files of a repository, and `--python` names an interpreter", hint=_HINT)
    if not targets:
        raise UsageError("`--diff` compares files of a repository, and no target is named", hint=_HINT)
    repository = Repository.around(Path.cwd())
    within: dict[str, str] = {}
    for target in targets:
        if target == "-":
            raise UsageError("`--diff` compares files of a repository, and `-` is standard input", hint=_HINT)
        if os.path.isdir(target) and is_installed(Path(target)):
            raise UsageError("`--diff` cannot compare an installed environment", path=target, hint=_HINT)
        path = inside(target, repository.top)
        if path is None:
            raise UsageError(
                "`--diff` cannot compare what lies outside the repository", path=target, hint="check it without"
            )
        within[target] = path
    beside = {context: inside(context, repository.top) for context in contexts}
    return Comparison(
        repository=repository,
        commit=repository.fork_point(revision),
        targets=within,
        contexts=beside,
        facts=tuple(facts),
    )


def inside(target: str, top: Path) -> str | None:
    """The path from the top of the repository, ``""`` for the top itself; None for what lies elsewhere."""
    path = Path(target)
    # A link is a file of its own; the folders on the way to it are not.
    real = os.path.realpath(path) if os.path.isdir(path) else os.path.join(os.path.realpath(path.parent), path.name)
    root = os.path.realpath(top)
    if not Path(real).is_relative_to(root):
        return None
    relative = os.path.relpath(real, root)
    return "" if relative == os.curdir else Path(relative).as_posix()


def diffing(
    compared: Comparison, asked: AuditRequest, base: KnowledgeBase, options: AuditOptions, *, same_options: bool = False
) -> RuleBuilder:
    """Audit the earlier revision when the audits of now are there, and compare."""

    def judging(audits: Sequence[Audit]) -> SuppressionRules:
        with private_folder() as folder:
            # A path that leads out of the repository leads as far out of this one, and no further than the folder.
            top = folder / compared.repository.top.relative_to(compared.repository.top.anchor)
            top.mkdir(parents=True)
            (top / ".git").touch()  # a member of a workspace looks for the lockfile no further than its checkout
            earlier = materialize_tree(compared.repository, compared.commit, _wanted(compared), top)
            settings = options.settings if same_options else _settings(compared, earlier, options)
            then = _audits_of(compared, earlier, asked, audits, base, options, settings)
        return _judgement(audits, then, earlier, compared)

    return judging


def _wanted(compared: Comparison) -> Wanted:
    named = {path for target, path in compared.targets.items() if not os.path.isdir(target)}
    named |= {path for path in compared.contexts.values() if path is not None}
    alone = all((expected := by_name(Path(path).name)) is not None and expected.lock for path in named)
    here = inside(".", compared.repository.top) or ""
    folders = tuple(path for target, path in compared.targets.items() if os.path.isdir(target))
    folders += tuple(path for one, path in compared.contexts.items() if path is not None and os.path.isdir(one))
    kept = {Path(folder, name).as_posix() for folder in (here, *map(str, Path(here).parents)) for name in (OWN, SHARED)}
    return Wanted(files=frozenset(named | kept), folders=folders, beside=not alone)


def _audits_of(
    compared: Comparison,
    earlier: Earlier,
    asked: AuditRequest,
    audits: Sequence[Audit],
    base: KnowledgeBase,
    options: AuditOptions,
    settings: tuple[tuple[str, SettingValue], ...],
) -> list[Audit]:
    """The audits of then, in their order."""

    def place(named: str) -> Path:
        path = compared.targets[named] if named in compared.targets else compared.contexts[named]
        return Path(named) if path is None else earlier.top / path

    before = resolve_targets(
        list(compared.targets), None, list(compared.contexts), active_without_target=False, place=place
    )
    then = replace(options, settings=settings, show_all=False, advise=False)
    now = {
        task.source.shown: (task, audit)
        for task, audit in zip(tasks_of(asked), audits, strict=True)
        if isinstance(task.source, File)
    }
    tasks = tasks_of(before)
    same = {
        index: now[task.source.shown][1]
        for index, task in enumerate(tasks)
        if isinstance(task.source, File)
        and then.settings == options.settings
        and task.source.shown in now
        and _unchanged(task, now[task.source.shown][0])
    }
    others = iter(audit_each([task for index, task in enumerate(tasks) if index not in same], base, then))
    return [same[index] if index in same else next(others) for index in range(len(tasks))]


def _unchanged(then: Task, now: Task) -> bool:
    """Is there nothing that could make a difference? A lockfile alone refers to no other file."""
    before, source = then.source, now.source
    if not isinstance(before, File) or not isinstance(source, File):
        return False
    expected = by_name(source.path.name)
    if expected is None or not expected.lock or (then.contexts, then.code) != (now.contexts, now.code):
        return False
    try:
        if before.path.stat().st_size != source.path.stat().st_size:
            return False
        return read_regular(before.path) == read_regular(source.path)
    except OSError:
        return False


def _settings(compared: Comparison, earlier: Earlier, options: AuditOptions) -> tuple[tuple[str, SettingValue], ...]:
    """What the project's own options said of the training then, where they lie in the repository."""
    kept = project_file(Path.cwd())
    if kept is not None and inside(str(kept.path), compared.repository.top) is None:
        return options.settings
    try:
        stated = dict(configuration(earlier.top / (inside(".", compared.repository.top) or "")).get("settings", ()))
    except UsageError:
        stated = {}
    stated.update(map(parse_setting, compared.facts))
    return tuple(stated.items())


def _judgement(
    audits: Sequence[Audit], then: Sequence[Audit], earlier: Earlier, compared: Comparison
) -> SuppressionRules:
    places = RepositoryPaths()
    marks_then = fingerprints(then, places)
    before: dict[str, PriorFinding] = {}
    for audit in then:
        for finding in (*audit.findings, *audit.suppressed):
            before[marks_then[id(finding)]] = PriorFinding(weight_of(finding), frozenset(finding.finding.contexts))
    marks = fingerprints(audits, places)

    def judge(audit: Audit, advised: ReportedFinding) -> Suppression | None:
        if not is_known(advised, before.get(marks[id(advised)]), str):
            return None
        location = Location(path=audit.source)
        return Suppression(kind="diff", reason=f"{compared.commit.shown} has it too", location=location)

    by_source = {audit.source: audit for audit in then}
    remarks = []
    for audit in audits:
        counting = any(advised.finding.status not in ("dormant", "not_affected") for advised in audit.findings)
        why = _why_new(audit, by_source.get(audit.source), earlier, compared) if counting else None
        if why is not None:
            text = f"{why}: every finding here counts as new"
            remarks.append(Remark(kind="not-compared", level="note", text=text, location=Location(path=audit.source)))
    return SuppressionRules(judge=judge, remarks=tuple(remarks))


def _why_new(audit: Audit, then: Audit | None, earlier: Earlier, compared: Comparison) -> str | None:
    """Why there is nothing, or not everything, to compare an environment with."""
    path = inside(audit.source, compared.repository.top)
    shown = compared.commit.shown
    if path is None:
        return f"it leads to a file outside of the repository, which {shown} cannot show"
    reason = earlier.why_unread(path)
    if reason is not None:
        return f"it could not be read as it was at {shown}, because {reason}"
    if path not in earlier.paths:
        return f"{shown} does not have this file"
    if then is None:
        return f"it could not be read as it was at {shown}"
    gaps = [skipped for skipped in then.skipped if skipped.gap]
    if then.kind is None:
        return f"it could not be read as it was at {shown} ({gaps[0].reason})"
    return None


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder of this process alone, which is removed in the end, also when somebody stops the process."""
    stopped: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        stopped.append(number)
        raise KeyboardInterrupt

    in_main = threading.current_thread() is threading.main_thread()
    old = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)} if in_main else {}
    folder = tempfile.mkdtemp(prefix="gradcompat-diff-")
    try:
        Path(folder, OWN).touch()  # the search for a project's options ends here
        yield Path(folder)
    finally:
        for one in old:
            signal.signal(one, signal.SIG_IGN)
        shutil.rmtree(folder, ignore_errors=True)
        for one, handler in old.items():
            signal.signal(one, handler)
        if stopped:
            signal.raise_signal(stopped[0])
