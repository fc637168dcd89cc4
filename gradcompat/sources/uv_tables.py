"""``[tool.uv]`` in a pyproject.toml or a script: what it adds, what it overrides, where it takes packages from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gradcompat.model.environment import Package, Skipped
from gradcompat.requirements.names import normalise
from gradcompat.sources.declared import Declared, Result, linked
from gradcompat.startup.lazy_dataclasses import replace

_MOST = 50


def uv_additions(declared: Declared) -> Iterator[Result]:
    """Development dependencies, and constraints: these ask for no package, but tell its version if it is there."""
    yield from declared.requirements("tool", "uv", "dev-dependencies", extra="dev")
    yield from declared.requirements("tool", "uv", "constraint-dependencies")


def uv_overrides(declared: Declared) -> Iterator[Result]:
    """What counts instead of whatever anybody asks for."""
    return declared.requirements("tool", "uv", "override-dependencies")


def overridden(results: Iterable[Result], overrides: list[Result]) -> Iterator[Result]:
    """The results, of which those for a package with an override are passed over; then the overrides."""
    names = frozenset(override.name for override in overrides if isinstance(override, Package))
    for result in results:
        if isinstance(result, Package) and result.name in names:
            wanted = result.version or result.specifier
            reason = f"asks for {'any version' if wanted in (None, '*') else wanted}, which the project overrides"
            yield Skipped(what=result.name, reason=reason, gap=False, location=result.location)
        else:
            yield result
    yield from overrides


def from_uv_sources(declared: Declared, results: Iterable[Result]) -> Iterator[Result]:
    """The results as ``[tool.uv.sources]`` says where they come from: once, or once for each of several markers."""
    sources = declared.table("tool", "uv", "sources")
    written = {normalise(name): name for name in sources}
    for result in results:
        name = written.get(result.name) if isinstance(result, Package) else None
        if isinstance(result, Skipped) or name is None:
            yield result
            continue
        keys, source = ("tool", "uv", "sources", name), sources[name]
        if not isinstance(source, list):
            yield linked(declared, result, keys, source) if isinstance(source, dict) else result
        elif len(source) > _MOST:
            reason = f"has {len(source)} sources, which is too many to read"
            yield Skipped(what=result.name, reason=reason, location=declared.places.key(*keys))
        else:
            yield from (_alternative(declared, result, (*keys, at), one) for at, one in enumerate(source))


def _alternative(declared: Declared, package: Package, keys: tuple[str | int, ...], source: Any) -> Package:
    """The package from one of several sources, under its marker and that of the source."""
    if not isinstance(source, dict):
        return package
    marker = source.get("marker")
    if isinstance(marker, str):
        both = marker if package.marker is None else f"({package.marker}) and ({marker})"
        package = replace(package, marker=both)
    return linked(declared, package, keys, source)
