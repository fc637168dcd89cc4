"""Which lockfile above a project resolves it: that of a uv workspace, of a pixi one, of a Poetry or PDM monorepo.

The lockfile itself says so. It has an entry for each project that it resolves, with the folder that this lies in, and
that is the same for the members of a workspace and for dependencies that are paths.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

from gradcompat.dependency_formats import by_name
from gradcompat.errors import SourceError
from gradcompat.files.root import Root
from gradcompat.formats.document import read_document
from gradcompat.startup.lazy_patterns import lazy_pattern

_MOST_LEVELS = 20
# `source = { editable = "packages/a" }` of uv, `url = "packages/a"` of Poetry, `path = "./packages/a"` of PDM,
# `- pypi: ./packages/a` of pixi
_FOLDER = lazy_pattern(
    r"^(?:source = \{ (?:editable|virtual|directory) = |url = |path = )\"([^\"\n]{1,500})\"|^- pypi: (\.\S{1,500})$",
    re.MULTILINE,
)


def lock_above(folder: Path, root: Root) -> Path | None:
    """The nearest lockfile above a folder, within the root, that has an entry for the project there."""
    here = os.path.realpath(folder)
    for level, parent in enumerate(folder.absolute().parents, start=1):
        if level > _MOST_LEVELS or root.leads_outside(parent):
            return None
        for name in _names(parent):
            expected = by_name(name)
            if expected is not None and expected.lock and here in _projects(parent / name, root):
                return parent / name
    return None


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


@lru_cache(maxsize=16)
def _projects(lock: Path, root: Root) -> frozenset[str]:
    """The folders of the projects that a lockfile resolves; none if it cannot be read."""
    try:
        text = read_document(lock, lock.name, root).text
    except SourceError:
        return frozenset()
    written = (match[1] or match[2] for match in _FOLDER.finditer(text))
    return frozenset(os.path.realpath(lock.parent / path) for path in written if "://" not in path)
