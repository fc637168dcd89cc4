"""The records of a run: what ships or was fetched, and somebody's own beside it.

Most runs have nothing but what ships: what reads the rest is loaded where there is some.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gradcompat.config.schema import configuration
from gradcompat.errors import KnowledgeError, UsageError
from gradcompat.knowledge.folder import stored_path
from gradcompat.knowledge.load import KnowledgeBase, load
from gradcompat.user_folders import data_folder

UPDATE_URL, UPDATE_KEY = "GRADCOMPAT_UPDATE_URL", "GRADCOMPAT_UPDATE_KEY"


def known_records(named: Sequence[str] = (), *, project: bool = True) -> KnowledgeBase:
    """The knowledge base of this run.

    Args:
        named: files, folders and URLs of somebody's own records.
        project: what the nearest pyproject.toml says counts, too.

    Raises:
        UsageError: if something that is named makes no sense.
        KnowledgeError: if records cannot be read, or are not right.
    """
    kept = configuration(Path.cwd()) if project else {}
    base = current(kept)
    places = dict.fromkeys((*kept.get("knowledge", ()), *named))
    if places:
        from gradcompat.database.private import with_place

        for place in places:
            base = with_place(base, place)
    return base


def current(kept: Mapping[str, Any]) -> KnowledgeBase:
    """What ships with the package, or what was fetched if that is newer; with the own records that were fetched.

    Fetched knowledge that cannot be used is said, and the shipped one serves.
    """
    shipped = load()
    folder = data_folder(os.environ, sys.platform)
    if folder is None:
        return shipped
    project_url = None if UPDATE_URL in os.environ else kept.get("update", {}).get("url")
    path = stored_path(folder, project_url)
    if not os.path.exists(path):
        return shipped
    from gradcompat.cli.fetched import fetched_base

    try:
        return fetched_base(path, shipped, kept if project_url is not None else {})
    except (KnowledgeError, UsageError) as error:
        say(f"{error}; the knowledge of {shipped.date} that ships with gradcompat serves")
        return shipped


def say(sentence: str) -> None:
    """Tell something beside the report."""
    from gradcompat.renderers.terminal import safe

    sys.stderr.write(f"note: {safe(sentence)}\n")
