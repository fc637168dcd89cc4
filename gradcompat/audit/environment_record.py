"""An environment that a lockfile describes, as JSON holds it; what a lockfile never says has no place in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.startup.lazy_dataclasses import MISSING, fields

# The fields of a package that a record states where they differ from their defaults.
_SELDOM = {one.name: one.default for one in fields(Package) if one.default is not MISSING}


def record_of(environment: Environment) -> dict[str, Any] | None:
    """What JSON can hold of an environment; None where it says more than lockfiles do."""
    if environment.settings or environment.class_facts or environment.engines is not None:
        return None
    source = environment.source
    markers: dict[str, int] = {}  # many entries have the same, and they are most of the text
    packages = [_row_of(package, source, markers) for package in environment.packages]
    return {
        "source": source,
        "kind": environment.kind,
        "closed": environment.closed,
        "python": environment.python,
        "platform": environment.platform,
        "markers": list(markers),
        "packages": packages,
        "skipped": [
            [part.what, part.reason, part.gap, _place_of(part.location, source), part.range, part.newest, part.empty]
            for part in environment.skipped
        ],
        "virtual": dict(environment.virtual),
        "conflicts": [sorted(extras) for extras in environment.conflicts],
        "excluded": sorted(environment.excluded),
        "origins": {fact: _place_of(place, source) for fact, place in environment.origins.items()},
    }


def environment_from(record: Mapping[str, Any]) -> Environment:
    """The environment of a record.

    Raises:
        LookupError, TypeError, ValueError: if it is not one that :func:`record_of` made.
    """
    source, markers = record["source"], record["markers"]
    return Environment(
        source=source,
        kind=record["kind"],
        closed=record["closed"],
        python=record["python"],
        platform=record["platform"],
        packages=tuple([_package_from(row, source, markers) for row in record["packages"]]),
        skipped=tuple(_skipped_from(row, source) for row in record["skipped"]),
        virtual=record["virtual"],
        conflicts=tuple(map(frozenset, record["conflicts"])),
        excluded=frozenset(record["excluded"]),
        origins={fact: _place_from(place, source) for fact, place in record["origins"].items()},
    )


def _row_of(package: Package, source: str, markers: dict[str, int]) -> list[Any]:
    """Name, version, place, and what is not as usual."""
    row: list[Any] = [package.name, package.version, _place_of(package.location, source)]
    seldom = {name: value for name, usual in _SELDOM.items() if (value := getattr(package, name)) != usual}
    if package.marker is not None:
        seldom["marker"] = markers.setdefault(package.marker, len(markers))
    if package.reached:
        seldom["reached"] = [markers.setdefault(marker, len(markers)) for marker in package.reached]
    return [*row, seldom] if seldom else row


def _package_from(row: Sequence[Any], source: str, markers: Sequence[str]) -> Package:
    name, version, place, *rest = row
    stated: Mapping[str, Any] = rest[0] if rest else {}
    seldom: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in stated.items()}
    if "marker" in seldom:
        seldom["marker"] = markers[seldom["marker"]]
    if "reached" in seldom:
        seldom["reached"] = tuple(markers[number] for number in seldom["reached"])
    return Package(name=name, version=version, location=_place_from(place, source), **seldom)


def _skipped_from(row: Sequence[Any], source: str) -> Skipped:
    what, reason, gap, place, is_range, newest, empty = row
    location = None if place is None else _place_from(place, source)
    return Skipped(what=what, reason=reason, gap=gap, location=location, range=is_range, newest=newest, empty=empty)


def _place_of(place: Location | None, source: str) -> list[Any] | int | None:
    """A place, as its line alone where it is one of the lockfile itself."""
    if place is None:
        return None
    if place.path == source and place.column is None and place.line is not None:
        return place.line
    return [place.path, place.line, place.column]


def _place_from(place: Sequence[Any] | int, source: str) -> Location:
    if isinstance(place, int):
        return Location(path=source, line=place)
    path, line, column = place
    return Location(path=path, line=line, column=column)
