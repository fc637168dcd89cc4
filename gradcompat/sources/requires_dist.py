"""Requires-Dist of installed distributions, from the METADATA file that their version was read in."""

from __future__ import annotations

from email.parser import BytesHeaderParser
from pathlib import Path

from gradcompat.files.regular_files import read_regular
from gradcompat.model.environment import Environment

_FILES = ("METADATA", "PKG-INFO")
_MAX_BYTES = 1 << 20


def requires_dist(environment: Environment) -> dict[tuple[str, str], tuple[str, ...]]:
    """What each installed package requires, by name and version; without those whose metadata cannot be read."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for package in environment.packages:
        path = Path(package.location.path)
        if package.version is None or path.name not in _FILES:
            continue
        try:
            data = read_regular(path, _MAX_BYTES)
        except OSError:
            continue  # the catalogue is asked instead
        message = BytesHeaderParser().parsebytes(data)
        found[package.name, package.version] = tuple(map(str, message.get_all("Requires-Dist", [])))
    return found
