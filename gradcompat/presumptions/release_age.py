"""What is usual today and the listed releases are too old for: whoever installs them trains something else.

A run that takes a newer model all the same stops at once, and the model is named where it does; one on a GPU that torch
was not compiled for stops at its first kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from packaging.version import Version

from gradcompat.model.environment import Package, SettingValue
from gradcompat.presumptions.usual import BROUGHT_BY
from gradcompat.requirements.versions import parse_version


def too_new(entries_of: Callable[[str], Iterable[Package]]) -> frozenset[SettingValue]:
    """The usual values that none of the listed releases has; none of a package where a release is not known.

    Args:
        entries_of: the entries of a package, by its canonical name.
    """
    return frozenset(value for package in BROUGHT_BY for value in _too_new(package, entries_of(package)))


def _too_new(package: str, entries: Iterable[Package]) -> frozenset[SettingValue]:
    found = None
    for entry in entries:
        release = entry.version or (entry.releases[-1] if entry.releases else None)
        lacking = _lacking(package, release) if release is not None else frozenset()
        found = lacking if found is None else found & lacking
    return found or frozenset()


@lru_cache(maxsize=256)
def _lacking(package: str, release: str) -> frozenset[SettingValue]:
    version = parse_version(release)
    if version is None:
        return frozenset()
    return frozenset(value for value, first in BROUGHT_BY[package].items() if version < Version(first))
