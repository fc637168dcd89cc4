"""Small packages as wheels, and their tables."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from packaging.version import Version

from gradcompat.curation.facts_store import FactsStore
from gradcompat.curation.release_reading import read_wheel
from gradcompat.curation.release_row import ReleaseRow
from gradcompat.curation.table_writing import table_bytes
from gradcompat.releases.table import ReleaseTable

Sources = Mapping[str, str | bytes]
"""The path of each file in the wheel, and what it holds."""


def wheel(sources: Sources) -> io.BytesIO:
    """A wheel without METADATA and RECORD, of which nothing is read."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, source in sources.items():
            archive.writestr(path, source)
    content.seek(0)
    return content


def row(version: str, sources: Sources, package: str = "one") -> ReleaseRow:
    """The row of a release with these files."""
    return read_wheel(wheel(sources), package, Version(version), FactsStore(None, 1))


def table(folder: Path, releases: Mapping[str, Sources], package: str = "one") -> ReleaseTable:
    """The table of a package with these releases."""
    rows = [row(version, sources, package) for version, sources in releases.items()]
    path = folder / f"{package}.table"
    path.write_bytes(table_bytes(package, lambda: rows))
    return ReleaseTable(path)
