"""What is wrong in the newest release of each package, of all that was measured in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gradcompat.knowledge.matrix import label_of, release_key
from gradcompat.model.issue import Issue, PackageTerm
from gradcompat.model.probe import ProbeSpec, Row
from gradcompat.recipes.table import BY_NAME, uses
from gradcompat.recipes.verdict import judge, wrong_values
from gradcompat.requirements.versions import parse_version
from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCell:
    """One variant of a recipe that came out wrong.

    Attributes:
        recipe: its name.
        summary: of the recipe, in a sentence.
        variant: the parameters in a few words.
        verdict: what was measured, in words.
        records: ids of those whose probe it is.
    """

    recipe: str
    summary: str
    variant: str
    verdict: str
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestRelease:
    """The newest release of a package that anything was measured in.

    Attributes:
        package: its name.
        version: of the release.
        wrong: what came out wrong, by recipe and variant.
        right: how many variants came out right.
        undecided: how many could not be run there, or came to no verdict.
        dates: of the first and the last measurement.
        torch: the releases of torch that it was measured with.
    """

    package: str
    version: str
    wrong: tuple[WrongCell, ...]
    right: int
    undecided: int
    dates: tuple[str, str]
    torch: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A probe, and which of its values are not what they have to be."""

    spec: ProbeSpec
    wrong: frozenset[str]


def newest_releases(
    rows: Iterable[Row], issues: Sequence[Issue], families: Mapping[str, str]
) -> tuple[NewestRelease, ...]:
    """The newest measured release of each package, by name.

    Args:
        rows: of any packages. Of several rows of one variant, one that is wrong counts; one that was measured beside a
            release that somebody chose counts where there is no other.
        issues: the records in force.
        families: other names of packages → the one that records have.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.measurement.spec.name in BY_NAME and not _planted(row.measurement.spec):
            groups.setdefault(row.package, []).append(row)
    return tuple(_newest(package, groups[package], issues, families) for package in sorted(groups))


def _newest(package: str, rows: Sequence[Row], issues: Sequence[Issue], families: Mapping[str, str]) -> NewestRelease:
    version = max((row.version for row in rows), key=release_key)
    canonical = families.get(package, package)
    mine = [row for row in rows if row.version == version]
    plain = {str(row.measurement.spec) for row in mine if not row.beside}
    mine = [row for row in mine if not row.beside or str(row.measurement.spec) not in plain]
    verdicts: dict[str, tuple[_Seen, str, str]] = {}
    for row in mine:
        recipe = BY_NAME[row.measurement.spec.name]
        outcome, text = judge(recipe, row.measurement)
        seen = _Seen(spec=row.measurement.spec, wrong=frozenset(wrong_values(recipe, row.measurement)))
        ours = uses(seen.spec, package, families) or any(_shows(issue, seen, canonical, version) for issue in issues)
        if outcome == "reproduced" and not ours:
            continue  # it is the defect of another package, which happened to be measured with this one
        if str(seen.spec) not in verdicts or outcome == "reproduced":
            verdicts[str(seen.spec)] = (seen, outcome, text)
    reproduced = [seen for seen, outcome, _ in verdicts.values() if outcome == "reproduced"]
    wrong = [
        WrongCell(
            recipe=seen.spec.name,
            summary=BY_NAME[seen.spec.name].summary,
            variant=label_of(seen.spec),
            verdict=text,
            records=_records(seen, reproduced, issues, canonical, version),
        )
        for seen, outcome, text in verdicts.values()
        if outcome == "reproduced"
    ]
    dates = sorted(row.date for row in mine)
    right = sum(outcome == "not_reproduced" for _, outcome, _ in verdicts.values())
    return NewestRelease(
        package=package,
        version=version,
        wrong=tuple(sorted(wrong, key=lambda cell: (cell.recipe, cell.variant))),
        right=right,
        undecided=len(verdicts) - right - len(wrong),
        dates=(dates[0], dates[-1]),
        torch=tuple(sorted({row.measurement.packages.get("torch", "") for row in mine} - {""})),
    )


def _records(
    seen: _Seen, reproduced: Sequence[_Seen], issues: Sequence[Issue], package: str, version: str
) -> tuple[str, ...]:
    """Those whose probe it is; if there are none, those of what is wrong without its further parameters."""

    def of(one: _Seen) -> list[str]:
        return [issue.id for issue in issues if _shows(issue, one, package, version) is not False]

    found = of(seen)
    if not found:
        less = [other for other in reproduced if other.spec != seen.spec and other.spec.within(seen.spec)]
        found = [record for other in less for record in of(other)]
    return tuple(dict.fromkeys(found))


def _shows(issue: Issue, seen: _Seen, package: str, version: str) -> bool | None:
    """Whether a record whose probe this is holds in the release; None for one that leaves the package open."""
    probes = [
        probe
        for probe in issue.probes
        if probe.spec == seen.spec and (not probe.quantities or seen.wrong.intersection(probe.quantities))
    ]
    if not probes:
        return False
    parsed = parse_version(version)
    terms = [
        term
        for position, combination in enumerate(issue.affected)
        if any(probe.proves(position) for probe in probes)
        for term in combination.terms
        if isinstance(term, PackageTerm) and term.name == package
    ]
    if not terms:
        return None
    return any(term.versions is not None and parsed in term.versions for term in terms if parsed)


def _planted(spec: ProbeSpec) -> bool:
    """Whether the recipe puts the defect in itself: that says nothing about the release."""
    plain = BY_NAME[spec.name].parameters.get("plant", (None,))[0]
    return bool(spec.parameters.get("plant", plain) != plain)
