"""Scans a document with the scanner that fits, and finds the training configs of a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path, PurePath

from gradcompat.errors import Malformed, OutsideRoot, SourceError, Unrecognised
from gradcompat.files.root import Root
from gradcompat.formats import project_walk
from gradcompat.formats.document import MAX_BYTES, Document, document_of, read_bytes, read_document
from gradcompat.formats.lfs_pointer import size_of_content
from gradcompat.model.context import Context, Override
from gradcompat.model.environment import Location, Skipped
from gradcompat.scanners.registry import SCANNERS, candidates
from gradcompat.scanners.unscanned import SHELL, could_train, largest
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_DOCUMENT_START = lazy_pattern(r"^---(?=\s|\Z)", re.MULTILINE)


def scan(document: Document) -> Context:
    """What a training config, a launch script or a program says of the run.

    Raises:
        Malformed: if it is none that is known, with what the likeliest scanner said of it.
    """
    refused: SourceError | None = None
    for scanner in candidates(PurePath(document.path).name, document.text):
        scan_document: Callable[[Document], Context] = import_module(f"gradcompat.scanners.{scanner.module}").scan
        try:
            return _with_modules(scan_document(document), document)
        except SourceError as error:
            if refused is None or _likelihood(error) > _likelihood(refused):
                refused = error
    if refused is not None and not isinstance(refused, Unrecognised) and _is_stream_of_others(document):
        raise Unrecognised("contains several YAML documents, none of them a training config", path=document.path)
    raise refused or Unrecognised("is not a training config that gradcompat reads", path=document.path)


def scan_module(document: Document) -> Context:
    """What a module says that a run is known to take in.

    Raises:
        Malformed: if it is no Python, or uses no library for training.
    """
    scan_program: Callable[[Document], Context] = import_module("gradcompat.scanners.code.python_code").scan
    return scan_program(document)


def _with_modules(context: Context, document: Document) -> Context:
    """A config with the modules whose classes it has made, by the names that it gives them."""
    if not context.makes:
        return context
    found: Callable[[Document, Sequence[str]], tuple[str, ...]]
    found = import_module("gradcompat.scanners.code.made_modules").made_modules
    return replace(context, makes=found(document, context.makes))


def _likelihood(error: SourceError) -> tuple[bool, bool]:
    """What is broken could be one; a line number means that it was understood up to there."""
    return not isinstance(error, Unrecognised), error.line is not None


def _is_stream_of_others(document: Document) -> bool:
    """Are these several YAML documents (manifests of Kubernetes), each of which is something else?"""
    if PurePath(document.path).suffix.lower() not in (".yaml", ".yml"):
        return False
    parts = _DOCUMENT_START.split(document.text)
    return len(parts) > 1 and all(map(_is_another, (replace(document, text=part, file=None) for part in parts)))


def _is_another(document: Document) -> bool:
    try:
        scan(document)
    except SourceError as error:
        return isinstance(error, Unrecognised)
    return False


def recomposed(context: Context, overrides: Sequence[Override], shared: dict[str, object]) -> Context:
    """A config that was put together from several files, put together again with what a command line says to it.

    Args:
        context: the config.
        overrides: the command line.
        shared: what is kept between several of them.
    """
    if context.composed is None:
        return context
    scan_again: Callable[[Document, Sequence[Override]], Context] = import_module(
        "gradcompat.scanners.configs.hydra"
    ).scan
    try:
        document = read_document(Path(context.composed.file), context.source, context.composed.root)
        document = replace(document, shared=shared)
        return _with_modules(scan_again(document, overrides), document)
    except SourceError as error:
        reason = f"cannot be composed for a command line: {error.message}"
        skipped = (*context.skipped, Skipped(what=context.source, reason=reason))
        return replace(opened(context), skipped=skipped)


def opened(context: Context) -> Context:
    """A config of which nobody knows what a command line makes of it: neither its values nor what it makes."""
    settings = tuple(replace(setting, value=None) for setting in context.settings)
    return replace(context, settings=settings, values=(), makes=())


def find(
    folder: Path,
    display_path: str,
    unreadable: Callable[[OSError], None] = lambda _: None,
    also: Callable[[str], bool] = lambda _: False,
) -> list[tuple[Path, str]]:
    """Every file below a folder whose name a training config, a launch script or a program may have, or `also`."""
    found: list[tuple[Path, str]] = []
    patterns = {pattern.removeprefix("*") for scanner in SCANNERS for pattern in scanner.names}
    endings = tuple(ending for ending in patterns if "*" not in ending)
    for here, names in project_walk.files(folder, unreadable):
        # Emacs marks a file that is being edited with a link that leads nowhere.
        found += [
            (here / name, project_walk.label(here / name, folder, display_path))
            for name in names
            if (name.lower().endswith(endings) or also(name)) and not name.startswith(".#")
        ]
    return found


def scan_found(
    path: Path, display_path: str, root: Root, shared: dict[str, object] | None = None
) -> Context | Skipped | None:
    """The context of a file that was found in a folder; a gap if it could be one and cannot be read; else None.

    Args:
        path: the file.
        display_path: how it is called to the user.
        root: what it may refer to.
        shared: what scanners keep between the files of the folder.
    """
    try:
        data = read_bytes(path, display_path)
    except SourceError as error:
        reason = (
            "is a link to a file that is not there"
            if os.path.islink(path) and not os.path.exists(path)
            else error.message
        )
        return Skipped(what=display_path, reason=reason, location=Location(path=display_path))
    if len(data) > largest(path.name):
        if not could_train(path.name, data, cut=len(data) > MAX_BYTES):
            return None
        reason = f"looks like a training config, and is larger than {largest(path.name) // 1024} KiB: not scanned"
        return Skipped(what=display_path, reason=reason, location=Location(path=display_path))
    try:
        document = replace(_document(path, display_path, data, root), shared=shared)
        return scan(document) if candidates(path.name, document.text) else None
    except Unrecognised:
        return None
    except SourceError as error:
        if not could_train(path.name, data):
            return None
        return Skipped(
            what=display_path, reason=error.message, location=Location(path=error.path or display_path, line=error.line)
        )


def scan_if_any(path: Path, display_path: str, root: Root | None = None) -> Context | SourceError | None:
    """The context of a file that may be something else: then None, or an error if it could be one and is broken."""
    if root is not None and root.leads_outside(path):
        return OutsideRoot(root.objection, path=display_path)
    try:
        data = read_bytes(path, display_path)
    except SourceError:
        return None
    try:
        document = _document(path, display_path, data, root)
        return scan(document) if candidates(path.name, document.text) else None
    except Unrecognised as error:
        return error if error.line is not None else None
    except SourceError as error:
        return error if error.line is not None or could_train(path.name, data) else None


def read_context(path: Path, display_path: str) -> Document:
    """Read a training config, a launch script or a program, in the encoding in which its tool does.

    Raises:
        NotFound: as :func:`~gradcompat.formats.document.read_document`.
        Malformed: if its tool could not decode it either.
    """
    return _document(path, display_path, read_bytes(path, display_path), None)


def _document(path: Path, display_path: str, data: bytes, root: Root | None) -> Document:
    try:
        return document_of(data, display_path, path, root)
    except Malformed:
        # A shell takes bytes as they are; the words that count are ASCII.
        decodable = b"\0" not in data and len(data) <= MAX_BYTES and size_of_content(data) is None
        if path.suffix.lower() not in SHELL or not decodable:
            raise
        return Document(display_path, data.decode("latin-1"), path, root)
