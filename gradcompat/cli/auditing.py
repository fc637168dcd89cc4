"""From targets to audits: reads each environment, matches it, and says what could not be seen."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from gradcompat.advice import advise
from gradcompat.defaults import defaults_of
from gradcompat.errors import IndexUnavailable, NotFound, SourceError
from gradcompat.forks import Forks
from gradcompat.formats.document import Document, decode, read_document
from gradcompat.knowledge.horizon import newer
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.matcher import key_of, match
from gradcompat.model.context import Context
from gradcompat.model.environment import Environment, Location, Package, Setting, SettingValue, Skipped
from gradcompat.model.finding import Advice, Finding, Status
from gradcompat.model.issue import LEVELS, Issue, Level, SettingTerm, VirtualTerm
from gradcompat.model.report import Advised, Audit
from gradcompat.root import Root, root_of_file, root_of_folder
from gradcompat.sources.reading import read
from gradcompat.sources.registry import by_name
from gradcompat.versions import VersionSet, parse_version
from gradcompat.vocabulary import VIRTUAL_PACKAGES

if TYPE_CHECKING:
    from gradcompat.cli.contexts import Contexts
    from gradcompat.index.snapshot import Snapshot
    from gradcompat.model.waiver import Waivers

_STATUSES = ("affected", "conditional", "not_affected")
_OWN_PROJECT = frozenset({"editable", "virtual", "directory", "path"})
# With fewer files a process costs more to start than it saves.
_FILES_FOR_A_PROCESS = 16
# A plan asks every issue about every run, again for each version that it tries; beyond, `gradcompat plan` does.
_MOST_QUESTIONS = 20_000
_TOO_LARGE = "check it alone, on a machine with more memory"
_CONTEXT_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".sh", ".bash", ".slurm", ".sbatch", ".sb", ".py", ".ipynb"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user said beside the targets."""

    settings: tuple[tuple[str, SettingValue], ...] = ()
    only: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    fail_on: Level | None = "error"
    strict: bool = False
    show_all: bool = False
    waivers: Waivers | None = None
    versions_of: frozenset[str] = frozenset()  # packages that something but a record asks after
    advise: bool = True  # say what to do about each finding; an audit to compare with needs none


@dataclass(frozen=True, slots=True)
class File:
    """A file to read.

    Attributes:
        path: where it is.
        shown: how it is called to the user.
        resolves: the files that it stands for as long as it can be read.
        root: what it may refer to; None for the root that the file itself has.
    """

    path: Path
    shown: str
    resolves: tuple[File, ...] = ()
    root: Root | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that was asked for and could not be read."""

    shown: str
    error: SourceError


Source = File | Environment | Unreadable


@dataclass(frozen=True, slots=True)
class Asked:
    """Everything that the targets name.

    Attributes:
        sources: what is to be audited, in order.
        contexts: the training configs, scripts and programs among it; None where none was looked for.
        skipped: what folders hold that is passed over.
    """

    sources: list[Source]
    contexts: Contexts | None
    skipped: list[Skipped]


def asked_for(
    targets: Sequence[str],
    python: str | None,
    context_files: Sequence[str] = (),
    *,
    active_without_target: bool = True,
    place: Callable[[str], Path] = Path,
) -> Asked:
    """Look at every target: a folder is everything found in it, a training config is a context.

    Args:
        targets: paths, or ``-``.
        python: an interpreter whose environment is meant as well.
        context_files: training configs that belong to all of them.
        active_without_target: where no target is an environment, the active one is meant.
        place: where what is named lies.
    """
    sources: list[Source] = []
    skipped: list[Skipped] = []
    found: list[Context] = []
    named: list[Context] = []
    failed: list[tuple[str, SourceError]] = []
    unread: list[Skipped] = []
    on_command_line = tuple(
        os.path.realpath(place(one)) for one in dict.fromkeys((*targets, *context_files)) if one != "-"
    )
    if context_files:
        said, failed = _named_contexts(context_files, place, on_command_line)
        named += said.named
        unread += said.unread
    if python is not None:
        sources.append(_guarded(python, lambda: _interpreter(python)))
    for target in dict.fromkeys(targets):
        path = place(target)
        if target == "-":
            sources.append(_guarded("-", _standard_input))
        elif os.path.isdir(path):
            inside, passed, contexts, gaps = _folder(path, target, on_command_line)
            sources += inside
            skipped += passed
            found += contexts
            unread += gaps
        else:
            root = root_of_target(target, path, on_command_line)
            context = _context(path, target, root) if path.suffix.lower() in _CONTEXT_SUFFIXES else None
            if isinstance(context, Context):
                named.append(context)
            elif context is not None and by_name(path.name) is None:
                sources.append(Unreadable(target, context))
                continue
            if not isinstance(context, Context) or _is_environment_too(path):
                sources.append(File(path, target, root=root))
    if not sources and active_without_target:
        if named or not targets:
            sources.append(_guarded("the active environment", _active))
        else:
            sources += [Unreadable(target, _without_environment(target)) for target in dict.fromkeys(targets)]
    sources += [Unreadable(shown, error) for shown, error in failed]
    # A folder that cannot be listed is told once, whatever it was searched for.
    return Asked(sources, _contexts(named, found, [one for one in unread if one not in skipped]), skipped)


def _without_environment(folder: str) -> SourceError:
    return NotFound(
        "holds training configs and no environment: nothing was checked",
        path=folder,
        hint="name a lockfile, an environment's folder, or an interpreter with `--python`",
    )


# A lockfile alone needs none of the scanners: what they import is imported when a config can be met.


def _contexts(named: list[Context], found: list[Context], unread: list[Skipped]) -> Contexts | None:
    if not named and not found and not unread:
        return None
    from gradcompat.cli.contexts import Contexts

    return Contexts(tuple(named), tuple(found), tuple(dict.fromkeys(unread)))


def _named_contexts(
    files: Sequence[str], place: Callable[[str], Path], said: tuple[str, ...]
) -> tuple[Contexts, list[tuple[str, SourceError]]]:
    from gradcompat.cli.contexts import named

    return named(files, place, said)


def _context(path: Path, shown: str, root: Root) -> Context | SourceError | None:
    from gradcompat.scanners.reading import scan_if_any

    return scan_if_any(path, shown, root)


def root_of_target(target: str, path: Path, said: tuple[str, ...]) -> Root:
    """The root of a file that is a target.

    Args:
        target: as it was named.
        path: where it lies: at another place, with the same folders above it, if it is of an earlier revision.
        said: all that was named on the command line, with links resolved.
    """
    root = root_of_file(Path(target), said)
    if path == Path(target):
        return root
    above = os.path.relpath(os.path.realpath(Path(target).parent), root.folder)
    folder = Path(os.path.realpath(path.parent))
    for _ in () if above == os.curdir else Path(above).parts:
        folder = folder.parent
    return replace(root, folder=str(folder))


def _is_environment_too(path: Path) -> bool:
    """A notebook or a script may install what it trains with."""
    from gradcompat.sources.folder import worth_reading

    reader = by_name(path.name)
    return reader is not None and worth_reading(path, reader)


def _guarded(shown: str, reading: Callable[[], Environment]) -> Source:
    try:
        return reading()
    except SourceError as error:
        return Unreadable(shown, error)


def _interpreter(python: str) -> Environment:
    from gradcompat.sources.installed import read_interpreter

    return read_interpreter(python, python)


def _active() -> Environment:
    from gradcompat.sources.installed import active

    return active(os.environ, Path.cwd())


def _standard_input() -> Environment:
    from gradcompat.formats.document import MAX_BYTES

    if sys.stdin is None or sys.stdin.isatty():
        raise NotFound("standard input is a terminal", path="-", hint="pipe a `pip list` or a lockfile into it")
    return read(Document("-", decode(sys.stdin.buffer.read(MAX_BYTES + 1), "-")))


def _folder(
    path: Path, target: str, said: tuple[str, ...]
) -> tuple[list[Source], list[Skipped], list[Context], list[Skipped]]:
    """The environments of a folder, what in it is passed over, its training runs, and what of these is unread."""
    from gradcompat.cli.contexts import in_folder
    from gradcompat.formats.walking import is_installed
    from gradcompat.sources.folder import find
    from gradcompat.sources.installed import is_environment, read_folder

    root = root_of_folder(path, target, said)
    found = find(path, target, root)
    contexts, unread = in_folder(path, target, root)
    files: list[Source] = [
        File(file, shown, tuple(File(*one, root=root) for one in found.resolved.get(shown, ())), root)
        for file, shown in found.files
    ]
    # An empty pyvenv.cfg makes no environment of a project; where there is nothing else, it is one without packages.
    if is_environment(path) and (is_installed(path) or not (files or contexts or unread)):
        files.insert(0, _guarded(target, lambda: read_folder(path, target)))
    if not files and not contexts:
        error = NotFound(
            "holds nothing that gradcompat reads", path=target, hint="name a lockfile, or an environment's folder"
        )
        files = [Unreadable(target, error)]
    told = {one.what for one in found.skipped}
    return files, list(found.skipped), contexts, [one for one in unread if one.what not in told]


Task = tuple[Source, tuple[Context, ...]]


def tasks_of(asked: Asked) -> list[Task]:
    """Each source with its training runs, in their order."""
    shown = [_shown(source) for source in asked.sources]
    runs = asked.contexts.of(shown) if asked.contexts is not None else [()] * len(shown)
    return list(zip(asked.sources, runs, strict=True))


def audit_all(asked: Asked, base: KnowledgeBase, options: Options) -> list[Audit]:
    """Audit everything that was asked for.

    What a lockfile should have resolved is audited itself where that cannot be read, and joins ``asked.sources``.
    """
    audits = audit_each(tasks_of(asked), base, options)
    unresolved = [
        one
        for source, audited in zip(asked.sources, audits, strict=True)
        if audited.kind is None and isinstance(source, File)
        for one in source.resolves
    ]
    if not unresolved:
        return audits
    first = len(asked.sources)
    asked.sources.extend(unresolved)
    return audits + audit_each(tasks_of(asked)[first:], base, options)


def audit_each(tasks: Sequence[Task], base: KnowledgeBase, options: Options) -> list[Audit]:
    """Audit every source with its training runs, in their order; many files go to all processors."""
    files = sum(isinstance(source, File) for source, _ in tasks)
    processors = min(_processors(), files // _FILES_FOR_A_PROCESS)
    if processors < 2:
        return [audit(source, contexts, base, options) for source, contexts in tasks]
    from gradcompat.cli.processes import in_processes

    arguments = (None if base.plain else base, options)
    try:
        # The processes work in another folder.
        placed = [(_placed(source), contexts) for source, contexts in tasks]
        return in_processes(_audit_here, placed, _lost, processors=processors, prepare=_prepare, arguments=arguments)
    except OSError:  # the system has no process left for us
        return [audit(source, contexts, base, options) for source, contexts in tasks]


def _placed(source: Source) -> Source:
    return replace(source, path=source.path.absolute()) if isinstance(source, File) else source


def _processors() -> int:
    """How many this process may use: a container or a batch system may have left it fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _lost(task: Task) -> Audit:
    shown = _shown(task[0])
    return _unread(shown, SourceError("the process that read it was killed", path=shown, hint=_TOO_LARGE))


def _shown(source: Source) -> str:
    return source.source if isinstance(source, Environment) else source.shown


_worker: tuple[KnowledgeBase, Options]


def _prepare(base: KnowledgeBase | None, options: Options) -> None:
    """Runs once in each process: the knowledge is loaded there, since reading it is cheaper than sending it.

    Only what was fetched, or is somebody's own, is sent: every process has to have the very same.
    """
    import gc

    from gradcompat.knowledge.load import load

    global _worker  # noqa: PLW0603  # a process pool has no other place for what its tasks share
    gc.disable()
    _worker = (load() if base is None else base, options)


def _audit_here(task: Task) -> Audit:
    return audit(*task, *_worker)


def audit(
    source: Source,
    contexts: tuple[Context, ...],
    base: KnowledgeBase,
    options: Options,
) -> Audit:
    """Read one source, match it with each training run and advise; what cannot be read is an audit that says so.

    Args:
        source: what was asked for.
        contexts: the training runs of it.
        base: the records.
        options: what counts.
    """
    try:
        environment = environment_of(source)
        path = source.path if isinstance(source, File) else None
        return _audited(environment, contexts, path, base, options)
    except SourceError as error:
        return _unread(_shown(source), error)
    except MemoryError:
        shown = _shown(source)
        return _unread(shown, SourceError("needs more memory than there is", path=shown, hint=_TOO_LARGE))


def environment_of(source: Source) -> Environment:
    """Read one source.

    Raises:
        SourceError: if it cannot be read.
    """
    match source:
        case Environment():
            return source
        case Unreadable(error=error):
            raise error
        case File(path=path, shown=shown, root=root):
            return read(read_document(path, shown, root))


def _unread(shown: str, error: SourceError) -> Audit:
    location = None if error.path is None else Location(path=error.path, line=error.line)
    skipped = Skipped(what=shown, reason=error.message, location=location)
    return Audit(source=shown, kind=None, packages=0, recognised=0, findings=(), skipped=(skipped,), hint=error.hint)


def with_facts(environment: Environment, stated: Sequence[tuple[str, SettingValue]]) -> Environment:
    """The environment with what the user knows of it; that counts more than what a file says."""
    if not stated:
        return environment
    said = Location(path="--set")
    keys = {key for key, _ in stated}
    settings = [setting for setting in environment.settings if setting.key not in keys]
    virtual = dict(environment.virtual)
    python, platform = environment.python, environment.platform
    for key, value in stated:
        if key in VIRTUAL_PACKAGES:
            virtual[VIRTUAL_PACKAGES[key]] = str(value)
        elif key == "host.python":
            python = str(value)
        elif key == "host.platform":
            platform = str(value)
        else:
            settings.append(Setting(key=key, value=value, location=said))
    return replace(environment, settings=tuple(settings), virtual=virtual, python=python, platform=platform)


def _audited(
    environment: Environment,
    contexts: tuple[Context, ...],
    path: Path | None,
    base: KnowledgeBase,
    options: Options,
) -> Audit:
    found = matched(environment, contexts, base, options)
    planned = _planned(environment, found, path, base, options) if options.advise else {}
    advised = tuple(
        Advised(
            finding=finding,
            # Trying the remedies of all that may be takes longer than matching, and only what is needs one.
            advice=planned.get((finding.issue.id, finding.status))
            or (_advised(finding, found, base) if finding.status == "affected" and options.advise else None),
        )
        for finding in found.findings
        if options.show_all or finding.status != "not_affected"
    )
    return Audit(
        source=environment.source,
        kind=environment.kind,
        packages=len(environment.packages),
        recognised=sum(1 for package in environment.packages if base.knows(base.names.canonical(package))),
        findings=advised,
        skipped=(*environment.skipped, *found.skipped, *_missing_versions(environment, base)),
        contexts=tuple(context.source for context in contexts),
        newer=newer(environment, found.issues, base),
        versions=_versions(environment, options.versions_of, base) if options.versions_of else {},
    )


def _versions(
    environment: Environment, names: frozenset[str], base: KnowledgeBase
) -> dict[str, tuple[str | None, ...]]:
    versions: dict[str, tuple[str | None, ...]] = {}
    for package in environment.packages:
        if (name := base.names.canonical(package)) in names:
            versions[name] = tuple(dict.fromkeys((*versions.get(name, ()), package.version)))
    return versions


def _planned(
    environment: Environment, found: Matched, path: Path | None, base: KnowledgeBase, options: Options
) -> dict[tuple[str, Status], Advice]:
    """What a plan does about each finding; nothing where none has to be made."""
    statuses = ("affected", "conditional") if options.strict else ("affected",)
    if len(found.runs) * len(found.issues) > _MOST_QUESTIONS:
        return {}
    if not any(one.status in statuses and one.issue.remedies and not one.issue.informational for one in found.findings):
        return {}
    try:
        snapshot = _snapshot()
    except IndexUnavailable:
        return {}
    # Planning takes as long as all the rest of a check, which most environments need not pay for.
    from gradcompat.cli.first_lines import first_lines

    return first_lines(environment, found, path, base, snapshot, options)


def _advised(finding: Finding, found: Matched, base: KnowledgeBase) -> Advice | None:
    run = found.run_of(finding)
    return advise(finding, run, found.issues, base.names, partial(_published, python=run.python))


@lru_cache(maxsize=256)
def _published(name: str, *, python: str | None) -> tuple[Version, ...]:
    """The final releases of a package that are not withdrawn and fit the Python, by the snapshot that ships with us."""
    interpreter = None if python is None else parse_version(python)
    try:
        releases = _snapshot().releases(name)
    except IndexUnavailable:
        return ()
    return tuple(
        one.version
        for one in releases
        if not one.yanked and not one.version.is_prerelease and _fits(one.requires_python, interpreter)
    )


@lru_cache(maxsize=1)
def _snapshot() -> Snapshot:
    # Only what is affected asks for it.
    from gradcompat.index.snapshot import Snapshot

    return Snapshot()


@lru_cache(maxsize=1024)
def _fits(requires_python: str | None, interpreter: Version | None) -> bool:
    """Is the interpreter one of those? What cannot be read excludes none."""
    if requires_python is None or interpreter is None:
        return True
    try:
        return interpreter in VersionSet.parse(requires_python)
    except ValueError:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """One environment with each of its training runs, and what was found.

    Attributes:
        runs: how a run is called → the environment with its settings and the facts of the host; one called ``""``
            where there is no training run.
        issues: every issue that speaks of a package of the environment.
        findings: in the order in which they are shown.
        skipped: what was not decided.
    """

    runs: dict[str, Environment]
    issues: tuple[Issue, ...]
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...] = ()

    def run_of(self, finding: Finding) -> Environment:
        """The environment of the first run that the finding is true of."""
        return self.runs[finding.contexts[0] if finding.contexts else ""]


def matched(environment: Environment, contexts: tuple[Context, ...], base: KnowledgeBase, options: Options) -> Matched:
    """Match an environment with each of its training runs."""
    issues = base.about([environment])
    wanted = [
        issue for issue in issues if (not options.only or issue.id in options.only) and issue.id not in options.ignore
    ]
    views = {
        context.source: replace(
            environment, settings=(*environment.settings, *context.settings, *defaults_of(environment, context))
        )
        for context in contexts
    } or {"": environment}
    if any(_speaks_of_host(issue) for issue in wanted):
        # Asking the machine costs more than matching; few records hang on what it says.
        from gradcompat.host import with_host

        views = {run: with_host(view) for run, view in views.items()}
    # What a config says of the device counts more than what the machine has, and --set more than both.
    runs = {run: with_facts(view, options.settings) for run, view in views.items()}
    forks = Forks(environment.conflicts)
    findings = merged(
        [
            replace(finding, contexts=tuple(filter(None, alike)))
            for alike in _alike(runs, wanted)
            for finding in match(runs[alike[0]], wanted, base.names, forks)
        ]
    )
    findings.sort(key=lambda one: (_STATUSES.index(one.status), -LEVELS.index(one.issue.level), one.issue.id))
    return Matched(runs=runs, issues=issues, findings=tuple(findings), skipped=_undecided(environment, forks))


def _alike(runs: Mapping[str, Environment], issues: Sequence[Issue]) -> list[list[str]]:
    """The runs in groups that no issue can tell apart."""
    terms = (term for issue in issues for combination in issue.affected for term in combination.terms)
    # What stands for the strategy decides about the settings of every other one.
    keys = {"distributed.strategy", *(key for term in terms if (key := key_of(term)) is not None)}
    groups: dict[object, list[str]] = {}
    for name, run in runs.items():
        stated = tuple((one.key, type(one.value), one.value) for one in run.settings if one.key in keys)
        facts = (run.python, run.platform, tuple(sorted(run.virtual.items())))
        groups.setdefault((stated, facts), []).append(name)
    return list(groups.values())


def _undecided(environment: Environment, forks: Forks) -> tuple[Skipped, ...]:
    """The gap of an environment whose entries could not all be compared."""
    if not forks.budget.spent:
        return ()
    reason = (
        f"which of its entries can be installed together needs more than {forks.budget.most:,} steps to decide: "
        "those that were not compared count as together"
    )
    return (Skipped(what=environment.source, reason=reason, location=Location(path=environment.source)),)


def _speaks_of_host(issue: Issue) -> bool:
    return any(
        isinstance(term, VirtualTerm) or (isinstance(term, SettingTerm) and term.key.startswith("host."))
        for combination in issue.affected
        for term in combination.terms
    )


def merged(findings: Sequence[Finding]) -> list[Finding]:
    """One finding for an issue and a set of entries, whatever the number of training runs.

    What is affected in one run is affected, and says in which; it is conditional where no run is affected and some run
    does not say enough, under the condition of the run that says most; it is not affected where no run is.
    """
    groups: dict[tuple[str, frozenset[int]], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.issue.id, frozenset(map(id, finding.packages))), []).append(finding)
    sure: dict[str, set[int]] = {}
    for (identifier, packages), group in groups.items():
        if any(one.status == "affected" for one in group):
            sure.setdefault(identifier, set()).update(packages)
    result: list[Finding] = []
    for (identifier, packages), group in groups.items():
        status = next(status for status in _STATUSES if any(one.status == status for one in group))
        if status != "affected" and packages <= sure.get(identifier, set()):
            continue
        alike = [one for one in group if one.status == status]
        first = min(alike, key=lambda one: min((len(unknown) for unknown in one.unknown), default=0))
        contexts = dict.fromkeys((*first.contexts, *(context for one in alike for context in one.contexts)))
        result.append(replace(first, contexts=tuple(contexts)))
    settled = {one.issue.id for one in result if one.status != "not_affected"}
    return [one for one in result if one.status != "not_affected" or one.issue.id not in settled]


def _missing_versions(environment: Environment, base: KnowledgeBase) -> list[Skipped]:
    """A gap for each package that records speak of and whose version is not there to be compared."""
    gaps = [
        Skipped(what=package.name, reason=_missing(package), location=package.location)
        for package in environment.packages
        if package.source not in _OWN_PROJECT
        and (package.version is None or parse_version(package.version) is None)
        and base.knows(base.names.canonical(package))
    ]
    if not environment.packages and not any(skipped.gap for skipped in environment.skipped):
        where = Location(path=environment.source)
        gaps.append(Skipped(what=environment.source, reason="lists no packages: nothing was checked", location=where))
    return gaps


def _missing(package: Package) -> str:
    if package.version is not None:
        return f"`{package.version}` is not a version"
    return "no version is given" if package.specifier is None else "only a range is given, no version"


def exit_status(audits: Sequence[Audit], options: Options) -> int:
    """0 clean, 1 findings, 2 nothing could be read, 3 something could not be checked."""
    if audits and all(audit.kind is None for audit in audits):
        return 2
    statuses = {"affected", "conditional"} if options.strict else {"affected"}
    if options.fail_on is not None:
        least = LEVELS.index(options.fail_on)
        for audit in audits:
            for advised in audit.findings:
                finding = advised.finding
                if finding.status in statuses and not advised.refuted and LEVELS.index(finding.issue.level) >= least:
                    return 1
    return 0 if all(audit.complete for audit in audits) else 3
