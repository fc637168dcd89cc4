"""Specifiers by the whole grammar of PEP 440, as packaging has it."""

from __future__ import annotations

from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.version import Version


def contains(specifier: str, version: Version) -> bool:
    """Is the version one of these?

    Raises:
        ValueError: if it is no specifier.
    """
    return _parsed(specifier).contains(version, prereleases=True)


@lru_cache(maxsize=16384)
def _parsed(text: str) -> SpecifierSet:
    return SpecifierSet(text)
