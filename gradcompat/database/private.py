"""Somebody's own records from files, folders and installed distributions, checked as those that ship are."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gradcompat._version import __version__
from gradcompat.config.project_file import BESIDE, why_not_inside
from gradcompat.errors import KnowledgeError, UsageError
from gradcompat.files.regular_files import read_regular
from gradcompat.files.user_folders import cache_folder
from gradcompat.index.cache import Cache
from gradcompat.knowledge.distributions import KnowledgeDistribution
from gradcompat.knowledge.load import KnowledgeBase, joined, knowledge_from
from gradcompat.startup.lazy_dataclasses import dataclass, replace

MAX_FILE = 8 * 2**20
_SUFFIXES = (".yaml", ".yml")


def with_place(base: KnowledgeBase, place: str, path: Path, within: Path | None = None) -> KnowledgeBase:
    """The knowledge base with the records of a file or a folder.

    Args:
        base: the records so far.
        place: what messages call it.
        path: where it lies.
        within: the folder that nothing of it may lead out of; None where the user named it.

    Raises:
        UsageError: if it names none.
        KnowledgeError: if they are not right.
    """
    for file in files_of(place, path, within):
        base = with_file(base, file)
    return base


def with_distribution(base: KnowledgeBase, distribution: KnowledgeDistribution) -> KnowledgeBase:
    """The knowledge base with the records of an installed distribution.

    Raises:
        UsageError: if it has none.
        KnowledgeError: if they are not right.
    """
    files = list(files_of(str(distribution), distribution.folder))
    for file in files:
        # A distribution has one file as a rule, and then its name and version say enough.
        base = with_file(base, replace(file, name=str(distribution)) if len(files) == 1 else file)
    return base


def with_file(base: KnowledgeBase, file: OwnFile) -> KnowledgeBase:
    """The knowledge base with the records of one more file.

    Raises:
        KnowledgeError: if they are not right, or an id of them is taken.
    """
    own = knowledge_from(_compiled(file, base), file.name)
    return joined(base, own, replace(own.sources[0], kind="private", name=file.name))


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of records.

    Attributes:
        name: what messages call it.
        content: its bytes.
        path: where it is.
        within: the folder that what stands beside it may not lead out of.
    """

    name: str
    content: bytes
    path: Path
    within: Path | None = None

    @property
    def text(self) -> str:
        """Its content as text.

        Raises:
            KnowledgeError: if it is none.
        """
        try:
            return self.content.decode("utf-8")
        except UnicodeDecodeError:
            raise KnowledgeError("is not UTF-8 text", path=self.name) from None


def files_of(place: str, path: Path, within: Path | None = None) -> Iterator[OwnFile]:
    """The files of records that are a path, or lie in a folder.

    Args:
        place: what messages call it.
        path: where it lies.
        within: the folder that nothing of it may lead out of; None where the user named it.

    Raises:
        UsageError: if there is none, or one cannot be read.
    """
    if not place:
        raise UsageError("`--knowledge` names nothing", hint="name a file or a folder")
    if "://" in place and not os.path.exists(path):
        hint = "install them as a distribution, or fetch them and name the file"
        raise UsageError("records are not fetched from an address", path=place, hint=hint)
    if not os.path.isdir(path):
        yield OwnFile(place, _content(path, place, within), path, within)
        return
    try:
        found = sorted(one for one in path.iterdir() if one.suffix in _SUFFIXES and not one.name.startswith("."))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=place) from None
    if not found:
        raise UsageError("holds no file of records", path=place, hint="records stand in files that end with .yaml")
    for hit in found:
        shown = (Path(place) / hit.name).as_posix()
        yield OwnFile(shown, _content(hit, shown, within), hit, within)


def _content(path: Path, shown: str, within: Path | None) -> bytes:
    if within is not None and (wrong := why_not_inside(path, within)) is not None:
        raise UsageError(wrong, path=shown, hint=BESIDE)
    try:
        content = read_regular(path, MAX_FILE + 1)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=shown) from None
    if len(content) > MAX_FILE:
        raise UsageError(f"is larger than {MAX_FILE // 2**20} MiB", path=shown)
    return content


def _compiled(file: OwnFile, base: KnowledgeBase) -> dict[str, Any]:
    """The records of a file, checked; what was checked before, by the same gradcompat beside the same records, is kept.

    Checking takes as long as several checks of a lockfile: the schema, every example, what was measured.
    """
    folder = file.path.parent / "measured"
    beside = sorted(folder.glob("*.jsonl"))
    whole = hashlib.sha256()
    for part in (__version__.encode(), base.digest.encode(), file.name.encode("utf-8", "replace"), file.content):
        whole.update(b"%d " % len(part) + part)
    for path in beside:
        whole.update(_content(path, path.as_posix(), file.within))
    cache = Cache(cache_folder(os.environ, sys.platform))
    entry = cache.read("checked-records", whole.hexdigest())
    if entry is not None:
        try:
            kept = json.loads(entry.parts[0])
            if isinstance(kept, dict):
                return kept
        except (ValueError, IndexError):
            pass
    from gradcompat.knowledge.matrix import load_rows
    from gradcompat.knowledge.measured import read_rows
    from gradcompat.knowledge.private import compiled_own

    rows = (*load_rows(), *(read_rows(folder) if beside else ()))
    compiled = compiled_own(file.content, file.name, rows, base)
    cache.write("checked-records", whole.hexdigest(), [json.dumps(compiled).encode()])
    return compiled
