"""The modules of a release, out of its wheel or sdist: an archive that may be anything, of which nothing is run."""

from __future__ import annotations

import re
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO

from packaging.version import Version

from gradcompat.curation.module_store import FileKey, ModuleStore
from gradcompat.curation.release_row import NOTHING_READABLE, ReleaseRow
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


def fetch_wheel(file: IO[bytes], package: str, version: Version, store: ModuleStore) -> ReleaseRow:
    """Fetch the modules of a wheel that are not there yet. What cannot be unpacked is unknown, and says why.

    Args:
        file: the wheel; where it has ``prefetch``, it is told what will be read of it.
        package: whose release it is.
        version: of the release.
        store: has what was fetched before, and takes the rest.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = {
                module: member
                for member in archive.infolist()
                if (module := module_of(_DATA.sub("", member.filename))) is not None
            }
            keys = {module: _key(module, one.filename, one.CRC, one.file_size) for module, one in members.items()}
            missing = store.lacking(package, [key for key in keys.values() if key is not None])
            new = {key: members[key.module] for key in missing}
            reason = _too_much(len(members), sum(key.size for key in missing))
            if reason is not None:
                return _unread(version, reason)
            prefetch = getattr(file, "prefetch", None)
            if prefetch is not None:
                prefetch(
                    (member.header_offset, member.header_offset + member.compress_size + _HEADER)
                    for member in new.values()
                    if _fits(member)
                )
            _keep(store, package, {key: _content(archive, member) for key, member in new.items()})
    except BROKEN:
        return _unread(version, "its wheel is not a zip that can be read")
    return _row(version, keys, built=False)


def fetch_sdist(content: IO[bytes], package: str, version: Version, store: ModuleStore) -> ReleaseRow:
    """The same of an sdist, a ``tar.gz``; modules that building it would write are not in it."""
    found: dict[str, FileKey | None] = {}
    contents: dict[FileKey, bytes | str] = {}
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
                source = data.read() if data is not None and member.size <= _LARGEST_MODULE else None
                found[module] = key = _key(module, inner, zlib.crc32(source or b""), member.size)
                if key is not None:
                    contents[key] = _TOO_LARGE if source is None else source
    except BROKEN:
        return _unread(version, "its sdist is not a tar.gz that can be read")
    packages = {key.module.partition(".")[0] for key in contents if key.package or "." in key.module}
    kept = {module: one for module, one in found.items() if module.partition(".")[0] in packages}
    _keep(store, package, {key: one for key, one in contents.items() if key.module in kept})
    return _row(version, kept, built=True)


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


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes | str:
    """What a member holds, or why it cannot be read."""
    if not _fits(member):
        return _TOO_LARGE
    try:
        with archive.open(member) as file:
            return file.read(_LARGEST_MODULE + 1)
    except BROKEN:
        return "a file that cannot be unpacked"


def _keep(store: ModuleStore, package: str, contents: Mapping[FileKey, bytes | str]) -> None:
    store.add_sources(package, {key: one for key, one in contents.items() if isinstance(one, bytes)})
    store.add_facts(package, {key: one.encode() for key, one in contents.items() if isinstance(one, str)})


def _unread(version: Version, reason: str) -> ReleaseRow:
    return ReleaseRow(version=version, unread=reason)


def _key(module: str, path: str, crc: int, size: int) -> FileKey | None:
    """The file of a module; None where it is compiled."""
    return None if _is_binary(path) else FileKey(module, path.endswith("__init__.py"), crc, size)


def _row(version: Version, files: Mapping[str, FileKey | None], *, built: bool) -> ReleaseRow:
    if all(key is None for key in files.values()):
        return _unread(version, NOTHING_READABLE)
    return ReleaseRow(version=version, built=built, files=files)
