"""What is known of a run beside its logs: the environment and the training configs that are named with them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from gradcompat.audit.pasted_runs import runs_in_file
from gradcompat.dependency_formats import by_name
from gradcompat.errors import Malformed, SourceError, UsageError
from gradcompat.formats.document import read_document
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.messages import value_text
from gradcompat.model.context import Context
from gradcompat.model.diagnosis import ReadFile
from gradcompat.model.environment import Environment, Location, Package, Setting, Skipped
from gradcompat.scanners.registry import SCANNERS
from gradcompat.sources.any_format import read
from gradcompat.sources.installed import is_environment, read_folder, read_interpreter
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace

# A log may be as large as a disk: only what has the name of a config is opened to see whether it is one.
_SUFFIXES = frozenset(PurePath(name).suffix for scanner in SCANNERS for name in scanner.names)
_MARKDOWN = (".md", ".markdown")  # an issue, with the traceback, the script and the config between its fences
_PROGRAMS = (".py", ".ipynb")  # which may install something, and are looked at for what they train


@dataclass(slots=True)
class Files:
    """The files of one run, by what they are.

    Attributes:
        logs: whatever shows what the run did; a name alone tells nothing of them.
        environments: lockfiles, requirements and environments, by their names.
        contexts: training configs, launch scripts and programs, by what is in them.
        failed: what was recognised as such and could not be read.
    """

    logs: list[str] = field(default_factory=list)
    environments: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    failed: list[SourceError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Known:
    """What the files beside the logs say of the run.

    Attributes:
        environment: what it ran with, if that was named; without settings.
        settings: what its configs say, and what the environment's file does.
        files: what was read.
        skipped: what in them was not.
    """

    environment: Environment | None
    settings: tuple[Setting, ...]
    files: tuple[ReadFile, ...]
    skipped: tuple[Skipped, ...]


def by_kind(files: Sequence[str]) -> Files:
    """Tell logs, environments and training configs apart."""
    sorted_in = Files()
    for file in dict.fromkeys(files):
        path = Path(file)
        if file != "-" and _is_environment(path):
            sorted_in.environments.append(file)
            continue
        context = _context(path, file) if path.suffix.lower() in _SUFFIXES and os.path.isfile(path) else None
        if isinstance(context, SourceError):
            sorted_in.failed.append(context)
        elif context is not None:
            sorted_in.contexts.append(file)
        else:
            sorted_in.logs.append(file)
            if path.suffix.lower() in _MARKDOWN and runs_in_file(path, file):
                sorted_in.contexts.append(file)
    return sorted_in


def _is_environment(path: Path) -> bool:
    if os.path.isdir(path):
        return is_environment(path)
    return path.suffix.lower() not in _PROGRAMS and by_name(path.name) is not None and os.path.isfile(path)


def _context(path: Path, file: str) -> Context | SourceError | None:
    from gradcompat.scanners.any_config import scan_if_any

    found = scan_if_any(path, file)
    # The state of a Trainer is the curve of a run, and hardly says how it was configured.
    return None if isinstance(found, Context) and found.kind == "hf-trainer-state" else found


def known_of(files: Files, *, target: str | None, python: str | None, contexts: Sequence[str]) -> Known:
    """Read the environment and the configs.

    Args:
        files: what was given without an option.
        target: what was given with ``--environment``.
        python: an interpreter, whose environment is meant.
        contexts: what was given with ``--context``.

    Raises:
        UsageError: if more than one environment is named.
        SourceError: if the environment is not there, or its interpreter cannot be asked. One that is there and is not
            understood is skipped: the logs say something without it.
    """
    given = [f"--environment {target}"] * (target is not None) + [f"--python {python}"] * (python is not None)
    given += files.environments
    if len(given) > 1:
        raise UsageError(
            f"`{given[0]}` and `{given[1]}` are two environments", hint="a run has one: name the one it ran with"
        )
    environment: Environment | None = None
    skipped: list[Skipped] = []
    if python is not None:
        environment = read_interpreter(python, python)
    elif given:
        try:
            environment = _environment_of(target if target is not None else files.environments[0])
        except Malformed as error:
            skipped.append(failure(error))
    if environment is not None:
        skipped += environment.skipped
    read_files = (
        []
        if environment is None
        else [ReadFile(path=given[0].split(" ", 1)[-1], kind="environment", lines=None, steps=0)]
    )
    settings = [] if environment is None else list(environment.settings)
    if contexts or files.contexts:
        stated, notes, scanned = _of_contexts([*contexts, *files.contexts])
        # What a config says counts more than what stands in an environment's file.
        keys = {setting.key for setting in stated}
        settings = [*stated, *(setting for setting in settings if setting.key not in keys)]
        skipped += notes
        read_files += scanned
    if environment is not None:
        environment = replace(environment, settings=())
    return Known(environment, tuple(settings), tuple(read_files), tuple(skipped))


def _environment_of(target: str) -> Environment:
    path = Path(target)
    if os.path.isdir(path):
        if is_environment(path):
            return read_folder(path, target)
        raise UsageError(
            f"`--environment {target}` is a folder, but not an environment",
            hint="name the lockfile or `pip list` in it",
        )
    return read(read_document(path, target))


def _of_contexts(files: Sequence[str]) -> tuple[list[Setting], list[Skipped], list[ReadFile]]:
    from gradcompat.audit.runs import named
    from gradcompat.scanners.run_assembly import join

    said, failed = named(files)
    contexts = said.every
    notes = [*said.skipped(), *(failure(error) for _, error in failed)]
    runs = join(contexts, together=True)
    if len(runs) > 1:
        names = ", ".join(dict.fromkeys(run.source for run in runs))
        reason = "describe several runs: settings on which they differ count as unknown"
        notes.append(Skipped(what=names, reason=reason, gap=False))
    settings = list(dict.fromkeys(setting for run in runs for setting in run.settings))
    return (
        settings,
        notes,
        [ReadFile(path=context.source, kind="training config", lines=None, steps=0) for context in contexts],
    )


def failure(error: SourceError) -> Skipped:
    """What could not be read, as a gap."""
    path = error.path or "-"
    return Skipped(what=path, reason=error.message, location=Location(path=path, line=error.line))


def joined(known: Known, found: Sequence[Environment], base: KnowledgeBase) -> tuple[Environment, list[Skipped]]:
    """One environment of what the logs say and of what is named beside them; the logs know better what ran."""
    notes = [part for environment in found for part in environment.skipped]
    packages = [package for environment in found for package in environment.packages]
    logged = _logged(found, {setting.key for setting in known.settings})
    settings = (*logged, *_beside(logged, known.settings, notes))
    virtual = _virtual(found)
    named = known.environment
    if named is None:
        first = found[0] if found else Environment(source="", kind="log", packages=(), closed=False)
        return replace(first, packages=tuple(packages), settings=settings, virtual=virtual, skipped=()), notes
    stated = {base.names.canonical(package): package for package in packages}
    for package in named.packages:
        seen = stated.get(base.names.canonical(package))
        if seen is not None and package.version not in (None, seen.version) and not _same(package, seen):
            reason = f"is {package.version} there, and {seen.version} in {seen.location}, which counts"
            notes.append(Skipped(what=package.name, reason=reason, gap=False, location=package.location))
    kept = tuple(package for package in named.packages if base.names.canonical(package) not in stated)
    return replace(named, packages=(*packages, *kept), settings=settings, virtual={**named.virtual, **virtual}), notes


def _logged(found: Sequence[Environment], configured: set[str]) -> list[Setting]:
    """What the logs say; what only the form of their lines says gives way to any other statement."""
    settings = list(dict.fromkeys(setting for environment in found for setting in environment.settings))
    stated = configured | {setting.key for setting in settings if not setting.presumed}
    return [
        replace(setting, presumed=False) for setting in settings if not (setting.presumed and setting.key in stated)
    ]


def _virtual(found: Sequence[Environment]) -> dict[str, str]:
    """What the logs say of the host, where they say the same."""
    stated: dict[str, set[str]] = {}
    for environment in found:
        for key, value in environment.virtual.items():
            stated.setdefault(key, set()).add(value)
    return {key: value for key, (value, *others) in stated.items() if not others}


def _beside(logged: Sequence[Setting], settings: Sequence[Setting], notes: list[Skipped]) -> list[Setting]:
    """The settings of which the logs say nothing; where they say something else, that is noted."""
    stated: dict[str, Setting] = {}
    for setting in logged:
        stated.setdefault(setting.key, setting)
    for setting in settings:
        seen = stated.get(setting.key)
        if seen is not None and seen.value is not None and setting.value not in (None, seen.value):
            there, here = value_text(setting.value), value_text(seen.value)
            reason = f"is {there} there, and {here} in {seen.location}, which counts"
            notes.append(Skipped(what=setting.key, reason=reason, gap=False, location=setting.location))
    known = {key for key, setting in stated.items() if setting.value is not None}
    return [setting for setting in settings if setting.key not in known]


def _same(one: Package, other: Package) -> bool:
    """The same release: a report leaves a local label out, a lockfile does not."""
    return (one.version or "").partition("+")[0] == (other.version or "").partition("+")[0]
