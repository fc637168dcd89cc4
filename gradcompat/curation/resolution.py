"""The modules of releases as a table has them, with what is known only beside the other modules of a release put in.

Most modules say the same in release after release: each is looked at once for every file that it was.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gradcompat.curation.loss_facts import LossReader
from gradcompat.curation.module_facts import ModuleFacts, Origin
from gradcompat.curation.module_store import Facts, FileKey
from gradcompat.curation.release_row import NOTHING_READABLE, ReleaseRow
from gradcompat.releases.runs import Value
from gradcompat.releases.table import (
    BINARY,
    COMPILED,
    EAGER,
    EXISTS,
    LAZY,
    NAMESPACE,
    OPEN,
    PACKAGE,
    PLAIN,
    RAISES,
)

Line = Mapping[str, Value]
Sections = Mapping[str, Line]
"""Of one module: section → key → value."""


@dataclass(frozen=True, slots=True)
class State:
    """What a module says in consecutive releases.

    Attributes:
        start: the number of the first of them.
        end: the number behind the last.
        sections: what the table has of it.
    """

    start: int
    end: int
    sections: Sections


Read = Callable[[FileKey], Facts]


def judged(row: ReleaseRow, read: Read) -> ReleaseRow:
    """The row, as that of a release of which nothing can be read if none of its modules can."""
    if row.unread is None and not any(
        isinstance(read(key), ModuleFacts) for key in row.files.values() if key is not None
    ):
        return ReleaseRow(version=row.version, unread=NOTHING_READABLE)
    return row


def module_states(rows: Sequence[ReleaseRow], read: Read) -> Iterator[tuple[str, Sequence[State]]]:
    """Each module of some releases with what it says in each of them; a release is its number in ``rows``.

    Args:
        rows: from low to high.
        read: the facts of a file; called twice for each, so that they need not be kept in memory.
    """
    context = _Context(read)
    releases = [_Release(row, context) for row in rows]
    modules = sorted({module for release in releases for module in release.modules})
    for module in modules:
        states: list[State] = []
        last: object = None
        made: dict[object, Sections] = {}
        for number, release in enumerate(releases):
            if module not in release.modules:
                last = None
                continue
            said = release.said(module)
            if last is not None and said == last:
                states[-1] = replace(states[-1], end=number + 1)
                continue
            if said not in made:
                made[said] = release.sections(module, read)
            states.append(State(number, number + 1, made[said]))
            last = said
        yield module, states
    yield from _losses(releases)


def _losses(releases: Sequence[_Release]) -> Iterator[tuple[str, Sequence[State]]]:
    """The models that can be imported from the top of a package, by the package's module."""
    tops = sorted({top for release in releases for top in release.row.imports})
    for top in tops:
        states: list[State] = []
        for number, release in enumerate(releases):
            found = release.models(top)
            if not found:
                continue
            if states and states[-1].end == number and states[-1].sections["models"] == found:
                states[-1] = replace(states[-1], end=number + 1)
            else:
                states.append(State(number, number + 1, {"models": found}))
        if states:
            yield top, states


class _Context:
    """What other modules have to know of a module, by its file."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._known: dict[FileKey, Facts] = {}

    def of(self, key: FileKey) -> Facts:
        if key not in self._known:
            facts = self._read(key)
            if isinstance(facts, ModuleFacts):
                facts = replace(facts, imports=(), signatures={})
            self._known[key] = facts
        return self._known[key]


class _Release:
    """One release, as far as one module has to know of another."""

    def __init__(self, row: ReleaseRow, context: _Context) -> None:
        self.row = row
        self._facts: dict[str, ModuleFacts] = {}
        for module, key in row.files.items():
            if key is not None:
                facts = context.of(key)
                if isinstance(facts, ModuleFacts):
                    self._facts[module] = facts
        self.modules: dict[str, FileKey | None] = dict(row.files)
        for module in row.files:
            parts = module.split(".")
            for length in range(1, len(parts)):
                self.modules.setdefault(".".join(parts[:length]), _FOLDER)
        self._tops = row.imports
        self._sorted = sorted(self._facts)
        self._stars: dict[str, tuple[dict[str, Origin], str | None]] = {}
        self._under_way: set[str] = set()
        self._names: dict[str, tuple[tuple[str, Value], ...]] = {}

    def said(self, module: str) -> object:
        """What decides what the table has of a module: releases in which it is the same have the same of it."""
        key = self.modules[module]
        facts = self._facts.get(module)
        beside = None
        if facts is not None and (facts.stars or facts.structured or facts.whole):
            beside = tuple(self._beside(module, facts).items())
        return key, self._tops, beside

    def sections(self, module: str, read: Read) -> Sections:
        """What the table has of a module."""
        key = self.modules[module]
        if key is _FOLDER:
            return {"names": {EXISTS: NAMESPACE}}
        if key is None:
            return {"names": {EXISTS: BINARY, OPEN: COMPILED}}
        facts = read(key)
        if isinstance(facts, str):
            return {"names": {EXISTS: PLAIN, OPEN: facts}}
        return {
            "names": self._beside(module, facts),
            "needs": _needs(facts, self._tops),
            "signatures": {name: "\n".join(parts) for name, parts in facts.signatures.items()},
            "classes": {
                name: "\n".join((one.kind, " ".join(one.bases), *one.fields)) for name, one in facts.classes.items()
            },
        }

    def models(self, top: str) -> Line:
        """What the loss of each model does that can be imported from the top of the package."""
        facts = self._facts.get(top)
        return {} if facts is None else LossReader(self._facts, self.origin).models(self._beside(top, facts))

    def origin(self, module: str, name: str) -> tuple[str, str] | None:
        """The module of this release that defines a name, and the name there; None for one of another package."""
        for _ in range(_MOST_STEPS):
            facts = self._facts.get(module)
            if facts is None:
                return None
            if name in facts.classes:
                return module, name
            found = facts.origins.get(name)
            if found is None and name in facts.lazy:
                found = Origin(facts.lazy[name], name)
            if found is None:
                found = self._stars_of(module)[0].get(name)
            if found is None:
                found = self._structured(module, facts, name)
            if found is None or not found.name:
                return None
            module, name = found.module, found.name
        return None

    def _beside(self, module: str, facts: ModuleFacts) -> Line:
        """The names of a module."""
        found: dict[str, Value] = {EXISTS: RAISES if facts.raises else PACKAGE if facts.package else PLAIN}
        reason = facts.open
        if not facts.only_lazy:
            starred, unknown = self._stars_of(module)
            reason = reason or unknown
            for name, origin in starred.items():
                found[name] = _from(EAGER, origin, name)
            for name in sorted(facts.own):
                found[name] = 1
            for name, origin in facts.origins.items():
                found[name] = _from(EAGER, origin, name)
        for other in facts.whole:
            there = self._facts.get(other)
            for name in () if there is None else sorted({*there.own, *there.origins}):
                if not name.startswith("_"):
                    found[name] = _from(LAZY, Origin(other, name), name)
        for other in self._below(module, facts):
            for name in self._facts[other].exported:
                found[name] = _from(LAZY, Origin(other, name), name)
        for name, target in facts.lazy.items():
            # `utils.quantization_config` of a table may stand for a name in it, or be the module itself.
            found[name] = _from(LAZY, Origin(target, name), name) if target != module else 1
        if reason is not None:
            found[OPEN] = reason
        return found

    def _structured(self, module: str, facts: ModuleFacts, name: str) -> Origin | None:
        """The module of a folder that a module takes its lazy names from, and that exports this one."""
        found = [other for other in self._below(module, facts) if name in self._facts[other].exported]
        return Origin(found[-1], name) if found else None

    def _below(self, module: str, facts: ModuleFacts) -> Iterator[str]:
        """The modules of the folders that a module takes its lazy names from."""
        for folder in facts.structured:
            start = ".".join([module, *folder.split("/"), ""]) if folder else f"{module}."
            for number in range(bisect_left(self._sorted, start), len(self._sorted)):
                other = self._sorted[number]
                if not other.startswith(start):
                    break
                above, _, last = other.rpartition(".")
                # transformers takes no names from the sources that a model's own modules are made of.
                if not (
                    last.startswith("modular_") and f"{above}.modeling_{last.removeprefix('modular_')}" in self._facts
                ):
                    yield other

    def _stars_of(self, module: str) -> tuple[dict[str, Origin], str | None]:
        """The names that ``from module import *`` brings to a module, and why it may bring others."""
        if module in self._stars:
            return self._stars[module]
        if module in self._under_way:
            return {}, None
        self._under_way.add(module)
        names: dict[str, Origin] = {}
        reason: str | None = None
        for star in self._facts[module].stars:
            target = self._facts.get(star)
            if target is None:
                reason = reason or f"everything of {star} is imported"
                continue
            if target.listed is not None:
                offered: Sequence[str] = target.listed
            else:
                inner, unknown = self._stars_of(star)
                reason = reason or unknown or target.open
                bound = target.lazy if target.only_lazy else {*target.own, *target.origins, *inner, *target.lazy}
                offered = sorted(name for name in bound if not name.startswith("_"))
            names |= {name: Origin(star, name) for name in offered}
        self._under_way.discard(module)
        self._stars[module] = (names, reason)
        return self._stars[module]


# Stands for a folder that has modules and is none itself.
_FOLDER = FileKey("", False, 0, 0)
_MOST_STEPS = 30


def _from(sign: str, origin: Origin, name: str) -> str:
    return f"{sign}{origin.module}" if origin.name == name else f"{sign}{origin.module} {origin.name}"


def _needs(facts: ModuleFacts, tops: frozenset[str]) -> dict[str, Value]:
    """``module:name`` → the line for what is of another package, 0 for what is of this one."""
    found: dict[str, Value] = {}
    for one in facts.imports:
        if one.guarded or not one.module:
            continue
        own = one.module.partition(".")[0] in tops
        found.setdefault(f"{one.module}:{one.name or ''}", 0 if own else one.line)
    return found
