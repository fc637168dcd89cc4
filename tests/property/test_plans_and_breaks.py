"""Plans lead into no set that does not import and into no release in which the project's code breaks.

A world has three packages that import names of one another, at their top or in a submodule, and code that imports some
of both. Its own rules say which sets work; nothing of gradcompat is asked for that.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.version import Version

from gradcompat.audit.environment_findings import match_runs
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.plans import PlanOptions, plan_of
from gradcompat.audit.project_files import Project
from gradcompat.breaks import code_imports, module_needs, pairs
from gradcompat.curation import pair_compilation
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.code_use import CodeUse, ProjectCode
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.model.plan import Plan
from gradcompat.releases import table as tables
from gradcompat.releases.answers import Need, Presence, SpreadNeed
from gradcompat.releases.table import Import
from tests.building import NAMES
from tests.planner import toy

PACKAGES = ("alpha", "beta", "gamma")
SYMBOLS = ("One", "Two")
SUB = "sub"
Symbol = tuple[str, str]
"""A package, and a name at its top."""


@dataclass(frozen=True)
class Release:
    """What a release has at its top, and what of others its top and its submodule import."""

    names: frozenset[str]
    top: frozenset[Symbol]
    sub: frozenset[Symbol]


@dataclass(frozen=True)
class World:
    """Releases of each package, what is pinned, and what the code imports: names, or ``sub`` for the submodule."""

    releases: Mapping[str, tuple[Release, ...]]
    pinned: Mapping[str, int]
    code: tuple[tuple[str, str], ...]

    def failures(self, chosen: Mapping[str, int]) -> frozenset[tuple[str, ...]]:
        """What fails in a set of releases: an import of one package, or a line of the code."""
        found: set[tuple[str, ...]] = set()
        for package, number in chosen.items():
            release = self.releases[package][number]
            needed = {*release.top, *(release.sub if (package, SUB) in self.code else ())}
            for other, name in needed:
                if name not in self.releases[other][chosen[other]].names:
                    found.add((package, other))
        for package, name in self.code:
            releases = self.releases[package]
            # What no release ever had may be of a fork.
            known = any(name in one.names for one in releases)
            if name != SUB and known and name not in releases[chosen[package]].names:
                found.add(("code", package, name))
        return frozenset(found)


class WorldTable:
    """The table of a package in a world."""

    def __init__(self, package: str, releases: Iterable[Release]) -> None:
        self.package, self.imports = package, (package,)
        self._releases = {Version(f"{number + 1}.0"): one for number, one in enumerate(releases)}
        self.versions = tuple(self._releases)
        self.unread: dict[Version, str] = {}

    def presence(self, version: Version, module: str, name: str | None = None) -> Presence:
        inside = ".".join(part for part in (module, name) if part).removeprefix(self.package).strip(".")
        if version not in self._releases:
            return Presence.UNKNOWN
        has = inside in ("", SUB) or inside in self._releases[version].names
        return Presence.PRESENT if has else Presence.ABSENT

    def defined_in(self, name: str) -> tuple[str, ...]:
        return (self.package,) if any(name in release.names for release in self._releases.values()) else ()

    def needs(self, version: Version, module: str, name: str | None = None) -> tuple[Need, ...]:
        return self.needs_of(version, ((module, name),))

    def needs_of(self, version: Version, imports: Iterable[tuple[str, str | None]]) -> tuple[Need, ...]:
        release = self._releases[version]
        wanted = {".".join(part for part in one if part) for one in imports}
        needed = {*release.top, *(release.sub if f"{self.package}.{SUB}" in wanted else ())}
        return tuple(Need(other, other, name, f"{self.package}/__init__.py", 1) for other, name in sorted(needed))

    def symbols_in_turn(
        self, version: Version, groups: Iterable[tuple[Import, ...]]
    ) -> Iterator[tuple[tuple[Import, ...], tuple[Import, ...]]]:
        for imports in groups:
            yield imports, tuple((need.module, need.name) for need in self.needs_of(version, imports))

    def needs_by_release(self, imports: Iterable[Import], among: Container[Import]) -> tuple[SpreadNeed, ...]:
        spread: dict[Need, int] = {}
        for number, version in enumerate(self.versions):
            for need in self.needs_of(version, imports):
                if (need.module, need.name) in among:
                    spread[need] = spread.get(need, 0) | 1 << number
        return tuple(SpreadNeed(need.module, need.name, bits, need.file, need.line) for need, bits in spread.items())

    def direct_needs(self) -> dict[tuple[str, str | None], frozenset[int]]:
        found: dict[tuple[str, str | None], set[int]] = {}
        for number, one in enumerate(self._releases.values()):
            for symbol in (*one.top, *one.sub):
                found.setdefault(symbol, set()).add(number)
        return {symbol: frozenset(numbers) for symbol, numbers in found.items()}

    def renamed(self, version: Version, qualified_name: str, keyword: str) -> None:
        return None


def _symbols(package: str) -> list[Symbol]:
    return [(other, name) for other in PACKAGES if other != package for name in SYMBOLS]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    releases = {
        package: tuple(
            Release(
                draw(st.frozensets(st.sampled_from(SYMBOLS))),
                draw(st.frozensets(st.sampled_from(_symbols(package)), max_size=1)),
                draw(st.frozensets(st.sampled_from(_symbols(package)), max_size=1)),
            )
            for _ in range(draw(st.integers(1, 4)))
        )
        for package in PACKAGES
    }
    pinned = {package: draw(st.integers(0, len(some) - 1)) for package, some in releases.items()}
    imported = st.tuples(st.sampled_from(PACKAGES), st.sampled_from((*SYMBOLS, SUB)))
    return World(releases, pinned, tuple(draw(st.lists(imported, max_size=3, unique=True))))


def _uses(world: World) -> Iterator[CodeUse]:
    for line, (package, name) in enumerate(world.code, 1):
        place = Location(path="train.py", line=line)
        module, symbol = (f"{package}.{SUB}", None) if name == SUB else (package, name)
        yield CodeUse(kind="import", module=module, name=symbol, location=place)


def planned(world: World) -> Plan | None:
    """The plan for a world."""
    made = {package: WorldTable(package, releases) for package, releases in world.releases.items()}
    here = Environment(
        source="uv.lock",
        kind="uv.lock",
        closed=True,
        packages=tuple(
            Package(name=package, version=f"{number + 1}.0", location=Location(path="uv.lock", line=1))
            for package, number in world.pinned.items()
        ),
    )
    base = KnowledgeBase(date="2026-01-01", digest="", names=NAMES, yanked={}, horizon={}, by_package={}, records=())
    catalogue = toy.table(
        {package: {f"{number + 1}.0": [] for number in range(len(some))} for package, some in world.releases.items()}
    )
    options = AuditOptions(presume=False)
    with ExitStack() as stack:
        for module in (tables, code_imports, pair_compilation):
            stack.enter_context(patch.object(module, "table_of", made.get))
            stack.enter_context(patch.object(module, "package_of", lambda top: top if top in made else None))
        stack.enter_context(patch.object(pair_compilation, "tabled_packages", lambda: frozenset(made)))
        compiled = {
            pairs: pairs.data_of(list(pair_compilation.compiled_pairs()))["pairs"],
            module_needs: json.loads(pair_compilation.module_needs_text(pair_compilation.compiled_module_needs())),
        }
        for module, data in compiled.items():
            content = json.loads(json.dumps(data))
            stack.enter_context(patch.object(module, "_content", lambda _, content=content: content))
        pairs._pair.cache_clear()
        module_needs._needs.cache_clear()
        from gradcompat.audit import breaks

        breaks._issue.cache_clear()
        breaks._constraint.cache_clear()
        found = match_runs(here, (), base, options, code=ProjectCode(uses=tuple(_uses(world))))
        return plan_of(here, found, Project(), base, catalogue, options, PlanOptions())


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(worlds())
def test_a_plan_leads_into_no_break(world: World) -> None:
    before = world.failures(world.pinned)
    made = planned(world)
    chosen = dict(world.pinned)
    for change in () if made is None else made.changes:
        chosen[change.package] = Version(change.version_to or "").major - 1
    after = world.failures(chosen)
    # Never worse than what is there, and nothing is left where it says so.
    assert after <= before
    assert made is not None or not before
    if made is not None and made.complete:
        assert not after
    # What no set of releases cures is left, and only that.
    if made is not None and not made.complete:
        assert all(world.failures(some) for some in _sets(world))


def _sets(world: World) -> Iterator[dict[str, int]]:
    """Every set of releases."""
    found: list[dict[str, int]] = [{}]
    for package, releases in world.releases.items():
        found = [{**one, package: number} for one in found for number in range(len(releases))]
    yield from found
