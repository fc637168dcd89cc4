"""Where a command looks up releases: the indexes that pip and uv would use here, or the snapshot that ships with us."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from packaging.version import Version

from gradcompat.errors import IndexUnavailable
from gradcompat.index.snapshot import shipped_snapshot
from gradcompat.model.release import Catalogue
from gradcompat.startup.lazy_dataclasses import dataclass

# What pip, uv and OpenSSL call the file of authorities, in the order in which it counts.
_CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


@dataclass(frozen=True, slots=True)
class Lookup:
    """What the user said of indexes.

    Attributes:
        offline: use the snapshot, and go to no network.
        index_url: in the place of the main index.
        extra_index_urls: beside it.
        exclude_newer: releases from this moment on do not count.
        project_index: ask the indexes that a file of the project names, too.
    """

    offline: bool = False
    index_url: str | None = None
    extra_index_urls: Sequence[str] = ()
    exclude_newer: str | None = None
    project_index: bool = False


@contextmanager
def catalogue_of(
    lookup: Lookup,
    note: Callable[[str], None],
    progress: Callable[[int, int, str], None] | None = None,
) -> Iterator[Catalogue]:
    """The catalogue of a command; what it keeps open is closed with it.

    Args:
        lookup: what the user said of indexes.
        note: is called in the end with each sentence about the configuration and the answers.
        progress: is called with how many packages of how many were looked up, and the name of the last.

    Raises:
        UsageError: if the configuration of pip or uv is broken.
    """
    if lookup.offline:
        yield shipped_snapshot()
        return
    from gradcompat.files.user_folders import cache_folder
    from gradcompat.index.client import PackageIndex
    from gradcompat.index.configuration import Arguments, configuration

    arguments = Arguments(
        index_url=lookup.index_url,
        extra_index_urls=tuple(lookup.extra_index_urls),
        exclude_newer=lookup.exclude_newer,
        project_indexes=lookup.project_index,
    )
    found = configuration(Path.cwd(), os.environ, arguments=arguments)
    stated = next((os.environ[name] for name in _CERTIFICATES if os.environ.get(name)), None)
    with PackageIndex(
        found.indexes,
        tied=found.tied,
        held=found.held,
        strategy=found.strategy,
        exclude_newer=found.exclude_newer,
        cache=cache_folder(os.environ, sys.platform),
        credentials=found.credentials.of,
        certificates=None if stated is None else Path(stated),
        progress=progress,
    ) as index:
        yield index
        for sentence in (*found.notes, *index.notes):
            note(sentence)


def hashes_of(catalogue: Catalogue, package: str, version: str) -> tuple[str, ...]:
    """``sha256:…`` of every file of a release; none where the catalogue has no files."""
    from gradcompat.index.client import PackageIndex

    if not isinstance(catalogue, PackageIndex):
        return ()
    try:
        found = catalogue.distributions(package, Version(version))
    except IndexUnavailable:
        return ()
    return tuple(sorted({f"sha256:{hit.hashes['sha256']}" for hit in found if "sha256" in hit.hashes}))
