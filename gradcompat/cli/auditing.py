"""From targets to audits: reads each environment, matches it, and says what could not be seen."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gradcompat.advice import advise
from gradcompat.errors import NotFound, SourceError
from gradcompat.formats.document import Document, decode, read_document
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.matcher import match
from gradcompat.model.environment import Environment, Location, Package, Setting, SettingValue, Skipped
from gradcompat.model.issue import LEVELS, Level
from gradcompat.model.report import Advised, Audit
from gradcompat.sources.reading import read
from gradcompat.versions import parse_version
from gradcompat.vocabulary import VIRTUAL_PACKAGES

_STATUSES = ("affected", "conditional", "not_affected")
_OWN_PROJECT = frozenset({"editable", "virtual", "directory", "path"})
# Below this many files a second process costs more to start than it saves.
_FILES_FOR_PROCESSES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user said beside the targets."""

    settings: tuple[tuple[str, SettingValue], ...] = ()
    only: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    fail_on: Level | None = "error"
    strict: bool = False
    show_all: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """A file to read, and how it is shown."""

    path: Path
    shown: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that was asked for and could not be read."""

    shown: str
    error: SourceError


Source = File | Environment | Unreadable


def sources_of(targets: Sequence[str], python: str | None) -> tuple[list[Source], list[Skipped]]:
    """Everything that the targets name; a folder is everything found in it.

    Returns:
        What is to be audited, in order, and what a folder held that is passed over.
    """
    sources: list[Source] = []
    skipped: list[Skipped] = []
    if python is not None:
        sources.append(_guarded(python, lambda: _interpreter(python)))
    elif not targets:
        sources.append(_guarded("the active environment", _active))
    seen: set[str] = set()
    for target in targets:
        if target in seen:
            continue
        seen.add(target)
        path = Path(target)
        if target == "-":
            sources.append(_guarded("-", _standard_input))
        elif path.is_dir():
            found, passed = _folder(path, target)
            sources += found
            skipped += passed
        else:
            sources.append(File(path, target))
    return sources, skipped


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


def _folder(path: Path, target: str) -> tuple[list[Source], list[Skipped]]:
    from gradcompat.sources.folder import find
    from gradcompat.sources.installed import is_environment, read_folder

    if is_environment(path):
        return [_guarded(target, lambda: read_folder(path, target))], []
    found = find(path, target)
    if not found.files:
        error = NotFound(
            "holds nothing that gradcompat reads", path=target, hint="name a lockfile, or an environment's folder"
        )
        return [Unreadable(target, error)], list(found.skipped)
    return [File(file, shown) for file, shown in found.files], list(found.skipped)


def audit_all(sources: Sequence[Source], base: KnowledgeBase, options: Options) -> list[Audit]:
    """Audit every source, in their order; many files go to all processors."""
    files = [source for source in sources if isinstance(source, File)]
    processors = os.cpu_count() or 1
    if len(files) < _FILES_FOR_PROCESSES or processors == 1:
        return [audit(source, base, options) for source in sources]
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(processors, initializer=_prepare, initargs=(options,)) as pool:
        chunk = max(1, min(64, len(files) // (processors * 4)))
        done = pool.map(_audit_here, sources, chunksize=chunk)
        return list(done)


_worker: tuple[KnowledgeBase, Options]


def _prepare(options: Options) -> None:
    """Runs once in each process: the knowledge is loaded there, since reading it is cheaper than sending it."""
    import gc

    from gradcompat.knowledge.load import load

    global _worker  # noqa: PLW0603  # a process pool has no other place for what its tasks share
    gc.disable()
    _worker = (load(), options)


def _audit_here(source: Source) -> Audit:
    return audit(source, *_worker)


def audit(source: Source, base: KnowledgeBase, options: Options) -> Audit:
    """Read one source, match it and advise; a source that cannot be read is an audit that says so."""
    try:
        environment = _environment(source)
    except SourceError as error:
        shown = source.shown if not isinstance(source, Environment) else source.source
        return _unread(shown, error)
    return _audited(_with_facts(environment, options.settings), base, options)


def _environment(source: Source) -> Environment:
    match source:
        case Environment():
            return source
        case Unreadable(error=error):
            raise error
        case File(path=path, shown=shown):
            return read(read_document(path, shown))


def _unread(shown: str, error: SourceError) -> Audit:
    location = None if error.path is None else Location(path=error.path, line=error.line)
    skipped = Skipped(what=shown, reason=error.message, location=location)
    return Audit(source=shown, kind=None, packages=0, recognised=0, findings=(), skipped=(skipped,), hint=error.hint)


def _with_facts(environment: Environment, stated: Sequence[tuple[str, SettingValue]]) -> Environment:
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


def _audited(environment: Environment, base: KnowledgeBase, options: Options) -> Audit:
    issues = base.about([environment])
    wanted = [
        issue for issue in issues if (not options.only or issue.id in options.only) and issue.id not in options.ignore
    ]
    findings = [
        finding
        for finding in match(environment, wanted, base.names)
        if options.show_all or finding.status != "not_affected"
    ]
    findings.sort(key=lambda one: (_STATUSES.index(one.status), -LEVELS.index(one.issue.level), one.issue.id))
    advised = tuple(
        Advised(
            finding=finding,
            advice=None if finding.status == "not_affected" else advise(finding, environment, issues, base.names),
        )
        for finding in findings
    )
    return Audit(
        source=environment.source,
        kind=environment.kind,
        packages=len(environment.packages),
        recognised=sum(1 for package in environment.packages if base.knows(base.names.canonical(package))),
        findings=advised,
        skipped=(*environment.skipped, *_missing_versions(environment, base)),
    )


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
                if finding.status in statuses and LEVELS.index(finding.issue.level) >= least:
                    return 1
    return 0 if all(audit.complete for audit in audits) else 3
