"""What is signed: records, and what keeps an old or a strange set of them from being taken for a newer one.

``serial`` only ever grows; ``expires`` is the moment from which on the publisher no longer stands for it; ``minimum``
is the oldest gradcompat that understands it. ``knowledge`` are records in the place of those that ship (or null),
``own`` are somebody's own beside them. There is never code in it: recipes come with the package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from packaging.version import InvalidVersion, Version

from gradcompat._version import __version__
from gradcompat.errors import KnowledgeError

FORMAT = 1
LARGEST_SERIAL = 10**15
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_KEYS = frozenset({"format", "serial", "published", "expires", "minimum", "knowledge", "own"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A payload whose own statements were read; the records in it are data that are not checked yet.

    Attributes:
        serial: grows with every set of records that is published.
        published: the moment, in UTC.
        expires: the same.
        knowledge: compiled records in the place of the shipped ones; None if there are none.
        own: names of files of somebody's own, and their compiled records.
    """

    serial: int
    published: datetime
    expires: datetime
    knowledge: Mapping[str, Any] | None
    own: Sequence[tuple[str, Mapping[str, Any]]]


def read_payload(data: bytes, shown: str) -> Payload:
    """Read what a verified payload says of itself.

    Raises:
        KnowledgeError: if it is no payload, or one for a newer gradcompat.
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise KnowledgeError("holds a payload that is not JSON", path=shown) from None
    if not isinstance(found, dict):
        raise KnowledgeError("holds a payload that is no object", path=shown)
    # First of all: what is for a newer gradcompat may look different from here on.
    if type(found.get("format")) is not int or found["format"] != FORMAT:
        raise KnowledgeError("is of a format that this gradcompat does not know", path=shown, hint=_NEWER)
    minimum = _version(found.get("minimum"), shown)
    if minimum > Version(__version__):
        raise KnowledgeError(f"needs gradcompat {minimum} or later; this is {__version__}", path=shown, hint=_NEWER)
    if missing := sorted(_KEYS - found.keys()):
        raise KnowledgeError(f"holds a payload without {', '.join(missing)}", path=shown)
    serial = found["serial"]
    if type(serial) is not int or not 0 < serial < LARGEST_SERIAL:
        raise KnowledgeError("holds a payload whose serial is no number", path=shown)
    knowledge, own = found["knowledge"], found["own"]
    if not isinstance(knowledge, dict | None) or not isinstance(own, list) or not all(map(_is_own, own)):
        raise KnowledgeError("holds a payload whose records are none", path=shown)
    if knowledge is None and not own:
        raise KnowledgeError("holds a payload without any records", path=shown)
    return Payload(
        serial=serial,
        published=_moment(found["published"], shown),
        expires=_moment(found["expires"], shown),
        knowledge=knowledge,
        own=tuple((one["name"], one["knowledge"]) for one in own),
    )


_NEWER = "a newer gradcompat reads it; until then the knowledge that is here stays"


def payload_bytes(
    *,
    serial: int,
    published: datetime,
    expires: datetime,
    minimum: str,
    knowledge: Mapping[str, Any] | None,
    own: Sequence[tuple[str, Mapping[str, Any]]],
) -> bytes:
    """A payload as it is signed."""
    data = {
        "format": FORMAT,
        "serial": serial,
        "published": moment_text(published),
        "expires": moment_text(expires),
        "minimum": minimum,
        "knowledge": knowledge,
        "own": [{"name": name, "knowledge": compiled} for name, compiled in own],
    }
    return json.dumps(data, ensure_ascii=False).encode("utf-8")


def serial_of(date: str) -> int:
    """The serial of knowledge that was never published: the day of it, as the first of that day.

    >>> serial_of("2026-11-20")
    202611200000
    """
    return int(date.replace("-", "")) * 10_000


def serial_at(moment: datetime) -> int:
    """The serial of what is published now: the minute, so that it is behind that of the day.

    >>> serial_at(datetime(2026, 11, 20, 9, 30, tzinfo=timezone.utc))
    202611200930
    """
    return int(f"{moment:%Y%m%d%H%M}")


def moment_text(moment: datetime) -> str:
    """A moment in UTC, to the second: ``2026-11-20T09:30:00Z``."""
    return f"{moment.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def moment_of(text: str) -> datetime:
    """The moment of such a text.

    Raises:
        ValueError: if it is none.
    """
    if not _MOMENT.fullmatch(text):
        raise ValueError(text)
    return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=timezone.utc)


def _moment(text: object, shown: str) -> datetime:
    try:
        return moment_of(text if isinstance(text, str) else "")
    except ValueError:
        raise KnowledgeError("holds a payload with a moment that is none", path=shown) from None


def _version(text: object, shown: str) -> Version:
    try:
        return Version(text if isinstance(text, str) else "")
    except InvalidVersion:
        raise KnowledgeError("does not say which gradcompat it is for", path=shown) from None


def _is_own(found: object) -> bool:
    return isinstance(found, dict) and isinstance(found.get("name"), str) and isinstance(found.get("knowledge"), dict)
