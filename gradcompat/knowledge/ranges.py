"""From verdicts, release by release, to ranges with holes, and what is not known of them.

A bound is exact where the release beyond it was measured and is right. It is open where releases without a verdict lie
between: those were never run, or could not be, or came to nothing, and none of that is clean. Two wrong releases with
only such ones between them make one range, which says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from packaging.version import Version

from gradcompat.knowledge.matrix import release_key
from gradcompat.model.issue import IssueProbe
from gradcompat.model.probe import Outcome, Row
from gradcompat.model.ranges import Gap, Range, Ranges
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge

# The worst that was seen decides, since a defect that shows on one device or one day is there.
_WORST = ("reproduced", "not_reproduced", "inconclusive", "skipped")


def ranges(releases: Iterable[Version], verdicts: Mapping[Version, Outcome]) -> Ranges:
    """The ranges that verdicts make."""
    every = sorted({*releases, *verdicts})
    known = [version for version in every if verdicts.get(version) in ("reproduced", "not_reproduced")]
    stretches = [(outcome, list(stretch)) for outcome, stretch in groupby(known, lambda one: verdicts[one])]
    found = []
    for position, (outcome, stretch) in enumerate(stretches):
        if outcome != "reproduced":
            continue
        first, last = stretch[0], stretch[-1]
        before = stretches[position - 1][1][-1] if position else None
        behind = stretches[position + 1][1][0] if position + 1 < len(stretches) else None
        found.append(
            Range(
                first=first,
                last=last,
                before=before,
                behind=behind,
                below=_gaps(every, verdicts, before, first),
                inside=_gaps(every, verdicts, first, last),
                above=_gaps(every, verdicts, last, behind),
            )
        )
    right = sum(len(stretch) for outcome, stretch in stretches if outcome == "not_reproduced")
    return Ranges(affected=tuple(found), right=right, unknown=_gaps(every, verdicts, None, None))


def _gaps(
    every: Sequence[Version], verdicts: Mapping[Version, Outcome], low: Version | None, high: Version | None
) -> tuple[Gap, ...]:
    """The releases without a verdict between two."""
    gaps: list[Gap] = []
    between = [version for version in every if (low is None or version > low) and (high is None or version < high)]
    for outcome, group in groupby(between, verdicts.get):
        if outcome not in ("reproduced", "not_reproduced"):
            gaps.append(Gap(outcome=outcome, releases=tuple(group)))
    return tuple(gaps)


def verdicts_of(rows: Iterable[Row], probe: IssueProbe) -> dict[Version, Outcome]:
    """The verdict of each release that rows speak of: the worst one, where several devices or seeds were run.

    Args:
        rows: of one package.
        probe: what is looked at; rows of others do not count.
    """
    found: dict[Version, Outcome] = {}
    recipe = recipe_of(probe.spec)
    for row in rows:
        spec = row.measurement.spec
        if spec.name != probe.spec.name or spec.parameters != probe.spec.parameters:  # most rows are of other recipes
            continue
        known, version = release_key(row.version)
        if not known:
            continue
        outcome, _ = judge(recipe, row.measurement, probe.quantities)
        found[version] = min(found.get(version, outcome), outcome, key=_WORST.index)
    return found
