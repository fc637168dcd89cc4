"""Short ways to write environments and issues in tests; what is not given is what a test rarely speaks of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradcompat.matching.entries import Names
from gradcompat.model.environment import Environment, Location, Package, Setting, SettingValue, SourceKind
from gradcompat.model.issue import Combination, Issue, Level, PackageTerm, Reference, Remedy, SettingTerm, Term
from gradcompat.requirements.versions import VersionSet

HERE = Location(path="uv.lock", line=1)
NAMES = Names(families={"lightning": "pytorch-lightning"}, conda={"pytorch": "torch"})


def package(
    name: str,
    version: str | None = None,
    *,
    specifier: str | None = None,
    source: SourceKind = "registry",
    marker: str | None = None,
    forks: tuple[str, ...] = (),
    reached: tuple[str, ...] = (),
    unreleased: bool = False,
    line: int = 1,
) -> Package:
    return Package(
        name=name,
        version=version,
        specifier=specifier,
        source=source,
        marker=marker,
        forks=forks,
        reached=reached,
        unreleased=unreleased,
        location=Location(path="uv.lock", line=line),
    )


def environment(
    *packages: Package,
    settings: Mapping[str, SettingValue] | Iterable[tuple[str, SettingValue]] = (),
    closed: bool = True,
    python: str | None = None,
    platform: str | None = None,
    virtual: Mapping[str, str] | None = None,
) -> Environment:
    pairs = settings.items() if isinstance(settings, Mapping) else settings
    return Environment(
        source="uv.lock",
        kind="uv.lock",
        packages=packages,
        closed=closed,
        settings=tuple(Setting(key=key, value=value, location=HERE) for key, value in pairs),
        python=python,
        platform=platform,
        virtual=virtual or {},
    )


def versions(name: str, text: str = "*") -> PackageTerm:
    return PackageTerm(name=name, versions=VersionSet.parse(text))


def equals(key: str, *values: bool | int | float | str) -> SettingTerm:
    return SettingTerm(key=key, values=values)


def compares(key: str, operator: str, operand: int | float | str) -> SettingTerm:
    return SettingTerm(key=key, comparison=(operator, operand))


def issue(
    *combinations: tuple[Term, ...],
    identifier: str = "GC-0001",
    level: Level = "error",
    remedies: tuple[Remedy, ...] = (),
    informational: bool = False,
) -> Issue:
    return Issue(
        id=identifier,
        summary="The loss is wrong",
        details="It is.",
        level=level,
        silent=True,
        informational=informational,
        categories=("wrong-loss",),
        affected=tuple(Combination(terms=terms) for terms in combinations),
        symptoms=(),
        remedies=remedies,
        references=(Reference(type="REPORT", url="https://example.org/1"),),
        range_basis="measured",
        evidence=(),
        withdrawn=None,
    )
