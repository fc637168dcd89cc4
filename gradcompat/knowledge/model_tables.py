"""What model classes decide, out of the tables of releases."""

from __future__ import annotations

from collections.abc import Iterator

from gradcompat.model.class_fact import ClassFact
from gradcompat.releases.answers import Presence, Stretch
from gradcompat.releases.models import ModelFacts
from gradcompat.releases.table import table_of
from gradcompat.requirements.versions import ALL, VersionSet, any_of
from gradcompat.startup.lazy_dataclasses import replace

# The package whose Trainer hands a count over to the classes of its own.
PACKAGE = "transformers"
USES, TAKES = "model.uses_num_items_in_batch", "model.forward_takes_kwargs"
OF_LIBRARY = "model.of_library"


def facts_of_class(name: str) -> tuple[ClassFact, ...]:
    """What the table says of a class; nothing of one that it does not have, or where the source does not show it.

    Args:
        name: of the class, as the package exports it.

    Raises:
        KnowledgeError: if the table cannot be read.
    """
    table = table_of(PACKAGE)
    if table is None:
        return ()
    joined: dict[str, list[tuple[bool, Stretch]]] = {}
    for stretch, facts in table.model_history(name):
        for key, value in _facts(facts):
            several = joined.setdefault(key, [])
            if several and several[-1][0] is value and several[-1][1].following == stretch.first:
                several[-1] = value, replace(stretch, first=several[-1][1].first)
            else:
                several.append((value, stretch))
    return tuple(
        ClassFact(
            key=key,
            value=value,
            package=PACKAGE,
            versions=any_of(_range(stretch) for said, stretch in several if said is value),
        )
        for key, several in joined.items()
        for value in sorted({said for said, _ in several})
    )


def origin_of_class(name: str) -> tuple[ClassFact, ...]:
    """Is a class one of the package's, in any release that was read? Nothing where no release was.

    Args:
        name: of the class, as the package exports it.

    Raises:
        KnowledgeError: if the table cannot be read.
    """
    table = table_of(PACKAGE)
    if table is None:
        return ()
    there = any(table.presence(version, PACKAGE, name) is Presence.PRESENT for version in reversed(table.versions))
    return (ClassFact(key=OF_LIBRARY, value=there, package=PACKAGE, versions=ALL),)


def _facts(facts: ModelFacts) -> Iterator[tuple[str, bool]]:
    # A class that says so is handed no count, whatever its loss would do with one.
    refused = facts.accepts_loss_kwargs is False
    yield TAKES, facts.takes_kwargs and not refused
    if refused or facts.loss is not None:
        yield USES, facts.loss == "counts" and not refused


def _range(stretch: Stretch) -> VersionSet:
    """The releases of a stretch: nothing is said of one that was not read, between its last and the next that was.

    Those after the newest that was read are taken to be like it, until they are read.
    """
    end = "" if stretch.following is None else f",<={stretch.last}"
    return VersionSet.parse(f">={stretch.first}{end}")
