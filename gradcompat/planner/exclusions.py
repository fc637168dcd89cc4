"""Releases that nobody should train with, whatever the model, the settings and the other packages are."""

from __future__ import annotations

from collections.abc import Iterable

from gradcompat.errors import IndexUnavailable
from gradcompat.matching.entries import Names
from gradcompat.model.issue import Issue
from gradcompat.model.release import Catalogue
from gradcompat.requirements.versions import ABOVE, BELOW, Cut, VersionSet, any_of
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.terms.term_keys import single_package


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """What may be taken of one package.

    Attributes:
        package: its name in an index.
        specifier: what is left, as a specifier of PEP 440: ``>=0.18.3,!=0.19.0``; None where that would name releases
            that nobody knows here.
        excluded: the rest.
        issues: the records that take it away.
    """

    package: str
    specifier: str | None
    excluded: VersionSet
    issues: tuple[Issue, ...]


def exclusions(issues: Iterable[Issue], names: Names, catalogue: Catalogue) -> tuple[Exclusion, ...]:
    """The exclusions of records that ask for one package in a range and for nothing else than that it is used.

    A package that goes by several names has a line for each. What stands between two good ranges is named release by
    release, since a specifier cannot say "or".

    Args:
        issues: the records that count.
        names: which packages are the same code.
        catalogue: where the releases between two good ranges are looked up.

    Raises:
        IndexUnavailable: if no release of a package is left.
    """
    bad: dict[str, list[tuple[VersionSet, Issue]]] = {}
    for issue in issues:
        for combination in issue.affected:
            term = single_package(combination)
            if term is not None:
                bad.setdefault(term.name, []).append((term.versions, issue))
    found = []
    for name in sorted(bad):
        whole = any_of(versions for versions, _ in bad[name])
        speaking = tuple({issue.id: issue for _, issue in bad[name]}.values())
        for listed in sorted({name, *(other for other, canonical in names.families.items() if canonical == name)}):
            specifier = _specifier(~whole, listed, catalogue)
            if specifier or (specifier is None and listed == name):
                found.append(Exclusion(package=listed, specifier=specifier, excluded=whole, issues=speaking))
    return tuple(found)


def _specifier(good: VersionSet, name: str, catalogue: Catalogue) -> str | None:
    """What is left in one conjunction: the outer bounds, and each release that lies in a hole."""
    if not good:
        raise IndexUnavailable(f"no release of {name} is left", hint="a record excludes all of them")
    low, high = good.intervals[0][0], good.intervals[-1][1]
    clauses = [_lower(low)] if low is not None else []
    clauses += [_upper(high)] if high is not None else []
    holes = ~good & VersionSet(((low, high),))
    for start, end in holes.intervals:
        if start is not None and end is not None and start[0] == end[0]:
            clauses.append(f"!={start[0]}")
            continue
        inside = VersionSet(((start, end),))
        try:
            releases = catalogue.releases(name)
        except IndexUnavailable:
            releases = ()
        if not releases:
            return None
        clauses += [f"!={release.version}" for release in releases if release.version in inside]
    return ",".join(clauses)


def _lower(cut: Cut) -> str:
    return f"{'>=' if cut[1] == BELOW else '>'}{cut[0]}"


def _upper(cut: Cut) -> str:
    return f"{'<=' if cut[1] == ABOVE else '<'}{cut[0]}"
