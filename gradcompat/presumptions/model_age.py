"""The usual models that a release of transformers is too old for: whoever installs it trains another one.

A run that takes a newer model all the same stops at once, and the model is named where it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from packaging.version import Version

from gradcompat.model.environment import Package, SettingValue
from gradcompat.presumptions.usual import BROUGHT_BY
from gradcompat.versions import parse_version

LIBRARY = "transformers"


def too_new(entries: Iterable[Package]) -> frozenset[SettingValue]:
    """The usual models that none of the installed releases has; none where a release is not known."""
    found = None
    for entry in entries:
        release = entry.version or (entry.releases[-1] if entry.releases else None)
        lacking = _lacking(release) if release is not None else frozenset()
        found = lacking if found is None else found & lacking
    return found or frozenset()


@lru_cache(maxsize=256)
def _lacking(release: str) -> frozenset[SettingValue]:
    version = parse_version(release)
    if version is None:
        return frozenset()
    return frozenset(model for model, first in BROUGHT_BY.items() if version < Version(first))
