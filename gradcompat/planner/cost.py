"""What a plan costs: a total order, so that one question has one answer.

From what weighs most to what weighs least:

1. packages moved that do not come from an index (a checkout, an own build): not while anything else works
2. releases with a wheel whose requirements could not be read: what is not seen must not look like what asks for nothing
3. packages that go back to an older major version (of a 0.x by five minor versions or more) where the record of what is
   wrong advises a newer release, or nothing is wrong with them: what the project uses is mostly not there yet
4. packages touched, those that are added among them
5. errors left, then warnings: findings that are sure
6. packages moved out of the range that the project itself asks for
7. major, then minor, then patch steps
8. downgrades
9. findings at or above the level that come new under a condition
10. releases that have to be built on the target: no wheel fits, or torch's interface changes under an extension
11. releases skipped on the way: the nearest one is taken, and of another minor version that is newer the last patch
12. notes left, for which nobody goes further
13. names and versions

Pre-releases and yanked releases are not in it: they are no candidates unless one is used already. The same tuple is a
lower bound for everything that an unfinished assignment can become: what is certain to move is counted as touched, and
if anything else moved that alone would cost more.
"""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import Version

from gradcompat.messages import counted, joined
from gradcompat.model.issue import LEVELS
from gradcompat.planner.assignment_issues import Assignment, Judge
from gradcompat.planner.families import BUILT_AGAINST_TORCH, new_interface
from gradcompat.planner.universe import MAJOR, MINOR, PATCH, Candidate, Universe
from gradcompat.startup.lazy_dataclasses import dataclass

Cost = tuple[int, int, int, int, tuple[int, ...], int, tuple[int, int, int], int, int, int, int, int]

# What one move adds by itself; sums of these compare as the cost does, so that the least of each gives a lower bound.
Vector = tuple[int, int, int, int, int, int, int]
_ZERO: Vector = (0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Pending:
    """What is certain to move beside what has moved.

    Attributes:
        names: every package that it may be.
        floors: for each that has to move, the least that this adds.
        rehomed: how many of them do not come from an index.
    """

    names: frozenset[str] = frozenset()
    floors: tuple[Vector, ...] = ()
    rehomed: int = 0


NOTHING_PENDING = Pending()

_FAR = 5  # minor versions of a 0.x

_STEPS = {MAJOR: "a major version", MINOR: "a minor version", PATCH: "a patch"}


@dataclass(frozen=True, slots=True)
class Pricing:
    """Prices assignments of one universe."""

    universe: Universe
    judge: Judge

    def cost(self, chosen: Mapping[str, Candidate], pending: Pending = NOTHING_PENDING) -> Cost:
        """The cost of an assignment, or the least that it can become.

        Args:
            chosen: where packages move.
            pending: what is certain to move as well, nobody knows yet where.
        """
        universe = self.universe
        candidates = chosen.values()
        (*severity, notes), conditional = self._findings(chosen, pending.names)
        own = [vector(candidate, universe.listed(name)) for name, candidate in chosen.items()]
        off, major, minor, patch, down, built, distance = (
            sum(parts) for parts in zip(_ZERO, *own, *pending.floors, strict=True)
        )
        return (
            sum(map(universe.rehomed, chosen)) + pending.rehomed,
            sum(universe.obscure(name, candidate) for name, candidate in chosen.items()),
            sum(self.goes_back(name, candidate) for name, candidate in chosen.items()),
            len(candidates) + len(pending.floors),
            tuple(severity),
            off,
            (major, minor, patch),
            down,
            conditional,
            built + len(rebuilt(chosen, universe, pending.names)),
            distance,
            notes,
        )

    def least(self, name: str, candidate: Candidate) -> Cost:
        """The least that moving one package there can cost, whatever the records say of the release."""
        universe = self.universe
        about = self.judge.ids_about(name)
        left = dict.fromkeys(LEVELS, 0)
        for issue in self.judge.affected_now:
            left[issue.level] += issue.id not in about
        off, major, minor, patch, down, built, distance = vector(candidate, universe.listed(name))
        return (
            int(universe.rehomed(name)),
            0,
            int(self.goes_back(name, candidate)),
            1,
            tuple(left[level] for level in reversed(LEVELS[1:])),
            off,
            (major, minor, patch),
            down,
            0,
            built + len(rebuilt({name: candidate}, universe)),
            distance,
            left[LEVELS[0]],
        )

    def goes_back(self, name: str, candidate: Candidate) -> bool:
        """Is it an older line of releases, where what is wrong with the package asks for a newer one, or nothing is?"""
        if not candidate.down or not (candidate.step == MAJOR or self._far_below(name, candidate)):
            return False
        canonical = self.universe.canonical(name)
        return canonical in self.judge.advanced or canonical not in self.judge.wrong_now

    def _far_below(self, name: str, candidate: Candidate) -> bool:
        """Is it many minor versions older, of a package that has no major version yet?"""
        before = self.universe.reference(name)
        if before is None or before.major or candidate.version.major:
            return False
        return before.minor - candidate.version.minor >= _FAR

    def nearest(self, name: str) -> tuple[tuple[Vector, Version], ...]:
        """What each release of a package adds by itself, the cheapest first."""
        found = self.judge.nearest.get(name)
        if found is None:
            listed = self.universe.listed(name)
            found = tuple(
                sorted((vector(candidate, listed), candidate.version) for candidate in self.universe.candidates(name))
            )
            self.judge.nearest[name] = found
        return found  # type: ignore[return-value]  # the judge knows no vectors

    def _findings(self, chosen: Mapping[str, Candidate], pending: frozenset[str]) -> tuple[tuple[int, ...], int]:
        """Findings left by level from high to low, and those that come new under a condition."""
        judge = self.judge
        kinds = ((name, judge.kind(name, one.version)) for name, one in chosen.items() if judge.about(name))
        open_names = frozenset(self.universe.canonical(name) for name in pending if judge.about(name))
        key = (frozenset(kinds), open_names)
        severity = judge.severity.get(key)
        if severity is None:
            severity = judge.severity[key] = self._counted(versions(chosen), open_names)
        return severity

    def _counted(self, assignment: Assignment, open_names: frozenset[str]) -> tuple[tuple[int, ...], int]:
        judge, counts = self.judge, self.universe.request.counts
        left = dict.fromkeys(LEVELS, 0)
        conditional = 0
        for issue in judge.affected_now:
            left[issue.level] += 1
        # Only issues that speak of something that moves can have changed.
        concerned = {issue.id: issue for name in (*assignment, *open_names) for issue in judge.about(name)}
        for issue in concerned.values():
            if issue.informational:
                continue
            before = judge.now(issue)
            left[issue.level] -= before.affected is not None
            if open_names and open_names & judge.mentions[issue.id]:
                continue
            verdict = judge.verdict(issue, assignment)
            if verdict.affected is not None:
                left[issue.level] += 1
            elif verdict.conditional is not None and before.affected is None and before.conditional is None:
                conditional += counts(issue)
        return tuple(left[level] for level in reversed(LEVELS)), conditional


def vector(candidate: Candidate, listed: bool) -> Vector:
    """What one move adds by itself: outside of what is asked for, its step, down, to be built, its distance."""
    steps = [0, 0, 0]
    if listed:
        steps[MAJOR - candidate.step] = 1
    return (
        int(candidate.off_direct),
        *steps,
        int(candidate.down),
        int(candidate.fit == "sdist"),
        candidate.distance,
    )  # type: ignore[return-value]  # three steps


def versions(chosen: Mapping[str, Candidate]) -> Assignment:
    """The versions alone."""
    return {name: candidate.version for name, candidate in chosen.items()}


def rebuilt(chosen: Mapping[str, Candidate], universe: Universe, forced: frozenset[str] = frozenset()) -> list[str]:
    """Extensions that stay as they are under another torch, and have to be built again."""
    torch = chosen.get("torch")
    if torch is None or not universe.listed("torch") or not new_interface(universe.reference("torch"), torch.version):
        return []
    return sorted(
        name for name in BUILT_AGAINST_TORCH if universe.listed(name) and name not in chosen and name not in forced
    )


def in_words(chosen: Mapping[str, Candidate], universe: Universe) -> str:
    """``2 packages, one of them a major version up``."""
    if not chosen:
        return ""
    parts = [counted(len(chosen), "package")]
    moved = [candidate for name, candidate in chosen.items() if universe.listed(name)]
    if moved:
        largest = max(candidate.step for candidate in moved)
        alike = [candidate for candidate in moved if candidate.step == largest]
        ways = {candidate.down for candidate in alike}
        way = "up or down" if len(ways) == 2 else "down" if ways.pop() else "up"
        which = "" if len(chosen) == 1 else "each " if len(alike) == len(chosen) else f"{_number(len(alike))} of them "
        parts.append(f"{which}{_STEPS[largest]} {way}")
        if len(alike) < len(moved) and any(candidate.down for candidate in moved) and ways == {False}:
            parts.append(f"{_number(sum(candidate.down for candidate in moved))} of them down")
    if added := [name for name in chosen if not universe.listed(name)]:
        parts.append(f"{_number(len(added))} of them new")
    if off := sorted(name for name, candidate in chosen.items() if candidate.off_direct):
        parts.append(f"outside of what the project asks for of {joined(tuple(off), 'and')}")
    built = sorted({*rebuilt(chosen, universe), *(name for name, one in chosen.items() if one.fit == "sdist")})
    if built:
        parts.append(f"{joined(tuple(built), 'and')} to be built")
    return ", ".join(parts)


def _number(count: int) -> str:
    return "one" if count == 1 else str(count)
