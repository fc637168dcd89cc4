"""Scans a document with the scanner that fits, and finds the training configs of a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path, PurePath

from gradcompat.errors import Malformed, SourceError
from gradcompat.formats import walking
from gradcompat.formats.document import Document, read_document
from gradcompat.model.context import Context, Override
from gradcompat.model.environment import Skipped
from gradcompat.root import Root
from gradcompat.scanners.registry import SCANNERS, candidates

# Bytes beyond which a JSON is data and a program is generated; notebooks carry the pictures that they have drawn.
_LARGEST = {".json": 256 * 1024, ".yaml": 256 * 1024, ".yml": 256 * 1024, ".ipynb": 16 * 1024 * 1024}
_LARGEST_ELSE = 2 * 1024 * 1024


def scan(document: Document) -> Context:
    """What a training config, a launch script or a program says of the run.

    Raises:
        Malformed: if it is none that is known, with what the likeliest scanner said of it.
    """
    refused: SourceError | None = None
    for scanner in candidates(PurePath(document.path).name, document.text):
        scan_document: Callable[[Document], Context] = import_module(f"gradcompat.scanners.{scanner.module}").scan
        try:
            return scan_document(document)
        except SourceError as error:
            # A line number means that it was understood up to there.
            if refused is None or (refused.line is None and error.line is not None):
                refused = error
    raise refused or Malformed("is no training config that gradcompat reads", path=document.path)


def recomposed(context: Context, overrides: Sequence[Override]) -> Context:
    """A config that was put together from several files, put together again with what a command line says to it."""
    if context.composed is None:
        return context
    scan_again: Callable[[Document, Sequence[Override]], Context] = import_module("gradcompat.scanners.hydra").scan
    try:
        document = read_document(Path(context.composed.file), context.source, context.composed.root)
        return scan_again(document, overrides)
    except SourceError as error:
        reason = f"cannot be composed for a command line: {error.message}"
        settings = tuple(replace(setting, value=None) for setting in context.settings)
        return replace(
            context, settings=settings, skipped=(*context.skipped, Skipped(what=context.source, reason=reason))
        )


def find(folder: Path, shown: str, root: Root) -> list[tuple[Path, str]]:
    """Every file below a folder that may describe a training run, by its name; of what leads outside, only the link."""
    found: list[tuple[Path, str]] = []
    patterns = {pattern.removeprefix("*") for scanner in SCANNERS for pattern in scanner.names}
    endings = tuple(ending for ending in patterns if "*" not in ending)
    for here, names in walking.files(folder, lambda _: None):
        for name in names:
            path = here / name
            if name.lower().endswith(endings) and (is_link_outside(path, root) or _is_worth_reading(path)):
                found.append((path, walking.label(path, folder, shown)))
    return found


def is_link_outside(path: Path, root: Root) -> bool:
    """Is it a link that leads out of the root? No other file of a folder that is searched lies elsewhere."""
    return path.is_symlink() and root.leads_outside(path)


def _is_worth_reading(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= largest(path.name)


def largest(name: str) -> int:
    """The most bytes that a file of that name may have to be scanned where a folder is searched."""
    return _LARGEST.get(PurePath(name).suffix.lower(), _LARGEST_ELSE)


def scan_if_any(path: Path, shown: str, root: Root | None = None) -> Context | SourceError | None:
    """The context of a file that may be something else: then None, or an error if it was understood up to a line."""
    try:
        document = read_document(path, shown, root)
        return scan(document) if candidates(path.name, document.text) else None
    except SourceError as error:
        return error if error.line is not None else None
