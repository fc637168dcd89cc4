"""What to say and do where no plan clears everything: which facts cannot all hold, and what can be cured at least."""

from __future__ import annotations

from collections.abc import Sequence

from gradcompat.model.issue import LEVELS, Issue
from gradcompat.planner.assignment_issues import Judge
from gradcompat.planner.search import Fact, Outcome, Search, Terms
from gradcompat.planner.universe import Universe
from gradcompat.startup.lazy_dataclasses import replace

# A core is made smaller by searching without each of its facts. More facts than this are shown as they are, and a
# search that takes longer keeps its fact.
_MOST_FACTS = 40
_LIMIT = 400

# A plan for a part is one search for each finding, so that each may look at so much less.
_SHARE = 10

# Facts that are tried first stay only if they are needed; what people can do something about should stay.
_DROPPED_FIRST = ("family", "requires", "issue", "stays", "releases")


def partial(universe: Universe, judge: Judge, wanted: Sequence[Issue], terms: Terms) -> tuple[Outcome, list[Issue]]:
    """The plan that cures the most severe findings, one after the other as long as there is one.

    Returns:
        The best outcome, which moves nothing where nothing can be cured, and the issues that it leaves.
    """
    order = sorted(wanted, key=lambda issue: (-LEVELS.index(issue.level), not issue.silent, issue.id))
    everything = terms.excused.union(issue.id for issue in order)
    terms = replace(terms, limit=max(terms.limit // _SHARE, 1))
    kept: set[str] = set()
    best = Outcome({}, None, True, ())
    for index, issue in enumerate(order):
        # What is left of the steps is for all that are left.
        share = 1 / max(len(order) - index, 2)
        outcome = Search(universe, judge, replace(terms, excused=everything - kept - {issue.id}, share=share)).run()
        if outcome.chosen is not None:
            best = outcome
            kept.add(issue.id)
    # What was cured on the way counts as well.
    assignment = {name: candidate.version for name, candidate in (best.chosen or {}).items()}
    left = [
        issue for issue in order if judge.verdict(issue, assignment).packages(universe.request.conditional) is not None
    ]
    return best, left


def core(universe: Universe, judge: Judge, outcome: Outcome, terms: Terms) -> tuple[tuple[Fact, ...], bool]:
    """Facts that cannot all be respected, and whether each of them is needed for that."""
    facts = tuple(fact for fact in outcome.facts if fact.kind != "releases")
    without_releases = tuple(fact for fact in outcome.facts if fact.kind == "releases")
    if len(facts) > _MOST_FACTS or not outcome.proven:
        issues = tuple(fact for fact in facts if fact.kind == "issue")
        return (issues or facts)[:_MOST_FACTS], False
    needed = list(facts)
    minimal = True
    for fact in sorted(facts, key=lambda one: (_DROPPED_FIRST.index(one.kind), one)):
        ignored = frozenset(facts) - frozenset(needed) | {fact}
        # A fact that was no obstacle at first can become one when another is left out.
        tried = Search(
            universe, judge, replace(terms, ignored=terms.ignored | ignored, limit=min(_LIMIT, terms.limit))
        ).run(insist=False)
        if tried.chosen is None and tried.proven:
            needed.remove(fact)
        elif tried.chosen is None:
            minimal = False
    return (*needed, *without_releases), minimal
