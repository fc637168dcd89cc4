"""What a release requires, from the cheapest source that says it: never by building it.

In this order: the file that an index keeps beside a wheel (PEP 658), also where it does not say that it does; the
METADATA in the wheel, of which only parts are fetched; PKG-INFO of the sdist, where it may be relied on (PEP 643).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from packaging.version import Version

from gradcompat.errors import IndexUnavailable
from gradcompat.files.regular_files import open_regular
from gradcompat.index.archives import Lacking, metadata_of_tar, metadata_of_wheel, metadata_of_zip
from gradcompat.index.filenames import of_wheel
from gradcompat.index.folders import path_of
from gradcompat.index.limits import Limits
from gradcompat.index.listing import public
from gradcompat.index.location import named, origin
from gradcompat.index.metadata import CoreMetadata, parse_metadata
from gradcompat.index.ranges import remote_file
from gradcompat.index.transport import TooLarge, Transport
from gradcompat.model.release import Distribution

# The beginning of an sdist, in which PKG-INFO stands as a rule.
_HEAD = 64 * 1024
# An origin that has not had this many is not asked for any more of the files that it does not advertise.
_ENOUGH_MISSES = 3


class RequirementsReader:
    """Reads the metadata of releases, and learns on the way which servers keep it beside their files."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self._transport = transport
        self._limits = limits
        self._keeping: set[object] = set()
        self._misses: dict[object, int] = {}

    def read(self, name: str, version: Version, files: Sequence[Distribution]) -> tuple[str, ...] | None:
        """Its Requires-Dist, as written; None where nothing says it but a build.

        Args:
            name: of the package, as PEP 503 normalises it.
            version: of the release, without local label.
            files: those that may say it, the best first.

        Raises:
            IndexUnavailable: if it could not be found out.
        """
        for file in files:
            wheel = of_wheel(file.filename, name) is not None
            content = self._of_wheel(file) if wheel else self._of_sdist(file)
            if content is not None:
                found = self._checked(file, name, version, content)
                return found.requires if wheel or found.reliable else None
        return None

    def _checked(self, file: Distribution, name: str, version: Version, content: bytes) -> CoreMetadata:
        try:
            found = parse_metadata(content)
        except ValueError as error:
            raise IndexUnavailable(f"its metadata {error}", path=named(file.url)) from None
        if (found.name, public(found.version)) != (name, version):
            raise IndexUnavailable(f"its metadata is of `{found.name}` {found.version}", path=named(file.url))
        return found

    def _of_wheel(self, file: Distribution) -> bytes | None:
        if file.url.lower().startswith("file:"):
            return _local(file, self._limits)
        beside = self._beside(file)
        if beside is not None:
            return beside
        where = named(file.url)
        try:
            remote, whole = remote_file(self._transport, file.url, self._limits.archive)
        except TooLarge as error:
            raise IndexUnavailable(f"is sent only as a whole, and {error.message}", path=where) from None
        try:
            if whole is not None:
                verify(whole, file.hashes, file.url)
            return metadata_of_wheel(remote, self._limits.metadata)
        except ValueError as error:
            raise IndexUnavailable(str(error), path=where) from None

    def _beside(self, file: Distribution) -> bytes | None:
        """The file beside it, if there is one."""
        place = origin(file.url)
        if file.metadata is None and place not in self._keeping and self._misses.get(place, 0) >= _ENOUGH_MISSES:
            return None
        address, mark, query = file.url.partition("?")
        url = f"{address}.metadata{mark}{query}"
        try:
            answer = self._transport.get(url, limit=self._limits.metadata)
        except IndexUnavailable:
            if file.metadata is not None:
                raise
            answer = None  # nobody said that it is there, so whatever happened means that it is not
        if answer is not None and answer.status == 200:
            self._keeping.add(place)
            verify(answer.content, file.metadata or {}, url)
            # What nobody promised may be a page of the kind "not here", with a status that says otherwise.
            return answer.content if file.metadata is not None or b"Metadata-Version:" in answer.content else None
        self._misses[place] = self._misses.get(place, 0) + 1
        return None

    def _of_sdist(self, file: Distribution) -> bytes | None:
        """Its PKG-INFO; None where there is none, and of archives of old kinds, which came before reliable ones."""
        if not file.filename.endswith((".tar.gz", ".zip")):
            return None
        if file.url.lower().startswith("file:"):
            return _local(file, self._limits)
        if file.metadata is not None:
            beside = self._beside(file)
            if beside is not None:
                return beside
        try:
            if file.filename.endswith(".zip"):
                remote, whole = remote_file(self._transport, file.url, self._limits.archive)
                if whole is not None:
                    verify(whole, file.hashes, file.url)
                return metadata_of_zip(remote, self._limits.metadata)
            return self._of_tar(file)
        except Lacking:
            return None
        except ValueError as error:
            raise IndexUnavailable(str(error), path=named(file.url)) from None

    def _of_tar(self, file: Distribution) -> bytes | None:
        headers = {"Range": f"bytes=0-{_HEAD - 1}", "Accept-Encoding": "identity"}
        answer = self._transport.get(file.url, limit=self._limits.archive, headers=headers, accepted=(200, 206, 416))
        if answer.status == 206:
            found = metadata_of_tar(answer.content[:_HEAD], self._limits.metadata, whole=False)
            if found is not None:
                return found
        if answer.status != 200:
            headers = {"Accept-Encoding": "identity"}
            answer = self._transport.get(file.url, limit=self._limits.archive, headers=headers, accepted=(200,))
        verify(answer.content, file.hashes, file.url)
        return metadata_of_tar(answer.content, self._limits.metadata, whole=True)


def verify(content: bytes, hashes: Mapping[str, str], url: str) -> None:
    """That these are the bytes that the index spoke of.

    Raises:
        IndexUnavailable: if not.
    """
    for algorithm in ("sha256", "sha512", "sha384", "blake2b", "sha224", "sha1", "md5"):
        if algorithm in hashes:
            found = hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()
            if found != hashes[algorithm].lower():
                raise IndexUnavailable(
                    f"is not the file that the index lists: its {algorithm} differs", path=named(url)
                )
            return


def _local(file: Distribution, limits: Limits) -> bytes | None:
    """The metadata inside a file of this machine; None for an sdist without."""
    path = path_of(file.url)
    try:
        with open_regular(path) as opened:
            if file.filename.endswith(".whl"):
                return metadata_of_wheel(opened, limits.metadata)
            if file.filename.endswith(".zip"):
                return metadata_of_zip(opened, limits.metadata)
            content = opened.read(limits.archive + 1)
            if len(content) > limits.archive:
                raise ValueError(f"is larger than {limits.archive / 2**20:g} MiB")
            return metadata_of_tar(content, limits.metadata, whole=True)
    except OSError as error:
        raise IndexUnavailable(f"cannot be read: {error.strerror}", path=str(path)) from None
    except Lacking as error:
        if not file.filename.endswith(".whl"):
            return None
        raise IndexUnavailable(str(error), path=str(path)) from None
    except ValueError as error:
        raise IndexUnavailable(str(error), path=str(path)) from None
