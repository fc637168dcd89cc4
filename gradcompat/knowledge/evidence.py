"""Holds records against what was measured: what a row contradicts, and which bounds no row proves.

A row is about one package, with everything else as it was in the environment of the measurement. So a combination that
asks for the version of a second package is only ever contradicted by a row that shows the defect, not by one that
does not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.version import Version

from gradcompat.knowledge.matrix import release_key
from gradcompat.knowledge.ranges import verdicts_of
from gradcompat.model.issue import Combination, Issue, IssueProbe, PackageTerm
from gradcompat.model.probe import Outcome, ProbeSpec, Row
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge
from gradcompat.requirements.versions import ALL, Cut, VersionSet, any_of

Verdicts = Mapping[Version, Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick:
    """What rows are held against besides the records.

    Attributes:
        digest: of the code that a probe runs today: what other code measured proves no bound.
        releases: package → its final releases that can be installed: none of them may lie unmeasured at a bound.
    """

    digest: Callable[[ProbeSpec], str]
    releases: Callable[[str], Collection[Version]]


def explained(issues: Iterable[Issue]) -> dict[tuple[str, str], VersionSet]:
    """Package and probe → the versions in which some record that names the probe says that something is wrong."""
    found: dict[tuple[str, str], VersionSet] = {}
    for issue in issues:
        for probe in issue.probes:
            for position, combination in enumerate(issue.affected):
                for term in combination.terms:
                    if isinstance(term, PackageTerm) and probe.proves(position):
                        key = term.name, str(probe.spec)
                        found[key] = any_of((found.get(key, VersionSet(())), term.versions))
    return found


def contradictions(
    issue: Issue, rows: Mapping[str, Sequence[Row]], ranges: Mapping[tuple[str, str], VersionSet]
) -> Iterator[str]:
    """A sentence for each probe that says otherwise than the ranges.

    Several records may name one probe, since a model may suffer from several defects; what it shows has to be in the
    range of one of them.

    Args:
        issue: the record.
        rows: all that were measured, by the name that records have for their package.
        ranges: of all records, as :func:`explained` has them.
    """
    for package, measured in rows.items():
        if not any(_terms(combination, package) for combination in issue.affected):
            continue
        found = [(probe, verdicts_of(measured, probe)) for probe in issue.probes]
        for probe, verdicts in found:
            known = ranges.get((package, str(probe.spec)))
            if known is None:  # its combinations ask for other packages
                continue
            wrong = [
                verdict for verdict in sorted(verdicts) if verdicts[verdict] == "reproduced" and verdict not in known
            ]
            if wrong:
                yield (
                    f"{package} {_listed(wrong)}: `{probe.spec}` is reproduced, and no record that names this probe "
                    f"has them in its ranges; on {wrong[0]} {_said(measured, probe, wrong[0])}"
                )
        right: dict[Version, IssueProbe] = {}
        for position, combination in enumerate(issue.affected):
            versions = _alone(combination, package)
            about = [(probe, verdicts) for probe, verdicts in found if probe.proves(position)]
            for version in {version for _, verdicts in about for version in verdicts}:
                outcomes = [verdicts.get(version) for _, verdicts in about]
                if versions is not None and version in versions and set(outcomes) == {"not_reproduced"}:
                    right.setdefault(version, about[0][0])
        if right:
            first = min(right)
            yield (
                f"{package} {_listed(sorted(right))}: in the ranges, and no probe of the record is reproduced; on "
                f"{first} {_said(measured, right[first], first)}"
            )


def unproved(issue: Issue, rows: Mapping[str, Sequence[Row]], yardstick: Yardstick | None = None) -> Iterator[str]:
    """A sentence for each bound that a record says is ``measured`` and that no rows next to it prove.

    A combination is proved by the probes that are bound to it. One that none is bound to can only ask for versions
    that are proved of another, under other conditions.

    Args:
        issue: the record.
        rows: all that were measured, by the name that records have for their package.
        yardstick: what rows are held against; without one, rows of any code and any distance count.
    """
    if issue.range_basis != "measured":
        return
    if not issue.probes:
        yield "says `measured` and has no probe"
        return
    names = {term.name for combination in issue.affected for term in _package_terms(combination)}
    if not any(verdicts_of(rows.get(name, ()), probe) for name in names for probe in issue.probes):
        probes = ", ".join(f"`{probe.spec}`" for probe in issue.probes)
        yield f"says `measured`, and there is no row of {probes} for its packages"
        return
    for position, combination in enumerate(issue.affected):
        probes_of = [probe for probe in issue.probes if probe.proves(position)]
        if not probes_of:
            for term in _package_terms(combination):
                elsewhere = [other for one in _bound(issue) for other in _package_terms(issue.affected[one])]
                stated = {bound.versions for bound in issue.bounds if bound.package == term.name}
                if term not in elsewhere and any(ends for _, ends in _ends(term.versions, stated)):
                    where = f"affected.{position}: {term.name} {term.versions}"
                    yield f"{where}: says `measured`, and no probe is bound to it"
            continue
        for term in _package_terms(combination):
            measured = rows.get(term.name, ())
            stated = {bound.versions for bound in issue.bounds if bound.package == term.name}
            stated |= _seams(issue, position, term)
            where = f"affected.{position}: {term.name}"
            wrong = list(_bounds(where, term.versions, _verdicts(measured, probes_of), stated))
            if not wrong and yardstick is not None:
                current = [row for row in measured if row.digest in ("", yardstick.digest(row.measurement.spec))]
                wrong = [
                    f"{problem} by the recipe as it is today: measure these releases again"
                    for problem in _bounds(where, term.versions, _verdicts(current, probes_of), stated)
                ]
                releases = yardstick.releases(term.name)
                wrong += _gaps(where, term.versions, _verdicts(current, probes_of), stated, releases)
            yield from wrong


def _verdicts(rows: Sequence[Row], probes: Iterable[IssueProbe]) -> list[Verdicts]:
    return [verdicts for probe in probes if (verdicts := verdicts_of(rows, probe))]


def _package_terms(combination: Combination) -> list[PackageTerm]:
    return [term for term in combination.terms if isinstance(term, PackageTerm)]


def _bound(issue: Issue) -> set[int]:
    """The positions of the combinations that a probe is bound to."""
    return {
        position for position in range(len(issue.affected)) if any(probe.proves(position) for probe in issue.probes)
    }


def _seams(issue: Issue, position: int, term: PackageTerm) -> set[VersionSet]:
    """Ends of a range at which another combination goes on: there a condition changes, and the defect does not end."""
    others = [
        interval
        for number, combination in enumerate(issue.affected)
        for other in _terms(combination, term.name)
        if number != position
        for interval in other.versions.intervals
    ]
    begin, end = {low for low, _ in others}, {high for _, high in others}
    seams = {VersionSet(((None, high),)) for _, high in term.versions.intervals if high is not None and high in begin}
    return seams | {VersionSet(((low, None),)) for low, _ in term.versions.intervals if low is not None and low in end}


def _bounds(
    where: str, versions: VersionSet, found: Sequence[Verdicts], stated: Collection[VersionSet]
) -> Iterator[str]:
    """Each bound needs a probe that is reproduced in the interval and not reproduced beyond that bound.

    Args:
        where: the term, for whoever reads the sentence.
        versions: its range.
        found: the verdicts of each probe.
        stated: ends that rows do not have to prove.
    """
    for interval, ends in _ends(versions, stated):
        showing = [hit for hit in found if _has(hit, interval, "reproduced")]
        if ends and not showing:
            yield f"{where} {interval}: says `measured`, and no row in it is reproduced"
            continue
        for beyond, text in ends:
            if not any(_has(one, beyond, "not_reproduced") for one in showing):
                yield f"{where} {interval}: says `measured`, and no row {text} it is right"


def _gaps(
    where: str,
    versions: VersionSet,
    found: Sequence[Verdicts],
    stated: Collection[VersionSet],
    releases: Collection[Version],
) -> Iterator[str]:
    """The last release in which a probe is reproduced and the first beyond the bound that is right are neighbours.

    Releases that were tried and came to no verdict may lie between them; one that nobody has run may not.
    """
    for interval, ends in _ends(versions, stated):
        for beyond, text in ends:
            nearest: list[Version] | None = None
            for verdicts in found:
                wrong = [verdict for verdict in verdicts if verdict in interval and verdicts[verdict] == "reproduced"]
                right = [verdict for verdict in verdicts if verdict in beyond and verdicts[verdict] == "not_reproduced"]
                if wrong and right:
                    low, high = (max(right), min(wrong)) if text == "before" else (max(wrong), min(right))
                    between = [release for release in releases if low < release < high and release not in verdicts]
                    if nearest is None or len(between) < len(nearest):
                        nearest = sorted(between)
            if nearest:
                yield f"{where} {interval}: says `measured`, and next to its end {_listed(nearest)} was not measured"


def _ends(
    versions: VersionSet, stated: Collection[VersionSet]
) -> Iterator[tuple[VersionSet, list[tuple[VersionSet, str]]]]:
    """Each interval with what lies beyond those of its ends that are measured, up to the next interval."""
    for index, (low, high) in enumerate(versions.intervals):
        previous: Cut | None = versions.intervals[index - 1][1] if index else None
        following: Cut | None = versions.intervals[index + 1][0] if index + 1 < len(versions.intervals) else None
        yield (
            VersionSet(((low, high),)),
            [
                (VersionSet((beyond,)), text)
                for end, beyond, text in (
                    (VersionSet(((low, None),)), (previous, low), "before"),
                    (VersionSet(((None, high),)), (high, following), "behind"),
                )
                if end != ALL and end not in stated
            ],
        )


def _has(verdicts: Verdicts, versions: VersionSet, outcome: Outcome) -> bool:
    return any(found == outcome and version in versions for version, found in verdicts.items())


def _terms(combination: Combination, package: str) -> list[PackageTerm]:
    return [term for term in _package_terms(combination) if term.name == package]


def _alone(combination: Combination, package: str) -> VersionSet | None:
    """The range of a combination that asks for no version of another package."""
    terms = _package_terms(combination)
    return terms[0].versions if len(terms) == 1 and terms[0].name == package else None


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
