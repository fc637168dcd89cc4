"""What one index has of one package: its releases, and their files, in a form that the cache keeps.

Two parts: the releases, which every plan asks for, as JSON; and their files, which are ten times as much, as JSON for
each release, so that only those of the releases are decoded of which requirements or hashes are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from packaging.version import Version

from gradcompat.index.filenames import of_sdist, of_wheel
from gradcompat.model.release import Distribution, Release


class Listing:
    """The releases and the files of a package; decoded when they are asked for."""

    def __init__(self, name: str, releases: bytes, files: bytes) -> None:
        """Take the two parts as :func:`listing` or the cache has them."""
        self.name = name
        self.parts = (releases, files)

    @cached_property
    def _rows(self) -> list[list[Any]]:
        rows: list[list[Any]] = json.loads(self.parts[0])
        return rows

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """From low to high."""
        return tuple(
            Release(
                name=self.name,
                version=Version(version),
                requires_python=requires_python,
                yanked=yanked,
                uploaded=uploaded,
                wheels=tuple(wheels),
                sdist=sdist,
            )
            for version, requires_python, yanked, uploaded, wheels, sdist, _ in self._rows
        )

    @cached_property
    def _spans(self) -> dict[str, tuple[int, int]]:
        """Version → where its files stand in the second part."""
        spans, start = {}, 0
        for row in self._rows:
            spans[row[0]] = (start, start + row[-1])
            start += row[-1]
        return spans

    @property
    def empty(self) -> bool:
        """There are no releases."""
        return not self._rows

    def files(self, version: Version) -> tuple[Distribution, ...]:
        """The files of one release, which is named without local label; in the order of the page."""
        return self._files(str(version))

    def _files(self, version: str) -> tuple[Distribution, ...]:
        start, end = self._spans.get(version, (0, 0))
        return unpacked(self.parts[1][start:end]) if end > start else ()

    def before(self, moment: str) -> tuple[tuple[Release, ...], bool]:
        """The releases as they were then, and whether files are left out because nobody knows how old they are.

        Args:
            moment: to the second and in UTC; a file of that second is left out.
        """
        found = []
        undated = False
        for version in self._spans:
            files = self._files(version)
            undated = undated or any(file.uploaded is None for file in files)
            early = [file for file in files if file.uploaded is not None and file.uploaded < moment]
            if early:
                found.append(_release(self.name, Version(version), early))
        return tuple(found), undated


def listing(name: str, files: Iterable[Distribution]) -> Listing:
    """What a page lists of a package; files of others, and what is no wheel and no sdist, are left out."""
    by_version: dict[Version, list[Distribution]] = {}
    for file in files:
        version = version_of(file.filename, name)
        if version is not None:
            by_version.setdefault(public(version), []).append(file)
    ordered = sorted(by_version.items(), key=lambda item: item[0])
    parts = [packed(of_it) for _, of_it in ordered]
    rows = []
    for (version, of_it), part in zip(ordered, parts, strict=True):
        one = _release(name, version, of_it)
        row: list[object] = [
            str(version),
            one.requires_python,
            one.yanked,
            one.uploaded,
            one.wheels,
            one.sdist,
            len(part),
        ]
        rows.append(row)
    return Listing(name, _json(rows), b"".join(parts))


def merged(listings: Sequence[Sequence[Release]]) -> tuple[Release, ...]:
    """The releases of several indexes together; what two of them have counts once."""
    if len(listings) == 1:
        return tuple(listings[0])
    found: dict[Version, Release] = {}
    for release in (release for releases in listings for release in releases):
        other = found.get(release.version)
        found[release.version] = release if other is None else _joined(other, release)
    return tuple(found[version] for version in sorted(found))


def packed(files: Iterable[Distribution]) -> bytes:
    """Files of any packages, as the cache keeps them."""
    return _json(list(map(_packed, files)))


def unpacked(content: bytes) -> tuple[Distribution, ...]:
    """What :func:`packed` made of files."""
    return tuple(map(_unpacked, json.loads(content)))


def version_of(filename: str, project: str) -> Version | None:
    """The version in the name of a wheel or of an sdist; None for what is neither, or another project's."""
    wheel = of_wheel(filename, project)
    return wheel[0] if wheel is not None else of_sdist(filename, project)


def public(version: Version) -> Version:
    """A version without its local label."""
    return version if version.local is None else Version(version.public)


def _release(name: str, version: Version, files: Sequence[Distribution]) -> Release:
    wheels = {found[1] for file in files if (found := of_wheel(file.filename, name)) is not None}
    pythons = {file.requires_python for file in files}
    return Release(
        name=name,
        version=version,
        requires_python=pythons.pop() if len(pythons) == 1 else None,
        yanked=all(file.yanked for file in files),
        uploaded=min((file.uploaded for file in files if file.uploaded is not None), default=None),
        wheels=tuple(sorted(wheels)),
        sdist=any(not file.filename.endswith(".whl") for file in files),
    )


def _joined(one: Release, other: Release) -> Release:
    return Release(
        name=one.name,
        version=one.version,
        requires_python=one.requires_python if one.requires_python == other.requires_python else None,
        yanked=one.yanked and other.yanked,
        uploaded=min((time for time in (one.uploaded, other.uploaded) if time is not None), default=None),
        wheels=tuple(sorted({*one.wheels, *other.wheels})),
        sdist=one.sdist or other.sdist,
    )


def _packed(file: Distribution) -> list[object]:
    # The name stands at the end of nearly every address.
    folder = file.url.removesuffix(file.filename)
    return [
        file.filename,
        folder if folder != file.url else [file.url],
        dict(file.hashes),
        file.requires_python,
        file.yanked,
        file.uploaded,
        None if file.metadata is None else dict(file.metadata),
    ]


def _unpacked(row: Any) -> Distribution:
    filename, address, hashes, requires_python, yanked, uploaded, metadata = row
    return Distribution(
        filename=filename,
        url=address + filename if isinstance(address, str) else address[0],
        hashes=hashes,
        requires_python=requires_python,
        yanked=yanked,
        uploaded=uploaded,
        metadata=metadata,
    )


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
