"""What model classes decide, out of the tables of releases."""

from __future__ import annotations

from collections.abc import Iterator

from gradcompat.model.class_fact import ClassFact
from gradcompat.releases.answers import Stretch
from gradcompat.releases.models import ModelFacts
from gradcompat.releases.table import table_of
from gradcompat.versions import VersionSet, any_of

# The package whose Trainer hands a count over to the classes of its own.
PACKAGE = "transformers"
USES, TAKES = "model.uses_num_items_in_batch", "model.forward_takes_kwargs"


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
    found: dict[tuple[str, bool], list[VersionSet]] = {}
    for stretch, facts in table.model_history(name):
        for key, value in _facts(facts):
            found.setdefault((key, value), []).append(_range(stretch))
    return tuple(
        ClassFact(key=key, value=value, package=PACKAGE, versions=any_of(ranges))
        for (key, value), ranges in found.items()
    )


def _facts(facts: ModelFacts) -> Iterator[tuple[str, bool]]:
    yield TAKES, facts.takes_kwargs and facts.accepts_loss_kwargs is not False
    if facts.loss == "ignores":
        yield USES, False
    elif facts.loss == "counts" and facts.accepts_loss_kwargs is not False:
        yield USES, True


def _range(stretch: Stretch) -> VersionSet:
    """The releases of a stretch; those after the newest that was read are taken to be like it, until they are read."""
    end = "" if stretch.following is None else f",<{stretch.following}"
    return VersionSet.parse(f">={stretch.first}{end}")
