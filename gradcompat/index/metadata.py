"""The metadata of a release: the file METADATA of a wheel, PKG-INFO of an sdist, or the one beside them."""

from __future__ import annotations

from email.parser import HeaderParser

from packaging.version import InvalidVersion, Version

from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreMetadata:
    """What is read of it.

    Attributes:
        name: as PEP 503 normalises it.
        version: of the release.
        requires: Requires-Dist, as written, but on one line each; whether each can be read is for others to say.
        reliable: what an sdist says of requirements is what its wheel will say (PEP 643).
    """

    name: str
    version: Version
    requires: tuple[str, ...]
    reliable: bool


def parse_metadata(content: bytes) -> CoreMetadata:
    """Read it.

    Raises:
        ValueError: if it is no metadata; the message is a sentence without subject.
    """
    # The parser of the standard library knows continued lines; what follows the headers is the description.
    message = HeaderParser().parsestr(content.decode("utf-8", "replace"))
    name, version = message.get("Name"), message.get("Version")
    if name is None or version is None:
        raise ValueError("has no name or no version")
    try:
        parsed = Version(str(version))
    except (InvalidVersion, ValueError):
        raise ValueError("has no version that could be one") from None
    form = _FORM.match(str(message.get("Metadata-Version", "")))
    dynamic = {str(field).strip().lower() for field in message.get_all("Dynamic", [])}
    return CoreMetadata(
        name=normalise(str(name).strip()),
        version=parsed,
        requires=tuple(" ".join(str(line).split()) for line in message.get_all("Requires-Dist", [])),
        reliable=form is not None and (int(form[1]), int(form[2])) >= (2, 2) and "requires-dist" not in dynamic,
    )


_FORM = lazy_pattern(r"\s*(\d{1,3})\.(\d{1,3})")
