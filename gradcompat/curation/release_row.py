"""One release as a row: which file each of its modules is."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from gradcompat.curation.module_store import FileKey

# Raised with every change of what is read of a module: a table of another reader is read again before it is extended.
READER = 7
# What this reader and those after it have read is still true, though later ones have read more.
OLDEST_READER = 1
# Raised with every change of the rows.
LAYOUT = 2
NOTHING_READABLE = "it has no module that can be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRow:
    """The modules of a release.

    Attributes:
        version: of the package.
        built: they are those of an sdist, whose build may add modules.
        unread: why nothing of it can be read; None where something can.
        files: module → its file; None where it is compiled.
    """

    version: Version
    built: bool = False
    unread: str | None = None
    files: Mapping[str, FileKey | None] = field(default_factory=dict)

    @property
    def imports(self) -> frozenset[str]:
        """The modules at its top."""
        return frozenset(module.partition(".")[0] for module in self.files)


def dumps(row: ReleaseRow) -> bytes:
    """A row as it is kept."""
    content = {
        "version": str(row.version),
        "built": row.built,
        "unread": row.unread,
        "files": {module: one and (one.package, one.crc, one.size) for module, one in row.files.items()},
    }
    return gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 1, mtime=0)


def loads(content: bytes) -> ReleaseRow:
    """What :func:`dumps` made of a row.

    Raises:
        ValueError: if it is none.
    """
    try:
        found = json.loads(gzip.decompress(content))
        return ReleaseRow(
            version=Version(found["version"]),
            built=found["built"],
            unread=found["unread"],
            files={module: one and FileKey(module, *one) for module, one in found["files"].items()},
        )
    except (OSError, EOFError, KeyError, TypeError, AttributeError):
        raise ValueError("is no row of a release") from None
