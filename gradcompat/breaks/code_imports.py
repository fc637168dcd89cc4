"""What the project's code imports from a package, held against the releases of the packages that this needs.

``import peft`` may work where ``import peft.tuners.lora`` does not. The names that the code imports are followed
through the modules that they execute, into other packages and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from packaging.version import Version

from gradcompat.breaks.module_needs import ModuleNeeds, Symbol, leading_to, module_needs, providers_of
from gradcompat.breaks.pairs import Break, Need, Pair
from gradcompat.breaks.release_ranges import ranges_of
from gradcompat.model.code_use import CodeUse
from gradcompat.releases.answers import SpreadNeed
from gradcompat.releases.table import ReleaseTable, package_of, table_of

Imports = Mapping[Symbol, CodeUse]
"""What is imported from a package, and the use that leads to it."""


def imports_of(uses: Iterable[CodeUse], versions: Mapping[str, Version]) -> dict[str, dict[Symbol, CodeUse]]:
    """What code executes of each package, directly or through the others that are listed.

    Args:
        uses: of the code.
        versions: the one release of each package that is listed.
    """
    found: dict[str, dict[Symbol, CodeUse]] = {}
    # What surely runs first, so that it is named.
    waiting = [(_symbol(use), use) for use in sorted(uses, key=lambda use: use.conditional) if use.keyword is None]
    while waiting:
        fresh: dict[str, dict[Symbol, CodeUse]] = {}
        for symbol, use in waiting:
            package = package_of(symbol[0].partition(".")[0])
            if package is not None and package in versions and symbol not in found.setdefault(package, {}):
                found[package][symbol] = use
                fresh.setdefault(package, {})[symbol] = use
        waiting = [one for package in sorted(fresh) for one in _leading_on(package, fresh[package], versions[package])]
    return found


def _symbol(use: CodeUse) -> Symbol:
    """``transformers.models.llama`` as an attribute executes what its first part does."""
    return use.module, use.name if use.kind == "import" or use.name is None else use.name.partition(".")[0]


def _leading_on(package: str, imports: Imports, version: Version) -> Iterator[tuple[Symbol, CodeUse]]:
    """What the imports of a package take from others."""
    table = table_of(package)
    if table is None:
        return
    for (symbol,), needed in table.symbols_in_turn(version, ((symbol,) for symbol in imports)):
        for need in needed:
            yield need, imports[symbol]


def may_miss(versions: Mapping[str, Version]) -> list[tuple[str, str]]:
    """The listed packages of which some module misses something in another one that is listed."""
    return [
        (consumer, provider)
        for consumer, version in versions.items()
        for provider in providers_of(consumer)
        if provider in versions
        and (needs := module_needs(consumer, provider)) is not None
        and needs.missed(str(version), str(versions[provider]))
    ]


def really_missing(
    suspects: Iterable[tuple[str, str]], uses: Iterable[CodeUse], versions: Mapping[str, Version]
) -> list[tuple[str, str]]:
    """The suspects of which what the code executes misses something, without the use that leads to it."""
    suspects = tuple(suspects)
    leading = leading_to([consumer for consumer, _ in suspects], versions)
    symbols: dict[str, set[Symbol]] = {}
    needs: dict[str, set[Symbol]] = {}
    waiting = {_symbol(use) for use in uses if use.keyword is None}
    while waiting:
        fresh: dict[str, set[Symbol]] = {}
        for symbol in waiting:
            package = package_of(symbol[0].partition(".")[0])
            if package is not None and package in leading and symbol not in symbols.setdefault(package, set()):
                symbols[package].add(symbol)
                fresh.setdefault(package, set()).add(symbol)
        waiting = set()
        for package, some in fresh.items():
            table = table_of(package)
            taken = () if table is None else table.symbols_in_turn(versions[package], (tuple(some),))
            found_here = {symbol for _, symbols in taken for symbol in symbols}
            needs.setdefault(package, set()).update(found_here)
            waiting |= found_here
    return [
        (consumer, provider)
        for consumer, provider in suspects
        if (found := module_needs(consumer, provider)) is not None
        and not found.missed(str(versions[consumer]), str(versions[provider])).isdisjoint(needs.get(consumer, ()))
    ]


def leading_uses(consumer: str, provider: str, imports: Imports, versions: Mapping[str, Version]) -> list[CodeUse]:
    """The uses of which the imports miss something in the provider."""
    table, needs = table_of(consumer), module_needs(consumer, provider)
    if table is None or needs is None:
        return []
    missed = needs.missed(str(versions[consumer]), str(versions[provider]))
    return [
        use
        for symbol, use in imports.items()
        if not missed.isdisjoint((need.module, need.name) for need in table.needs(versions[consumer], *symbol))
    ]


def pairs_of_code(consumer: str, providers: Iterable[str], imports: Iterable[Symbol]) -> tuple[Pair, ...]:
    """Where the imports fail with one of the providers, over all releases of both packages."""
    table = table_of(consumer)
    return () if table is None else _pairs(table, consumer, tuple(providers), tuple(imports))


# A plan, each nearest change and each environment beside the same code ask for the same ones.
@lru_cache(maxsize=256)
def _pairs(
    table: ReleaseTable, consumer: str, providers: tuple[str, ...], imports: tuple[Symbol, ...]
) -> tuple[Pair, ...]:
    known = [(name, needs) for name in providers if (needs := module_needs(consumer, name)) is not None]
    if not known:
        return ()
    needed = table.needs_by_release(imports, {symbol for _, needs in known for symbol in needs.symbols})
    found: list[Pair] = []
    for provider, needs in known:
        breaks = tuple(_breaks(table, needs, [need for need in needed if (need.module, need.name) in needs.symbols]))
        if breaks:
            found.append(
                Pair(consumer=consumer, provider=provider, oldest=needs.providers[0], breaks=breaks, by_code=True)
            )
    return tuple(found)


def _breaks(table: ReleaseTable, needs: ModuleNeeds, needed: Sequence[SpreadNeed]) -> Iterator[Break]:
    groups: dict[tuple[int, tuple[Symbol, ...]], list[int]] = {}
    for number in range(len(table.versions)):
        missing = tuple(dict.fromkeys((need.module, need.name) for need in needed if need.releases >> number & 1))
        bits = 0
        for symbol in missing:
            bits |= needs.symbols[symbol].lacking
        if bits:
            groups.setdefault((bits, missing), []).append(number)
    # As the newest release says it; of several modules there the last one.
    places = {
        (need.module, need.name): (need.file, need.line)
        for need in sorted(needed, key=lambda need: need.releases.bit_length())
    }
    written = list(map(str, table.versions))
    for (bits, symbols), numbers in groups.items():
        yield Break(
            consumers=ranges_of(written, set(numbers).__contains__),
            providers=needs.ranges(bits),
            needs=tuple(
                Need(
                    module=module,
                    name=name,
                    file=places[module, name][0],
                    line=places[module, name][1],
                    absent=needs.ranges(needs.symbols[module, name].lacking),
                )
                for module, name in symbols
            ),
        )
