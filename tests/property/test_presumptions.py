"""Presumptions decide what facts leave open, and nothing else: over the records and random runs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.knowledge.load import KnowledgeBase, load
from gradcompat.matching.matcher import match
from gradcompat.model.environment import Environment, Package, Setting, SettingValue
from gradcompat.model.finding import Finding
from gradcompat.model.issue import (
    Issue,
    ModelTerm,
    PackageAbsentTerm,
    PackageTerm,
    SettingTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
)
from gradcompat.presumptions.engines import ENGINES
from gradcompat.presumptions.usual import USUAL
from tests.building import HERE, environment, package
from tests.examples import examples

OFTEN = settings(deadline=None, max_examples=examples(150))
STRENGTH = ("affected", "conditional", "dormant", "not_affected")


@cache
def base() -> KnowledgeBase:
    return load()


def values_of(term: Term) -> list[tuple[str, SettingValue]]:
    """Settings that satisfy a term, and one that does not."""
    match term:
        case SettingTerm(key=key, values=values, comparison=None):
            return [(key, value) for value in values]
        case SettingTerm(key=key, comparison=(_, operand)):
            wanted: list[tuple[str, SettingValue]] = [(key, operand)]
            if not isinstance(operand, str):
                wanted += [(key, operand + 1), (key, operand - 1)]
            return wanted
        case ModelTerm(classes=classes):
            return [("model.architecture", (classes[0].replace("*", "X"),)), ("model.architecture", ("Other",))]
        case SymbolTerm(symbols=symbols) | SymbolAbsentTerm(symbols=symbols):
            return [("code.symbols", (symbols[0].replace("*", "x"),)), ("code.symbols", ("another.name",))]
        case _:
            return []


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Issue, Environment]:
    """A record, and an environment with one of its packages in which some of the facts that it asks for are stated."""
    issues = base().in_force()
    issue = draw(st.sampled_from(issues))
    terms = [term for combination in issue.affected for term in combination.terms]
    names = sorted({term.name for term in terms if isinstance(term, (PackageTerm, PackageAbsentTerm))})
    bounds = ["1.0", "2.5.1", "2.11.0", "4.47.0", "4.49.0", "5.3.0", "0.15.0", "0.18.3", "0.5.0"]
    packages: list[Package] = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=len(names), unique=True)):
        version = draw(st.sampled_from([*bounds, None]))
        releases = tuple(draw(st.lists(st.sampled_from(bounds), max_size=3, unique=True))) if version is None else ()
        packages.append(replace(package(name, version), releases=releases))
    possible = [one for term in terms for one in values_of(term)]
    stated = draw(st.lists(st.sampled_from(possible), max_size=6)) if possible else []
    blank = draw(st.lists(st.sampled_from([key for key, _ in possible]), max_size=1)) if possible else []
    made = environment(*packages, settings=stated, closed=draw(st.booleans()))
    unread = tuple(Setting(key=key, value=None, location=HERE) for key in blank)
    return issue, replace(made, settings=(*made.settings, *unread))


def strongest(findings: tuple[Finding, ...]) -> Finding:
    return min(findings, key=lambda finding: (STRENGTH.index(finding.status), len(finding.assumed)))


engines = st.frozensets(st.sampled_from(sorted(ENGINES)))


@OFTEN
@given(worlds(), engines)
def test_only_what_facts_leave_open_is_presumed(world: tuple[Issue, Environment], named: frozenset[str]) -> None:
    issue, stated = world
    facts = match(stated, [issue], base().names)
    found = match(replace(stated, engines=named), [issue], base().names)
    assert bool(facts) == bool(found)
    if not facts:
        return
    without, with_them = strongest(facts), strongest(found)
    assert not any(finding.assumed or finding.status == "dormant" for finding in facts)
    match without.status:
        case "affected":
            assert with_them.status == "affected"
            assert not with_them.assumed
        case "not_affected":
            assert [finding.status for finding in found] == ["not_affected"]
        case _:
            assert with_them.status in ("affected", "conditional", "dormant")
            assert (with_them.status == "affected") <= bool(with_them.assumed)
            assert (with_them.status == "dormant") <= bool(with_them.dormant)


@OFTEN
@given(worlds(), engines)
def test_a_stated_fact_is_never_presumed(world: tuple[Issue, Environment], named: frozenset[str]) -> None:
    issue, stated = world
    unread = {setting.key for setting in stated.settings if setting.value is None}
    known = {setting.key for setting in stated.settings} - unread
    for finding in match(replace(stated, engines=named), [issue], base().names):
        assert known.isdisjoint(assumption.key for assumption in finding.assumed)


@OFTEN
@given(worlds(), engines, st.sampled_from(sorted(USUAL)))
def test_a_fact_takes_the_place_of_a_presumed_setting(
    world: tuple[Issue, Environment], named: frozenset[str], key: str
) -> None:
    issue, stated = world
    stated = replace(stated, engines=named)
    wanted = [one for term in issue.affected[0].terms for one in values_of(term) if one[0] == key]
    if not wanted:
        return
    fact = Setting(key=key, value=wanted[0][1], location=HERE)
    alone = replace(stated, settings=(fact,))
    presumed = replace(stated, settings=(fact, replace(fact, value="something else", presumed=True)))
    assert [one.status for one in match(presumed, [issue], base().names)] == [
        one.status for one in match(alone, [issue], base().names)
    ]
