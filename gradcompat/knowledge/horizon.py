"""What of an environment is newer than the newest release that was looked at.

An open range says that no release is known to be right. Of a release that nobody has looked at that is an assumption,
and a user has to be told so; nothing else follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.environment import Environment
from gradcompat.model.issue import Combination, Issue, PackageTerm
from gradcompat.model.report import Newer
from gradcompat.requirements.versions import parse_version


def newer(environment: Environment, breaks: Sequence[Issue], base: KnowledgeBase) -> tuple[Newer, ...]:
    """The packages whose version lies beyond their horizon, each version once, in the order of the environment.

    Somebody's own records have horizons of their own; of these only what they assume is told.

    Args:
        environment: what is listed.
        breaks: what speaks of its packages and is no record.
        base: the records.
    """
    found = _beyond(environment, breaks, base, base.horizon)
    for own in {id(horizon): horizon for horizon in base.own_horizons.values()}.values():
        about = _beyond(environment, (), base, own)
        found += tuple(newer_release for newer_release in about if newer_release.assumed)
    return found


def _beyond(
    environment: Environment, breaks: Sequence[Issue], base: KnowledgeBase, horizons: Mapping[str, Sequence[str]]
) -> tuple[Newer, ...]:
    """What is newer than these horizons, with what the records assume that have them."""
    beyond: dict[tuple[str, str], tuple[str, str]] = {}
    for package in environment.packages:
        name = base.names.canonical(package)
        horizon = horizons.get(name)
        version = None if package.version is None else parse_version(package.version)
        if horizon is None or version is None:
            continue
        last = parse_version(horizon[0])
        if last is not None and version > last:
            beyond.setdefault((package.name, str(version)), (name, horizon[0]))
    if not beyond:
        return ()
    present = {base.names.canonical(package) for package in environment.packages}
    records = base.about_packages({name for name, _ in beyond.values()})
    stands = [
        (issue.id, names)
        for issue in (*(one for one in records if base.own_horizons.get(one.id, base.horizon) is horizons), *breaks)
        if not issue.informational
        for combination in unfixed(issue)
        if (names := {term.name for term in _terms(combination)}) <= present
    ]
    return tuple(
        Newer(
            name=shown,
            version=version,
            horizon=last,
            date=horizons[name][1],
            assumed=tuple(dict.fromkeys(identifier for identifier, names in stands if name in names)),
        )
        for (shown, version), (name, last) in beyond.items()
    )


def unfixed(issue: Issue) -> tuple[Combination, ...]:
    """The combinations that no newer release of any of their packages is known to end."""
    return tuple(
        combination
        for combination in issue.affected
        if all(term.versions.intervals[-1][1] is None for term in _terms(combination))
    )


def unfixed_by_package(issues: Iterable[Issue]) -> Mapping[str, tuple[Issue, ...]]:
    """Package → the defects, in force, that are not known to end with any release of it."""
    found: dict[str, dict[str, Issue]] = {}
    for issue in issues:
        if issue.withdrawn is not None or issue.informational:
            continue
        for combination in unfixed(issue):
            for term in _terms(combination):
                found.setdefault(term.name, {})[issue.id] = issue
    return {name: tuple(group.values()) for name, group in sorted(found.items())}


def _terms(combination: Combination) -> list[PackageTerm]:
    return [term for term in combination.terms if isinstance(term, PackageTerm)]
