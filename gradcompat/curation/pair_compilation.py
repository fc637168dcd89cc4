"""From the tables of releases to the pairs that a check reads: what an import executes, held against each release."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.version import Version

from gradcompat.breaks.module_needs import ModuleNeeds, SymbolReleases
from gradcompat.breaks.module_needs import data_of as module_needs_data
from gradcompat.breaks.pairs import Break, Need, Pair, data_of
from gradcompat.breaks.release_ranges import ranges_of
from gradcompat.releases.answers import Presence
from gradcompat.releases.table import ReleaseTable, package_of, table_of, tabled_packages
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet

# The same code under another name; pairs go by the first.
_SAME = {"lightning": "pytorch-lightning"}

_Symbol = tuple[str, "str | None"]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the wheel of a release imports a symbol."""

    file: str
    line: int


class _Provider:
    """A package that others import from, with the releases that certainly lack a symbol."""

    def __init__(self, table: ReleaseTable) -> None:
        self.table = table
        self.releases = sorted({*table.versions, *table.unread})
        self._lacking: dict[_Symbol, int] = {}

    def lacking(self, symbol: _Symbol) -> int:
        """The releases without the symbol, a bit for each."""
        if symbol not in self._lacking:
            self._lacking[symbol] = sum(
                1 << number for number, version in enumerate(self.releases) if self._lacks(version, *symbol)
            )
        return self._lacking[symbol]

    def _lacks(self, version: Version, module: str, name: str | None) -> bool:
        found = self.table.presence(version, module)
        if found is Presence.PRESENT and name is not None and name != "*":
            found = self.table.presence(version, module, name)
        return found is Presence.ABSENT

    def ranges(self, bits: int) -> VersionSet:
        """The releases of these bits."""
        return ranges_of(list(map(str, self.releases)), lambda number: bool(bits >> number & 1))


def compiled_pairs(packages: Collection[str] | None = None) -> Iterator[Pair]:
    """Every pair of packages with tables in which some releases do not go together.

    Args:
        packages: only pairs of these consumers; all where it is None.

    Raises:
        KnowledgeError: if a table cannot be read.
    """
    providers: dict[str, _Provider] = {}
    for package in sorted(tabled_packages()):
        if package in _SAME or (packages is not None and package not in packages):
            continue
        table = table_of(package)
        if table is not None:
            yield from _pairs_of(package, table, providers)


def import_root(table: ReleaseTable) -> str | None:
    """The module that ``import package`` means: the one that is called as the package is, or the only one."""
    own = [one for one in table.imports if normalise(one) == table.package]
    return next(iter(own or (table.imports if len(table.imports) == 1 else ())), None)


def needing_pairs() -> tuple[tuple[str, str], ...]:
    """Every package that needs another one when it is imported, in some release, with that other one.

    Raises:
        KnowledgeError: if a table cannot be read.
    """
    found: dict[tuple[str, str], None] = {}
    for package in sorted(tabled_packages() - _SAME.keys()):
        table = table_of(package)
        if table is None or (root := import_root(table)) is None:
            continue
        for need in (need for version in table.versions for need in table.needs(version, root)):
            provider = _provider_of(need.top)
            if provider is not None and provider != package:
                found[package, provider] = None
    return tuple(found)


def _provider_of(top: str) -> str | None:
    """The package that has a module at its top; the first of those that have the same code."""
    package = package_of(top)
    return None if package is None else _SAME.get(package, package)


def _pairs_of(package: str, table: ReleaseTable, providers: dict[str, _Provider]) -> Iterator[Pair]:
    root = import_root(table)
    needed: dict[str, dict[int, dict[_Symbol, _Place]]] = {}
    for number, version in enumerate(table.versions if root is not None else ()):
        for need in table.needs(version, root or ""):
            provider = _provider_of(need.top)
            if provider not in (None, package):
                symbols = needed.setdefault(provider or "", {}).setdefault(number, {})
                symbols.setdefault((need.module, need.name), _Place(need.file, need.line))
    for name in sorted(needed):
        if name not in providers:
            other = table_of(name)
            if other is None:
                continue
            providers[name] = _Provider(other)
        breaks = tuple(_breaks(table.versions, needed[name], providers[name]))
        if breaks:
            yield Pair(consumer=package, provider=name, oldest=str(providers[name].releases[0]), breaks=breaks)


def _breaks(
    versions: Sequence[Version], needed: Mapping[int, Mapping[_Symbol, _Place]], provider: _Provider
) -> Iterator[Break]:
    """The releases of a consumer that miss something in the same releases of a provider are one break."""
    groups: dict[int, list[int]] = {}
    for number, symbols in needed.items():
        bits = 0
        for symbol in symbols:
            bits |= provider.lacking(symbol)
        if bits:
            groups.setdefault(bits, []).append(number)
    for bits, numbers in groups.items():
        newest = needed[numbers[-1]]
        yield Break(
            consumers=ranges_of(list(map(str, versions)), set(numbers).__contains__),
            providers=provider.ranges(bits),
            needs=tuple(
                Need(
                    module=module,
                    name=name,
                    file=newest[module, name].file,
                    line=newest[module, name].line,
                    absent=provider.ranges(provider.lacking((module, name))),
                )
                for module, name in _cover(bits, newest, provider)
            ),
        )


def _cover(bits: int, symbols: Mapping[_Symbol, _Place], provider: _Provider) -> Iterator[_Symbol]:
    """Few symbols that are missing wherever any of them is, those first that most releases lack."""
    left = bits
    while left:
        symbol = max(symbols, key=lambda one: ((provider.lacking(one) & left).bit_count(), -len(one[0])))
        left &= ~provider.lacking(symbol)
        yield symbol


@dataclass(frozen=True, slots=True)
class CompiledNeeds:
    """What the modules of all packages need of one another.

    Attributes:
        needs: by the two packages, what some releases of the second one lack.
        imports: the packages that some module of a package imports from.
    """

    needs: Mapping[tuple[str, str], ModuleNeeds]
    imports: Mapping[str, Collection[str]]


def compiled_module_needs() -> CompiledNeeds:
    """What any module of a package needs of another one that some of its releases lack.

    Raises:
        KnowledgeError: if a table cannot be read.
    """
    providers: dict[str, _Provider] = {}
    found: dict[tuple[str, str], ModuleNeeds] = {}
    imports: dict[str, Collection[str]] = {}
    for package in sorted(tabled_packages() - _SAME.keys()):
        table = table_of(package)
        if table is None:
            continue
        needing: dict[str, dict[_Symbol, int]] = {}
        for (module, name), numbers in table.direct_needs().items():
            provider = _provider_of(module.partition(".")[0])
            if provider is not None and provider != package:
                needing.setdefault(provider, {})[module, name] = sum(1 << number for number in numbers)
        imports[package] = needing.keys()
        for name in sorted(needing):
            other = providers.get(name) or _opened(name)
            if other is None:
                continue
            providers[name] = other
            symbols = {
                symbol: SymbolReleases(bits, lacking)
                for symbol, bits in needing[name].items()
                if (lacking := other.lacking(symbol))
            }
            if symbols:
                releases = tuple(map(str, table.versions)), tuple(map(str, other.releases))
                found[package, name] = ModuleNeeds(symbols, *releases)
    return CompiledNeeds(found, imports)


def _opened(package: str) -> _Provider | None:
    table = table_of(package)
    return None if table is None else _Provider(table)


def module_needs_text(compiled: CompiledNeeds) -> str:
    """The file of what modules need, a line for each pair."""
    data = module_needs_data(compiled.needs, compiled.imports)
    parts = [f'"format": {data["format"]}']
    for key in ("imports", "releases", "needs"):
        lines = (f" {json.dumps(name)}: {json.dumps(content)}" for name, content in data[key].items())
        parts.append(f'"{key}": {{\n' + ",\n".join(lines) + "\n}")
    return "{" + ",\n".join(parts) + "}\n"


def pairs_text(pairs: Collection[Pair]) -> str:
    """The file of pairs, a line a pair."""
    data = data_of(pairs)
    consumers = [
        f"{json.dumps(consumer)}: {{\n"
        + ",\n".join(f"  {json.dumps(provider)}: {json.dumps(content)}" for provider, content in providers.items())
        + "\n }"
        for consumer, providers in data["pairs"].items()
    ]
    return f'{{"format": {data["format"]}, "pairs": {{\n ' + ",\n ".join(consumers) + "\n}}\n"
