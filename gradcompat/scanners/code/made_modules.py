"""The modules of a project whose classes a config has made: ``_target_: src.models.Classifier``, ``class_path: …``.

The program that reads the config does not import them by name, and trains what stands in them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradcompat.errors import SourceError
from gradcompat.formats.document import Document
from gradcompat.scanners.code.local_modules import Links, Project, project_of

_MOST = 40  # classes of one config


def made_modules(document: Document, classes: Iterable[str]) -> tuple[str, ...]:
    """The files that define them, as they are called to the user, each once; what is of no project is left out.

    Args:
        document: the config.
        classes: the full names that it gives.
    """
    placed = project_of(document)
    if placed is None:
        return ()
    project, importer = placed
    files = (_defining(project, name, importer) for name in list(dict.fromkeys(classes))[:_MOST])
    return tuple(dict.fromkeys(project.label(file) for file in files if file is not None))


def _defining(project: Project, name: str, importer: str) -> str | None:
    """The file with the class or the function of a full name, behind what packages take from their modules."""
    found = project.find(name, importer)
    module = None if found is None or not found[1] else project.module(found[0])
    if found is None or module is None or isinstance(module, SourceError):
        return None
    head = found[1].partition(".")[0]
    defined = module.names.definition(ast.Name(id=head, ctx=ast.Load()), module.names.module)
    if defined is None:
        return None
    links = defined[0].modules
    return links.importer if isinstance(links, Links) and defined[0] is not module.names else found[0]
