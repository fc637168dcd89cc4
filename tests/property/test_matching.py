"""The matcher against an oracle that completes what is unknown in every way, and against reorderings of its input."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.matching.matcher import match
from gradcompat.model.environment import Environment, Package, Setting
from gradcompat.model.finding import Finding
from gradcompat.model.issue import (
    ModelTerm,
    PackageAbsentTerm,
    PackageTerm,
    PlatformTerm,
    PythonTerm,
    SettingTerm,
    Term,
    VirtualTerm,
)
from gradcompat.requirements.versions import VersionSet
from tests.building import HERE, NAMES, environment, issue, package
from tests.examples import examples

T = TypeVar("T")
OFTEN = settings(deadline=None, max_examples=examples(250))

# The universe: every package has the releases 1, 2 and 3, every setting these values, and so on. No range holds all of
# it or nothing of it, so that only what is unknown makes an answer unknown.
ABSENT = "absent"
RELEASES = ("1", "2", "3")
RANGES = ("<2", "<=2", "==2", ">=2", "!=2", "==1 || ==3", "*")
IN_RANGE = {
    "<2": {"1"},
    "<=2": {"1", "2"},
    "==2": {"2"},
    ">=2": {"2", "3"},
    "!=2": {"1", "3"},
    "==1 || ==3": {"1", "3"},
    "*": set(RELEASES),
}
NUMBERS = (1, 2, 3)
PLATFORMS = ("linux", "darwin", "win32")
MODELS = ("LlavaModel", "QwenModel", "T5Model")


@dataclass(frozen=True)
class Fact:
    """One variable: how an environment states it, and the values that it may really have."""

    name: str
    stated: object
    possible: tuple[object, ...]


def package_facts(name: str, closed: bool, listed: bool) -> st.SearchStrategy[Fact]:
    stated = [
        *((version, (version,)) for version in RELEASES),
        ("2+cu124", ("2",)),
        ("2.dev0", ("1", "2")),
        ("3+git1234abcd", ("2", "3")),
        ("not a version", RELEASES),
        (None, RELEASES),
        ("range ==1 || ==2", ("1", "2")),
        ("range >=2,<=3", ("2", "3")),
        ("range ==3", ("3",)),
        ("range what?", RELEASES),
    ]
    if not listed:
        stated.append((ABSENT, (ABSENT,) if closed else (ABSENT, *RELEASES)))
    return st.sampled_from([Fact(name, one, possible) for one, possible in stated])


def facts_of(name: str, values: tuple[object, ...], several: bool = False) -> st.SearchStrategy[Fact]:
    stated: list[tuple[object, tuple[object, ...]]] = [(value, (value,)) for value in values]
    stated.append((None, values))
    if several:
        stated.append((values[:2], values[:2]))  # two files that do not agree: one of them is right
    return st.sampled_from([Fact(name, one, possible) for one, possible in stated])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[bool, tuple[Fact, ...]]:
    closed = draw(st.booleans())
    return closed, (
        draw(package_facts("one", closed, listed=True)),
        draw(package_facts("two", closed, listed=False)),
        draw(package_facts("three", closed, listed=False)),
        draw(facts_of("training.seed", NUMBERS, several=True)),
        draw(facts_of("model.architecture", MODELS, several=True)),
        draw(facts_of("python", RELEASES)),
        draw(facts_of("__cuda", RELEASES)),
        draw(facts_of("platform", PLATFORMS)),
    )


def as_environment(closed: bool, facts: tuple[Fact, ...]) -> Environment:
    packages: list[Package] = []
    stated: list[Setting] = []
    named: dict[str, str] = {}
    for fact in facts:
        if fact.name in ("one", "two", "three"):
            if fact.stated is None:
                packages.append(package(fact.name))
            elif isinstance(fact.stated, str) and fact.stated != ABSENT:
                asked = fact.stated.startswith("range ")
                text = fact.stated.removeprefix("range ")
                packages.append(package(fact.name, None if asked else text, specifier=text if asked else None))
        elif "." in fact.name and fact.stated is not None:
            values = fact.stated if isinstance(fact.stated, tuple) else (fact.stated,)
            stated += [Setting(key=fact.name, value=value, location=HERE) for value in values]
        elif isinstance(fact.stated, str):
            named[fact.name] = fact.stated
    made = environment(
        *packages,
        closed=closed,
        python=named.get("python"),
        platform=named.get("platform"),
        virtual={key: value for key, value in named.items() if key == "__cuda"},
    )
    return replace(made, settings=tuple(stated))


ranges = st.sampled_from(RANGES)
further = st.fixed_dictionaries(
    {},
    optional={
        "two": st.sampled_from((*RANGES, ABSENT)),
        "three": st.sampled_from((*RANGES, ABSENT)),
        "training.seed": st.sampled_from(((1,), (1, 2), (">", 1), (">=", 3), ("<", 3), ("<=", 1), ("!=", 2))),
        "model.architecture": st.sampled_from((("LlavaModel",), ("Qwen*",), ("T5?odel", "Llava*"))),
        "python": st.sampled_from(RANGES[:-1]),
        "__cuda": st.sampled_from(RANGES[:-1]),
        "platform": st.sampled_from((("linux",), ("linux", "darwin"))),
    },
)
wishes = st.builds(lambda first, rest: {"one": first, **rest}, ranges, further)
Wish = dict[str, object]


def as_term(name: str, wanted: object) -> Term:
    match name, wanted:
        case "one" | "two" | "three", str():
            if wanted == ABSENT:
                return PackageAbsentTerm(name=name)
            return PackageTerm(name=name, versions=VersionSet.parse(wanted))
        case "training.seed", (str() as operator, int() as operand):
            return SettingTerm(key=name, comparison=(operator, operand))
        case "training.seed", tuple():
            return SettingTerm(key=name, values=wanted)
        case "model.architecture", tuple():
            return ModelTerm(classes=wanted)
        case "python", str():
            return PythonTerm(versions=VersionSet.parse(wanted))
        case "__cuda", str():
            return VirtualTerm(name=name, versions=VersionSet.parse(wanted))
        case "platform", tuple():
            return PlatformTerm(platforms=wanted)
    raise AssertionError(name)


def holds(name: str, wanted: object, value: object) -> bool:
    """The oracle's own reading of a wish: plain sets and comparisons, nothing of the package."""
    match name, wanted:
        case "training.seed", (str() as operator, int() as operand):
            assert isinstance(value, int)
            return {
                ">": value > operand,
                ">=": value >= operand,
                "<": value < operand,
                "<=": value <= operand,
                "!=": value != operand,
            }[operator]
        case "model.architecture", tuple():
            return any(str(value).startswith(str(one)[:2]) for one in wanted)
        case _, tuple():
            return value in wanted
        case _, str():
            return value == ABSENT if wanted == ABSENT else value in IN_RANGE[wanted]
    raise AssertionError(name)


def oracle(facts: tuple[Fact, ...], combinations: list[Wish]) -> str:
    """Complete what is unknown in every way: affected if all of them match, not affected if none does."""
    names = [fact.name for fact in facts]
    verdicts = {
        any(
            all(holds(name, wanted, completion[names.index(name)]) for name, wanted in combination.items())
            for combination in combinations
        )
        for completion in product(*(fact.possible for fact in facts))
    }
    return "conditional" if len(verdicts) == 2 else "affected" if verdicts == {True} else "not_affected"


def status(findings: tuple[Finding, ...]) -> str:
    """The strongest status: the matcher gives one finding for each."""
    statuses = [finding.status for finding in findings]
    return next(one for one in ("affected", "conditional", "not_affected") if one in statuses)


@OFTEN
@given(worlds(), wishes)
def test_one_combination_is_exact(world: tuple[bool, tuple[Fact, ...]], wish: Wish) -> None:
    closed, facts = world
    asked = tuple(fact for fact in facts if fact.name in wish)
    found = match(as_environment(closed, facts), [issue(tuple(as_term(*one) for one in wish.items()))], NAMES)
    assert [finding.status for finding in found] == [oracle(asked, [wish])]


@OFTEN
@given(worlds(), st.lists(wishes, min_size=2, max_size=3))
def test_several_combinations_never_contradict(world: tuple[bool, tuple[Fact, ...]], several: list[Wish]) -> None:
    closed, facts = world
    asked = tuple(fact for fact in facts if any(fact.name in wish for wish in several))
    one = issue(*(tuple(as_term(*term) for term in wish.items()) for wish in several))
    found = status(match(as_environment(closed, facts), [one], NAMES))
    truth = oracle(asked, several)
    # "a < 2 or a >= 2" is conditional for an unknown a: weaker than the truth, and no contradiction.
    assert found in (truth, "conditional")


FORKS = ("cpu", "cuda", "rocm")
forked = st.lists(
    st.builds(
        lambda name, version, forks, line: package(name, version, forks=tuple(sorted(forks)), line=line),
        st.sampled_from(["one", "two"]),
        st.sampled_from([*RELEASES, "2.dev0", "3+git1234abcd"]),
        st.sets(st.sampled_from(FORKS), max_size=3),
        st.integers(1, 50),
    ),
    min_size=1,
    max_size=6,
)


def affected(findings: tuple[Finding, ...]) -> set[str]:
    return {finding.status for finding in findings if finding.status != "not_affected"}


@OFTEN
@given(forked, ranges, ranges)
def test_forks_are_as_lockfiles_of_their_own(packages: list[Package], first: str, second: str) -> None:
    one = issue((as_term("one", first), as_term("two", second)))
    alone = set[str]()
    for fork in FORKS:
        chosen = [entry for entry in packages if not entry.forks or fork in entry.forks]
        # Within one fork a name that stands twice is two alternatives that were not told apart.
        alone |= affected(match(environment(*chosen), [one], NAMES))
    assert affected(match(environment(*packages), [one], NAMES)) == alone


@OFTEN
@given(forked, st.lists(wishes, min_size=1, max_size=3), st.integers(0, 1_000))
def test_order_is_of_no_consequence(packages: list[Package], several: list[Wish], seed: int) -> None:
    order = random.Random(seed)  # noqa: S311  # no secret

    def mixed(items: Iterable[T]) -> list[T]:
        given = list(items)
        return order.sample(given, len(given))

    def found(entries: list[Package], combinations: list[tuple[Term, ...]], others: bool) -> list[object]:
        issues = [issue(*combinations, identifier="GC-0002")]
        if others:
            issues = mixed(
                [issue(combinations[-1], identifier="GC-0001"), *issues, issue(combinations[0], identifier="GC-0003")]
            )
        return [
            (
                one.status,
                frozenset(one.packages),
                frozenset(reason.sentence for reason in one.because),
                frozenset(map(frozenset, one.unknown)),
            )
            for one in match(environment(*entries), issues, NAMES)
            if one.issue.id == "GC-0002"
        ]

    terms = [tuple(as_term(*term) for term in wish.items()) for wish in several]
    assert found(mixed(packages), mixed(tuple(mixed(one)) for one in terms), others=True) == found(
        packages, terms, others=False
    )
