"""Small packages as wheels, and their tables."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from packaging.version import Version

from gradcompat.curation.module_store import ModuleStore
from gradcompat.curation.reading_campaign import parse_modules
from gradcompat.curation.release_archive import fetch_wheel
from gradcompat.curation.release_row import READER, ReleaseRow
from gradcompat.curation.resolution import State, module_states
from gradcompat.curation.table_rows import table_bytes
from gradcompat.releases.table import ReleaseTable

Sources = Mapping[str, str | bytes]
"""The path of each file in the wheel, and what it holds."""


def wheel(sources: Sources) -> io.BytesIO:
    """A wheel without METADATA and RECORD, of which nothing is read."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, source in sources.items():
            archive.writestr(zipfile.ZipInfo(path), source, zipfile.ZIP_DEFLATED)  # the same bytes at any time
    content.seek(0)
    return content


def rows(
    releases: Mapping[str, Sources], package: str = "one"
) -> tuple[list[ReleaseRow], list[tuple[str, Sequence[State]]]]:
    """The rows of releases with these files, and what their modules say in them."""
    store = ModuleStore(None, READER)
    made = [fetch_wheel(wheel(sources), package, Version(version), store) for version, sources in releases.items()]
    files = dict.fromkeys(key for row in made for key in row.files.values() if key is not None)
    left = sorted(store.unread(package, files), key=lambda key: (key.module, key.crc))
    parsed = parse_modules([(key.module, key.package, store.source(package, key)) for key in left])
    store.add_facts(package, dict(zip(left, parsed, strict=True)))
    return made, list(module_states(made, partial(store.facts, package)))


def table(folder: Path, releases: Mapping[str, Sources], package: str = "one") -> ReleaseTable:
    """The table of a package with these releases."""
    path = folder / f"{package}.table"
    path.write_bytes(table_bytes(package, *rows(releases, package)))
    return ReleaseTable(path)
