"""Other ways than the plan: dearer ones, settings and code, and those that something blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from packaging.version import Version

from gradcompat.model.issue import Issue, VersionRemedy
from gradcompat.model.plan import Alternative
from gradcompat.planner.assignment_issues import Judge
from gradcompat.planner.cost import Cost, in_words, versions
from gradcompat.planner.explain import changes_of
from gradcompat.planner.remedies import code_for, settings_for
from gradcompat.planner.requirements import allows
from gradcompat.planner.search import Outcome, Search, Terms
from gradcompat.planner.universe import Candidate, Universe
from gradcompat.startup.lazy_dataclasses import replace

_LIMIT = 400
_MOST_SEARCHES = 8
_MOST_BLOCKED = 6
_MOST_REASONS = 4


def alternatives(
    universe: Universe,
    judge: Judge,
    wanted: Sequence[Issue],
    chosen: Mapping[str, Candidate],
    terms: Terms,
    *,
    with_remedies: Sequence[Issue],
) -> tuple[Alternative, ...]:
    """Other ways to cure what the plan cures, cheapest first, and behind them those that are blocked.

    Args:
        universe: what there is.
        judge: with the runs as they are without the plan.
        wanted: the issues that the plan is for.
        chosen: where the plan moves packages.
        terms: of the plan's own search.
        with_remedies: issues whose settings and code are other ways; the plan does not use them.
    """
    found: list[tuple[Cost, Alternative]] = []
    seen = {tuple(sorted(versions(chosen).items()))}
    terms = replace(terms, limit=min(terms.limit, _LIMIT))
    for other in (Search(universe, judge, terms).run(insist=False), *_searches(universe, judge, chosen, terms)):
        if other.chosen is None or other.cost is None:
            continue
        key = tuple(sorted(versions(other.chosen).items()))
        if key not in seen:
            seen.add(key)
            found.append((other.cost, _moving(other.chosen, judge, wanted)))
    if universe.budget.spent:
        with_remedies, wanted = (), ()
    found.sort(key=lambda one: (one[0], [(change.package, change.version_to) for change in one[1].changes]))
    return (
        *(alternative for _, alternative in found),
        *_without_moving(judge, wanted, with_remedies),
        *_blocked(universe, judge, wanted, seen),
    )


def _searches(universe: Universe, judge: Judge, chosen: Mapping[str, Candidate], terms: Terms) -> Iterator[Outcome]:
    """The cheapest plan in which one package stays, or goes the other way."""
    moved = [name for name in sorted(chosen) if universe.listed(name)]
    # What moves on its own account comes first: a companion that stays blocks the same thing.
    moved.sort(key=lambda name: not judge.about(name))
    for name in moved[: _MOST_SEARCHES // 2]:
        yield Search(universe, judge, replace(terms, ways={**terms.ways, name: not chosen[name].down})).run(
            insist=False
        )
        yield Search(universe, judge, replace(terms, still=terms.still | {name})).run(insist=False)


def _moving(chosen: Mapping[str, Candidate], judge: Judge, wanted: Sequence[Issue]) -> Alternative:
    left = left_by(chosen, judge, wanted)
    cured = [issue for issue in wanted if issue.id not in left]
    return Alternative(
        changes=changes_of(chosen, judge, cured),
        fixed=tuple(issue.id for issue in cured),
        remaining=left,
        cost=in_words(chosen, judge.universe),
    )


def left_by(chosen: Mapping[str, Candidate], judge: Judge, wanted: Sequence[Issue]) -> tuple[str, ...]:
    """The ids of the issues that an assignment leaves."""
    assignment = versions(chosen)
    conditional = judge.universe.request.conditional
    return tuple(issue.id for issue in wanted if judge.verdict(issue, assignment).packages(conditional) is not None)


def _without_moving(judge: Judge, wanted: Sequence[Issue], with_remedies: Sequence[Issue]) -> Iterator[Alternative]:
    for issue in with_remedies:
        others = tuple(record.id for record in wanted if record.id != issue.id)
        for tried in settings_for(issue, judge):
            yield Alternative(settings=(tried.change,), fixed=(issue.id,), remaining=others, cost="a setting")
        code = code_for(issue)
        if code is not None:
            yield Alternative(code=(code,), fixed=(issue.id,), remaining=others, cost="a change of the code, not tried")


def _blocked(
    universe: Universe, judge: Judge, wanted: Sequence[Issue], seen: set[tuple[tuple[str, Version], ...]]
) -> Iterator[Alternative]:
    """What the records advise, one package at a time, where it does not work alone."""
    count = 0
    for issue in wanted:
        for remedy in issue.remedies:
            if not isinstance(remedy, VersionRemedy) or count == _MOST_BLOCKED:
                continue
            for name in universe.names_for(remedy.package):
                candidate = _advised(name, remedy, issue, universe, judge)
                if candidate is None or ((name, candidate.version),) in seen:
                    continue
                seen.add(((name, candidate.version),))
                blocked = tuple(_obstacles(name, candidate, universe, judge))
                if blocked:
                    count += 1
                    yield replace(_moving({name: candidate}, judge, wanted), blocked=blocked)


def _advised(name: str, remedy: VersionRemedy, issue: Issue, universe: Universe, judge: Judge) -> Candidate | None:
    """The nearest release that a remedy leads to and that cures its own issue."""
    suited = [
        candidate
        for candidate in universe.candidates(name)
        if candidate.version in remedy.versions
        and candidate.down == (remedy.kind == "downgrade")
        and judge.verdict(issue, {name: candidate.version}).packages(universe.request.conditional) is None
    ]
    return min(suited, key=lambda one: one.distance, default=None)


def _obstacles(name: str, candidate: Candidate, universe: Universe, judge: Judge) -> Iterator[str]:
    """Why a package cannot move there alone."""
    sentences: dict[str, None] = {}
    if universe.fixed(name):
        sentences[f"{name} has to stay as it is"] = None
    assignment = {name: candidate.version}
    conditional = universe.request.conditional
    for issue in judge.about(name):
        if universe.request.counts(issue) and judge.verdict(issue, assignment).packages(conditional) is not None:
            sentences[f"{name} {candidate.version} is in {issue.id}"] = None
    needs = universe.needs(name, str(candidate.version))
    for need in () if needs is None else needs.with_extras(universe.extras.get(name, frozenset())):
        if universe.listed(need.name) and need.name != name and not universe.allows_current(need):
            there = " and ".join(map(str, universe.current(need.name))) or "another"
            sentences[f"{name} {candidate.version} requires {need}, and {need.name} is {there}"] = None
    for dependent, need in universe.dependents(name):
        if not allows(need.specifier, candidate.version):
            there = " and ".join(map(str, universe.current(dependent)))
            sentences[f"{dependent} {there} requires {need}"] = None
    yield from list(sentences)[:_MOST_REASONS]
