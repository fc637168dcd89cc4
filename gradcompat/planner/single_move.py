"""The plan of an environment where it surely moves one package and nothing else, as most plans do.

It is the same change as :func:`gradcompat.planner.plan.plan` comes to, by less: only issues and requirements that speak
of the package are looked at. No other one can tell such plans apart, and what moves more packages costs more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradcompat.budget import Budget
from gradcompat.matching.alike_runs import packages_seen
from gradcompat.matching.entries import Names
from gradcompat.matching.view import View
from gradcompat.model.environment import Environment
from gradcompat.model.finding import Finding
from gradcompat.model.issue import Issue
from gradcompat.model.plan import Change
from gradcompat.model.release import Catalogue, Requirers
from gradcompat.planner.assignment_issues import Judge, ids_of, least_steps, matched
from gradcompat.planner.cost import versions
from gradcompat.planner.explain import changes_of
from gradcompat.planner.remedies import code_for, setting_for
from gradcompat.planner.request import Request
from gradcompat.planner.search import Search, Terms
from gradcompat.planner.universe import Universe
from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleMove:
    """What such a plan does.

    Attributes:
        change: of the package.
        fixed: ids of the findings that go.
        introduced: ids of findings below the level that come.
    """

    change: Change
    fixed: tuple[str, ...]
    introduced: tuple[str, ...]


def single_move(
    environment: Environment,
    findings: Iterable[Finding],
    issues: Sequence[Issue],
    names: Names,
    catalogue: Catalogue,
    request: Request,
    *,
    runs: Sequence[Environment] = (),
    seen: Sequence[View] = (),
    budget: Budget | None = None,
    requirers: Requirers | None = None,
) -> SingleMove | None:
    """The plan of :func:`gradcompat.planner.plan.plan` where it surely moves one package alone; None where it may not.

    Args:
        environment: what was matched.
        findings: what was found in it, as far as the user wants to know of it.
        issues: everything that was matched against, and that a plan must not lead into.
        names: under which names packages go.
        catalogue: where releases and their requirements are looked up.
        request: what counts, and what must not move.
        runs: the environment with the settings of each training run, if there are some.
        seen: the runs as they were matched, so that nothing is matched twice.
        budget: the steps that this may take.
        requirers: whose requirements speak of a package, where the catalogue knows that; without it all are read.
    """
    findings = tuple(findings)
    shared = shared_packages(findings, names, request)
    if not shared or any(package.source == "conda" for package in environment.packages):
        return None  # of conda's packages it counts whether any record speaks of them
    about = [issue for issue in _speaking_of(shared, issues) if issue.withdrawn is None]
    universe = Universe(environment, about, names, catalogue, request, budget, requirers, seen)
    original = tuple(runs) or (environment,)
    if not universe.budget.take(least_steps(original, universe)):
        return None
    judge = Judge(universe, original)
    if not any(_cures(name, findings, judge) for name in sorted(shared)):
        return None
    asked = {finding.issue.id for finding in findings if finding.status != "not_affected"}
    wanted = [issue for issue, _ in judge.found_now if issue.id in asked]
    if not wanted or any(_has_first_remedy(issue, judge) for issue in wanted):
        return None
    excused = frozenset(issue.id for issue, _ in judge.found_now) - asked
    search = Search(universe, judge, Terms(excused=excused, alone=True, limit=request.limit))
    outcome = search.alone()
    if not outcome.chosen or not outcome.proven or universe.budget.spent:
        return None
    if any(
        universe.rehomed(name) or universe.obscure(name, one) or search.pricing.goes_back(name, one)
        for name, one in outcome.chosen.items()
    ):
        return None
    assignment = versions(outcome.chosen)
    before = ids_of(matched(original, judge.issues, universe), request)
    after = ids_of(matched(original, judge.issues, universe, assignment), request)
    if after.counting & asked or after.counting - before.counting:
        return None
    fixed = (before.sure | (before.counting & asked)) - after.sure - after.counting
    (change,) = changes_of(outcome.chosen, judge, [issue for issue in judge.issues if issue.id in fixed])
    return SingleMove(change=change, fixed=tuple(sorted(fixed)), introduced=tuple(sorted(after.sure - before.sure)))


def shared_packages(findings: Iterable[Finding], names: Names, request: Request) -> frozenset[str]:
    """The (canonical) packages that all findings that have to go are about."""
    statuses = ("affected", "conditional") if request.conditional else ("affected",)
    concerned = [
        frozenset(map(names.canonical, finding.packages))
        for finding in findings
        if finding.status in statuses and request.counts(finding.issue)
    ]
    return frozenset.intersection(*concerned) if concerned else frozenset()


def _cures(name: str, findings: Iterable[Finding], judge: Judge) -> bool:
    """Is there a release of a (canonical) package at which none is left of the findings that have to go?"""
    universe = judge.universe
    wanted = [
        finding.issue for finding in findings if finding.status == "affected" and universe.request.counts(finding.issue)
    ]
    return any(
        all(judge.verdict(issue, {listed: one.version}).affected is None for issue in wanted)
        for listed in universe.names_for(name)
        for one in universe.candidates(listed)
    )


def _speaking_of(names: frozenset[str], issues: Sequence[Issue]) -> list[Issue]:
    """The issues that speak of some packages, with those that stand for one of them, and the other way round."""
    speaking = {issue.id for issue in issues if not names.isdisjoint(packages_seen(issue))}
    general = {identifier for issue in issues if issue.id in speaking for identifier in issue.instead_of}
    return [
        issue
        for issue in issues
        if issue.id in speaking or issue.id in general or not speaking.isdisjoint(issue.instead_of)
    ]


def _has_first_remedy(issue: Issue, judge: Judge) -> bool:
    """Does its record put a setting or the code before any change of version?"""
    return setting_for(issue, judge, {}, first_only=True) is not None or code_for(issue, first_only=True) is not None
