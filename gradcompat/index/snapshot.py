"""The release metadata that ships with gradcompat: what a plan is made from where no index can be reached.

A zip with one member of compact JSON a package, so that only the packages that are asked for are decoded. In a member
every line of Requires-Dist stands once, and a release names runs of lines: consecutive releases share nearly all.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from gradcompat.errors import IndexUnavailable
from gradcompat.index.requirers import requirers_from
from gradcompat.model.release import Release, Requirers
from gradcompat.requirements.names import normalise

SHIPPED = Path(__file__).with_name("snapshot.zip")
FORMAT = 2
# No package can have a member of these names, because theirs end in `.json`.
HEADER, REQUIRERS = "snapshot", "requirers"
YANKED, SDIST = 1, 2

_MAX_FILE = 64 * 1024 * 1024
_MAX_MEMBER = 16 * 1024 * 1024


class Snapshot:
    """A catalogue of releases in a file; it is read once, and a package when it is first asked for.

    What surprises: days, not times, are kept, and a release counts as uploaded in the last second of its day, so that
    one that came later than a given moment never passes for an earlier one. Of releases before :attr:`since` the
    requirements are not kept, which :meth:`requires` answers with None.

    Attributes:
        date: the day on which it was taken, as ISO 8601.
        since: the first day from which on releases have their requirements here.
        names: the packages that it has.
    """

    def __init__(self, path: Path = SHIPPED) -> None:
        """Open a snapshot.

        Raises:
            IndexUnavailable: if it is missing, damaged or of another format.
        """
        self._path = str(path)
        try:
            with path.open("rb") as file:
                data = file.read(_MAX_FILE + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise IndexUnavailable(f"the snapshot cannot be read: {reason}", path=self._path, hint=_AGAIN) from None
        if len(data) > _MAX_FILE:
            raise self._damaged(f"is larger than {_MAX_FILE // 2**20} MiB")
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise self._damaged(str(error)) from None
        self._members = {member.filename: member for member in self._zip.infolist()}
        header = self._read(HEADER)
        try:
            found = header["format"]
            if found != FORMAT:
                raise IndexUnavailable(
                    f"the snapshot has format {found!r}, and this gradcompat reads format {FORMAT}",
                    path=self._path,
                    hint="upgrade gradcompat, or take a snapshot with this one",
                )
            self.date = str(header["date"])
            self.since = str(header["since"])
        except (KeyError, TypeError) as error:
            raise self._damaged(f"its header is wrong: {error}") from None
        self.names = tuple(sorted(name.removesuffix(".json") for name in self._members if name.endswith(".json")))
        self._packages: dict[str, _Package] = {}

    @property
    def described(self) -> str:
        """``the snapshot of 2026-11-20``."""
        return f"the snapshot of {self.date}"

    def expect(self, names: Iterable[str]) -> None:
        """Nothing: a package is read in the moment it is asked for."""

    def expect_requirements(self, releases: Iterable[Release]) -> None:
        """Nothing, as :meth:`expect`."""

    def releases(self, name: str) -> tuple[Release, ...]:
        """All releases of a package, from low to high.

        Raises:
            IndexUnavailable: if the package is not in the snapshot, which does not mean that there is none.
        """
        package = self._package(normalise(name))
        try:
            return package.releases
        except _WRONG as error:
            raise self._damaged(f"`{package.name}` in it is wrong: {error}") from None

    def release(self, name: str, version: Version) -> Release | None:
        """One release of a package; the others are not decoded.

        Raises:
            IndexUnavailable: if the package is not in the snapshot, which does not mean that there is none.
        """
        package = self._package(normalise(name))
        try:
            return package.release(version)
        except _WRONG as error:
            raise self._damaged(f"`{package.name}` in it is wrong: {error}") from None

    def requires(self, release: Release) -> tuple[str, ...] | None:
        """The Requires-Dist of a release, as written; None where the snapshot has none.

        Raises:
            IndexUnavailable: if the release is not in the snapshot.
        """
        package = self._package(normalise(release.name))
        if self.release(release.name, release.version) is None:
            raise IndexUnavailable(f"`{release.name}` {release.version} is not in {self.described}")
        try:
            return package.lines_of(release.version)
        except _WRONG as error:
            raise self._damaged(f"`{package.name}` in it is wrong: {error}") from None

    @cached_property
    def requirers(self) -> Requirers:
        """Whose requirements can speak of which package.

        Raises:
            IndexUnavailable: if that part of the snapshot is missing or damaged.
        """
        try:
            return requirers_from(self._read(REQUIRERS))
        except _WRONG as error:
            raise self._damaged(f"`{REQUIRERS}` in it is wrong: {error}") from None

    def _package(self, name: str) -> _Package:
        if name not in self._packages:
            if f"{name}.json" not in self._members:
                raise IndexUnavailable(f"`{name}` is not in {self.described}")
            data = self._read(f"{name}.json")
            try:
                self._packages[name] = _Package(name, data)
            except _WRONG as error:
                raise self._damaged(f"`{name}` in it is wrong: {error}") from None
        return self._packages[name]

    def _read(self, member: str) -> Any:
        """The JSON of one member."""
        info = self._members.get(member)
        if info is None:
            raise self._damaged(f"it has no `{member}`")
        if info.file_size > _MAX_MEMBER:
            raise self._damaged(f"`{member}` in it is larger than {_MAX_MEMBER // 2**20} MiB")
        try:
            return json.loads(self._zip.read(info))
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RecursionError) as error:
            raise self._damaged(f"`{member}` in it cannot be read: {error}") from None
        except (NotImplementedError, RuntimeError) as error:  # another compression, a password
            raise self._damaged(f"`{member}` in it cannot be read: {error}") from None

    def _damaged(self, reason: str) -> IndexUnavailable:
        return IndexUnavailable(f"the snapshot is damaged: {reason}", path=self._path, hint=_AGAIN)


_AGAIN = "install gradcompat again"
# What reading a member raises that is not as the writer makes them.
_WRONG = (KeyError, TypeError, ValueError, IndexError, AttributeError, InvalidVersion)


@cache
def shipped_snapshot() -> Snapshot:
    """The snapshot that ships with gradcompat, read once a process.

    Raises:
        IndexUnavailable: if it is missing, damaged or of another format.
    """
    return Snapshot()


class _Package:
    """One member; a release and its runs of lines are decoded when they are asked for, because most never are."""

    def __init__(self, name: str, data: Any) -> None:
        self.name = name
        self._lines: list[str] = _strings(data["lines"])
        self._wheels = [tuple(_strings(tags)) for tags in data["wheels"]]
        self._pythons: list[str | None] = [None, *_strings(data["pythons"])]
        self._sets: list[Sequence[int] | None] = [None, *data["requires"]]
        self._rows: dict[str, tuple[Any, ...]] = {text: tuple(rest) for text, *rest in data["releases"]}

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """From low to high."""
        return tuple(self._release(text, Version(text)) for text in self._rows)

    def release(self, version: Version) -> Release | None:
        """One of them."""
        text = self._text(version)
        return None if text is None else self._release(text, Version(text))

    def _text(self, version: Version) -> str | None:
        """A version as it is written here: 1.0 may be 1.0.0."""
        text = str(version)
        if text in self._rows:
            return text
        return next((str(release.version) for release in self.releases if release.version == version), None)

    def _release(self, text: str, version: Version) -> Release:
        day, flags, python, tags, _ = self._rows[text]
        return Release(
            name=self.name,
            version=version,
            requires_python=_at(self._pythons, python),
            yanked=bool(flags & YANKED),
            uploaded=f"{day}T23:59:59Z" if day else None,
            wheels=_at(self._wheels, tags),
            sdist=bool(flags & SDIST),
        )

    def lines_of(self, version: Version) -> tuple[str, ...] | None:
        """The requirements of a release that is there."""
        *_, requires = self._rows[self._text(version) or ""]
        runs = _at(self._sets, requires)
        if runs is None:
            return None
        bounds = list(zip(runs[::2], runs[1::2], strict=True))
        if not all(0 <= start < stop <= len(self._lines) for start, stop in bounds):
            raise ValueError("a run of lines that are not there")
        return tuple(line for start, stop in bounds for line in self._lines[start:stop])


def _strings(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("not a list of strings")
    return values


def _at(table: Sequence[Any], index: int) -> Any:
    if index < 0:
        raise IndexError("a negative index")
    return table[index]
