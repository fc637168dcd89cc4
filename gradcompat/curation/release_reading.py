"""Reading a release out of its wheel or sdist: an archive that may be anything, of which nothing is run."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Mapping
from typing import IO

from packaging.version import Version

from gradcompat.curation.facts_store import FactsStore, FileKey
from gradcompat.curation.module_facts import ModuleFacts
from gradcompat.curation.module_reading import read_module
from gradcompat.curation.release_row import ReleaseRow, resolved
from gradcompat.index.archives import BROKEN

# A module that is larger is not read; the largest of any package that is read by hand has 1.2 MB.
_LARGEST_MODULE = 4 * 2**20
# All modules of a release.
_LARGEST_RELEASE = 400 * 2**20
_MOST_FILES = 60_000

# Parts of the names of modules that nobody imports from: they would be most of some packages.
SKIPPED = frozenset({"tests", "test", "testing_data", "examples", "benchmarks", "docs", "conftest", "templates"})
_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/")
_EXTENSION = re.compile(r"(?:\.cpython-\w+(?:-[\w-]+)?|\.cp\d+-\w+|\.abi3)?\.(?:so|pyd)")


def read_wheel(file: IO[bytes], package: str, version: Version, known: FactsStore) -> ReleaseRow:
    """Read a wheel. What cannot be read of it is unknown, and says why.

    Args:
        file: the wheel; where it has ``prefetch``, it is told what will be read of it.
        package: whose release it is.
        version: of the release.
        known: is asked before a file is unpacked, and told.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = {
                module: member
                for member in archive.infolist()
                if (module := module_of(_DATA.sub("", member.filename))) is not None
            }
            keys = {module: FileKey(module, one.CRC, one.file_size) for module, one in members.items()}
            facts = known.find(package, keys.values())
            new = {
                module: one
                for module, one in members.items()
                if keys[module] not in facts and not _is_binary(one.filename)
            }
            reason = _too_much(len(members), sum(one.file_size for one in new.values()))
            if reason is not None:
                return _unread(version, reason)
            prefetch = getattr(file, "prefetch", None)
            if prefetch is not None:
                prefetch(
                    (one.header_offset, one.header_offset + one.compress_size + _HEADER)
                    for one in new.values()
                    if _fits(one)
                )
            read = {keys[module]: _member(archive, member, module) for module, member in new.items()}
            known.add(package, read)
            facts |= read
            found: dict[str, ModuleFacts | str | None] = {
                module: None if _is_binary(one.filename) else facts[keys[module]] for module, one in members.items()
            }
    except BROKEN:
        return _unread(version, "its wheel is not a zip that can be read")
    return _row(version, found, built=False)


def read_sdist(content: IO[bytes], version: Version) -> ReleaseRow:
    """Read an sdist, a ``tar.gz``; modules that building it would write are not in it."""
    found: dict[str, ModuleFacts | str | None] = {}
    size = 0
    try:
        with tarfile.open(fileobj=content, mode="r:gz") as archive:
            for member in archive:
                inner = member.name.partition("/")[2].removeprefix("src/").removeprefix("python/")
                module = module_of(inner)
                if module is None or not member.isreg() or module.partition(".")[0] in ("setup", "csrc"):
                    continue
                size += member.size
                reason = _too_much(len(found), size)
                if reason is not None:
                    return _unread(version, reason)
                data = archive.extractfile(member)
                if member.size > _LARGEST_MODULE or data is None:
                    found[module] = _TOO_LARGE
                else:
                    found[module] = _module(data.read(), module, inner)
    except BROKEN:
        return _unread(version, "its sdist is not a tar.gz that can be read")
    packages = {
        module.partition(".")[0]
        for module, one in found.items()
        if "." in module or (isinstance(one, ModuleFacts) and one.package)
    }
    return _row(version, {m: one for m, one in found.items() if m.partition(".")[0] in packages}, built=True)


def module_of(path: str) -> str | None:
    """The module that a file of an archive is; None for what is none, or is not read."""
    extension = _EXTENSION.search(path)
    stem = path[: extension.start()] if extension is not None and extension.end() == len(path) else None
    if stem is None:
        if not path.endswith(".py"):
            return None
        stem = path[:-3]
    parts = stem.split("/")
    if parts[-1] == "__init__":
        parts.pop()
    if not parts or not all(part.isidentifier() for part in parts) or SKIPPED.intersection(parts):
        return None
    return ".".join(parts)


_HEADER = 512  # a local header has 30 bytes, the name, and a few more
_TOO_LARGE = "a file that is too large"


def _is_binary(path: str) -> bool:
    return not path.endswith(".py")


def _fits(member: zipfile.ZipInfo) -> bool:
    return member.file_size <= _LARGEST_MODULE


def _too_much(files: int, size: int) -> str | None:
    if files > _MOST_FILES:
        return f"it has more than {_MOST_FILES} files"
    return f"its modules have more than {_LARGEST_RELEASE // 2**20} MiB" if size > _LARGEST_RELEASE else None


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, module: str) -> ModuleFacts | str:
    if not _fits(member):
        return _TOO_LARGE
    try:
        with archive.open(member) as file:
            content = file.read(_LARGEST_MODULE + 1)
    except BROKEN:
        return "a file that cannot be unpacked"
    return _module(content, module, member.filename)


def _module(content: bytes, module: str, path: str) -> ModuleFacts | str:
    try:
        return read_module(content, module, package=path.endswith("__init__.py"))
    except ValueError as error:
        return f"a file that {error}"


def _unread(version: Version, reason: str) -> ReleaseRow:
    return ReleaseRow(version=version, unread=reason, sections={})


def _row(version: Version, found: Mapping[str, ModuleFacts | str | None], *, built: bool) -> ReleaseRow:
    if not any(isinstance(one, ModuleFacts) for one in found.values()):
        return _unread(version, "it has no module that can be read")
    tops = tuple(sorted({module.partition(".")[0] for module in found}))
    return ReleaseRow(version=version, imports=tops, built=built, sections=resolved(found))
