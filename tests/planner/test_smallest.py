"""The search against brute force: every assignment of a tiny universe is looked at, and the cheapest one is the plan.

The oracle shares nothing with the search: it reads versions, requirements and records as plain tables.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from packaging.version import Version

from gradcompat.index.requirers import requirers_among
from gradcompat.matching.matcher import match
from gradcompat.model.environment import Environment
from gradcompat.model.issue import Issue, Level, PackageAbsentTerm, Term, VersionRemedy
from gradcompat.planner.assignment_issues import Judge, applied, matched
from gradcompat.planner.plan import plan
from gradcompat.planner.request import Request
from gradcompat.planner.single_move import single_move
from gradcompat.planner.universe import Universe
from gradcompat.requirements.versions import ALL, VersionSet
from tests.building import NAMES, package, versions
from tests.building import environment as built
from tests.building import issue as an_issue
from tests.examples import examples
from tests.planner.toy import TARGET, Table, planned, shown, table

OFTEN = settings(deadline=None, max_examples=examples(80))
SOMETIMES = settings(deadline=None, max_examples=examples(20))

NAMED = ("one", "two", "three", "four")
RELEASES = ("1.0", "1.1", "1.1.1", "1.2", "2.0")
RANGES = {
    "<1.1": {"1.0"},
    "==1.1": {"1.1"},
    ">=1.1": {"1.1", "1.1.1", "1.2", "2.0"},
    ">=1.1,<2": {"1.1", "1.1.1", "1.2"},
    "<2": {"1.0", "1.1", "1.1.1", "1.2"},
    ">=2": {"2.0"},
    "!=1.1": {"1.0", "1.1.1", "1.2", "2.0"},
}


@dataclass(frozen=True)
class World:
    """A tiny universe.

    Attributes:
        present: name → version, of what is installed.
        requires: (name, version) → name → range.
        records: level and name → range, of what has not to be there together.
        direct: name → range that the project asks for.
        newer: for each record the package of which it advises a newer release, if any.
    """

    present: dict[str, str]
    requires: dict[tuple[str, str], dict[str, str]]
    records: list[tuple[Level, dict[str, str]]]
    direct: dict[str, str]
    newer: Sequence[str | None] = ()


ranges = st.sampled_from(sorted(RANGES))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    listed = NAMED[: draw(st.integers(2, 4))]
    present = {name: draw(st.sampled_from(RELEASES)) for name in listed}
    requires = {}
    for name, version in product(NAMED, RELEASES):
        if draw(st.integers(0, 2)) == 0:
            others = st.sampled_from([other for other in NAMED if other != name])
            requires[name, version] = draw(st.dictionaries(others, ranges, min_size=1, max_size=2))
    levels: st.SearchStrategy[Level] = st.sampled_from(["error", "error", "warning", "note"])
    record = st.tuples(levels, st.dictionaries(st.sampled_from(NAMED), ranges, min_size=1, max_size=2))
    records = draw(st.lists(record, min_size=1, max_size=4))
    direct = draw(st.dictionaries(st.sampled_from(listed), ranges, max_size=2))
    newer = [draw(st.sampled_from([None, *sorted(ranges)])) for _, ranges in records]
    return World(present, requires, records, direct, newer)


# The oracle

_BELOW: tuple[Level, ...] = ("warning", "note")
State = dict[str, str]
Price = tuple[Any, ...]  # all are of one shape


def found(record: dict[str, str], state: State) -> bool:
    return all(name in state and state[name] in RANGES[text] for name, text in record.items())


def unmet(world: World, state: State) -> Iterator[tuple[str, str]]:
    """Who lacks what."""
    for name, version in state.items():
        for wanted, text in world.requires.get((name, version), {}).items():
            if state.get(wanted) not in RANGES[text]:
                yield name, wanted


def states(world: World) -> Iterator[State]:
    """Every choice of versions; what is not installed may be added."""
    for choice in product(*(RELEASES if name in world.present else (None, *RELEASES) for name in NAMED)):
        yield {name: version for name, version in zip(NAMED, choice, strict=True) if version is not None}


def cheapest(world: World, *, lenient: bool) -> tuple[Price, State] | None:
    missing = {pair for pair in unmet(world, world.present) if pair[1] not in world.present}
    excused = set(unmet(world, world.present)) if lenient else missing
    best: tuple[Price, State] | None = None
    for state in states(world):
        moved = {name for name, version in state.items() if world.present.get(name) != version}
        if any(level == "error" and found(record, state) for level, record in world.records):
            continue
        if any(moved & {name, wanted} and (name, wanted) not in excused for name, wanted in unmet(world, state)):
            continue
        price = cost(world, state, moved)
        if best is None or price < best[0]:
            best = (price, state)
    return best


def cost(world: World, state: State, moved: set[str]) -> Price:
    steps = [0, 0, 0]
    back = down = distance = outside = 0
    there = [
        (record, newer)
        for (_, record), newer in zip_longest(world.records, world.newer)
        if found(record, world.present)
    ]
    wrong = {name for record, _ in there for name in record}
    stays = {newer for _, newer in there} | {name for name in world.present if name not in wrong}
    for name in moved:
        text = world.direct.get(name)
        outside += text is not None and state[name] not in RANGES[text]
        if name not in world.present:
            distance += len(RELEASES) - RELEASES.index(state[name])
            continue
        before, after = RELEASES.index(world.present[name]), RELEASES.index(state[name])
        distance += rank(world.present[name], state[name])
        down += after < before
        major = world.present[name][0] != state[name][0]
        minor = world.present[name][:3] != state[name][:3]
        steps[0 if major else 1 if minor else 2] += 1
        back += major and after < before and name in stays
    left, noted = (sum(found(record, state) for level, record in world.records if level == one) for one in _BELOW)
    named = sorted((name, Version(state[name])) for name in moved)
    return (back, len(moved), left, outside, steps, down, distance, noted, named)


def rank(before: str, after: str) -> int:
    """How many releases come before one: of a newer minor version those with a lower patch come later."""
    if RELEASES.index(after) < RELEASES.index(before):
        return RELEASES.index(before) - RELEASES.index(after)
    newer = [one for one in RELEASES if Version(one) > Version(before)]
    own = [one for one in newer if one[:3] == before[:3]]
    others = sorted((one for one in newer if one not in own), key=lambda one: (one[:3], -Version(one).micro))
    return [*own, *others].index(after) + 1


# The search


def issues_of(world: World) -> list[Issue]:
    return [
        an_issue(
            tuple(versions(name, text) for name, text in sorted(record.items())),
            identifier=f"GC-{number}",
            level=level,
            remedies=() if newer is None else (VersionRemedy(kind="upgrade", package=newer, versions=ALL),),
        )
        for number, ((level, record), newer) in enumerate(zip_longest(world.records, world.newer))
    ]


def releases_of(world: World) -> Table:
    releases = {
        name: {
            version: [f"{wanted}{text}" for wanted, text in world.requires.get((name, version), {}).items()]
            for version in RELEASES
        }
        for name in NAMED
    }
    return table(releases)


def request_of(world: World) -> Request:
    return Request(target=TARGET, direct={name: VersionSet.parse(text) for name, text in world.direct.items()})


def plan_of(world: World, order: random.Random | None = None) -> dict[str, object]:
    here = [package(name, version) for name, version in world.present.items()]
    issues = issues_of(world)
    if order is not None:
        order.shuffle(here)
        order.shuffle(issues)
    made = planned(built(*here), issues, releases_of(world), request_of(world))
    return {**shown(made), "versions": {one.package: one.version_to for one in made.changes}}


@OFTEN
@given(worlds())
def test_a_plan_is_the_cheapest_of_all(world: World) -> None:
    assume(any(level == "error" and found(record, world.present) for level, record in world.records))
    best = cheapest(world, lenient=False) or cheapest(world, lenient=True)
    made = plan_of(world)
    if best is None:
        assert made["complete"] is False
        assert made["core"]
    else:
        moved = {name: version for name, version in best[1].items() if world.present.get(name) != version}
        assert made["versions"] == moved
        assert made["complete"] is True


@pytest.mark.parametrize(
    ("newer", "moved"),
    [(None, {"one": "1.2"}), ("one", {"two": "1.1.1", "three": "1.1.1"})],
    ids=["no advice", "newer"],
)
def test_nobody_goes_back_a_major_version_where_a_newer_release_is_advised(
    newer: str | None, moved: dict[str, str]
) -> None:
    world = World(
        present={"one": "2.0", "two": "1.0", "three": "1.0"},
        requires={("two", version): {"three": ">=1.1"} for version in RELEASES if version != "1.0"},
        records=[("error", {"one": ">=2", "two": "<1.1"})],
        direct={},
        newer=[newer],
    )
    assert plan_of(world)["versions"] == moved


@pytest.mark.parametrize(("level", "nearest"), [("note", "1.2"), ("warning", "1.0")])
def test_nobody_goes_further_for_a_note(level: Level, nearest: str) -> None:
    records: list[tuple[Level, dict[str, str]]] = [("error", {"one": ">=2"}), (level, {"one": ">=1.1"})]
    made = plan_of(World(present={"one": "2.0", "two": "1.0"}, requires={}, records=records, direct={}))
    assert made["versions"] == {"one": nearest}


def errors_in(world: World, state: State) -> set[str]:
    return {
        f"GC-{number}"
        for number, (level, record) in enumerate(world.records)
        if level == "error" and found(record, state)
    }


@OFTEN
@given(worlds())
def test_a_plan_never_brings_a_finding_at_the_level(world: World) -> None:
    made = plan_of(world)
    after = {**world.present, **made["versions"]}  # type: ignore[dict-item]
    before_ids, after_ids = (errors_in(world, state) for state in (world.present, after))
    assert after_ids <= before_ids
    assert made.get("remaining", []) == sorted(after_ids)
    assert "matched_again" not in made  # shown only where it is not so


@OFTEN
@given(worlds())
def test_a_single_move_is_the_plan(world: World) -> None:
    assume(any(level == "error" and found(record, world.present) for level, record in world.records))
    here = built(*(package(name, version) for name, version in world.present.items()))
    issues = issues_of(world)
    releases = releases_of(world)
    asked = here, match(here, issues, NAMES), issues, NAMES, releases, request_of(world)
    requirers = requirers_among(lines_of(releases))
    alone, whole = single_move(*asked, requirers=requirers), plan(*asked)
    changes = plan(*asked, changes_only=True, requirers=requirers)
    for part in ("complete", "changes", "settings", "code", "fixed", "introduced", "remaining"):
        assert getattr(changes, part) == getattr(whole, part)
    assert alone == single_move(*asked)
    strict = cheapest(world, lenient=False)
    # What goes back against advice may be dearer than to move several packages.
    sure = strict is not None and strict[0][0] == 0
    assert (alone is not None) == (sure and len(whole.changes) == 1)
    if alone is not None:
        assert ((alone.change,), alone.fixed, alone.introduced) == (whole.changes, whole.fixed, whole.introduced)
        assert whole.complete


def lines_of(releases: Table) -> dict[str, set[str]]:
    """Package → the lines of all its releases."""
    return {
        name: {line for _, required in written.values() for line in required or ()}
        for name, written in releases.packages.items()
    }


LINES = [
    f"{name}{extras}{text}{marker}"
    for name in NAMED
    for extras in ("", "[train]", "[test,train]")
    for text in ("", ">=1.1")
    for marker in (
        "",
        "; extra == 'train'",
        "; extra == 'test' and python_version >= '3.8'",
        "; extra != 'test'",
        "; sys_platform == 'win32' or extra == 'train'",
    )
]


@OFTEN
@given(
    st.dictionaries(st.sampled_from(NAMED), st.sampled_from(RELEASES), min_size=1),
    st.dictionaries(
        st.tuples(st.sampled_from(NAMED), st.sampled_from(RELEASES)), st.lists(st.sampled_from(LINES), max_size=3)
    ),
    st.permutations(NAMED),
)
def test_who_requires_a_package_is_known_without_reading_all(
    present: dict[str, str], requires: dict[tuple[str, str], list[str]], order: list[str]
) -> None:
    releases = table({name: {version: requires.get((name, version), []) for version in RELEASES} for name in NAMED})
    here = built(*(package(name, version) for name, version in present.items()))
    whole = Universe(here, (), NAMES, releases, Request(target=TARGET))
    part = Universe(here, (), NAMES, releases, Request(target=TARGET), requirers=requirers_among(lines_of(releases)))
    for name in order:
        assert sorted(part.dependents(name), key=repr) == sorted(whole.dependents(name), key=repr)
        for other in NAMED:
            assert part.lacks(name, other) == whole.lacks(name, other)
    assert part.extras == whole.extras


@SOMETIMES
@given(worlds(), st.integers(0, 1000))
def test_the_order_of_the_input_is_of_no_consequence(world: World, seed: int) -> None:
    assert plan_of(world, random.Random(seed)) == plan_of(world)  # noqa: S311  # no secret


terms: st.SearchStrategy[Term] = st.one_of(
    st.builds(versions, st.sampled_from(NAMED), ranges),
    st.builds(lambda name: PackageAbsentTerm(name=name), st.sampled_from(NAMED)),
)
combinations = st.lists(terms, max_size=2).flatmap(
    lambda others: st.builds(lambda name, text: (versions(name, text), *others), st.sampled_from(NAMED), ranges)
)
entries = st.builds(
    lambda name, version, marker: package(name, version, marker=marker),
    st.sampled_from(NAMED),
    st.sampled_from([*RELEASES, "1.2.dev0", "not a version"]),
    st.sampled_from([None, "python_version >= '3.8'", "sys_platform == 'linux'", "extra == 'train'"]),
)


@OFTEN
@given(
    st.lists(entries, min_size=1, max_size=5),
    st.lists(combinations, min_size=1, max_size=3),
    st.dictionaries(st.sampled_from(NAMED), st.sampled_from(RELEASES), max_size=3),
    st.booleans(),
)
def test_what_an_issue_cannot_see_makes_no_difference(
    packages: list[object], several: list[tuple[Term, ...]], moves: dict[str, str], closed: bool
) -> None:
    here = built(*packages, closed=closed)  # type: ignore[arg-type]  # entries are packages
    one = an_issue(*several)
    universe = Universe(here, [one], NAMES, table({}), Request(target=TARGET))
    assignment = {name: Version(version) for name, version in moves.items()}
    verdict = Judge(universe, (here,)).verdict(one, assignment)
    assert {
        status: packages
        for status, packages in (("affected", verdict.affected), ("conditional", verdict.conditional))
        if packages is not None
    } == statuses(applied(here, assignment, universe), one)
    assert [(found.status, found.packages) for found in matched((here,), (one,), universe)] == [
        (found.status, found.packages) for found in match(here, [one], NAMES) if found.status != "not_affected"
    ]


def statuses(here: Environment, one: Issue) -> dict[str, frozenset[str]]:
    return {
        finding.status: frozenset(entry.name for entry in finding.packages)
        for finding in match(here, [one], NAMES)
        if finding.status != "not_affected"
    }
