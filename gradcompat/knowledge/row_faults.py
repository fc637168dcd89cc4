"""Rows that prove nothing by themselves: of a planted defect, or of another release than they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradcompat.model.probe import Row
from gradcompat.recipes.table import BY_NAME
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import parse_version


def faults(rows: Iterable[Row]) -> Iterator[str]:
    """A sentence for each row that cannot have come from a measurement of a release as it was published."""
    for row in rows:
        spec = row.measurement.spec
        where = f"{row.package} {row.version}: `{spec}`"
        recipe = BY_NAME.get(spec.name)
        if recipe is None:
            continue
        plain = recipe.parameters.get("plant", (None,))[0]
        if spec.parameters.get("plant", plain) != plain:
            yield f"{where}: the defect was planted, and says nothing about the release: delete the row"
        imported = _imported(row)
        if imported is not None and imported != _public(row.version):
            yield f"{where}: {imported} was imported, so that it is a row of another release: measure it again"


def _imported(row: Row) -> str | None:
    """The version of the package that the run itself saw; None where it says none that can be read."""
    for name, version in row.measurement.packages.items():
        if normalise(name) == row.package:
            return _public(version)
    return None


def _public(version: str) -> str | None:
    """Without the local label, which names a build."""
    parsed = parse_version(version)
    return None if parsed is None else parsed.public
