"""The folders that a Dockerfile may be built from: what it copies is named from there, and not from its own folder.

Compose files say so. Where none does, it is the Dockerfile's folder or, as often, one above it up to the root.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator

from gradcompat.errors import SourceError
from gradcompat.files.root import root_of_file
from gradcompat.formats.document import Document, read_beside
from gradcompat.formats.yaml_nodes import Mapping, Scalar
from gradcompat.formats.yaml_text import parse_mapping

_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
_MOST_LEVELS = 20


def build_contexts(document: Document) -> tuple[str, ...]:
    """The folders to try, seen from the Dockerfile's own, in order: those of compose files, its own, those above it."""
    if document.file is None:
        return (os.curdir,)
    root = document.root or root_of_file(document.file)
    here = os.path.realpath(document.file.parent)
    above = os.path.relpath(here, root.folder) if not root.leads_outside(here) else os.curdir
    levels = 0 if above.startswith((os.curdir, os.pardir)) else above.count(os.sep) + 1
    folders = [posixpath.join(*[os.pardir] * level) if level else os.curdir for level in range(levels + 1)]
    folders = folders[:_MOST_LEVELS]
    stated = (context for folder in folders for context in _stated(document, folder))
    return tuple(dict.fromkeys((*stated, *folders)))


def _stated(document: Document, folder: str) -> Iterator[str]:
    """The contexts that the compose files of a folder name for this Dockerfile."""
    for name in _COMPOSE:
        try:
            compose = read_beside(document, posixpath.join(folder, name))
            top = parse_mapping(compose.text, compose.path)
        except SourceError:
            continue  # it is no environment, and says nothing that is needed
        services = top.entries.get("services")
        for service in services.entries.values() if isinstance(services, Mapping) else ():
            build = service.entries.get("build") if isinstance(service, Mapping) else None
            entries = build.entries if isinstance(build, Mapping) else {"context": build}
            context, dockerfile = _text(entries.get("context"), "."), _text(entries.get("dockerfile"), "Dockerfile")
            if context is None or dockerfile is None:
                continue
            place = posixpath.normpath(posixpath.join(folder, context))
            if _is(document, posixpath.join(place, dockerfile)):
                yield place


def _text(node: object, otherwise: str) -> str | None:
    """The path that a scalar is; None for what is no path, or one with variables."""
    if node is None:
        return otherwise
    return node.text if isinstance(node, Scalar) and node.text and "$" not in node.text else None


def _is(document: Document, relative: str) -> bool:
    if document.file is None or "\0" in relative:
        return False
    return os.path.realpath(document.file.parent / relative) == os.path.realpath(document.file)
