"""The modules of releases as a table has them, with what is known only beside the other modules of a release put in.

Most modules say the same in release after release: each is looked at once for every file that it was.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gradcompat.curation.given_names import ANY
from gradcompat.curation.loss_facts import LossReader
from gradcompat.curation.module_facts import ModuleFacts, Origin
from gradcompat.curation.module_installs import ANYTHING
from gradcompat.curation.module_store import Facts, FileKey
from gradcompat.curation.release_row import NOTHING_READABLE, ReleaseRow
from gradcompat.releases.runs import Value
from gradcompat.releases.table import (
    BINARY,
    COMPILED,
    EAGER,
    EXISTS,
    INSTALLED,
    INSTALLED_BY,
    LAZY,
    NAMESPACE,
    OLD_PATHS,
    OPEN,
    PACKAGE,
    PLAIN,
    PUT,
    RAISES,
    SERVED,
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
    files = {module for release in releases for module in release.modules}
    installed = [_installed(release, files) for release in releases]
    for module in sorted(files.union(*installed)):
        states: list[State] = []
        last: object = None
        made: dict[object, Sections] = {}
        for number, release in enumerate(releases):
            if module not in release.modules and module not in installed[number]:
                last = None
                continue
            said = release.said(module) if module in release.modules else INSTALLED_BY
            if last is not None and said == last:
                states[-1] = replace(states[-1], end=number + 1)
                continue
            if said not in made:
                made[said] = release.sections(module, read) if module in release.modules else _INSTALLED
            states.append(State(number, number + 1, made[said]))
            last = said
        yield module, states
    yield from _losses(releases)


def _installed(release: _Release, files: Collection[str]) -> frozenset[str]:
    """The modules that a release may install and has no file of.

    A string that is no absolute path counts where some release has a file of that path.
    """
    found = set()
    for below, path in release.installs():
        if ANYTHING in path:
            found |= _composed(below, path, release.tops, files)
            continue
        if path.startswith("."):
            found.add(below + path)
            continue
        relative = f"{below}.{path}" if below else path
        if relative in files:
            found.add(relative)
        elif path.partition(".")[0] in release.tops and "." in path:
            found.add(path)
    return frozenset(found.difference(release.modules))


def _composed(below: str, path: str, tops: Collection[str], files: Collection[str]) -> set[str]:
    """The files' modules whose paths an f-string may make."""
    absolute = path if path.partition(".")[0] in tops else f"{below}.{path.removeprefix('.')}"
    pattern = re.compile(r"[\w.]+".join(map(re.escape, absolute.split(ANYTHING))))
    return {module for module in files if pattern.fullmatch(module)}


def _losses(releases: Sequence[_Release]) -> Iterator[tuple[str, Sequence[State]]]:
    """The models that can be imported from the top of a package, by the package's module."""
    tops = sorted({top for release in releases for top in release.tops})
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
        self.tops = row.imports
        self._sorted = sorted(self._facts)
        self._stars: dict[str, tuple[dict[str, Origin], str | None]] = {}
        self._under_way: set[str] = set()
        self._names: dict[str, tuple[tuple[str, Value], ...]] = {}
        self._given: dict[str, set[str]] = {}
        for facts in self._facts.values():
            for one in facts.gives:
                owner, _, name = one.partition(" ")
                self._given.setdefault(owner, set()).add(name)

    def installs(self) -> Iterator[tuple[str, str]]:
        """Each path that a module may install, behind what it is below: the module's package, or the module."""
        for module, facts in self._facts.items():
            above = module if facts.package else module.rpartition(".")[0]
            for path in facts.installs:
                yield module if path.startswith(".") else above, path

    def _old_paths(self, top: str) -> Value | None:
        """How the modules at the top and below it keep paths alive that no file has; None for a module below it."""
        if top not in self.tops:
            return None
        inside = [facts for module, facts in self._facts.items() if module.partition(".")[0] == top]
        if any(facts.finder for facts in inside):
            return SERVED
        return PUT if any(facts.installs for facts in inside) else None

    def said(self, module: str) -> object:
        """What decides what the table has of a module: releases in which it is the same have the same of it."""
        key = self.modules[module]
        facts = self._facts.get(module)
        beside = None
        if facts is not None and (facts.stars or facts.structured or facts.whole):
            beside = tuple(self._beside(module, facts).items())
        return key, self.tops, beside, self._old_paths(module), self._given_to(module)

    def sections(self, module: str, read: Read) -> Sections:
        """What the table has of a module."""
        sections, kept = self._own_sections(module, read), self._old_paths(module)
        return sections if kept is None else {**sections, "names": {**sections["names"], OLD_PATHS: kept}}

    def _own_sections(self, module: str, read: Read) -> Sections:
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
            "needs": _needs(facts, self.tops),
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
        for name in self._given_to(module):
            if name == ANY:
                reason = reason or _GIVEN
            else:
                found.setdefault(name, 1)
        if reason is not None:
            found[OPEN] = reason
        return found

    def _given_to(self, module: str) -> tuple[str, ...]:
        """The names that other modules put into one, sorted."""
        above = f"{module.rpartition('.')[0]}.{ANY}"
        return tuple(sorted(self._given.get(module, set()) | self._given.get(above, set())))

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

    def _parts_of(self, module: str) -> Iterator[str]:
        """The modules directly below one, by their last names."""
        start = f"{module}."
        for number in range(bisect_left(self._sorted, start), len(self._sorted)):
            if not self._sorted[number].startswith(start):
                break
            yield self._sorted[number].removeprefix(start).partition(".")[0]

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
                # A submodule that something has imported by then is a name like any other.
                parts = self._parts_of(star)
                bound = (
                    target.lazy if target.only_lazy else {*target.own, *target.origins, *inner, *target.lazy, *parts}
                )
                offered = sorted(name for name in bound if not name.startswith("_"))
            names |= {name: Origin(star, name) for name in offered}
        self._under_way.discard(module)
        self._stars[module] = (names, reason)
        return self._stars[module]


# Why a module may have more names than its source shows.
_GIVEN = "another module that puts names into it"
_INSTALLED: Sections = {"names": {EXISTS: INSTALLED, OPEN: INSTALLED_BY}}
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
