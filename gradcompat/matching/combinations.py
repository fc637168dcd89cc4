"""A combination of a record with each choice of entries that can be installed together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from gradcompat.matching.chosen_releases import by_build, by_class, without_deepspeed
from gradcompat.matching.entries import FEW, Choices
from gradcompat.matching.forks import PLATFORMS, Forks
from gradcompat.matching.package_terms import MAX_CHOICES, absence, built_apart, choices_of
from gradcompat.matching.run_exceptions import exceptions_of
from gradcompat.matching.run_terms import verdict_of
from gradcompat.matching.verdict import Verdict
from gradcompat.matching.view import View
from gradcompat.messages import joined
from gradcompat.model.environment import Package
from gradcompat.model.issue import Combination, Issue, PlatformTerm, Term
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.truth import Certainty

if TYPE_CHECKING:
    from gradcompat.requirements.markers import Release

_CHOICE = 3  # steps of the budget of the forks


@dataclass(slots=True)
class Match:
    """One combination with one choice of entries."""

    certainty: Certainty
    packages: tuple[Package, ...]
    verdicts: Sequence[Verdict]
    terms: tuple[Term, ...]


def matches_of(combination: Combination, issue: Issue, view: View) -> Iterator[Match]:
    """A match for each choice of entries that can be installed together, if any package is listed at all.

    Where no choice can be affected there is one match that says so, with all entries.
    """
    if not any(view.listed(term.name) for term in combination.packages):
        return
    alternatives = [choices_of(term, view) for term in combination.packages]
    # A choice with a term that does not hold is not affected, whatever else it holds; mostly few are left.
    possible = [one.possible for one in alternatives]
    # Versions rule out most combinations, and cost less to look at than the run.
    others = [verdict_of(term, view) for term in combination.beyond] if all(possible) else []
    matched = False
    if all(possible) and all(other.certainty for other in others):
        beside = prod(len(view.listed(term.name)) or 1 for term in combination.absent)
        of_run = list(exceptions_of(combination, issue, view))
        for chosen, verdicts in _chosen(alternatives, beside, view.forks, partial(view.releases, combination)):
            if _is_of_other_python(chosen, view):
                continue
            absent = [absence(term, chosen, view) for term in combination.absent]
            beside_these = by_class(combination, without_deepspeed(combination, others, chosen, view), chosen, view)
            beside_these = by_build(combination, beside_these, chosen, view)
            elsewhere = _elsewhere(chosen, view)
            by_choice = beside_these if beside_these is not others else ()  # the others were looked at above
            if all(verdict.certainty for verdict in (*absent, *by_choice, *elsewhere)):
                matched = True
                apart = built_apart(chosen, view) if len(chosen) > 1 else ()
                decisive = [*verdicts, *absent, *beside_these, *elsewhere, *apart, *of_run]
                yield Match(min([one.certainty for one in decisive]), chosen, decisive, combination.terms)
    if not matched:
        entries = tuple(entry for one in alternatives for entry in one.entries)
        verdicts = [choice.verdict for some in possible for choice in some]
        # What is open or presumed decides nothing here.
        yield Match(Certainty.NO, entries, [*verdicts, *others], combination.terms)


def _elsewhere(chosen: Sequence[Package], view: View) -> Sequence[Verdict]:
    """Whether the run is on a platform of entries that a lockfile has for other ones than Linux alone."""
    if not any(entry.marker or entry.reached for entry in chosen):
        return ()
    platforms = view.forks.platforms(chosen)
    return () if not platforms or "linux" in platforms else [verdict_of(_on(platforms), view)]


def _is_of_other_python(chosen: Sequence[Package], view: View) -> bool:
    """Are these entries for other interpreters than the one of the environment?"""
    python = view.environment.python
    restricted = any(entry.marker or entry.reached for entry in chosen)
    return python is not None and restricted and not view.forks.installed_on(chosen, python)


@lru_cache(maxsize=8)  # a term is decided once in a run, by its identity
def _on(platforms: frozenset[str]) -> PlatformTerm:
    return PlatformTerm(platforms=tuple(name for name in PLATFORMS if name in platforms))


def _chosen(
    alternatives: Sequence[Choices], beside: int, forks: Forks, releases: Callable[[], frozenset[Release]]
) -> Iterator[tuple[tuple[Package, ...], list[Verdict]]]:
    """The entries of each choice that can be installed together, with their verdicts.

    Args:
        alternatives: those of each term.
        beside: how many entries each choice will be compared with in addition.
        forks: compares entries.
        releases: the versions of Python at which the markers of any of the entries change.
    """
    possible = [one.possible for one in alternatives]
    compared = beside > 1 or sum(1 for one in alternatives if one.entries) > 1
    count = prod(map(len, possible)) * beside
    if compared and (count > MAX_CHOICES or (count > 1 and not forks.budget.take(_CHOICE * count))):
        entries = tuple(entry for choices in possible for choice in choices for entry in choice.entries)
        names = tuple(choices[0].verdict.key for choices in possible)
        sentence = f"{joined(names, 'and')} are installed together in versions that are affected"
        yield entries, [Verdict(Certainty.OPEN, sentence, names[0])]
        return
    shared = releases() if compared and count > FEW else frozenset()
    for choices in product(*possible):
        first = [choice.entries[0] for choice in choices if choice.entries] if len(choices) > 1 else ()
        if all(forks.together(entry, other, shared) for index, entry in enumerate(first) for other in first[:index]):
            yield tuple(entry for choice in choices for entry in choice.entries), [choice.verdict for choice in choices]
