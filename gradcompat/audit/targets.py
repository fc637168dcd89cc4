"""What the targets name: environments, files to read, training runs, and what folders hold that is passed over."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gradcompat.audit.pasted_runs import runs_in_file, runs_in_text
from gradcompat.dependency_formats import by_name
from gradcompat.errors import NotFound, SourceError
from gradcompat.files.root import Root, root_of_file, root_of_folder
from gradcompat.formats.document import MAX_BYTES, Document, decode, read_document
from gradcompat.model.environment import Environment, Skipped
from gradcompat.sources.any_format import read
from gradcompat.startup.lazy_dataclasses import dataclass, replace

if TYPE_CHECKING:
    from gradcompat.audit.runs import Contexts
    from gradcompat.model.context import Context

# What brings tensors: an environment with none of them trains nothing.
_TRAINING = frozenset({"torch", "pytorch", "jax", "tensorflow", "mlx"})
_KEPT_FROM = 100_000  # bytes; a smaller lockfile is read in less time than keeping what it says takes
_TEXT_SUFFIXES = frozenset({".md", ".markdown", ".txt", ".log", ""})
_CONTEXT_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".sh", ".bash", ".slurm", ".sbatch", ".sb", ".py", ".ipynb"})


@dataclass(frozen=True, slots=True)
class File:
    """A file to read.

    Attributes:
        path: where it is.
        shown: the path that reports show.
        resolves: the files that it stands for as long as it can be read.
        root: what it may refer to; None for the root that the file itself has.
        found: it was found in a folder, and nobody has named it.
    """

    path: Path
    shown: str
    resolves: tuple[File, ...] = ()
    root: Root | None = None
    found: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that was asked for and could not be read."""

    shown: str
    error: SourceError


Source = File | Environment | Unreadable


def megabytes(sources: Iterable[Source]) -> int:
    """How large the files are together, at least one."""
    return max(size_of(sources) // 1_000_000, 1)


def size_of(sources: Iterable[Source]) -> int:
    """The bytes of all files."""
    size = 0
    for source in sources:
        if isinstance(source, File):
            with suppress(OSError, ValueError):
                size += source.path.stat().st_size
    return size


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """Everything that the targets name.

    Attributes:
        sources: what is to be audited, in order.
        contexts: the training configs, scripts and programs among it; None where none was looked for.
        skipped: what folders hold that is passed over.
    """

    sources: list[Source]
    contexts: Contexts | None
    skipped: list[Skipped]


def resolve_targets(
    targets: Sequence[str],
    python: str | None,
    context_files: Sequence[str] = (),
    *,
    active_without_target: bool = True,
    place: Callable[[str], Path] = Path,
) -> AuditRequest:
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
        os.path.realpath(place(name)) for name in dict.fromkeys((*targets, *context_files)) if name != "-"
    )
    together: tuple[Context, ...] = ()
    said: list[Context] = []  # in the code blocks of a pasted text, which is one run
    if context_files:
        given, failed = _named_contexts(context_files, place, on_command_line)
        together = given.together
        named += given.named
        unread += given.unread
    if python is not None:
        sources.append(_guarded(python, lambda: _interpreter(python)))
    for target in dict.fromkeys(targets):
        path = place(target)
        if target == "-":
            piped = _standard_input()
            if isinstance(piped, Document):
                sources.append(_guarded("-", partial(read, piped)))
                said += runs_in_text(piped)
            else:
                sources.append(piped)
        elif os.path.isdir(path):
            inside, passed, contexts, gaps = _folder(path, target, on_command_line)
            sources += inside
            skipped += passed
            found += contexts
            unread += gaps
        else:
            root = root_of_target(target, path, on_command_line)
            context = _context(path, target, root) if path.suffix.lower() in _CONTEXT_SUFFIXES else None
            if isinstance(context, SourceError):
                if by_name(path.name) is None:
                    sources.append(Unreadable(target, context))
                    continue
            elif context is not None:
                named.append(context)
            if context is None or isinstance(context, SourceError) or _is_environment_too(path):
                sources.append(File(path, target, root=root))
            if path.suffix.lower() in _TEXT_SUFFIXES:
                said += runs_in_file(path, target)
    together += tuple(said)
    if not sources and active_without_target:
        if named or together or not targets:
            active = _guarded("the active environment", _active)
            configs = tuple(context.source for context in (*together, *named))
            sources.append(_beside_configs(active, configs))
        else:
            sources += [Unreadable(target, _without_environment(target)) for target in dict.fromkeys(targets)]
    sources += [Unreadable(shown, error) for shown, error in failed]
    # A folder that cannot be listed is reported once.
    return AuditRequest(
        sources, _contexts(named, found, [part for part in unread if part not in skipped], together), skipped
    )


def _beside_configs(active: Source, configs: tuple[str, ...]) -> Source:
    """The active environment, if it can be the one that training configs are used with: something in it trains."""
    if not configs or not isinstance(active, Environment):
        return active
    if _TRAINING.isdisjoint(package.name for package in active.packages):
        return Unreadable(configs[0], _without_environment(configs[0]))
    return active


def _without_environment(folder: str) -> SourceError:
    return NotFound(
        "there are training configs, but no environment to check them with",
        path=folder,
        hint="name a lockfile, an environment's folder, or an interpreter with `--python`",
    )


# A lockfile alone needs none of the scanners: what they import is imported when a config can be met.


def _contexts(
    named: list[Context], found: list[Context], unread: list[Skipped], together: tuple[Context, ...]
) -> Contexts | None:
    if not named and not found and not unread and not together:
        return None
    from gradcompat.audit.runs import Contexts

    return Contexts(tuple(named), tuple(found), tuple(dict.fromkeys(unread)), together)


def _named_contexts(
    files: Sequence[str], place: Callable[[str], Path], on_command_line: tuple[str, ...]
) -> tuple[Contexts, list[tuple[str, SourceError]]]:
    from gradcompat.audit.runs import named

    return named(files, place, on_command_line)


def _context(path: Path, display_path: str, root: Root) -> Context | SourceError | None:
    from gradcompat.scanners.any_config import scan_if_any

    return scan_if_any(path, display_path, root)


def root_of_target(target: str, path: Path, on_command_line: tuple[str, ...]) -> Root:
    """The root of a file that is a target.

    Args:
        target: as it was named.
        path: where it lies: at another place, with the same folders above it, if it is of an earlier revision.
        on_command_line: all that was named on the command line, with links resolved.
    """
    root = root_of_file(Path(target), on_command_line)
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

    expected = by_name(path.name)
    return expected is not None and worth_reading(path, expected)


def _guarded(display_path: str, reading: Callable[[], Environment]) -> Source:
    try:
        return reading()
    except SourceError as error:
        return Unreadable(display_path, error)


def _interpreter(python: str) -> Environment:
    from gradcompat.sources.installed import read_interpreter

    return read_interpreter(python, python)


def _active() -> Environment:
    from gradcompat.sources.installed import active

    return active(os.environ, Path.cwd())


def _standard_input() -> Document | Unreadable:
    """What is piped in."""
    if sys.stdin is None or sys.stdin.isatty():
        hint = "pipe a `pip list` or a lockfile into it"
        return Unreadable("-", NotFound("standard input is a terminal", path="-", hint=hint))
    try:
        return Document("-", decode(sys.stdin.buffer.read(MAX_BYTES + 1), "-"))
    except SourceError as error:
        return Unreadable("-", error)


def _folder(
    path: Path, target: str, on_command_line: tuple[str, ...]
) -> tuple[list[Source], list[Skipped], list[Context], list[Skipped]]:
    """The environments of a folder, what in it is passed over, its training runs, and what of these is unread."""
    from gradcompat.formats.project_walk import is_bare_environment, is_installed
    from gradcompat.sources.folder import find
    from gradcompat.sources.installed import is_environment, read_folder

    root = root_of_folder(path, target, on_command_line)
    found = find(path, target, root)
    contexts: list[Context] = []
    unread: list[Skipped] = []
    if not is_bare_environment(path):
        from gradcompat.audit.runs import in_folder

        contexts, unread = in_folder(path, target, root)
    files: list[Source] = [
        File(
            file,
            shown,
            tuple(File(*resolved, root=root) for resolved in found.resolved.get(shown, ())),
            root if file.is_relative_to(path) else root_of_file(file, on_command_line),
            found=True,
        )
        for file, shown in found.files
    ]
    # An empty pyvenv.cfg makes no environment of a project; where there is nothing else, it is one without packages.
    if is_environment(path) and (is_installed(path) or not (files or contexts or unread)):
        files.insert(0, _guarded(target, lambda: read_folder(path, target)))
    if not files and not contexts:
        error = NotFound(
            "contains nothing that gradcompat reads", path=target, hint="name a lockfile, or an environment's folder"
        )
        files = [Unreadable(target, error)]
    reported = {part.what for part in found.skipped}
    return files, list(found.skipped), contexts, [part for part in unread if part.what not in reported]


def environment_of(source: Source, cache: Path | None = None) -> Environment:
    """Read one source.

    Args:
        source: a file, for example.
        cache: the folder in which what was read of large lockfiles is kept; None to read all of them.

    Raises:
        SourceError: if it cannot be read.
    """
    match source:
        case Environment():
            return source
        case Unreadable(error=error):
            raise error
        case File(path=path, shown=shown, root=root):
            if cache is not None and size_of((source,)) >= _KEPT_FROM:
                from gradcompat.audit.kept_locks import read_lock

                return read_lock(path, shown, root, cache)
            return read(read_document(path, shown, root))
