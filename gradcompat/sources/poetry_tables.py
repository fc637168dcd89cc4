"""Poetry's own tables in a pyproject.toml: ``[tool.poetry.dependencies]`` and those of its groups.

A bare version is exact here (``torch = "2.5.1"``), ``^`` and ``~`` are ranges. Beside ``[project.dependencies]`` an
entry may only say where a package comes from. With ``[tool.conda-lock]`` the names are those of conda unless ``source``
says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.requirements.names import normalise
from gradcompat.sources.declared import Declared, Result, link_of, linked
from gradcompat.sources.lock_entries import marker_or_none, read_pin, texts
from gradcompat.sources.poetry_constraint import exact_version, specifier
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_CLAUSE = lazy_pattern(r"([<>=!~]+)(.+)")


def read_poetry(declared: Declared, required: frozenset[str]) -> Iterator[Result]:
    """What Poetry's tables ask for; ``required`` are the names that ``[project]`` asks for already."""
    extras: dict[str, list[str]] = {}
    for extra, names in declared.table("tool", "poetry", "extras").items():
        for name in texts(names):
            extras.setdefault(normalise(name), []).append(extra)
    sections: list[tuple[tuple[str, ...], str | None]] = [(("dependencies",), None), (("dev-dependencies",), "dev")]
    sections += [(("group", group, "dependencies"), group) for group in declared.table("tool", "poetry", "group")]
    yield from declared.no_tables(("tool", "poetry"), ("tool", "poetry", "group"))
    for section, group in sections:
        keys = ("tool", "poetry", *section)
        yield from declared.no_tables(keys)
        for name, value in declared.table(*keys).items():
            if normalise(name) == "python":
                continue  # the interpreter
            by_extra = tuple(extras.get(normalise(name), ()))
            for result in _entry(declared, (*keys, name), value, normalise(name) in required):
                if isinstance(result, Package):
                    yield replace(result, extras=(group,) if group else by_extra)
                else:
                    yield result


def _entry(declared: Declared, keys: tuple[str | int, ...], value: Any, required: bool) -> Iterator[Result]:
    if isinstance(value, list) and value:  # one table for each platform or Python version
        for index, one in enumerate(value):
            yield from _one(declared, keys, (*keys, index), one, required)
    else:
        yield from _one(declared, keys, keys, value, required)


def _one(
    declared: Declared, of_name: tuple[str | int, ...], keys: tuple[str | int, ...], value: Any, required: bool
) -> Iterator[Result]:
    name = str(of_name[-1])
    place = declared.places.key(*keys)
    table = value if isinstance(value, dict) else {"version": value}
    constraint = table.get("version")
    if constraint is None:
        if required and link_of(table) is None:
            return  # it only says from which index, or with which extras
        constraint = "*"
    elif isinstance(constraint, str):
        written = (*keys, "version") if isinstance(value, dict) else keys
        place = declared.inside(declared.places.of(*written), constraint)
    version = exact_version(constraint) if isinstance(constraint, str) else None
    allowed = specifier(constraint) if isinstance(constraint, str) else None
    pin = read_pin(name, version, place)
    if isinstance(pin, Skipped):
        yield pin
    elif allowed is None:
        yield Skipped(what=pin.name, reason="its version constraint means nothing to Poetry", location=place)
    else:
        package = Package(
            name=pin.name,
            version=version,
            specifier=None if version is not None else allowed,
            marker=_marker(table),
            location=_moved(place, constraint, version),
        )
        if link_of(table) is not None:
            package = linked(declared, package, keys, table)
        elif "conda-lock" in declared.table("tool") and table.get("source") != "pypi":
            package = replace(package, name=name.lower(), source="conda")
        yield package


def _moved(place: Location, constraint: Any, version: str | None) -> Location:
    """The place of the version behind its operator."""
    if version is None or place.column is None or not isinstance(constraint, str):
        return place
    return replace(place, column=place.column + constraint.index(version))


def _marker(table: dict[str, Any]) -> str | None:
    """``markers``, ``python`` and ``platform`` of an entry as one marker."""
    parts = [marker_or_none(table.get("markers")), _python(table.get("python")), _platform(table.get("platform"))]
    given = [part for part in parts if part is not None]
    return " and ".join(f"({part})" for part in given) if len(given) > 1 else next(iter(given), None)


def _python(constraint: Any) -> str | None:
    allowed = specifier(constraint) if isinstance(constraint, str) else None
    if allowed is None or allowed == "*":
        return None
    alternatives = []
    for alternative in allowed.split(" || "):
        clauses = []
        for clause in alternative.split(","):
            match = _CLAUSE.fullmatch(clause)
            if match is not None:
                # The full version is compared: `<=3.10` does not allow 3.10.4, and `>3.10` does.
                clauses.append(f"python_full_version {match[1]} '{match[2]}'")
        alternatives.append(" and ".join(clauses))
    return " or ".join(alternatives)


def _platform(name: Any) -> str | None:
    return f"sys_platform == '{name}'" if isinstance(name, str) and re.fullmatch(r"\w+", name) else None
