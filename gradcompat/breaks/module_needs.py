"""What any module of a package needs of another one that some releases of that one do not have.

Few names come or go, so that this one file says for most pairs of releases that no module of the one misses anything in
the other, and no table has to be asked. ``gradcompat knowledge pairs --compile`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from gradcompat.breaks.release_ranges import ranges_of
from gradcompat.errors import KnowledgeError
from gradcompat.requirements.versions import VersionSet
from gradcompat.startup.lazy_dataclasses import dataclass

FORMAT = 2
COMPILED = Path(__file__).parent / "module_needs.json"
_AGAIN = "install gradcompat again"

Symbol = tuple[str, "str | None"]
"""A module, and the name that is imported from it; None for the module itself."""


@dataclass(frozen=True, slots=True)
class SymbolReleases:
    """Releases as bits, the oldest lowest.

    Attributes:
        needing: those of the package of which some module imports the symbol.
        lacking: those of the other package that surely do not have it.
    """

    needing: int
    lacking: int


@dataclass(frozen=True, slots=True)
class ModuleNeeds:
    """What the modules of one package need of another one.

    Attributes:
        symbols: what some release of the other package lacks.
        consumers: the releases of the package, oldest first.
        providers: those of the other package.
    """

    symbols: Mapping[Symbol, SymbolReleases]
    consumers: tuple[str, ...]
    providers: tuple[str, ...]

    def missed(self, consumer: str, provider: str) -> frozenset[Symbol]:
        """What some module of a release needs and the other release lacks; nothing for releases that were not read."""
        if consumer not in self.consumers or provider not in self.providers:
            return frozenset()
        here, there = 1 << self.consumers.index(consumer), 1 << self.providers.index(provider)
        return frozenset(
            symbol for symbol, bits in self.symbols.items() if bits.needing & here and bits.lacking & there
        )

    def ranges(self, bits: int) -> VersionSet:
        """The releases of the other package, as ranges."""
        return ranges_of(self.providers, lambda number: bool(bits >> number & 1))


def module_needs(consumer: str, provider: str) -> ModuleNeeds | None:
    """What the modules of a package need of another one; None where nothing can be missing.

    Raises:
        KnowledgeError: if the file is missing or broken.
    """
    return _needs(COMPILED, consumer, provider)


def providers_of(consumer: str) -> Collection[str]:
    """The packages of which something may be missing for the modules of a package."""
    found: Collection[str] = _content(COMPILED)["needs"].get(consumer, {})
    return found


def leading_to(packages: Collection[str], among: Collection[str]) -> frozenset[str]:
    """The packages of which an import may lead to some others: these, and whatever some module of theirs imports.

    Args:
        packages: the others.
        among: the packages that come into question; one that was not read may lead anywhere.
    """
    imports: Mapping[str, list[str]] = _content(COMPILED)["imports"]
    found = frozenset(packages)
    while True:
        more = {name for name in among if name not in imports or not found.isdisjoint(imports[name])}
        if more <= found:
            return found
        found |= more


@lru_cache(maxsize=2)
def _content(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise KnowledgeError(f"cannot be read: {error}", path=str(path), hint=_AGAIN) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise KnowledgeError("is of another format", path=str(path), hint=_AGAIN)
    return data


@lru_cache(maxsize=1024)
def _needs(path: Path, consumer: str, provider: str) -> ModuleNeeds | None:
    content = _content(path)
    rows = content["needs"].get(consumer, {}).get(provider)
    if rows is None:
        return None
    return ModuleNeeds(
        {(module, name): SymbolReleases(int(needing, 16), int(lacking, 16)) for module, name, needing, lacking in rows},
        tuple(content["releases"][consumer]),
        tuple(content["releases"][provider]),
    )


def data_of(needs: Mapping[tuple[str, str], ModuleNeeds], imports: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """The content of the file: what some releases lack, and which packages each package imports from."""
    releases: dict[str, list[str]] = {}
    rows: dict[str, dict[str, list[list[str | None]]]] = {}
    for (consumer, provider), one in needs.items():
        releases[consumer], releases[provider] = list(one.consumers), list(one.providers)
        rows.setdefault(consumer, {})[provider] = [
            [module, name, f"{bits.needing:x}", f"{bits.lacking:x}"] for (module, name), bits in one.symbols.items()
        ]
    return {
        "format": FORMAT,
        "imports": {package: sorted(some) for package, some in imports.items()},
        "releases": releases,
        "needs": rows,
    }
