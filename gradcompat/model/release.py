"""Releases of packages as an index or a snapshot of one describes them, and where they are to be installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from packaging.version import Version

from gradcompat.startup.lazy_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One file of a release.

    Attributes:
        filename: the name of the wheel or of the sdist.
        url: where it is, without fragment.
        hashes: algorithm → hexadecimal digest.
        requires_python: the specifier of interpreters, as written.
        yanked: withdrawn by its authors (PEP 592).
        uploaded: when, as RFC 3339 in UTC, if the index says so.
        metadata: the index offers the file's METADATA beside it (PEP 658): its digests, which may be none. None if the
            index does not say that it does.
    """

    filename: str
    url: str
    hashes: Mapping[str, str] = field(default_factory=dict)
    requires_python: str | None = None
    yanked: bool = False
    uploaded: str | None = None
    metadata: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One version of a package, as far as choosing it needs.

    Attributes:
        name: as PEP 503 normalises it.
        version: without local label, where the index has several builds of one.
        requires_python: the specifier of interpreters that all its files share; None if there is none.
        yanked: all its files are.
        uploaded: when its first file was, as RFC 3339 in UTC, if known.
        wheels: tags of its wheels as their names hold them (``cp311-cp311-manylinux_2_17_x86_64``, compressed sets
            unexpanded), sorted.
        sdist: it has one.
    """

    name: str
    version: Version
    requires_python: str | None = None
    yanked: bool = False
    uploaded: str | None = None
    wheels: tuple[str, ...] = ()
    sdist: bool = False


class Catalogue(Protocol):
    """Where releases and their requirements are looked up: an index, a snapshot, a test's table."""

    @property
    def described(self) -> str:
        """What it is, in words for the user: "the package index", "the snapshot of 2026-11-20"."""

    def expect(self, names: Iterable[str]) -> None:
        """These packages will be asked for: fetch their pages side by side. Raises nothing."""

    def expect_requirements(self, releases: Iterable[Release]) -> None:
        """The requirements of these will be asked for: fetch their metadata side by side. Raises nothing."""

    def releases(self, name: str) -> tuple[Release, ...]:
        """All releases of a package, from low to high; none where there is no package of that name.

        Raises:
            IndexUnavailable: if it could not be found out.
        """

    def release(self, name: str, version: Version) -> Release | None:
        """One of them; None where there is no such release.

        Raises:
            IndexUnavailable: if it could not be found out.
        """

    def requires(self, release: Release) -> tuple[str, ...] | None:
        """Its Requires-Dist, as written; None where it has no metadata that can be read without building it.

        Raises:
            IndexUnavailable: if it could not be found out.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirers:
    """Whose requirements can speak of a package: what has to be read where it alone moves.

    Attributes:
        of: package → those of which some release requires it, whatever the extras.
        asking: the packages whose requirements decide which extras others are asked for with.
    """

    of: Mapping[str, frozenset[str]]
    asking: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The interpreter and the machine that releases have to fit.

    Attributes:
        python: full version of the interpreter, ``3.11.7``.
        platform: ``sys.platform``: ``linux``, ``darwin``, ``win32``.
        machine: ``platform.machine()``: ``x86_64``, ``aarch64``, ``arm64``, ``AMD64``.
        glibc: version of the C library on Linux, ``2.28``; None for a system without it.
        implementation: ``cp`` for CPython, ``pp`` for PyPy.
    """

    python: str
    platform: str = "linux"
    machine: str = "x86_64"
    glibc: str | None = "2.28"
    implementation: str = "cp"

    @property
    def python_number(self) -> tuple[int, int]:
        """The first two parts of the version of its Python."""
        numbers = [int(part) for part in self.python.split(".")[:2] if part.isdecimal()]
        return (numbers[0], numbers[1]) if len(numbers) == 2 else (3, 0)
