"""``pyproject.toml``: what a project asks for, which is rarely one version.

Read are ``[project]``, ``[dependency-groups]`` and the tables of Poetry, PDM, uv, Hatch and Flit, but not
``build-system.requires``: that is installed to build the project, apart from where it trains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.formats.toml_places import TomlPlaces
from gradcompat.formats.toml_text import parse
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.quotation import quoted, reference
from gradcompat.requirements.names import normalise
from gradcompat.sources.conda_spec import parse_spec
from gradcompat.sources.declared import Declared, Result
from gradcompat.sources.joint_ranges import jointly
from gradcompat.sources.lock_entries import texts
from gradcompat.sources.poetry_tables import read_poetry
from gradcompat.sources.requirement import name_of
from gradcompat.sources.uv_tables import from_uv_sources, overridden, uv_additions, uv_overrides
from gradcompat.startup.lazy_dataclasses import replace

MOST_REQUIREMENTS = 5_000
_TABLES = frozenset({"project", "build-system", "tool", "dependency-groups"})


def read(document: Document) -> Environment:
    """Read the requirements of a project.

    Raises:
        Malformed: if it is not TOML or has none of the tables of a pyproject.toml.
    """
    content = parse(document.text, document.path)
    if not content.keys() & _TABLES:
        raise Malformed("has neither `[project]` nor `[tool]`", path=document.path)
    declared = Declared(content, TomlPlaces(document.text, document.path), document.text.split("\n"))
    packages, skipped = _without_self(declared, _decided(declared))
    if not packages and not skipped:
        skipped = (_nothing(declared, document.path),)
    return Environment(
        source=document.path, kind="pyproject.toml", packages=packages, closed=False, skipped=tuple(skipped)
    )


def _decided(declared: Declared) -> Iterator[Result]:
    """Everything that is asked for, with the overrides of uv and PDM in force."""
    return overridden(_asked_for(declared), [*uv_overrides(declared), *_pdm_overrides(declared)])


def _asked_for(declared: Declared) -> Iterator[Result]:
    standard = list(islice(chain(_standard(declared), uv_additions(declared)), MOST_REQUIREMENTS + 1))
    required = frozenset(package.name for package in standard if isinstance(package, Package))
    yield from from_uv_sources(declared, standard)
    yield from declared.no_tables(("tool",), ("tool", "uv"), ("tool", "uv", "sources"))
    yield from declared.no_tables(("tool", "pdm", "dev-dependencies"), ("tool", "pdm", "resolution", "overrides"))
    for group in declared.table("tool", "pdm", "dev-dependencies"):
        yield from declared.requirements("tool", "pdm", "dev-dependencies", group, extra=group)
    for name in declared.table("tool", "hatch", "envs"):
        for key in ("dependencies", "extra-dependencies"):
            yield from declared.requirements("tool", "hatch", "envs", name, key, extra=name)
    yield from declared.requirements("tool", "flit", "metadata", "requires")
    for extra in declared.table("tool", "flit", "metadata", "requires-extra"):
        yield from declared.requirements("tool", "flit", "metadata", "requires-extra", extra, extra=extra)
    yield from read_poetry(declared, required)
    yield from _conda(declared)


def _standard(declared: Declared) -> Iterator[Result]:
    """``[project]`` (PEP 621) and ``[dependency-groups]`` (PEP 735)."""
    yield from declared.no_tables(("project",))
    yield from _dynamic(declared)
    yield from declared.requirements("project", "dependencies")
    for key in ("project", "optional-dependencies"), ("dependency-groups",):
        yield from declared.no_tables(key)
        table = declared.table(*key)
        for group in table:
            yield from declared.requirements(*key, group, extra=group)
    groups = declared.table("dependency-groups")
    known = {normalise(group) for group in groups}
    for group, entries in groups.items():
        for index, one in enumerate(entries if isinstance(entries, list) else []):
            included = one.get("include-group") if isinstance(one, dict) else group
            # What is included is read where it stands.
            if not isinstance(included, str) or normalise(included) not in known:
                what = quoted(f"dependency-groups.{group}[{index}]", "an entry of dependency-groups")
                location = declared.places.of("dependency-groups", group, index)
                yield Skipped(what=what, reason="includes a group that does not exist", location=location)


def _dynamic(declared: Declared) -> Iterator[Skipped]:
    """``dynamic = ["dependencies"]``: known only to the build, which is not run."""
    dynamic = declared.table("project").get("dynamic")
    for index, key in enumerate(dynamic if isinstance(dynamic, list) else []):
        if key not in ("dependencies", "optional-dependencies") or declared.table("tool", "poetry", "dependencies"):
            continue
        files = _files(declared.table("tool", "setuptools", "dynamic").get(key))
        reason = "are known only when the project is built, which gradcompat never does"
        if files:
            named = ", ".join(f"`{reference(file)}`" for file in dict.fromkeys(files))
            reason = f"are taken from {named} when the project is built: check {'that' if len(files) == 1 else 'those'}"
        yield Skipped(what=key, reason=reason, location=declared.places.of("project", "dynamic", index))


def _files(value: Any) -> list[str]:
    """``{file = "a.txt"}``, ``{file = ["a.txt"]}``, or a table of such tables by extra."""
    if not isinstance(value, dict):
        return []
    files: list[str] = []
    for table in (value, *value.values()):
        file = table.get("file") if isinstance(table, dict) else None
        files += [file] if isinstance(file, str) else texts(file)
    return files


def _pdm_overrides(declared: Declared) -> Iterator[Result]:
    """``[tool.pdm.resolution.overrides]``: a version, a range or a link for each name."""
    keys = ("tool", "pdm", "resolution", "overrides")
    for name, value in declared.table(*keys).items():
        location = declared.places.of(*keys, name)
        if not isinstance(value, str):
            yield Skipped(what=quoted(name, "an entry"), reason="its override is not text", location=location)
            continue
        separator = " @ " if "://" in value else "" if value.lstrip()[:1] in tuple("<>=!~") else "=="
        result = declared.requirement(f"{name}{separator}{value}", location)
        yield replace(result, location=declared.inside(location, value))


def _conda(declared: Declared) -> Iterator[Result]:
    """``[tool.conda-lock.dependencies]``; pixi's tables are left to its lockfile."""
    keys = ("tool", "conda-lock", "dependencies")
    for name, value in declared.table(*keys).items():
        location = declared.places.of(*keys, name)
        spec = None
        if isinstance(value, str):
            spec, location = parse_spec(f"{name} {value}"), declared.inside(location, value)
        if spec is None or spec.problem is not None:
            yield Skipped(
                what=quoted(name, "an entry"), reason="is not a requirement that conda can have", location=location
            )
        else:
            yield Package(
                name=spec.name, version=spec.version, specifier=spec.specifier, source="conda", location=location
            )
    if declared.table("tool", "pixi").keys() & {"dependencies", "pypi-dependencies", "feature", "target"}:
        reason = "asks for packages in pixi's own tables, which are not read: check its pixi.lock"
        yield Skipped(what="tool.pixi", reason=reason, location=declared.places.key("tool", "pixi"))


def _without_self(declared: Declared, results: Iterator[Result]) -> tuple[tuple[Package, ...], tuple[Skipped, ...]]:
    """The packages and what was skipped. An extra that asks for other extras of the project asks for no package."""
    name = declared.table("project").get("name", declared.table("tool", "poetry").get("name"))
    own = name_of(name) if isinstance(name, str) else None
    packages: list[Package] = []
    skipped: list[Skipped] = []
    first: Location | None = None
    times = 0
    for number, result in enumerate(results):
        if number == MOST_REQUIREMENTS:
            reason = f"are more than {MOST_REQUIREMENTS:,}: the rest is not read"
            skipped.append(Skipped(what="its requirements", reason=reason, location=result.location))
            break
        if isinstance(result, Skipped):
            skipped.append(result)
        elif result.name == own:
            first, times = first or result.location, times + 1
        else:
            packages.append(result)
    if own is not None and first is not None:
        again = f"{times} times" if times > 1 else "once"
        reason = f"is the project itself, which its own extras name {again}"
        skipped.append(Skipped(what=own, reason=reason, gap=False, location=first))
    joint, notes = jointly(packages)
    return _alternatives(joint), (*skipped, *notes)


def _alternatives(packages: Sequence[Package]) -> tuple[Package, ...]:
    """The entries, those of extras that pin one package to different versions as forks: no two can be installed."""
    pins: dict[str, dict[str, set[str]]] = {}
    for package in packages:
        for extra in package.extras if package.version is not None else ():
            pins.setdefault(package.name, {}).setdefault(extra, set()).add(str(package.version))
    exclusive = {
        extra
        for by_extra in pins.values()
        if len(set().union(*by_extra.values())) > 1
        for extra, versions in by_extra.items()
        if any(versions.isdisjoint(others) for other, others in by_extra.items() if other != extra)
    }
    return tuple(
        replace(package, forks=package.extras)
        if package.extras and exclusive.issuperset(package.extras) and not package.forks
        else package
        for package in packages
    )


def _nothing(declared: Declared, path: str) -> Skipped:
    """A pyproject.toml without requirements: of tools only, or of a project that keeps them in setup.py."""
    elsewhere = "build-system" in declared.content and not (
        declared.table("project") or declared.table("tool", "poetry") or declared.table("tool", "flit")
    )
    reason = "names no requirements" + (": they stand in setup.py or setup.cfg" if elsewhere else "")
    return Skipped(what=path, reason=reason, gap=elsewhere, location=Location(path=path), empty=True)
