"""What conda installed into a prefix, from ``conda-meta``, without reporting a Python package a second time.

A Python package that conda installed has a record of conda and metadata in site-packages. The metadata counts: it has
the name and the version that Python code sees. A package without metadata (a library, CUDA) is what its record says.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable

from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.requirements.names import normalise
from gradcompat.sources.distributions import Distribution, printable
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_MAX_RECORD = 64 * 1024 * 1024
_METADATA_FOLDER = lazy_pattern(rb'"[^"\n]*-packages/([^"/\n]+\.(?:dist-info|egg-info))[/"]')
_FILES = lazy_pattern(rb'"files"\s*:\s*\[\s*"')
_SUBDIR = lazy_pattern(rb'"subdir"\s*:\s*"(linux|osx|win)-')
_PLATFORMS = {b"linux": "linux", b"osx": "darwin", b"win": "win32"}
# For records that do not list their files: the one name that differs and that every training stack has.
_PYTHON_NAMES = {"pytorch": "torch"}


@dataclass(frozen=True, slots=True)
class Record:
    """One package that conda installed; ``metadata`` are the names of its folders in site-packages."""

    package: Package
    metadata: frozenset[str]
    lists_files: bool

    @property
    def python_name(self) -> str:
        return _PYTHON_NAMES.get(self.package.name, normalise(self.package.name))


@dataclass(slots=True)
class CondaPrefix:
    """The records of a prefix, with the platform and the version of Python that they are for."""

    records: list[Record] = field(default_factory=list)
    platform: str | None = None
    python: str | None = None


def read_conda_meta(prefix: str, shown: str, skipped: list[Skipped]) -> CondaPrefix:
    """Read the records; a prefix that is not conda's has none."""
    conda = CondaPrefix()
    try:
        names = sorted(name for name in os.listdir(f"{prefix}/conda-meta") if name.endswith(".json"))
    except OSError:
        return conda
    for name in names:
        label = f"conda-meta/{printable(name)}"
        location = Location(path=label if shown in (".", "./") else f"{shown.rstrip('/')}/{label}")
        try:
            with open(f"{prefix}/conda-meta/{name}", "rb", opener=_open_without_waiting) as file:
                data = file.read(_MAX_RECORD)
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            skipped.append(Skipped(what=printable(name), reason=reason, location=location))
            continue
        named = _name_and_version(name, data)
        if named is None:
            reason = "is not a record of conda"
            skipped.append(Skipped(what=printable(name), reason=reason, location=location))
            continue
        package = Package(name=named[0], version=named[1], source="conda", location=location)
        metadata = frozenset(os.fsdecode(match) for match in _METADATA_FOLDER.findall(data))
        conda.records.append(Record(package, metadata, _FILES.search(data) is not None))
        if conda.platform is None and (subdir := _SUBDIR.search(data)):
            conda.platform = _PLATFORMS[subdir[1]]
        if package.name in ("python", "pypy"):
            conda.python = package.version
    return conda


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _name_and_version(file_name: str, data: bytes) -> tuple[str, str] | None:
    """From the name of the file, ``name-version-build.json``, where the content says the same.

    Parsing the thousand files that a record lists would take a hundred times as long.
    """
    parts = file_name.removesuffix(".json").rsplit("-", 2)
    if len(parts) == 3 and file_name.isascii() and file_name.isprintable():
        name, version, _ = parts
        if all(
            re.search(rf'"{key}"\s*:\s*"{re.escape(value)}"'.encode(), data)
            for key, value in (("name", name), ("version", version))
        ):
            return name, version
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return None
    match content:
        case {"name": str(name), "version": str(version)} if name and version and f"{name}{version}".isprintable():
            return name, version
    return None


def merge(distributions: Iterable[Distribution], conda: CondaPrefix, skipped: list[Skipped]) -> list[Package]:
    """Distributions and conda's records, each package once."""
    owned = {entry for record in conda.records for entry in record.metadata}
    without_files = {record.python_name for record in conda.records if not record.lists_files}
    packages: list[Package] = []
    present: set[str] = set()
    names: set[str] = set()
    for distribution in distributions:
        present.add(distribution.entry)
        names.add(distribution.package.name)
        from_conda = distribution.entry in owned or distribution.package.name in without_files
        packages.append(replace(distribution.package, source="conda") if from_conda else distribution.package)
    for record in conda.records:
        if record.metadata & present:
            continue
        if record.metadata:
            reason = f"conda installed {record.package.version}, and it was replaced or removed since"
            skipped.append(
                Skipped(what=record.package.name, reason=reason, gap=False, location=record.package.location)
            )
        elif record.python_name not in names:
            packages.append(record.package)
    return packages
