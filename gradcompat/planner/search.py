"""Finds the cheapest assignment under which nothing that counts is left and every requirement that it touches holds.

Best first over unfinished assignments, each priced by the least that it can become. What is violated says what has to
move: a requirement between a package that moved and one that stays forces the other one to move, too; a finding forces
one of the packages that take part in it, and there the search branches. Nothing that no violation names ever moves. The
first finished assignment is the cheapest one, unless the limit was reached before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count, islice
from typing import NamedTuple

from packaging.version import Version

from gradcompat.model.issue import Issue
from gradcompat.planner.assignment_issues import Hit, Judge
from gradcompat.planner.cost import Cost, Pending, Pricing, Vector, versions
from gradcompat.planner.families import relatives
from gradcompat.planner.requirements import Need, allows
from gradcompat.planner.universe import Candidate, Universe
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace

# Steps: what takes as long as so many questions to a record.
_LOOKED_AT, _PRICED = 40, 20

_FIRST_CHUNK, _LARGEST_CHUNK = 4, 32

# A greedy search that has not found anything soon does not find it later either.
GREEDY_SHARE = 5

# A package that is added is one of so many newest releases that what requires it allows.
_NEWEST_ADDED = 10


class Fact(NamedTuple):
    """One thing that a plan has to respect, and that could be why there is none.

    ``kind`` is ``issue`` (subject: its id), ``requires`` (subject requires object), ``family``, ``stays`` (subject may
    not move) or ``releases`` (subject has no release to move to).
    """

    kind: str
    subject: str
    object: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Under which terms to search.

    Attributes:
        excused: ids of issues that may stay.
        still: packages that must not move, beside those that the request keeps.
        ways: package → whether it may only go down (True) or only up (False).
        ignored: facts that are left out of account, to learn whether they are why there is no plan.
        alone: only one package may move, see :meth:`Search.alone`.
        lenient: requirements that what is there does not meet either are left alone, also where a plan touches them.
        limit: how many states to look at.
        share: the part that the search may take of the steps that the plan has left.
    """

    excused: frozenset[str] = frozenset()
    still: frozenset[str] = frozenset()
    ways: Mapping[str, bool] = field(default_factory=dict)
    ignored: frozenset[Fact] = frozenset()
    alone: bool = False
    lenient: bool = False
    limit: int
    share: float = 1 / 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a search.

    Attributes:
        chosen: where packages move; None if there is no such assignment, or if none was found.
        cost: of that.
        proven: every cheaper assignment was ruled out, or that there is none at all.
        facts: what stood in the way of something; without a plan they cannot all be respected.
    """

    chosen: dict[str, Candidate] | None
    cost: Cost | None
    proven: bool
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class _State:
    chosen: dict[str, Candidate]
    forced: frozenset[str]
    still: frozenset[str]
    bad: tuple[Hit, ...]  # what counts and is there, with the packages that take part
    # States that differ only in the next release of one package, which costs more than this one: looked at after it.
    dearer: Iterator[_State] = field(default_factory=lambda: iter(()))


def _next(state: _State) -> _State | None:
    """The next of those that differ in the release of one package."""
    found = next(state.dearer, None)
    return None if found is None else _State(found.chosen, found.forced, found.still, found.bad, state.dearer)


class _DeadEnd(Exception):  # not an error: the way the search turns back
    """Nothing that this state can become is a plan."""


class Search:
    """One search; :meth:`run` answers it."""

    def __init__(self, universe: Universe, judge: Judge, terms: Terms) -> None:
        self.universe = universe
        self.judge = judge
        self.terms = terms
        self.pricing = Pricing(universe, judge)
        self._ids = frozenset(
            issue.id
            for issue in judge.issues
            if universe.request.counts(issue)
            and issue.id not in terms.excused
            and Fact("issue", issue.id) not in terms.ignored
        )
        self.facts: dict[Fact, None] = {}
        self._waiting: dict[str, dict[Version, None]] = {}
        self._chunks: dict[str, int] = {}
        self._floors: dict[str, Vector] = {}

    def run(self, *, insist: bool = True) -> Outcome:
        """Search; without an answer within the limit, take what a greedy search finds if ``insist`` is set."""
        outcome = self._run(greedy=False)
        if insist and outcome.chosen is None and not outcome.proven:
            greedy = self._run(greedy=True)
            return Outcome(greedy.chosen, greedy.cost, greedy.proven and greedy.chosen is None, greedy.facts)
        return outcome

    def _run(self, *, greedy: bool) -> Outcome:
        limit = self.terms.limit if not greedy else max(self.terms.limit // GREEDY_SHARE, 1)
        budget = self.universe.budget
        reserved = budget.left - int(budget.left * self.terms.share)
        order = count()
        start = _State({}, frozenset(), self.terms.still, tuple(self._counting(self.judge.found_now)))
        heap: list[tuple[object, int, Cost, _State]] = []

        def push(state: _State | None) -> None:
            while state is not None:
                budget.take(_PRICED)
                cost = self._price(state)
                key = (self._promise(state), cost) if greedy else cost
                heappush(heap, (key, next(order), cost, state))
                # What cannot be read costs more than anything behind it.
                obscure = any(self.universe.obscure(name, one) for name, one in state.chosen.items())
                state = _next(state) if obscure else None

        push(start)
        best: tuple[Cost, tuple[tuple[str, Version], ...], dict[str, Candidate]] | None = None
        for _ in range(limit):
            if not heap or (best is not None and heap[0][2] > best[0]):
                break
            if budget.spent or budget.left < reserved:
                self.universe.cut_off = True
                return Outcome(best and best[2], best and best[0], False, tuple(self.facts))
            budget.take(_LOOKED_AT)
            _, _, cost, state = heappop(heap)
            push(_next(state))
            try:
                forced, demands = self._propagate(state)
                widened = _State(state.chosen, forced, state.still, state.bad, state.dearer)
                # What has to move as well, and what cannot be read, is known only now.
                if not greedy and self._price(widened) > cost:
                    push(widened)
                    continue
                issue, blamed = self._open_issue(widened)
                if not forced and issue is None:
                    found = (cost, tuple(sorted(versions(state.chosen).items())), state.chosen)
                    if best is None or found[:2] < best[:2]:
                        best = found
                    if greedy:
                        break
                    continue
                for child in self._branches(widened, demands, blamed):
                    push(child)
            except _DeadEnd:
                continue
        else:
            proven = not heap or (best is not None and heap[0][2] > best[0])
            return Outcome(best and best[2], best and best[0], proven, tuple(self.facts))
        return Outcome(best and best[2], best and best[0], not greedy or best is None, tuple(self.facts))

    def alone(self) -> Outcome:
        """The cheapest assignment that moves one package and nothing else, if there is one.

        Releases are looked at in the order of the least that they can cost, which needs no record; mostly that of the
        first one that is good is what it costs.
        """
        bad = tuple(self._counting(self.judge.found_now))
        start = _State({}, frozenset(), self.terms.still, bad)
        names = frozenset.intersection(*(packages for _, packages in bad)) if bad else frozenset[str]()
        cured = [
            (name, candidate)
            for name in sorted(names)
            if self._movable(name, start)
            for candidate in self.universe.candidates(name)
            if not self._keeps(name, candidate.version, bad)
        ]
        waiting = sorted(
            ((self.pricing.least(name, candidate), name, candidate.version, candidate) for name, candidate in cured),
            key=lambda one: one[:3],
        )
        best: tuple[Cost, str, Candidate] | None = None
        for least, name, version, candidate in waiting:
            if best is not None and least > best[0]:
                break
            if not self.universe.budget.take(_LOOKED_AT):
                self.universe.cut_off = True
                return Outcome(None, None, False, tuple(self.facts))
            if any(issue.id in self._ids for issue, _ in self.judge.found_alone(name, version)):
                continue
            try:
                self._propagate(_State({name: candidate}, frozenset(), self.terms.still, ()))
            except _DeadEnd:
                continue
            cost = self.pricing.cost({name: candidate})
            if best is None or (cost, name, version) < (best[0], best[1], best[2].version):
                best = cost, name, candidate
        if best is None:
            return Outcome(None, None, True, tuple(self.facts))
        return Outcome({best[1]: best[2]}, best[0], True, tuple(self.facts))

    def _keeps(self, name: str, version: Version, bad: Iterable[Hit]) -> bool:
        """Is one of the findings still there where one package moves alone?"""
        conditional = self.universe.request.conditional
        return any(self.judge.verdict(issue, {name: version}).packages(conditional) is not None for issue, _ in bad)

    def _promise(self, state: _State) -> tuple[int, int]:
        """What a greedy search goes after: few findings left, and then what it has begun."""
        return len(state.bad), -(2 * len(state.chosen) + len(state.forced))

    def _counting(self, found: Iterable[Hit]) -> Iterator[Hit]:
        """What of it this search must not leave."""
        return (hit for hit in found if hit[0].id in self._ids)

    def _price(self, state: _State) -> Cost:
        """The least that a state can cost: findings that share no package need one move each."""
        names = set(state.forced)
        floors = [self._floor(name) for name in state.forced]
        rehomed = sum(map(self.universe.rehomed, state.forced))
        for _, packages in sorted(state.bad, key=lambda one: (len(one[1]), one[0].id)):
            movable = packages - state.chosen.keys()
            if not movable or movable & names:
                continue
            names |= movable
            floors.append(min(map(self._floor, movable)))
            rehomed += all(map(self.universe.rehomed, movable))
        return self.pricing.cost(state.chosen, Pending(frozenset(names), tuple(floors), rehomed))

    def _floor(self, name: str) -> Vector:
        """The least that moving a package can add: to the nearest release that is not wrong by itself."""
        if name not in self._floors:
            self._floors[name] = next(
                (least for least, version in self.pricing.nearest(name) if not self._is_wrong_itself(name, version)),
                (0, 0, 0, 0, 0, 0, 0),
            )
        return self._floors[name]

    def _is_wrong_itself(self, name: str, version: Version) -> bool:
        """Has a release a finding that moving another package would not cure?"""
        return any(
            issue.id in self._ids and packages == {name} for issue, packages in self.judge.found_alone(name, version)
        )

    # What has to move

    def _propagate(self, state: _State) -> tuple[frozenset[str], dict[str, list[tuple[str, Need]]]]:
        """All that has to move because of what has moved, and what is asked of each.

        Raises:
            _DeadEnd: if two packages that have moved do not go together, or something would have to move that cannot.
        """
        forced = set(state.forced)
        demands: dict[str, list[tuple[str, Need]]] = {}
        assignment = versions(state.chosen)
        for name, candidate in state.chosen.items():
            self._expect(name, candidate.version)
            for asking, need in self.universe.asked_by(name, candidate.version, assignment):
                self._meet(asking, need, state, forced, demands)
            for dependent, need in self.universe.dependents(name):
                if dependent in state.chosen or dependent in forced or allows(need.specifier, candidate.version):
                    continue
                if self._counts(dependent, need):
                    self._force(dependent, state, forced, Fact("requires", dependent, name))
            for relative in relatives(name):
                self._keep_together(name, relative, state, forced)
        return frozenset(forced), demands

    def _meet(
        self,
        name: str,
        need: Need,
        state: _State,
        forced: set[str],
        demands: dict[str, list[tuple[str, Need]]],
    ) -> None:
        """See to it that one requirement of something that moved holds."""
        wanted = need.name
        if wanted in state.chosen:
            if not allows(need.specifier, state.chosen[wanted].version) and self._counts(name, need):
                self._note(Fact("requires", name, wanted))
                raise _DeadEnd
            return
        if wanted in forced:
            demands.setdefault(wanted, []).append((name, need))
            return
        if self.universe.listed(wanted):
            if self.universe.allows_current(need):
                return
        elif not self.universe.environment.closed or self.universe.from_conda(name):
            return
        if self._counts(name, need):
            self._force(wanted, state, forced, Fact("requires", name, wanted))
            demands.setdefault(wanted, []).append((name, need))

    def _counts(self, name: str, need: Need) -> bool:
        """Must this requirement hold? One on something that was missing before is somebody's decision."""
        if Fact("requires", name, need.name) in self.terms.ignored:
            return False
        if self.universe.lacks(name, need.name):
            return False
        return not (self.terms.lenient and self._unmet_before(name, need.name))

    def _unmet_before(self, name: str, wanted: str) -> bool:
        return any(
            dependent == name and not self.universe.allows_current(need)
            for dependent, need in self.universe.dependents(wanted)
        )

    def _keep_together(self, name: str, relative: str, state: _State, forced: set[str]) -> None:
        version = state.chosen[name].version
        fact = Fact("family", *sorted((name, relative)))
        if not self.universe.listed(relative) or relative in forced or fact in self.terms.ignored:
            return
        if relative in state.chosen:
            if state.chosen[relative].version != version:
                self._note(fact)
                raise _DeadEnd
        elif self.universe.current(relative) != (version,):
            self._force(relative, state, forced, fact)

    def _force(self, name: str, state: _State, forced: set[str], fact: Fact) -> None:
        self._note(fact)
        if self.terms.alone or not self._movable(name, state):
            raise _DeadEnd
        forced.add(name)

    def _movable(self, name: str, state: _State) -> bool:
        if name in state.still and name not in self.terms.still:
            return False  # another branch looks at what happens if it moves
        fact = Fact("stays", name)
        if (name in self.terms.still or self.universe.fixed(name)) and fact not in self.terms.ignored:
            self._note(fact)
            return False
        if not self.universe.candidates(name):
            self._note(Fact("releases", name))
            return False
        return True

    def _note(self, fact: Fact) -> None:
        self.facts[fact] = None

    # Findings

    def _open_issue(self, state: _State) -> tuple[Issue | None, list[str]]:
        """A finding that something else has to move for, with what could; one with the fewest ways is the best to take.

        Raises:
            _DeadEnd: if there is a finding that nothing can be moved for any more.
        """
        chosen: tuple[Issue | None, list[str]] = (None, [])
        for issue, packages in sorted(state.bad, key=lambda one: one[0].id):
            if packages & state.forced:
                continue
            self._note(Fact("issue", issue.id))
            movable = [name for name in sorted(packages - state.chosen.keys()) if self._movable(name, state)]
            if not movable:
                raise _DeadEnd
            if chosen[0] is None or len(movable) < len(chosen[1]):
                chosen = (issue, movable)
        return chosen

    def _branches(
        self, state: _State, demands: Mapping[str, list[tuple[str, Need]]], blamed: list[str]
    ) -> Iterator[_State]:
        """The states behind this one; between them, all that it can become."""
        if not state.forced:
            for index, name in enumerate(blamed):
                yield replace(state, forced=frozenset({name}), still=state.still.union(blamed[:index]))
            return
        options = {name: self._values(name, state, demands.get(name, [])) for name in sorted(state.forced)}
        name = min(options, key=lambda one: len(options[one]))
        self._waiting[name] = dict.fromkeys(candidate.version for candidate in options[name])
        alike: dict[tuple[object, ...], list[Candidate]] = {}
        for candidate in options[name]:
            kind = self.judge.kind(name, candidate.version)
            alike.setdefault((kind, candidate.off_direct, candidate.step, candidate.down, candidate.fit), []).append(
                candidate
            )
        for candidates in alike.values():
            moving = self._moving(name, candidates, state)
            first = next(moving)
            yield replace(first, dearer=moving)

    def _moving(self, name: str, candidates: list[Candidate], state: _State) -> Iterator[_State]:
        """The states in which a package has moved to each of these, which are alike to all records."""
        # Only issues that speak of the package can be another matter now.
        about = self.judge.ids_about(name)
        kept = tuple(one for one in state.bad if one[0].id not in about)
        new = tuple(self._counting(self.judge.found(name, versions(state.chosen))(candidates[0].version)))
        for candidate in candidates:
            yield _State({**state.chosen, name: candidate}, state.forced - {name}, state.still, (*kept, *new))

    def _values(self, name: str, state: _State, demands: list[tuple[str, Need]]) -> list[Candidate]:
        """Where a package can move, nearest first, given what has moved already."""
        self.universe.budget.take(len(self.universe.candidates(name)))
        found = []
        free: dict[int, bool] = {}
        found_at = self.judge.found(name, versions(state.chosen))
        for candidate, kind in zip(self.universe.candidates(name), self.judge.kinds(name), strict=True):
            if name in self.terms.ways and candidate.down != self.terms.ways[name]:
                continue
            if self._goes_with(name, candidate, state, demands):
                if kind not in free:
                    free[kind] = self._is_free(name, found_at(candidate.version), state)
                if free[kind]:
                    found.append(candidate)
        found.sort(key=lambda one: (one.off_direct, one.step, one.down, one.distance))
        if not self.universe.listed(name):
            # An old release often requires less, and adding it would look cheap.
            found = [hit for hit in found if hit.fit == "wheel"] or found
            return found[:_NEWEST_ADDED]
        return found

    def _goes_with(self, name: str, candidate: Candidate, state: _State, demands: list[tuple[str, Need]]) -> bool:
        """Does it meet what is asked of it, and its family?"""
        for asking, need in demands:
            if not allows(need.specifier, candidate.version) and self._counts(asking, need):
                self._note(Fact("requires", asking, name))
                return False
        for relative in relatives(name):
            fact = Fact("family", *sorted((name, relative)))
            other = state.chosen.get(relative)
            if other is not None and other.version != candidate.version and fact not in self.terms.ignored:
                self._note(fact)
                return False
        return True

    def _is_free(self, name: str, found: Iterable[Hit], state: _State) -> bool:
        """Is there no finding that nothing else could cure any more?"""
        for issue, packages in self._counting(found):
            others = packages - state.chosen.keys() - {name}
            if not any(other in state.forced or self._movable(other, state) for other in others):
                self._note(Fact("issue", issue.id))
                return False
        return True

    def _expect(self, name: str, version: Version) -> None:
        """Have the requirements of the next few releases fetched side by side: most of them will be asked for."""
        waiting = self._waiting.get(name, {})
        if version not in waiting:
            return
        size = self._chunks.get(name, _FIRST_CHUNK)
        self._chunks[name] = min(2 * size, _LARGEST_CHUNK)
        del waiting[version]
        chunk = [version, *islice(waiting, size - 1)]
        for one in chunk[1:]:
            del waiting[one]
        self.universe.expect_requirements(name, chunk)
