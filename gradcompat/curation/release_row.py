"""One release as a row: every module of it, with what is known only beside the others put in."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from packaging.version import Version

from gradcompat.curation.module_facts import ModuleFacts, Origin
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

Section = Mapping[str, Mapping[str, Value]]
"""Module → key → value."""

# Raised with every change of what is read: rows of another reader are read again.
READER = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRow:
    """What was read of a release.

    Attributes:
        version: of the package.
        reader: which reader read it.
        imports: the modules at its top.
        built: it was read from an sdist, whose build may add modules.
        unread: why nothing of it could be read; None where something was.
        sections: what the table has of it.
    """

    version: Version
    reader: int = READER
    imports: tuple[str, ...] = ()
    built: bool = False
    unread: str | None = None
    sections: Mapping[str, Section]


def resolved(modules: Mapping[str, ModuleFacts | str | None]) -> dict[str, Section]:
    """What the modules of a release say together.

    Args:
        modules: by name; a sentence where it could not be read, None where it is compiled.
    """
    readable = {name: facts for name, facts in modules.items() if isinstance(facts, ModuleFacts)}
    names: dict[str, dict[str, Value]] = {}
    needs: dict[str, dict[str, Value]] = {}
    signatures: dict[str, dict[str, Value]] = {}
    classes: dict[str, dict[str, Value]] = {}
    stars = _Stars(readable)
    tops = {module.partition(".")[0] for module in modules}
    for module, facts in modules.items():
        if not isinstance(facts, ModuleFacts):
            kind = BINARY if facts is None else PLAIN
            names[module] = {EXISTS: kind, OPEN: COMPILED if facts is None else facts}
            continue
        names[module] = _names(module, facts, readable, stars)
        needs[module] = _needs(facts, tops)
        if facts.signatures:
            signatures[module] = {name: "\n".join(parts) for name, parts in facts.signatures.items()}
        if facts.classes:
            classes[module] = {
                name: "\n".join((one.kind, " ".join(one.bases), *one.fields)) for name, one in facts.classes.items()
            }
    for module in list(names):
        parts = module.split(".")
        for length in range(1, len(parts)):
            names.setdefault(".".join(parts[:length]), {EXISTS: NAMESPACE})
    return {
        "names": names,
        "needs": {module: found for module, found in needs.items() if found},
        "signatures": signatures,
        "classes": classes,
    }


def dumps(row: ReleaseRow) -> bytes:
    """A row as it is kept."""
    content = {
        "version": str(row.version),
        "reader": row.reader,
        "imports": row.imports,
        "built": row.built,
        "unread": row.unread,
        "sections": row.sections,
    }
    return gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 5, mtime=0)


def loads(content: bytes) -> ReleaseRow:
    """What :func:`dumps` made of a row.

    Raises:
        ValueError: if it is none.
    """
    try:
        found = json.loads(gzip.decompress(content))
        return ReleaseRow(
            version=Version(found["version"]),
            reader=found["reader"],
            imports=tuple(found["imports"]),
            built=found["built"],
            unread=found["unread"],
            sections=found["sections"],
        )
    except (OSError, EOFError, KeyError, TypeError):
        raise ValueError("is no row of a release") from None


def _names(module: str, facts: ModuleFacts, modules: Mapping[str, ModuleFacts], stars: _Stars) -> dict[str, Value]:
    found: dict[str, Value] = {EXISTS: RAISES if facts.raises else PACKAGE if facts.package else PLAIN}
    reason = facts.open
    if not facts.only_lazy:
        starred, unknown = stars.of(module)
        reason = reason or unknown
        for name, origin in starred.items():
            found[name] = _from(EAGER, origin, name)
        for name in facts.own:
            found[name] = 1
        for name, origin in facts.origins.items():
            found[name] = _from(EAGER, origin, name)
    for folder in facts.structured:
        below = ".".join([module, *folder.split("/")]) if folder else module
        for other, there in modules.items():
            if other.startswith(f"{below}."):
                for name in there.exported:
                    found[name] = _from(LAZY, Origin(other, name), name)
    for name, target in facts.lazy.items():
        # `utils.quantization_config` of a table may stand for a name in it, or be the module itself.
        found[name] = _from(LAZY, Origin(target, name), name) if target != module else 1
    if reason is not None:
        found[OPEN] = reason
    return found


def _from(sign: str, origin: Origin, name: str) -> str:
    return f"{sign}{origin.module}" if origin.name == name else f"{sign}{origin.module} {origin.name}"


def _needs(facts: ModuleFacts, tops: set[str]) -> dict[str, Value]:
    """``module:name`` → the line for what is of another package, 0 for what is of this one."""
    found: dict[str, Value] = {}
    for one in facts.imports:
        if one.guarded or not one.module:
            continue
        own = one.module.partition(".")[0] in tops
        found.setdefault(f"{one.module}:{one.name or ''}", 0 if own else one.line)
    return found


class _Stars:
    """What ``from module import *`` brings, through any number of modules."""

    def __init__(self, modules: Mapping[str, ModuleFacts]) -> None:
        self._modules = modules
        self._found: dict[str, tuple[dict[str, Origin], str | None]] = {}
        self._under_way: set[str] = set()

    def of(self, module: str) -> tuple[dict[str, Origin], str | None]:
        """The names that the stars of a module bring, and why they may bring others."""
        if module in self._found:
            return self._found[module]
        facts = self._modules[module]
        if module in self._under_way:
            return {}, None
        self._under_way.add(module)
        names: dict[str, Origin] = {}
        reason: str | None = None
        for star in facts.stars:
            target = self._modules.get(star)
            if target is None:
                reason = reason or f"everything of {star} is imported"
                continue
            if target.listed is not None:
                offered: Sequence[str] = target.listed
            else:
                inner, unknown = self.of(star)
                reason = reason or unknown or target.open
                bound = target.lazy if target.only_lazy else {*target.own, *target.origins, *inner, *target.lazy}
                offered = [name for name in bound if not name.startswith("_")]
            names |= {name: Origin(star, name) for name in offered}
        self._under_way.discard(module)
        self._found[module] = (names, reason)
        return self._found[module]
