"""The smallest change of one environment after which nothing that counts is left, and what stands behind it.

The search decides what is tried. What a plan cures, brings and leaves is then found by applying it to the whole
environment and matching that again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gradcompat.budget import Budget
from gradcompat.matching.entries import Names
from gradcompat.matching.view import View
from gradcompat.messages import counted
from gradcompat.model.environment import Environment
from gradcompat.model.finding import Finding
from gradcompat.model.issue import Issue
from gradcompat.model.plan import Alternative, CodeChange, Plan, SettingChange, Verified
from gradcompat.model.release import Catalogue, Requirers
from gradcompat.planner.alternatives import alternatives
from gradcompat.planner.assignment_issues import Judge, ids_of, least_steps, matched
from gradcompat.planner.conflict_core import core, partial
from gradcompat.planner.cost import in_words, versions
from gradcompat.planner.explain import (
    changes_of,
    elsewhere_text,
    fact_text,
    lenient_notes,
    notes_on,
    unmet_notes,
    unverified_of,
)
from gradcompat.planner.remedies import Runs, code_for, setting_for
from gradcompat.planner.request import Request
from gradcompat.planner.search import Outcome, Search, Terms
from gradcompat.planner.target import described
from gradcompat.planner.universe import Candidate, Universe
from gradcompat.startup.lazy_dataclasses import dataclass, replace


@dataclass(slots=True)
class _Draft:
    """A plan in the making.

    Attributes:
        judge: with the training runs as the settings of the plan make them.
        wanted: the issues that the plan is for.
        excused: ids of issues that the plan may leave, and that are not for this user.
        settings: what it sets.
        code: what it changes in the code.
        chosen: where it moves packages.
        proven: nothing cheaper does.
        lenient: requirements that did not hold before are left alone.
        core: why not everything is cured.
        most: after how much the search was cut off, if it is not proven.
        all_ways: every other way was looked for that was to be looked for.
    """

    judge: Judge
    wanted: list[Issue]
    excused: frozenset[str]
    settings: list[SettingChange]
    code: list[CodeChange]
    chosen: dict[str, Candidate]
    proven: bool = True
    lenient: bool = False
    core: tuple[str, ...] = ()
    most: str = ""
    all_ways: bool = True


def plan(
    environment: Environment,
    findings: Iterable[Finding],
    issues: Sequence[Issue],
    names: Names,
    catalogue: Catalogue,
    request: Request,
    *,
    runs: Sequence[Environment] = (),
    seen: Sequence[View] = (),
    changes_only: bool = False,
    budget: Budget | None = None,
    requirers: Requirers | None = None,
) -> Plan:
    """The cheapest plan in the order of :mod:`gradcompat.planner.cost`, or the best that can be done.

    An index that does not answer leads to a plan from what is known, which says so; nothing is raised for it.

    Args:
        environment: what was matched.
        findings: what was found in it, as far as the user wants to know of it; the rest may stay.
        issues: everything that was matched against, and that a plan must not lead into. Records about packages that
            the environment does not have belong to it: a plan may add some.
        names: under which names packages go.
        catalogue: where releases and their requirements are looked up.
        request: what counts, and what must not move.
        runs: the environment with the settings of each training run, if there are some; a plan has to suit all.
        seen: the runs as they were matched, so that nothing is matched twice.
        changes_only: say what is changed and what that does, without other ways, reasons and notes.
        budget: the steps that the plan may take. Where they do not suffice, it says what it does not know.
        requirers: whose requirements speak of a package, where the catalogue knows that; notes need all of them.
    """
    findings = tuple(findings)
    universe = Universe(
        environment,
        tuple(issue for issue in issues if issue.withdrawn is None),
        names,
        catalogue,
        request,
        budget,
        requirers if changes_only else None,
        seen,
    )
    begun = _begun(universe, findings, runs, explained=not changes_only)
    if begun is None:
        return _unplanned(universe, findings)
    draft = begun.draft
    draft.most = _looked_at(universe, request.limit)
    others: tuple[Alternative, ...] = ()
    if draft.wanted and not changes_only:
        universe.cut_off = False
        used = {cure for setting in draft.settings for cure in setting.cures}
        used |= {cure for code in draft.code for cure in code.cures}
        others = alternatives(
            universe,
            begun.judge,
            draft.wanted,
            draft.chosen,
            Terms(excused=draft.excused | _left(draft), lenient=draft.lenient, limit=request.limit),
            with_remedies=[issue for issue in draft.wanted if issue.id not in used],
        )
        draft.all_ways = not (universe.cut_off or universe.budget.spent)
    return _finished(draft, begun.original, universe, begun.asked, others, explained=not changes_only)


@dataclass(frozen=True, slots=True)
class _Begun:
    """What the search has come to.

    Attributes:
        original: the runs as they are.
        asked: ids of issues that may have to go.
        judge: with the runs as they are.
        draft: what was found to do.
    """

    original: Runs
    asked: set[str]
    judge: Judge
    draft: _Draft


def _begun(
    universe: Universe, findings: Sequence[Finding], runs: Sequence[Environment], *, explained: bool
) -> _Begun | None:
    """Search; None where the budget does not suffice to match the environment."""
    request = universe.request
    original = tuple(runs) or (universe.environment,)
    asked = {finding.issue.id for finding in findings if finding.status != "not_affected"}
    if not universe.budget.take(least_steps(original, universe)):
        return None
    judge = Judge(universe, original)
    bad = [issue for issue in judge.issues if request.counts(issue) and _is_there(issue, judge, {})]
    wanted = [issue for issue in bad if issue.id in asked]
    universe.catalogue.expect(sorted({name for issue in wanted for name in _packages(issue, judge)}))
    draft = _Draft(judge, wanted, frozenset(issue.id for issue in bad) - asked, [], [], {})
    if wanted:
        _take_remedies(draft, draft.wanted, first_only=True)
        _search(draft, universe, explained=explained)
    return _Begun(original, asked, judge, draft)


def _unplanned(universe: Universe, findings: Sequence[Finding]) -> Plan:
    """What is said of an environment that cannot even be matched again within the budget."""
    request = universe.request
    statuses = ("affected", "conditional") if request.conditional else ("affected",)
    left = {finding.issue.id for finding in findings if finding.status in statuses and request.counts(finding.issue)}
    return Plan(
        source=universe.environment.source,
        complete=False,
        remaining=tuple(sorted(left)),
        verified=Verified(
            matched_again=False,
            requirements=None,
            wheels=None,
            smallest=False,
            against=universe.catalogue.described,
            target=described(request.target),
            unverified=(_no_plan(f"{universe.budget.most:,} steps", sorted(left)),),
        ),
    )


def _no_plan(most: str, left: Sequence[str]) -> str:
    """That the budget did not suffice, and what would make the task smaller."""
    one = f", one finding with `--only {left[0]}`" if len(left) > 1 else ""
    return (
        f"no plan that clears everything within the budget of {most}: plan one environment alone{one}, "
        "or hold packages with `--keep NAME`"
    )


def _is_there(issue: Issue, judge: Judge, chosen: Mapping[str, Candidate]) -> bool:
    return judge.verdict(issue, versions(chosen)).packages(judge.universe.request.conditional) is not None


def _packages(issue: Issue, judge: Judge) -> frozenset[str]:
    return judge.now(issue).packages(judge.universe.request.conditional) or frozenset()


def _left(draft: _Draft) -> frozenset[str]:
    """The wanted issues that the packages and settings of the plan do not cure."""
    return frozenset(issue.id for issue in draft.wanted if _is_there(issue, draft.judge, draft.chosen))


def _is_spent(draft: _Draft) -> bool:
    """Has the plan taken all of its steps? Then it is not proven to be the smallest."""
    universe = draft.judge.universe
    universe.cut_off |= universe.budget.spent
    draft.proven = draft.proven and not universe.budget.spent
    return universe.budget.spent


def _search(draft: _Draft, universe: Universe, *, explained: bool) -> None:
    """Move packages for what is left; where that is impossible, for as much of it as can be."""
    by_code = frozenset(identifier for code_change in draft.code for identifier in code_change.cures)
    terms = Terms(excused=draft.excused | by_code, limit=universe.request.limit)
    # Most plans need no other search than this one.
    outcome = Search(universe, draft.judge, replace(terms, share=2 / 3)).run()
    if outcome.chosen is None and any(fact.kind == "requires" for fact in outcome.facts):
        lenient = Search(universe, draft.judge, replace(terms, lenient=True, limit=max(terms.limit // 5, 1))).run()
        if lenient.chosen is not None:
            outcome, draft.lenient = lenient, True
    if outcome.chosen is not None:
        draft.chosen, draft.proven = outcome.chosen, outcome.proven
        return
    rest = [issue for issue in draft.wanted if issue.id not in by_code and _is_there(issue, draft.judge, {})]
    best, left = Outcome({}, None, outcome.proven, ()), rest
    if len(rest) > 1 or not outcome.proven:  # else there is no part that could be cured
        best, left = partial(universe, draft.judge, rest, terms)
    draft.chosen = best.chosen or {}
    draft.proven = best.proven and outcome.proven
    _take_remedies(draft, left, first_only=False)
    still_left = [issue for issue in left if _is_there(issue, draft.judge, draft.chosen)]
    if explained and any(issue.id not in {cure for code in draft.code for cure in code.cures} for issue in still_left):
        draft.core = _core(draft, universe, outcome, terms)


def _take_remedies(draft: _Draft, issues: Sequence[Issue], *, first_only: bool) -> None:
    """Take the settings and the code of the records; with ``first_only`` those put before any change of version."""
    for issue in issues:
        if _is_spent(draft):
            return
        if not _is_there(issue, draft.judge, draft.chosen):
            continue  # another one's setting has cured it
        tried = setting_for(issue, draft.judge, versions(draft.chosen), first_only=first_only)
        code = code_for(issue, first_only=first_only)
        if tried is not None:
            draft.settings.append(tried.change)
            draft.judge = Judge(draft.judge.universe, tried.runs)
        elif code is not None:
            draft.code.append(code)


def _core(draft: _Draft, universe: Universe, outcome: Outcome, terms: Terms) -> tuple[str, ...]:
    facts, minimal = core(universe, draft.judge, outcome, terms)
    sentences = list(dict.fromkeys(fact_text(fact, draft.judge) for fact in facts))
    if outcome.proven and len(facts) == 1 and facts[0].kind == "issue":
        sentences[0] += f", and no release that fits {described(universe.request.target)} is free of it"
    if not outcome.proven:
        sentences.append(
            f"the search was cut off after {_looked_at(universe, terms.limit)}, so that a plan may exist nevertheless"
        )
    elif not minimal:
        sentences.append("not every one of these may be needed for that")
    return tuple(sentences)


def _looked_at(universe: Universe, limit: int) -> str:
    """After what a search has ended without a proof."""
    return f"{universe.budget.most:,} steps" if universe.cut_off else counted(limit, "state")


def _finished(
    draft: _Draft,
    original: Runs,
    universe: Universe,
    asked: set[str],
    others: tuple[Alternative, ...],
    *,
    explained: bool,
) -> Plan:
    """Apply the draft to the whole environment and match again; only that says what it does."""
    request = universe.request
    assignment = versions(draft.chosen)
    issues = draft.judge.issues
    found = matched(original, issues, universe)
    before = ids_of(found, request)
    findings = matched(_whole(draft, original), issues, universe, assignment)
    after = ids_of(findings, request)
    new = after.counting - before.counting
    remaining = tuple(sorted((after.counting & asked) | new))
    fixed = tuple(sorted((before.sure | (before.counting & asked)) - after.sure - after.counting))
    expected = _left(draft)
    elsewhere = {
        finding.issue.id
        for finding in findings
        if any(_is_elsewhere(package.name, universe) for package in finding.packages)
    }
    matched_again = not new and set(remaining) <= expected | elsewhere
    unverified = unverified_of(draft.chosen, universe)
    concerned = {
        universe.name_of(package) for finding in found if finding.issue.id in asked for package in finding.packages
    }
    unverified += [
        f"{universe.catalogue.described} has no releases of {name}, so that no other version was tried"
        for name in sorted(concerned & universe.without_releases())
    ]
    unverified += [
        f"whether {identifier} is gone then depends on facts that were not seen"
        for identifier in sorted(
            set(fixed) & {finding.issue.id for finding in findings if finding.status == "conditional"}
        )
    ]
    if remaining and not draft.proven:
        unverified.insert(0, _no_plan(draft.most, remaining))
    if not matched_again:
        unverified.insert(0, "matching the whole environment again did not give what the search expected")
    notes = [*notes_on(draft.chosen, universe), *unmet_notes(draft.chosen, universe)] if explained else []
    if draft.lenient and explained:
        notes += lenient_notes(draft.chosen, universe)
    left_elsewhere = sorted({
        universe.name_of(package)
        for finding in findings
        if finding.issue.id in remaining and finding.issue.id not in expected
        for package in finding.packages
        if universe.name_of(package) in universe.elsewhere
    })  # fmt: skip
    reasons = list(draft.core)
    reasons += [elsewhere_text(name, universe) for name in left_elsewhere]
    code = tuple(code_change for code_change in draft.code if not set(code_change.cures).isdisjoint(remaining))
    reasons += [
        f"{code_change.cures[0]} goes with a change of the code, which cannot be tested here" for code_change in code
    ]
    if not draft.proven and not remaining:
        notes.append(f"the search was cut off after {draft.most}: a smaller change may exist")
    if not draft.all_ways:
        notes.append("other ways were looked for only as far as the budget of steps went")
    cured = [issue for issue in issues if issue.id in fixed]
    return Plan(
        source=universe.environment.source,
        complete=not remaining,
        changes=changes_of(draft.chosen, draft.judge, cured),
        settings=_joined_settings(draft.settings),
        code=code,
        fixed=fixed,
        introduced=tuple(sorted(after.sure - before.sure - new)),
        remaining=remaining,
        tolerated=tuple(sorted((after.sure & before.sure) - set(remaining))),
        core=tuple(reasons),
        cost=_cost(draft, code, universe),
        alternatives=others,
        verified=Verified(
            matched_again=matched_again,
            requirements=_requirements_seen(draft.chosen, universe),
            wheels=_wheels(draft.chosen),
            smallest=draft.proven,
            against=universe.catalogue.described,
            target=described(request.target),
            unverified=tuple(dict.fromkeys(unverified)),
            notes=tuple(dict.fromkeys(notes)),
        ),
    )


def _whole(draft: _Draft, original: Runs) -> Runs:
    """The runs with all their entries and the settings of the plan."""
    return tuple(
        run if run.settings is changed.settings else replace(run, settings=changed.settings)
        for run, changed in zip(original, draft.judge.runs, strict=True)
    )


def _is_elsewhere(name: str, universe: Universe) -> bool:
    return name in universe.elsewhere


def _joined_settings(settings: Sequence[SettingChange]) -> tuple[SettingChange, ...]:
    """One change for one setting, whatever the number of findings that it cures."""
    found: dict[tuple[str, object], SettingChange] = {}
    for setting in settings:
        key = (setting.key, setting.value)
        found[key] = replace(found[key], cures=(*found[key].cures, *setting.cures)) if key in found else setting
    return tuple(found.values())


def _cost(draft: _Draft, code: Sequence[CodeChange], universe: Universe) -> str:
    parts = [in_words(draft.chosen, universe)] if draft.chosen else []
    if draft.settings:
        parts.append(counted(len(_joined_settings(draft.settings)), "setting"))
    if code:
        parts.append("1 change of the code" if len(code) == 1 else f"{len(code)} changes of the code")
    return ", ".join(parts)


def _requirements_seen(chosen: Mapping[str, Candidate], universe: Universe) -> bool | None:
    """Was every requirement that the plan touches seen?"""
    if not chosen:
        return True
    own = [universe.is_read(name, str(candidate.version)) for name, candidate in chosen.items()]
    if not any(own):
        return None
    unread = set(universe.unread_now()) - chosen.keys()
    garbled = any((name, str(candidate.version)) in universe.unreadable for name, candidate in chosen.items())
    return all(own) and not unread and not garbled


def _wheels(chosen: Mapping[str, Candidate]) -> bool | None:
    """Has every release that is moved to a wheel?"""
    fits = [candidate.fit for candidate in chosen.values()]
    if any(fit == "sdist" for fit in fits):
        return False
    return None if None in fits else True
