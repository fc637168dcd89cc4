"""The records of a run: those that ship, or a newer installed release of them, and somebody's own beside them.

Most runs have nothing but what ships: what reads the rest is loaded where there is some.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gradcompat.config.schema import configuration
from gradcompat.errors import KnowledgeError
from gradcompat.knowledge.distributions import COMPILED_NAME, PUBLIC, KnowledgeDistribution, installed_distributions
from gradcompat.knowledge.load import KnowledgeBase, load, load_checked
from gradcompat.startup.lazy_dataclasses import replace


def open_database(
    named: Sequence[str] = (),
    *,
    note: Callable[[str], None],
    project: bool = True,
    kept: Mapping[str, Any] | None = None,
) -> KnowledgeBase:
    """The knowledge base of this run.

    Args:
        named: files and folders of somebody's own records.
        note: is called with a sentence about installed records that cannot be used.
        project: what the project's own options name counts, too.
        kept: these options, where they are known already.

    Raises:
        UsageError: if something that is named makes no sense.
        KnowledgeError: if records cannot be read, or are not right.
    """
    installed = installed_distributions(sys.path)
    base = _public(installed, note)
    private = [distribution for distribution in installed if distribution.name != PUBLIC]
    if kept is None:
        kept = configuration(Path.cwd()) if project else {}
    if private or named or kept.get("knowledge"):
        from gradcompat.database.private import with_distribution, with_place

        for distribution in private:
            base = with_distribution(base, distribution)
        for place, records in kept.get("knowledge", {}).items():
            if place not in named:
                base = with_place(base, place, records.path, records.within)
        for place in dict.fromkeys(named):
            base = with_place(base, place, Path(place))
    return base


def public_records(note: Callable[[str], None]) -> KnowledgeBase:
    """What ships with the package, or the installed release of the same if that is newer."""
    return _public(installed_distributions(sys.path), note)


def _public(installed: Sequence[KnowledgeDistribution], note: Callable[[str], None]) -> KnowledgeBase:
    """The bundled records, or newer installed ones; if those cannot be used, a note says why."""
    shipped = load()
    newer = next((distribution for distribution in installed if distribution.name == PUBLIC), None)
    if newer is None:
        return shipped
    released = newer.released()
    year, month, day = map(int, shipped.date.split("-"))
    if released is not None and released <= (year, month, day, 0):
        return shipped
    try:
        if released is None:
            raise KnowledgeError("its version is not a date", path=str(newer))
        base = load_checked(newer.folder / COMPILED_NAME)
        if tuple(map(int, base.date.split("-"))) != released[:3]:
            raise KnowledgeError(f"its records are of {base.date}, which is not its version", path=str(newer))
    except (KnowledgeError, ValueError) as error:
        reason = error.message if isinstance(error, KnowledgeError) else "its records have no date"
        note(f"`{newer}`: {reason}; the records of {shipped.date} that ship with gradcompat are used")
        return shipped
    return replace(base, sources=(replace(base.sources[0], kind="installed", name=str(newer)),))
