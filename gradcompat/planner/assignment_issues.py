"""Which issues an assignment of versions has, by the real matcher.

An issue is matched in an environment that is reduced to the entries that it speaks of: it cannot see the others.
Versions that every bound of an issue treats alike are matched once for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import tee
from math import prod

from packaging.version import Version

from gradcompat.matching.alike_runs import alike, decisive_facts, questions
from gradcompat.matching.entries import Listed, Listing
from gradcompat.matching.matcher import match_in, ruled_out
from gradcompat.matching.package_terms import MAX_CHOICES
from gradcompat.matching.view import View
from gradcompat.model.class_fact import ClassFact
from gradcompat.model.environment import Environment, Location, Package, SourceKind
from gradcompat.model.finding import Finding
from gradcompat.model.issue import Issue, PackageTerm, VersionRemedy
from gradcompat.planner.request import Request
from gradcompat.planner.universe import Universe
from gradcompat.requirements.versions import BELOW, Cut, VersionSet, window_of
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.terms.term_keys import key_of
from gradcompat.truth import Truth

Assignment = Mapping[str, Version]
# An issue that has to go and is there, with the packages that take part.
Hit = tuple[Issue, frozenset[str]]

_PLANNED = Location(path="plan")
# Steps: matching an issue, each entry and choice of entries that it is matched with, and preparing to ask about it.
_MATCH, _CHOICE, _PREPARED = 100, 8, 20


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one issue says: its statuses in any run, each with the packages that take part."""

    affected: frozenset[str] | None
    conditional: frozenset[str] | None

    def packages(self, conditional: bool) -> frozenset[str] | None:
        """The packages that take part in what counts; None where nothing does."""
        counted = [self.affected, self.conditional] if conditional else [self.affected]
        found = [packages for packages in counted if packages is not None]
        return frozenset().union(*found) if found else None


_NOTHING = Verdict(None, None)


def applied(environment: Environment, assignment: Assignment, universe: Universe) -> Environment:
    """The environment with every entry that is there on the target moved, and with what is added."""
    packages = [
        moved(package, assignment[name])
        if (name := universe.name_of(package)) in assignment and package in universe.entries.get(name, ())
        else package
        for package in environment.packages
    ]
    packages += [
        Package(name=name, version=str(assignment[name]), location=_PLANNED)
        for name in sorted(assignment)
        if not universe.listed(name)
    ]
    return replace(environment, packages=tuple(packages))


def moved(package: Package, version: Version) -> Package:
    """An entry at another release."""
    source: SourceKind = "conda" if package.source == "conda" else "registry"
    return replace(package, version=str(version), specifier=None, unreleased=False, source=source)


class Judge:
    """Matches issues for assignments, and remembers."""

    def __init__(self, universe: Universe, runs: tuple[Environment, ...]) -> None:
        self.universe = universe
        self.runs = runs
        self._index = universe.index
        self.issues, self.mentions = self._index.issues, self._index.mentions
        universe.budget.take(_PREPARED * len(self.issues))
        self._views = tuple(universe.view_of(run, whole=False) for run in distinct(runs, self.issues))
        self._apart: dict[str, tuple[View, ...]] = {}
        # A class of a model may decide otherwise in another release of its package.
        self._facts = tuple(dict.fromkeys(fact for run in runs for fact in run.class_facts))
        self._bounds: dict[str, tuple[VersionSet, ...]] = {}
        self._own: dict[str, dict[str, tuple[int, ...]]] = {}
        self._seen: dict[tuple[str, Version], tuple[int, ...]] = {}
        self._between: dict[str, tuple[list[Cut], list[tuple[int, ...]]]] = {}
        self._moved: dict[tuple[str, tuple[tuple[str, Version], ...]], Listed] = {}
        self._now: dict[str, Verdict] = {}
        self._kinds: dict[tuple[str, Version], int] = {}
        self._kinds_of_candidates: dict[str, tuple[int, ...]] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._kinds_by_number: list[tuple[int, ...]] = []
        self._verdicts: dict[tuple[str, tuple[tuple[str, int], ...]], Verdict] = {}
        self._verdicts_by_bounds: dict[tuple[str, tuple[tuple[str, tuple[int, ...]], ...]], Verdict] = {}
        self._in_turn: dict[str, list[Issue]] = {}
        self._found: dict[tuple[str, frozenset[tuple[str, int]]], dict[int, Iterator[Hit]]] = {}
        # What pricing has found out; it is the same for all searches.
        self.severity: dict[object, tuple[tuple[int, ...], int]] = {}
        self.nearest: dict[str, tuple[tuple[tuple[int, ...], Version], ...]] = {}

    @cached_property
    def affected_now(self) -> tuple[Issue, ...]:
        """The issues that are there before anything moves."""
        return tuple(issue for issue in self.issues if not issue.informational and self.now(issue).affected is not None)

    @cached_property
    def advanced(self) -> frozenset[str]:
        """The (canonical) packages that the records of what is affected want newer, and no one of them older."""
        kinds: dict[str, set[str]] = {}
        for issue in self.affected_now:
            for remedy in issue.remedies:
                if isinstance(remedy, VersionRemedy):
                    kinds.setdefault(self.universe.canonical(remedy.package), set()).add(remedy.kind)
        return frozenset(name for name, wanted in kinds.items() if wanted == {"upgrade"})

    @cached_property
    def wrong_now(self) -> frozenset[str]:
        """The (canonical) packages of what is affected."""
        return frozenset(
            self.universe.canonical(name) for issue in self.affected_now for name in self.now(issue).affected or ()
        )

    @cached_property
    def found_now(self) -> tuple[Hit, ...]:
        """The issues that have to go before anything moves, in their order."""
        conditional, counts = self.universe.request.conditional, self.universe.request.counts
        found = ((issue, self.now(issue).packages(conditional)) for issue in self.issues if counts(issue))
        return tuple((issue, packages) for issue, packages in found if packages is not None)

    def now(self, issue: Issue) -> Verdict:
        """What the issue says before anything moves."""
        found = self._now.get(issue.id)
        if found is None:
            found = self._now[issue.id] = self.verdict(issue, {})
        return found

    def about(self, name: str) -> list[Issue]:
        """The issues that speak of a package of the index."""
        return self._index.about.get(self.universe.canonical(name), [])

    def ids_about(self, name: str) -> frozenset[str]:
        """The ids of the issues that speak of a package of the index."""
        return self._index.ids_about.get(self.universe.canonical(name), frozenset())

    def found(self, name: str, others: Assignment) -> Callable[[Version], Iterator[Hit]]:
        """Answers for each release of a package which issues about it have to go and are there.

        One question for all issues about the package: a search asks it for each release in each state. Issues are
        matched as far as somebody looks, and remembered: the first one mostly rules a release out.
        """
        canonical = self.universe.canonical(name)
        neighbours = self._index.neighbours.get(canonical)
        if neighbours is None:
            return lambda _: iter(())
        kinds = {other: self.kind(other, at) for other, at in others.items() if other in neighbours and other != name}
        remembered = self._found.setdefault((name, frozenset(kinds.items())), {})
        budget = self.universe.budget

        def at(version: Version) -> Iterator[Hit]:
            kind = self.kind(name, version)
            budget.take()
            if kind not in remembered:
                assignment, kinds_there = {**others, name: version}, {**kinds, name: kind}
                (remembered[kind],) = tee(self._hits(self._index.counting_about[canonical], kinds_there, assignment), 1)
            return copy(remembered[kind])

        return at

    def found_alone(self, name: str, version: Version) -> Iterator[Hit]:
        """Which issues about a package have to go and are there if it alone moves, those that are there now first."""
        issues = self._present_first(self.universe.canonical(name))
        return self._hits(issues, {name: self.kind(name, version)}, {name: version})

    def _hits(self, issues: Sequence[Issue], kinds: Mapping[str, int], assignment: Assignment) -> Iterator[Hit]:
        """Which of some issues have to go and are there, one after another."""
        conditional = self.universe.request.conditional
        for issue in issues:
            packages = self._remembered(issue, kinds, assignment).packages(conditional)
            if packages is not None:
                yield issue, packages

    def _present_first(self, canonical: str) -> list[Issue]:
        """The issues about a package that count, those that are there now before the others."""
        if canonical not in self._in_turn:
            present = {issue.id for issue, _ in self.found_now}
            about = self._index.counting_about.get(canonical, [])
            self._in_turn[canonical] = sorted(about, key=lambda issue: issue.id not in present)
        return self._in_turn[canonical]

    def kind(self, name: str, version: Version) -> int:
        """A number for what all records together can see of a version: two of one kind are the same to them."""
        key = (name, version)
        found = self._kinds.get(key)
        if found is None:
            seen = self._seen_of(name, version)
            found = self._kinds[key] = self._numbers.setdefault(seen, len(self._numbers))
            if found == len(self._kinds_by_number):
                self._kinds_by_number.append(seen)
        return found

    def kinds(self, name: str) -> tuple[int, ...]:
        """The kind of each candidate of a package, in their order."""
        if name not in self._kinds_of_candidates:
            candidates = self.universe.candidates(name)
            self._kinds_of_candidates[name] = tuple(self.kind(name, candidate.version) for candidate in candidates)
        return self._kinds_of_candidates[name]

    def _seen_of(self, name: str, version: Version) -> tuple[int, ...]:
        """What each bound of each record says of a version."""
        key = (name, version)
        if key not in self._seen:
            window = window_of(version)
            bounds = self._bounds_of(self.universe.canonical(name))
            self.universe.budget.take(len(bounds))
            if window.exact:
                cuts, rows = self._seen_between(self.universe.canonical(name))
                self._seen[key] = rows[bisect_right(cuts, (window.low, BELOW))]
            else:
                self._seen[key] = tuple(int(bound.truth(window)) for bound in bounds)
        return self._seen[key]

    def _bounds_of(self, canonical: str) -> tuple[VersionSet, ...]:
        """What issues and facts of classes can tell versions of a package apart by; most packages are never moved."""
        if canonical not in self._bounds:
            self._bounds[canonical] = _version_sets(canonical, self._index.about.get(canonical, []), self._facts)
        return self._bounds[canonical]

    def _own_bounds(self, canonical: str) -> dict[str, tuple[int, ...]]:
        """Where in the bounds of a package those of each issue are."""
        if canonical not in self._own:
            places = {version_set: place for place, version_set in enumerate(self._bounds_of(canonical))}
            self._own[canonical] = {
                issue.id: tuple(places[own] for own in _version_sets(canonical, [issue], self._facts))
                for issue in self._index.about.get(canonical, [])
            }
        return self._own[canonical]

    def _seen_between(self, canonical: str) -> tuple[list[Cut], list[tuple[int, ...]]]:
        """The cuts of all bounds in order, and what the bounds say of a version behind so many of them."""
        if canonical not in self._between:
            bounds = self._bounds_of(canonical)
            cuts = sorted({cut for bound in bounds for ends in bound.intervals for cut in ends if cut is not None})
            order = {cut: place for place, cut in enumerate(cuts, start=1)}
            turning: dict[int, list[int]] = {}  # place → bounds that begin or end there
            for number, bound in enumerate(bounds):
                for low, high in bound.intervals:
                    turning.setdefault(0 if low is None else order[low], []).append(number)
                    turning.setdefault(len(cuts) + 1 if high is None else order[high], []).append(number)
            seen = [int(Truth.NO)] * len(bounds)
            rows: list[tuple[int, ...]] = []
            for place in range(len(cuts) + 1):
                for number in turning.get(place, ()):
                    seen[number] = int(Truth.of(seen[number] != Truth.YES))
                rows.append(tuple(seen))
            self._between[canonical] = cuts, rows
        return self._between[canonical]

    def _seen_by(self, issue: Issue, name: str, kind: int) -> tuple[int, ...]:
        """What the bounds of one record say of the versions of a kind."""
        seen = self._kinds_by_number[kind]
        return tuple([seen[one] for one in self._own_bounds(self.universe.canonical(name))[issue.id]])

    def verdict(self, issue: Issue, assignment: Assignment) -> Verdict:
        """What the issue says of the environment with this assignment applied."""
        names = self._index.names[issue.id]
        return self._remembered(
            issue, {name: self.kind(name, assignment[name]) for name in names if name in assignment}, assignment
        )

    def _remembered(self, issue: Issue, kinds: Mapping[str, int], assignment: Assignment) -> Verdict:
        """The verdict on versions of these kinds; only those that the issue can tell apart are matched."""
        # The search asks this more often than anything else.
        self.universe.budget.take()
        named = tuple([(name, kinds[name]) for name in self._index.names[issue.id] if name in kinds])
        found = self._verdicts.get((issue.id, named))
        if found is None and not named and self.mentions[issue.id].isdisjoint(self.universe.listing.packages):
            found = _NOTHING  # an issue none of whose packages is there has no finding
        if found is None:
            bounds = tuple([(name, self._seen_by(issue, name, kind)) for name, kind in named])
            found = self._verdicts_by_bounds.get((issue.id, bounds))
            if found is None:
                moved = {name: assignment[name] for name, _ in named}
                views = self._views_of(issue, moved)
                self.universe.budget.take(len(views) * (_MATCH + _CHOICE * self._choices(issue)))
                found = self._verdict(issue, moved, views)
                self._verdicts_by_bounds[issue.id, bounds] = found
            self._verdicts[issue.id, named] = found
        return found

    def _views_of(self, issue: Issue, assignment: Assignment) -> Sequence[View]:
        """The runs that the issue can tell apart."""
        if len(self._views) == 1 or not all(map(self.universe.listed, assignment)):
            return self._views  # what is presumed of a run may hang on what is listed
        if issue.id not in self._apart:
            self.universe.budget.take(len(self._views) * _PREPARED)
            self._apart[issue.id] = tuple(self._views[index] for index in told_apart(issue, self._views))
        return self._apart[issue.id]

    def _verdict(self, issue: Issue, assignment: Assignment, views: Sequence[View]) -> Verdict:
        found: dict[str, set[str]] = {}
        for view in self._moved_views(assignment, views):
            if ruled_out(issue, view):
                return _NOTHING  # the versions are the same in all runs
            for finding in match_in(view, [issue]):
                found.setdefault(finding.status, set()).update(map(self.universe.name_of, finding.packages))
        affected, conditional = found.get("affected"), found.get("conditional")
        return Verdict(
            None if affected is None else frozenset(affected), None if conditional is None else frozenset(conditional)
        )

    def runs_with(self, issue: Issue, assignment: Assignment) -> list[Environment]:
        """The runs in which an issue has to go."""
        return [
            run
            for run in self.runs
            if self._verdict(issue, assignment, [self.universe.view_of(run, whole=False)]).packages(
                self.universe.request.conditional
            )
        ]

    def _moved_views(self, assignment: Assignment, views: Sequence[View]) -> Iterable[View]:
        """Runs with an assignment applied to the entries on the target."""
        if not assignment:
            return views
        universe = self.universe
        by_canonical: dict[str, list[tuple[str, Version]]] = {}
        for name, version in assignment.items():
            by_canonical.setdefault(universe.canonical(name), []).append((name, version))
        packages = {canonical: self._moved_to(canonical, tuple(moves)) for canonical, moves in by_canonical.items()}
        return (view.moved(packages, universe.forks) for view in views)

    def _moved_to(self, canonical: str, moves: tuple[tuple[str, Version], ...]) -> Listed:
        """The entries of a package of the records at other versions."""
        key = (canonical, moves)
        if key not in self._moved:
            self._moved[key] = _moved_entries(self.universe.listing, canonical, dict(moves), self.universe)
        return self._moved[key]

    def _choices(self, issue: Issue) -> int:
        """How many entries and choices of them the matcher looks at, at most."""
        listed = self.universe.listing.packages
        counts = [len(listed[name].entries) if name in listed else 1 for name in self.mentions[issue.id]]
        return 2 * sum(counts) + min(prod(counts), MAX_CHOICES)


def least_steps(runs: tuple[Environment, ...], universe: Universe) -> int:
    """Steps without which there is no plan: the whole environment is matched as it is and, in the end, as planned."""
    packages = universe.environment.packages
    counts = Counter(map(universe.names.canonical, packages))
    entries = len(packages) + _CHOICE * sum(questions(counts, universe.issues))
    once = _PREPARED * len(universe.issues) + entries
    mentions = universe.index.mentions
    listed = sum(not mentions[issue.id].isdisjoint(counts) for issue in universe.issues)
    others = len(distinct(runs, universe.issues)) - 1
    return len(runs) + 2 * (once + others * _PREPARED * listed)


def distinct(runs: tuple[Environment, ...], issues: Sequence[Issue]) -> tuple[Environment, ...]:
    """One run of each group that no issue can tell apart: the others get the same answer."""
    return tuple(runs[group[0]] for group in alike(runs, issues)) if len(runs) > 1 else runs


def told_apart(issue: Issue, views: Sequence[View]) -> list[int]:
    """The first run of each group that one issue cannot tell apart, by its index."""
    groups: dict[Hashable, int] = {}
    for index, view in enumerate(views):
        facts = decisive_facts(issue, view)
        groups.setdefault(index if facts is None else (facts,), index)
    return list(groups.values())


def matched(
    runs: tuple[Environment, ...], issues: tuple[Issue, ...], universe: Universe, assignment: Assignment | None = None
) -> list[Finding]:
    """Every finding that is affected or may be, in a run of each group that its issue cannot tell apart.

    Args:
        runs: the environment with the settings of each training run.
        issues: the records.
        universe: the environment.
        assignment: is applied to all of the environment.
    """
    names = {universe.canonical(name) for name in assignment or ()}
    packages = {name: _moved_entries(universe.whole, name, assignment or {}, universe) for name in names}
    original = [universe.view_of(run, whole=True) for run in distinct(runs, issues)]
    views = [view.moved(packages, universe.forks) for view in original] if packages else original
    # What is presumed of a run may hang on what is listed.
    adds = not packages.keys() <= universe.whole.packages.keys()
    # Where a special record is affected, the general one is not told: both are matched in the same runs.
    related = {identifier for issue in issues if issue.instead_of for identifier in (issue.id, *issue.instead_of)}
    asked: list[list[Issue]] = [[] for _ in views]
    for issue in issues:
        if ruled_out(issue, views[0]):
            continue  # the versions are the same in all runs
        every = len(views) == 1 or adds or issue.id in related
        for index in range(len(views)) if every else told_apart(issue, original):
            asked[index].append(issue)
    found = [finding for view, to_match in zip(views, asked, strict=True) for finding in match_in(view, to_match)]
    return [finding for finding in found if finding.status in ("affected", "conditional")]


def _moved_entries(listing: Listing, canonical: str, assignment: Assignment, universe: Universe) -> Listed:
    """The entries of a package of the records, those moved that are there on the target, and what is added."""
    listed = listing.packages.get(canonical)
    entries = [
        moved(entry, assignment[name])
        if (name := universe.name_of(entry)) in assignment and entry in universe.entries.get(name, ())
        else entry
        for entry in (() if listed is None else listed.entries)
    ]
    entries += [
        Package(name=name, version=str(version), location=_PLANNED)
        for name, version in sorted(assignment.items())
        if not universe.listed(name) and universe.canonical(name) == canonical
    ]
    return Listed(entries)


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids of issues: those that are sure, and those that have to go."""

    sure: frozenset[str]
    counting: frozenset[str]


def ids_of(findings: Sequence[Finding], request: Request) -> Ids:
    """The ids of what was found, but for what is no defect."""
    seen = [finding for finding in findings if not finding.issue.informational]
    sure = frozenset(finding.issue.id for finding in seen if finding.status == "affected")
    counting = frozenset(
        finding.issue.id
        for finding in seen
        if request.counts(finding.issue) and (finding.status == "affected" or request.conditional)
    )
    return Ids(sure, counting)


def _version_sets(name: str, issues: list[Issue], facts: Sequence[ClassFact]) -> tuple[VersionSet, ...]:
    terms = [term for issue in issues for combination in issue.affected for term in combination.terms]
    found = {term.versions: None for term in terms if isinstance(term, PackageTerm) and term.name == name}
    asked = {key_of(term) for term in terms} if facts else set()
    found |= {fact.versions: None for fact in facts if fact.package == name and fact.key in asked}
    return tuple(found)
