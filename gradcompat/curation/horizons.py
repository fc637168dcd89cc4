"""How far releases were looked at: what has appeared behind, and the records that say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from packaging.version import Version

from gradcompat.edit.atomic_write import FileEdit, write
from gradcompat.errors import IndexUnavailable, KnowledgeError, UsageError
from gradcompat.files.regular_files import read_regular
from gradcompat.index.snapshot import shipped_snapshot
from gradcompat.knowledge.compile import compile_records
from gradcompat.knowledge.load import KnowledgeBase, knowledge_from
from gradcompat.knowledge.measured import FOLDER, read_rows
from gradcompat.knowledge.records import read
from gradcompat.knowledge.review_horizon import advance_horizon, seen, spoken_of, with_horizon
from gradcompat.knowledge.schema import Horizon
from gradcompat.model.release import Catalogue, Release
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import parse_version


@dataclass(frozen=True, slots=True)
class HorizonUpdate:
    """What has been written.

    Attributes:
        before: the horizons that stood in the file, by package.
        changes: those that stand there now in their place.
        missing: the packages that records speak of, and that still have none.
    """

    before: Mapping[str, Horizon]
    changes: Mapping[str, Horizon]
    missing: Sequence[str]


def behind(name: str, base: KnowledgeBase, catalogue: Catalogue) -> list[Release]:
    """The final releases behind the horizon of a package that are not withdrawn; all of them where it has none.

    Raises:
        IndexUnavailable: if the package could not be looked up.
    """
    horizon = base.horizon.get(name)
    last = None if horizon is None else parse_version(horizon[0])
    every = catalogue.releases(name)
    if not every:
        raise IndexUnavailable(f"{catalogue.described} has no release of `{name}`")
    return [
        release
        for release in every
        if not release.yanked and not release.version.is_prerelease and (last is None or release.version > last)
    ]


def canonical(package: str, base: KnowledgeBase) -> str:
    """The name that records have for a package.

    Raises:
        UsageError: if none speaks of it.
    """
    name = normalise(package)
    name = base.names.families.get(name, name)
    if not base.knows(name):
        raise UsageError(f"no record mentions `{package}`")
    return name


def update_horizon(path: str, stated: Sequence[str], today: str, *, update: bool) -> HorizonUpdate:
    """Write how far releases were looked at into the file of records.

    Args:
        path: the file.
        stated: ``NAME==VERSION``, what somebody has looked at today, whatever the file says now.
        today: the day, as ``2026-12-31``.
        update: also raise what rows and examples show to have been looked at.

    Raises:
        KnowledgeError: if the file or the rows cannot be read, or the section has another form.
        UsageError: if something stated is no release of a package that records speak of.
        EditError: if the file cannot be written.
    """
    authored = read(Path(path))
    base = knowledge_from(compile_records(authored), path)
    changes: dict[str, Horizon] = {}
    if update:
        rows = read_rows(Path(path).parent / FOLDER)
        changes = advance_horizon(authored.horizon, seen(authored, rows, base.names, _released))
    for text in stated:
        name, _, version = text.partition("==")
        known = canonical(name, base)
        if parse_version(version) is None:
            raise UsageError(f"`--looked-at {text}` names no release", hint=f"write `--looked-at {known}==1.2.3`")
        changes[known] = Horizon(version=version.strip(), date=today)
    _write(path, changes)
    missing = sorted(spoken_of(authored) - base.names.families.keys() - authored.horizon.keys() - changes.keys())
    return HorizonUpdate(before=authored.horizon, changes=changes, missing=missing)


def _write(path: str, changes: Mapping[str, Horizon]) -> None:
    if not changes:
        return
    try:
        before = read_regular(path)
        text = before.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KnowledgeError(f"cannot be read: {error}", path=path) from None
    after = with_horizon(text, changes, path).encode()
    write([FileEdit(path=Path(path), shown=path, before=before, after=after)])


@lru_cache(maxsize=256)
def _released(name: str) -> Mapping[Version, str]:
    """The final releases that the snapshot has of a package, and their days; none where it does not have it."""
    try:
        releases = shipped_snapshot().releases(name)
    except IndexUnavailable:
        return {}
    return {release.version: (release.uploaded or "")[:10] for release in releases if not release.version.is_prerelease}
