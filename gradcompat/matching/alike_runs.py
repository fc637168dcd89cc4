"""What of a run and of its packages decides about a record, so that what is equal is matched once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import prod

from gradcompat.matching.chosen_releases import DEEPSPEED
from gradcompat.matching.package_terms import MAX_CHOICES
from gradcompat.matching.run_exceptions import exceptions_of
from gradcompat.matching.run_terms import STRATEGY_KEY, verdict_of
from gradcompat.matching.view import View
from gradcompat.model.environment import Environment
from gradcompat.model.issue import Combination, Issue
from gradcompat.presumptions.replaced import METHOD_KEY, OWN_STEP_KEY
from gradcompat.terms.class_facts import MODEL_KEY
from gradcompat.terms.symbol_patterns import LIBRARIES_KEY, OPTIONAL_KEY
from gradcompat.terms.term_keys import GUARDED_KEY, IMPORTED_KEY, key_of


def alike(runs: Sequence[Environment], issues: Iterable[Issue]) -> list[list[int]]:
    """The runs of one environment, by their index, in groups that no issue can tell apart."""
    if len(runs) == 1:
        return [[0]]
    terms = (term for issue in issues for combination in issue.affected for term in combination.terms)
    # What stands for the strategy decides about the settings of every other one; five keys no term asks for.
    unasked = {STRATEGY_KEY, OWN_STEP_KEY, METHOD_KEY, GUARDED_KEY, IMPORTED_KEY, LIBRARIES_KEY, OPTIONAL_KEY}
    keys = {*unasked, *(key for term in terms if (key := key_of(term)) is not None)}
    groups: dict[object, list[int]] = {}
    for index, run in enumerate(runs):
        stated = tuple(
            (setting.key, type(setting.value), setting.value, setting.presumed, setting.where)
            for setting in run.settings
            if setting.key in keys
        )
        facts = (run.python, run.platform, tuple(sorted(run.virtual.items())), run.excluded, run.engines)
        of_class = tuple(fact for fact in run.class_facts if fact.key in keys)
        groups.setdefault((stated, facts, of_class), []).append(index)
    return list(groups.values())


def decisive_facts(issue: Issue, view: View) -> Hashable:
    """What of a run decides about an issue, whatever releases of the packages that are listed are chosen.

    In runs of one environment in which it is equal the issue has the same status, about the same entries. None where
    the program itself goes by releases: such a run is like no other.
    """
    if view.asked:
        return None
    environment = view.environment
    terms = [term for combination in issue.affected for term in combination.beyond]
    asked = {key_of(term) for term in terms}
    return (
        tuple([verdict_of(term, view).certainty for term in terms]),
        tuple([verdict.certainty for one in issue.affected for verdict in exceptions_of(one, issue, view)]),
        # A class decides what nobody states.
        tuple([fact for fact in environment.class_facts if fact.key in asked]),
        tuple([bool(view.stated(key)) for key in (MODEL_KEY, *sorted(filter(None, asked)))]),
        (environment.python, environment.platform, tuple(sorted(environment.virtual.items()))),
        (environment.excluded, environment.engines),
    )


def packages_seen(issue: Issue) -> frozenset[str]:
    """The packages whose entries decide about an issue."""
    named = {term.name for one in issue.affected for terms in (one.packages, one.absent) for term in terms}
    if any(key_of(term) == STRATEGY_KEY for combination in issue.affected for term in combination.beyond):
        named.add(DEEPSPEED.name)
    return frozenset(named)


def questions(counts: Mapping[str, int], issues: Iterable[Issue]) -> list[int]:
    """For each issue how many entries and choices of entries it is asked about, at most, in one run.

    Args:
        counts: how many entries each package has, by its canonical name.
        issues: the records.
    """
    return [sum(_questions(combination, counts) for combination in issue.affected) for issue in issues]


def _questions(combination: Combination, counts: Mapping[str, int]) -> int:
    named = {term.name for terms in (combination.packages, combination.absent) for term in terms}
    entries = [counts.get(name) or 1 for name in named]
    return sum(entries) + min(prod(entries), MAX_CHOICES)
