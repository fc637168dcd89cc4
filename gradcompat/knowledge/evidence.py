"""Holds records against what was measured: what a row contradicts, and which bounds no row proves.

A row is about one package, with everything else as it was in the environment of the measurement. So a combination that
asks for the version of a second package is only ever contradicted by a row that shows the defect, not by one that
does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packaging.version import Version

from gradcompat.knowledge.matrix import release_key
from gradcompat.knowledge.ranges import verdicts_of
from gradcompat.model.issue import Combination, Issue, IssueProbe, PackageTerm
from gradcompat.model.probe import Outcome, Row
from gradcompat.recipes.judging import judge
from gradcompat.recipes.table import recipe_of
from gradcompat.versions import ALL, Cut, VersionSet, any_of

Verdicts = Mapping[Version, Outcome]


def explained(issues: Iterable[Issue]) -> dict[tuple[str, str], VersionSet]:
    """Package and probe → the versions in which some record that names the probe says that something is wrong."""
    found: dict[tuple[str, str], VersionSet] = {}
    for issue in issues:
        for probe in issue.probes:
            for combination in issue.affected:
                for term in combination.terms:
                    if isinstance(term, PackageTerm):
                        key = term.name, str(probe.spec)
                        found[key] = any_of((found.get(key, VersionSet(())), term.versions))
    return found


def contradictions(
    issue: Issue, rows: Mapping[str, Sequence[Row]], ranges: Mapping[tuple[str, str], VersionSet]
) -> Iterator[str]:
    """A sentence for each probe that says otherwise than the ranges.

    Several records may name one probe, since a model may suffer from several defects; what it shows has to be in the
    range of one of them.
    """
    for package, measured in rows.items():
        if not any(_terms(one, package) for one in issue.affected):
            continue
        found = [(probe, verdicts_of(measured, probe)) for probe in issue.probes]
        for probe, verdicts in found:
            known = ranges[package, str(probe.spec)]
            wrong = [one for one in sorted(verdicts) if verdicts[one] == "reproduced" and one not in known]
            if wrong:
                yield (
                    f"{package} {_listed(wrong)}: `{probe.spec}` is reproduced, and no record that names this probe "
                    f"has them in its ranges; on {wrong[0]} {_said(measured, probe, wrong[0])}"
                )
        alone = _alone(issue, package)
        right = [
            one
            for one in sorted({version for _, verdicts in found for version in verdicts})
            if alone
            and all(one in versions for versions in alone)
            and all(verdicts.get(one) == "not_reproduced" for _, verdicts in found)
        ]
        if right:
            probe = issue.probes[0]
            yield (
                f"{package} {_listed(right)}: in the ranges, and no probe of the record is reproduced; on {right[0]} "
                f"{_said(measured, probe, right[0])}"
            )


def unproved(issue: Issue, rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """A sentence for each bound that a record says is ``measured`` and that has no row on either side of it."""
    if issue.range_basis != "measured":
        return
    if not issue.probes:
        yield "says `measured` and has no probe"
        return
    found = {
        package: [verdicts for probe in issue.probes if (verdicts := verdicts_of(measured, probe))]
        for package, measured in rows.items()
    }
    terms = [
        (position, term)
        for position, combination in enumerate(issue.affected)
        for term in combination.terms
        if isinstance(term, PackageTerm)
    ]
    if not any(found.get(term.name) for _, term in terms):
        probes = ", ".join(f"`{probe.spec}`" for probe in issue.probes)
        yield f"says `measured`, and there is no row of {probes} for its packages"
        return
    for position, term in terms:
        stated = {one.versions for one in issue.bounds if one.package == term.name}
        yield from _bounds(f"affected.{position}: {term.name}", term.versions, found.get(term.name, []), stated)


def _bounds(
    where: str, versions: VersionSet, found: Sequence[Verdicts], stated: Collection[VersionSet]
) -> Iterator[str]:
    """Each bound needs a probe that is reproduced in the interval and not reproduced beyond that bound.

    Args:
        where: the term, for whoever reads the sentence.
        versions: its range.
        found: the verdicts of each probe.
        stated: ends that the record knows in another way, and says so.
    """
    for index, (low, high) in enumerate(versions.intervals):
        interval = VersionSet(((low, high),))
        previous: Cut | None = versions.intervals[index - 1][1] if index else None
        following: Cut | None = versions.intervals[index + 1][0] if index + 1 < len(versions.intervals) else None
        open_ends = [
            (beyond, text)
            for end, beyond, text in (
                (VersionSet(((low, None),)), (previous, low), "before"),
                (VersionSet(((None, high),)), (high, following), "behind"),
            )
            if end != ALL and end not in stated
        ]
        showing = [one for one in found if _has(one, interval, "reproduced")]
        if open_ends and not showing:
            yield f"{where} {interval}: says `measured`, and no row in it is reproduced"
            continue
        for beyond, text in open_ends:
            if not _right_in(showing, beyond):
                yield f"{where} {interval}: says `measured`, and no row {text} it is right"


def _right_in(found: Sequence[Verdicts], interval: tuple[Cut | None, Cut | None]) -> bool:
    return any(_has(one, VersionSet((interval,)), "not_reproduced") for one in found)


def _has(verdicts: Verdicts, versions: VersionSet, outcome: Outcome) -> bool:
    return any(found == outcome and version in versions for version, found in verdicts.items())


def _terms(combination: Combination, package: str) -> list[PackageTerm]:
    return [term for term in combination.terms if isinstance(term, PackageTerm) and term.name == package]


def _alone(issue: Issue, package: str) -> list[VersionSet]:
    """The ranges of the combinations that ask for no version of another package."""
    found = []
    for combination in issue.affected:
        terms = [term for term in combination.terms if isinstance(term, PackageTerm)]
        if len(terms) == 1 and terms[0].name == package:
            found.append(terms[0].versions)
    return found


def _said(rows: Sequence[Row], probe: IssueProbe, version: Version) -> str:
    """What the worst row of a release says."""
    recipe = recipe_of(probe.spec)
    judged = [
        judge(recipe, row.measurement, probe.quantities)
        for row in rows
        if str(row.measurement.spec) == str(probe.spec) and release_key(row.version) == (True, version)
    ]
    return min(judged, key=lambda one: one[0] != "reproduced")[1]


def _listed(versions: Sequence[Version]) -> str:
    return ", ".join(map(str, versions))
