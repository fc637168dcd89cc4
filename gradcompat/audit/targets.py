"""What the targets name: environments, files to read, training runs, and what folders hold that is passed over."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradcompat.errors import NotFound, SourceError
from gradcompat.formats.document import Document, decode, read_document
from gradcompat.model.context import Context
from gradcompat.model.environment import Environment, Skipped
from gradcompat.sources.reading import read
from gradcompat.sources.registry import by_name

if TYPE_CHECKING:
    from gradcompat.audit.runs import Contexts

_CONTEXT_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".sh", ".bash", ".slurm", ".sbatch", ".sb", ".py", ".ipynb"})


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
    named, failed = _named_contexts(context_files, place) if context_files else ([], [])
    if python is not None:
        sources.append(_guarded(python, lambda: _interpreter(python)))
    for target in dict.fromkeys(targets):
        path = place(target)
        if target == "-":
            sources.append(_guarded("-", _standard_input))
        elif path.is_dir():
            inside, passed, contexts = _folder(path, target)
            sources += inside
            skipped += passed
            found += contexts
        else:
            context = _context(path, target) if path.suffix in _CONTEXT_SUFFIXES else None
            if isinstance(context, Context):
                named.append(context)
            elif context is not None and by_name(path.name) is None:
                sources.append(Unreadable(target, context))
                continue
            if not isinstance(context, Context) or _is_environment_too(path):
                sources.append(File(path, target))
    if not sources and active_without_target and (named or not targets):
        sources.append(_guarded("the active environment", _active))
    sources += [Unreadable(shown, error) for shown, error in failed]
    return Asked(sources, _contexts(named, found), skipped)


# A lockfile alone needs none of the scanners: what they import is imported when a config can be met.


def _contexts(named: list[Context], found: list[Context]) -> Contexts | None:
    if not named and not found:
        return None
    from gradcompat.audit.runs import Contexts

    return Contexts(tuple(named), tuple(found))


def _named_contexts(
    files: Sequence[str], place: Callable[[str], Path]
) -> tuple[list[Context], list[tuple[str, SourceError]]]:
    from gradcompat.audit.runs import named

    return named(files, place)


def _context(path: Path, shown: str) -> Context | SourceError | None:
    from gradcompat.scanners.reading import scan_if_any

    return scan_if_any(path, shown)


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


def _folder(path: Path, target: str) -> tuple[list[Source], list[Skipped], list[Context]]:
    from gradcompat.audit.runs import in_folder
    from gradcompat.sources.folder import find
    from gradcompat.sources.installed import is_environment, read_folder

    if is_environment(path):
        return [_guarded(target, lambda: read_folder(path, target))], [], []
    found = find(path, target)
    contexts = in_folder(path, target)
    if not found.files and not contexts:
        error = NotFound(
            "holds nothing that gradcompat reads", path=target, hint="name a lockfile, or an environment's folder"
        )
        return [Unreadable(target, error)], list(found.skipped), []
    return [File(file, shown) for file, shown in found.files], list(found.skipped), contexts


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
        case File(path=path, shown=shown):
            return read(read_document(path, shown))
