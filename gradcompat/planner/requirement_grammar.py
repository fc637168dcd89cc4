"""Lines of Requires-Dist by the whole grammar of PEP 508, as packaging has it.

Importing packaging's parser takes as long as starting Python five times: what is plain is read without it.
"""

from __future__ import annotations

from collections.abc import Mapping

from packaging.markers import Marker
from packaging.requirements import Requirement

from gradcompat.requirements.names import normalise


def parsed(line: str, environment: Mapping[str, str]) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    """The name, the specifier and the extras that a line asks for, and the extras with which it holds.

    Raises:
        ValueError: if it cannot be read or compared.
        KeyError: if it compares what the environment has not.
        RecursionError: if it is nested too deeply.
    """
    read = Requirement(line)
    name, specifier = normalise(read.name), str(read.specifier)
    extras = tuple(sorted(map(normalise, read.extras)))
    return name, specifier, extras, ("",) if read.marker is None else _holding(read.marker, environment)


def _holding(marker: Marker, environment: Mapping[str, str]) -> tuple[str, ...]:
    if marker.evaluate({**environment, "extra": ""}):
        return ("",)
    extras = _extras_of(str(marker))
    return tuple(extra for extra in extras if marker.evaluate({**environment, "extra": extra}))


def _extras_of(marker: str) -> tuple[str, ...]:
    """Every extra that a marker, as packaging writes it, speaks of."""
    parts = marker.split('"')
    names = [
        parts[index + 1]
        for index, part in enumerate(parts[:-1])
        if index % 2 == 0 and part.rstrip(" =!").endswith("extra")
    ]
    names += [parts[index] for index in range(1, len(parts), 2) if parts[index + 1].lstrip(" =!").startswith("extra")]
    return tuple(sorted({normalise(name) for name in names}))
