"""What the entries of every lockfile have in common: a name, perhaps a version, and a place.

An entry that cannot be read is skipped with its reason, and the others are still read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.formats.toml_text import TablePlaces
from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.quotation import quoted
from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_patterns import lazy_pattern

_NAME = lazy_pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_MAX_LENGTH = 200  # no name and no version is longer; Python converts no number of more than 4,300 digits
_NO_NAME = "\0"  # stands in no text file
# The words and signs of markers in any order, each alternative with a beginning of its own. Anything else is no marker
# and may be a secret.
_MARKER = lazy_pattern(
    r"(?:[\s()<>=!~]|'[^']*'|\"[^\"]*\"|\b(?:and|or|in|not|python_version|python_full_version|os[._]name|sys[._]platform"
    r"|platform[._](?:release|system|version|machine|python_implementation)|python_implementation"
    r"|implementation_(?:name|version)|extras?|dependency_groups)\b)+"
)
_UNREADABLE = "…"  # as good as any other marker that cannot be read: it excludes nothing


class Pin(NamedTuple):
    """The name, normalised, and the version of an entry, as far as it has one."""

    name: str
    version: str | None


def read_pin(name: Any, version: Any, location: Location) -> Pin | Skipped:
    """The pin of an entry, or why it is none."""
    if not isinstance(name, str) or len(name) > _MAX_LENGTH or not _NAME.fullmatch(name):
        return Skipped(what="an entry", reason="has no valid package name", location=location)
    if version is not None and not (isinstance(version, str) and 0 < len(version) <= _MAX_LENGTH):
        return Skipped(what=quoted(name, "an entry"), reason="its version is invalid", location=location)
    return Pin(normalise(name), version)


def read_entries(
    content: dict[str, Any], key: str, document: Document, package: Callable[[dict[str, Any], Pin, Location], Package]
) -> tuple[tuple[Package, ...], tuple[Skipped, ...]]:
    """The packages of a lockfile in TOML, and what was skipped, in order; one that holds nothing says so.

    Args:
        content: the parsed lockfile.
        key: the array of tables with its entries.
        document: the lockfile, for the lines.
        package: makes the package of one entry, from its table, its pin and its place.

    Raises:
        Malformed: if there is something else under that key.
    """
    entries = content.get(key, [])
    if not isinstance(entries, list):
        raise Malformed(f"`{key}` is not an array of tables", path=document.path)
    places = TablePlaces(document.text, document.path, f"[[{key}]]")

    def read(index: int, entry: Any) -> Package | Skipped:
        table = entry if isinstance(entry, dict) else {}
        name = table.get("name")
        location = places.find(index, name if isinstance(name, str) and name else _NO_NAME)
        pin = read_pin(name, table.get("version"), location)
        return pin if isinstance(pin, Skipped) else package(table, pin, location)

    return split((read(index, entry) for index, entry in enumerate(entries)), document.path)


def is_tag(reference: Any, version: str | None) -> bool:
    """Is the git reference the tag of that very release?"""
    return version is not None and reference in (version, f"v{version}")


def text_or_none(value: Any) -> str | None:
    """A text that is there and not empty; a marker of another type restricts nothing."""
    return value if isinstance(value, str) and value.strip() else None


def marker_or_none(value: Any) -> str | None:
    """The marker of an entry. Of one that cannot be read nothing is kept, since reports show markers."""
    marker = text_or_none(value)
    return None if marker is None else _shown(marker)


# The entries of one fork share their marker.
@lru_cache(maxsize=1024)
def _shown(marker: str) -> str:
    return marker if _MARKER.fullmatch(marker) else _UNREADABLE


def texts(value: Any) -> tuple[str, ...]:
    """The texts in a list, each once."""
    return tuple(dict.fromkeys(one for one in value if isinstance(one, str))) if isinstance(value, list) else ()


def split(results: Iterable[Package | Skipped], path: str) -> tuple[tuple[Package, ...], tuple[Skipped, ...]]:
    """The packages and what was skipped, in order; a lockfile that holds nothing says so."""
    packages: list[Package] = []
    skipped: list[Skipped] = []
    for result in results:
        if isinstance(result, Package):
            packages.append(result)
        else:
            skipped.append(result)
    if not packages and not skipped:
        # Valid, and still no proof that the environment is clean: nobody trains with nothing.
        skipped.append(Skipped(what=path, reason="locks no packages at all", location=Location(path=path)))
    return tuple(packages), tuple(skipped)
