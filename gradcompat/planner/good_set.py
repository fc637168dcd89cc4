"""A known-good set for a new project: the newest releases that go together and in which nothing is known to be wrong.

The resolver is pip's own (resolvelib); what is ours is which releases it is offered, and in which order. Only packages
that were asked for, that a record speaks of, or that are released with them are followed; the rest of the set is left
to whoever installs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from packaging.version import Version
from resolvelib import AbstractProvider, BaseReporter, ResolutionImpossible, ResolutionTooDeep, Resolver

from gradcompat.budget import Budget
from gradcompat.matching.entries import Names
from gradcompat.messages import joined
from gradcompat.model.environment import Environment
from gradcompat.model.issue import Issue
from gradcompat.model.release import Catalogue
from gradcompat.planner.assignment_issues import Judge
from gradcompat.planner.families import RELEASED_WITH_TORCH
from gradcompat.planner.request import Request
from gradcompat.planner.requirements import Need, allows
from gradcompat.planner.target import described
from gradcompat.planner.universe import Universe
from gradcompat.startup.lazy_dataclasses import dataclass, replace

# Among this many of the newest releases, the one with the fewest open conditions is taken; further back, old age
# would look like health: nobody has looked for the defects of old releases as hard.
_NEWEST = 10
_STEPS = 20_000_000
_MOST_ROUNDS = 2_000
_MOST_TRIES = 50
_MOST_REASONS = 3
_FOLLOWED = RELEASED_WITH_TORCH | {"tokenizers", "safetensors"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """One package of the set, and why it has this version."""

    package: str
    version: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodSet:
    """A known-good set.

    Attributes:
        chosen: in the order of their names; none where there is no such set.
        conditional: ids of the findings at or above the level that are there under a condition.
        core: where there is none, why: sentences.
        unverified: what could not be verified, each a sentence.
        target: the interpreter and the machine in words.
    """

    chosen: tuple[Chosen, ...]
    conditional: tuple[str, ...] = ()
    core: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    target: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """A requirement, and who has it; nobody for what the user named."""

    need: Need
    parent: tuple[str, Version] | None = None


class _Provider(AbstractProvider[Any, Any, str]):
    """Offers releases to the resolver, the best first."""

    def __init__(self, offer: _Offer) -> None:
        self.offer = offer

    def identify(self, requirement_or_candidate: _Asked | tuple[str, Version]) -> str:
        if isinstance(requirement_or_candidate, _Asked):
            return requirement_or_candidate.need.name
        return requirement_or_candidate[0]

    def get_preference(self, identifier: str, *_: Any, **__: Any) -> tuple[int, str]:
        # What somebody asked for is looked at first, and the rest adapts.
        return self.offer.position(identifier), identifier

    def find_matches(
        self,
        identifier: str,
        requirements: Mapping[str, Iterator[_Asked]],
        incompatibilities: Mapping[str, Iterator[tuple[str, Version]]],
    ) -> list[tuple[str, Version]]:
        asked = [requirement.need.specifier for requirement in requirements[identifier]]
        refused = {version for _, version in incompatibilities[identifier]}
        return [
            (identifier, version)
            for version in self.offer.versions(identifier)
            if version not in refused and all(allows(specifier, version) for specifier in asked)
        ]

    def is_satisfied_by(self, requirement: _Asked, candidate: tuple[str, Version]) -> bool:
        return allows(requirement.need.specifier, candidate[1])

    def get_dependencies(self, candidate: tuple[str, Version]) -> list[_Asked]:
        return [_Asked(need, candidate) for need in self.offer.needs(*candidate)]


class _Offer:
    """The releases that may be taken, and what they require of one another."""

    def __init__(self, named: Sequence[str], universe: Universe, judge: Judge) -> None:
        self.named = tuple(named)
        self.universe = universe
        self.judge = judge
        # Whether a release is better than another is not decided by what might be installed besides.
        self.alone = Judge(universe, tuple(replace(run, closed=True) for run in judge.runs))
        self.refused: dict[tuple[str, Version], tuple[str, ...]] = {}
        self.conditions: dict[tuple[str, Version], tuple[str, ...]] = {}
        self._versions: dict[str, list[Version]] = {}

    def position(self, name: str) -> int:
        return self.named.index(name) if name in self.named else len(self.named)

    def follows(self, name: str) -> bool:
        return name in self.named or name in _FOLLOWED or self.universe.canonical(name) in self.universe.spoken_of

    def versions(self, name: str) -> list[Version]:
        """The releases that are known to be good, best first."""
        if name not in self._versions:
            self._versions[name] = self._ordered(name)
        return [version for version in self._versions[name] if (name, version) not in self.refused]

    def _ordered(self, name: str) -> list[Version]:
        found = []
        for release in reversed(self.universe.fitting(name)):
            affected, conditional = self._judged(name, release.version)
            self.conditions[name, release.version] = conditional
            if affected:
                self.refused[name, release.version] = affected
            else:
                found.append(release.version)
        newest = sorted(found[:_NEWEST], key=lambda version: len(self.conditions[name, version]))
        return [*newest, *found[_NEWEST:]]

    def _judged(self, name: str, version: Version) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The issues that the release has by itself, and those that it may have."""
        request = self.universe.request
        affected, conditional = [], []
        for issue in self.judge.about(name):
            if not request.counts(issue):
                continue
            verdict = self.judge.verdict(issue, {name: version})
            if verdict.packages(request.conditional) is not None:
                affected.append(issue.id)
            elif self.alone.verdict(issue, {name: version}).conditional is not None:
                conditional.append(issue.id)
        return tuple(affected), tuple(conditional)

    def needs(self, name: str, version: Version) -> list[Need]:
        """What it requires of the packages that are followed."""
        needs = self.universe.needs(name, str(version))
        if needs is None:
            return []
        found = [need for need in needs.with_extras(frozenset()) if need.name != name and self.follows(need.name)]
        self.universe.catalogue.expect(need.name for need in found)
        # What cannot be looked up would make everything that requires it impossible.
        return [need for need in found if self.universe.releases(need.name)]

    def refuse_together(self, chosen: Mapping[str, Version]) -> bool:
        """Refuse what brings a finding only in company; False if there is none."""
        universe, request = self.universe, self.universe.request
        for issue in self.judge.issues:
            packages = (
                self.judge.verdict(issue, chosen).packages(request.conditional) if request.counts(issue) else None
            )
            if packages is None:
                continue
            # The last one named gives way, or one that nobody named.
            name = max(packages & chosen.keys(), key=lambda one: (self.position(one), one))
            for release in universe.fitting(name):
                moved = {**chosen, name: release.version}
                if self.judge.verdict(issue, moved).packages(request.conditional) is not None:
                    self.refused[name, release.version] = (issue.id,)
            return True
        return False


def good_set(
    wanted: Iterable[str],
    environment: Environment,
    issues: Sequence[Issue],
    names: Names,
    catalogue: Catalogue,
    request: Request,
) -> GoodSet:
    """The newest releases of some packages that go together, without a finding at or above the level.

    Args:
        wanted: normalised names. Where two do not go together in their newest releases, the one that requires an older
            release of the other gets it.
        environment: without packages; what is known of the training run and the host.
        issues: what is known.
        names: under which names packages go.
        catalogue: where releases and their requirements are looked up.
        request: the target, and what counts.
    """
    named = tuple(dict.fromkeys(wanted))
    here = replace(
        environment,
        python=environment.python or request.target.python,
        platform=environment.platform or request.target.platform,
    )
    issues = tuple(issue for issue in issues if issue.withdrawn is None)
    # What is asked for stands on the command line, and each package is looked at once.
    universe = Universe(here, issues, names, catalogue, request, Budget(_STEPS))
    offer = _Offer(named, universe, Judge(universe, (here,)))
    place = described(request.target)
    catalogue.expect(named)
    without = [name for name in named if not universe.releases(name)]
    if without:
        return GoodSet(
            chosen=(),
            core=tuple(
                f"which releases {name} has could not be looked up: {universe.unavailable[name]}"
                if name in universe.unavailable
                else f"{catalogue.described} has no releases of {name}"
                for name in without
            ),
            target=place,
        )
    try:
        chosen = _resolved(offer)
    except ResolutionImpossible as impossible:
        return GoodSet(
            chosen=(), core=tuple(_core(impossible, offer)), unverified=_unverified({}, universe), target=place
        )
    except ResolutionTooDeep:
        core = (f"no set was found in {_MOST_ROUNDS:,} rounds of resolution",)
        return GoodSet(chosen=(), core=core, unverified=_unverified({}, universe), target=place)
    return GoodSet(
        chosen=tuple(
            Chosen(package=name, version=str(version), reasons=tuple(_reasons(name, chosen, offer)))
            for name, version in sorted(chosen.items())
        ),
        conditional=_conditional(chosen, offer),
        unverified=_unverified(chosen, universe),
        target=place,
    )


def _resolved(offer: _Offer) -> dict[str, Version]:
    """Resolve, and once more without what brings a finding in company, until nothing does.

    Raises:
        ResolutionImpossible: if no releases go together.
        ResolutionTooDeep: if that could not be found out.
    """
    for _ in range(_MOST_TRIES):
        resolver: Resolver[Any, Any, str] = Resolver(_Provider(offer), BaseReporter())
        result = resolver.resolve([_Asked(Need(name, "")) for name in offer.named], max_rounds=_MOST_ROUNDS)
        chosen = {name: version for name, (_, version) in result.mapping.items()}
        if not offer.refuse_together(chosen):
            return chosen
    raise ResolutionTooDeep(_MOST_ROUNDS)


def _conditional(chosen: Mapping[str, Version], offer: _Offer) -> tuple[str, ...]:
    counts = offer.universe.request.counts
    return tuple(
        issue.id
        for issue in offer.judge.issues
        if counts(issue) and offer.judge.verdict(issue, chosen).conditional is not None
    )


def _reasons(name: str, chosen: Mapping[str, Version], offer: _Offer) -> Iterator[str]:
    """Why it is this release and no newer one."""
    place = described(offer.universe.request.target)
    version = chosen[name]
    newer = [release.version for release in offer.universe.fitting(name) if release.version > version]
    if not newer:
        yield f"the newest release that fits {place}"
        return
    sentences: dict[str, str] = {}
    for other in reversed(newer):
        for sentence in _against(name, other, chosen, offer):
            # The newest of those that have the same against them stands for all.
            sentences.setdefault(sentence.removeprefix(f"{name} {other} "), sentence)
        if len(sentences) >= _MOST_REASONS:
            break
    if not sentences:
        sentences[""] = f"{name} {newer[-1]} does not go together with the rest"
    yield from list(sentences.values())[:_MOST_REASONS]


def _against(name: str, version: Version, chosen: Mapping[str, Version], offer: _Offer) -> Iterator[str]:
    refused = offer.refused.get((name, version))
    if refused is not None:
        yield f"{name} {version} is in {joined(refused, 'and')}"
        return
    for need in offer.needs(name, version) if offer.universe.is_read(name, str(version)) else ():
        if need.name in chosen and not allows(need.specifier, chosen[need.name]):
            yield f"{name} {version} requires {need}"
    for other, at in sorted(chosen.items()):
        for need in offer.needs(other, at):
            if need.name == name and not allows(need.specifier, version):
                yield f"{other} {at} requires {need}"
    more = set(offer.conditions[name, version]) - set(offer.conditions[name, chosen[name]])
    if more:
        yield f"{name} {version} may be in {joined(tuple(sorted(more)), 'and')}"


def _core(impossible: ResolutionImpossible[Any, Any], offer: _Offer) -> Iterator[str]:
    place = described(offer.universe.request.target)
    for cause in impossible.causes:
        need, parent = cause.requirement.need, cause.parent
        if parent is not None:
            yield f"{parent[0]} {parent[1]} requires {need}"
        elif not offer.universe.fitting(need.name):
            yield f"no release of {need.name} fits {place}"
        else:
            yield f"{need.name} is asked for"
    refused = sorted({issue for ids in offer.refused.values() for issue in ids})
    if refused:
        yield f"releases that are in {joined(tuple(refused), 'or')} are left out"


def _unverified(chosen: Mapping[str, Version], universe: Universe) -> tuple[str, ...]:
    found = [
        f"the requirements of {name} {version} could not be read: {universe.unread[name, str(version)]}"
        for name, version in sorted(chosen.items())
        if (name, str(version)) in universe.unread
    ]
    found += [
        f"{name} {version} requires `{universe.unreadable[name, str(version)][0]}`, which cannot be read"
        for name, version in sorted(chosen.items())
        if (name, str(version)) in universe.unreadable
    ]
    found += [
        f"which releases {name} has could not be looked up: {reason}"
        for name, reason in sorted(universe.unavailable.items())
    ]
    return tuple(found)
