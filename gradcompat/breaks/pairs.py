"""Which releases of two packages cannot be imported beside each other, compiled from the tables of releases.

A check reads this one file, and none of the tables: whoever lists two packages wants to know whether they go together,
not what each of them exports. ``gradcompat knowledge pairs --compile`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from gradcompat.errors import KnowledgeError
from gradcompat.requirements.versions import VersionSet, locate
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.truth import Truth

FORMAT = 1
COMPILED = Path(__file__).parent / "pairs.json"
_AGAIN = "install gradcompat again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What importing a package takes from another one.

    Attributes:
        module: of the other package.
        name: what is imported from it; None for the module itself.
        file: in the wheel of the package that is imported, where this stands.
        line: in that file, of the newest release that has it.
        absent: the releases of the other package that surely do not have it.
    """

    module: str
    name: str | None
    file: str
    line: int
    absent: VersionSet

    @property
    def text(self) -> str:
        """``transformers.HybridCache``."""
        return self.module if self.name is None else f"{self.module}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """Releases of a package that do not import beside releases of another one, and what they miss there."""

    consumers: VersionSet
    providers: VersionSet
    needs: tuple[Need, ...]

    def missed(self, provider: str) -> tuple[Need, ...]:
        """What a release of the other package surely does not have; everything where that is not known."""
        beside = locate(provider)
        if beside is None:
            return self.needs
        return tuple(need for need in self.needs if need.absent.truth(beside) is Truth.YES) or self.needs


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two packages of which one imports the other.

    Attributes:
        consumer: the package that is imported, by its canonical name.
        provider: the package that it needs.
        oldest: the oldest release of the provider that was read; nothing is known of those before.
        breaks: where that fails; disjoint in the consumer's releases.
        by_code: it is about what the project's code imports from the consumer, not about ``import consumer`` alone.
    """

    consumer: str
    provider: str
    oldest: str
    breaks: tuple[Break, ...]
    by_code: bool = False

    def broken(self, consumer: str, provider: str) -> Break | None:
        """The break of these two versions; None if there is none for sure."""
        at, beside = locate(consumer), locate(provider)
        if at is None or beside is None:
            return None
        for one in self.breaks:
            if one.consumers.truth(at) is Truth.YES and one.providers.truth(beside) is Truth.YES:
                return one
        return None


def pairs_among(names: Collection[str]) -> Iterator[Pair]:
    """Every pair of these packages, by their canonical names.

    Raises:
        KnowledgeError: if the file is missing or broken.
    """
    content = _content(COMPILED)
    for consumer in sorted(content.keys() & set(names)):
        for provider in sorted(content[consumer].keys() & set(names)):
            yield _pair(COMPILED, consumer, provider)


def known_names() -> frozenset[str]:
    """Every package of which some pair is known."""
    content = _content(COMPILED)
    return frozenset(content).union(*content.values()) if content else frozenset()


def pair_of(consumer: str, provider: str) -> Pair | None:
    """The pair of these two; None where none of their releases are known to break."""
    return _pair(COMPILED, consumer, provider) if provider in _content(COMPILED).get(consumer, {}) else None


@lru_cache(maxsize=2)
def _content(path: Path) -> Mapping[str, Mapping[str, Any]]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise KnowledgeError(f"cannot be read: {error}", path=str(path), hint=_AGAIN) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise KnowledgeError("is of another format", path=str(path), hint=_AGAIN)
    pairs: Mapping[str, Mapping[str, Any]] = data["pairs"]
    return pairs


@lru_cache(maxsize=1024)
def _pair(path: Path, consumer: str, provider: str) -> Pair:
    data = _content(path)[consumer][provider]
    needs = [
        Need(module=module, name=name, file=file, line=line, absent=VersionSet.parse(absent))
        for module, name, file, line, absent in data["needs"]
    ]
    return Pair(
        consumer=consumer,
        provider=provider,
        oldest=data["oldest"],
        breaks=tuple(
            Break(
                consumers=VersionSet.parse(consumers),
                providers=VersionSet.parse(providers),
                needs=tuple(needs[number] for number in numbers),
            )
            for consumers, providers, numbers in data["breaks"]
        ),
    )


def data_of(pairs: Collection[Pair]) -> dict[str, Any]:
    """The content of the file."""
    content: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        needs = list(dict.fromkeys(need for one in pair.breaks for need in one.needs))
        content.setdefault(pair.consumer, {})[pair.provider] = {
            "oldest": pair.oldest,
            "needs": [[need.module, need.name, need.file, need.line, str(need.absent)] for need in needs],
            "breaks": [
                [str(one.consumers), str(one.providers), [needs.index(need) for need in one.needs]]
                for one in pair.breaks
            ],
        }
    return {"format": FORMAT, "pairs": content}
