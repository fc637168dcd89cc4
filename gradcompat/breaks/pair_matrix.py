"""Which releases of two packages can be imported beside each other, as a table for people."""

from __future__ import annotations

from itertools import groupby

from packaging.version import Version

from gradcompat.breaks.pairs import Break, Pair
from gradcompat.messages import counted, joined
from gradcompat.model.matrix import Cell, Matrix
from gradcompat.model.probe import ProbeSpec
from gradcompat.releases.table import ReleaseTable

_FINE = Cell(outcome=None, sign=".", text="nothing that the import needs is missing")
_SIGNS = {".": "nothing that the import needs is missing", "X": "cannot be imported"}
_SHOWN = 3


def pair_matrix(pair: Pair, consumer: ReleaseTable, provider: ReleaseTable) -> Matrix:
    """A row for each stretch of the consumer's releases that go with the same releases of the provider.

    Args:
        pair: where they do not go together.
        consumer: the table of the package that is imported.
        provider: the table of the package that it needs.
    """
    rows = [
        (_label(pair.consumer, list(versions)), broken)
        for broken, versions in groupby(consumer.versions, lambda version: _break_at(pair, version))
    ]
    variants = tuple(ProbeSpec(name=label) for label, _ in rows)
    releases = tuple(map(str, provider.versions))
    return Matrix(
        package=pair.consumer,
        recipe=pair.provider,
        summary=f"which releases can be imported beside which of {pair.provider}",
        variants=variants,
        labels=tuple(label for label, _ in rows),
        releases=releases,
        cells={
            (str(variant), str(version)): _cell(broken, version)
            for variant, (_, broken) in zip(variants, rows, strict=True)
            for version in provider.versions
        },
        signs=_SIGNS,
        basis="read in",
        made_with=f"the wheels of {counted(len(consumer.versions), 'release')} of {pair.consumer} and "
        f"{len(provider.versions):,} of {pair.provider}",
    )


def _break_at(pair: Pair, version: Version) -> Break | None:
    return next((one for one in pair.breaks if version in one.consumers), None)


def _label(package: str, versions: list[Version]) -> str:
    if len(versions) == 1:
        return f"{package} {versions[0]}"
    return f"{package} {versions[0]} – {versions[-1]}"


def _cell(broken: Break | None, version: Version) -> Cell:
    if broken is None or version not in broken.providers:
        return _FINE
    missing = [need for need in broken.needs if version in need.absent]
    named = [f"{need.text} ({need.file}:{need.line})" for need in missing[:_SHOWN]]
    return Cell(outcome=None, sign="X", text=f"cannot be imported: it needs {joined(tuple(named), 'and')}")
