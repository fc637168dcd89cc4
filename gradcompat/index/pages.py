"""Pages of files, as indexes answer them: HTML (PEP 503) and JSON (PEP 691).

They are read with the standard library: an HTML page of 5000 files takes a sixth of the time that a tree of it does,
and a cold start reads a hundred pages. What is only odd in a page is passed over, as pip does; a page that cannot be
the answer to what was asked is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from gradcompat.index.credentials import redact_url
from gradcompat.model.release import Distribution
from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_patterns import lazy_pattern

JSON = "application/vnd.pypi.simple.v1+json"
HTML = "application/vnd.pypi.simple.v1+html"
ACCEPT = f"{JSON}, {HTML};q=0.2, text/html;q=0.1"


def read_page(content: bytes, content_type: str, url: str, project: str | None) -> tuple[Distribution, ...]:
    """The files that a page lists, in its order.

    Args:
        content: its bytes.
        content_type: the header of that name.
        url: where it was found in the end; addresses in it are relative to that.
        project: whose page it is to be, as PEP 503 normalises it; None for a page of files of any projects.

    Raises:
        ValueError: if it is no such page; the message is a sentence without subject.
    """
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower()
    if kind in (JSON, "application/vnd.pypi.simple.latest+json", "application/json"):
        return _read_json(content, url, project)
    if kind in (HTML, "application/vnd.pypi.simple.latest+html", "text/html", "application/xhtml+xml"):
        charset = re.search(r"charset=\"?([\w.:-]+)", parameters)
        return _read_html(content, charset[1] if charset is not None else "utf-8", url, project)
    raise ValueError(
        f"is `{kind or 'of no type'}`, which is not a list of files" if kind else "does not say what it is"
    )


def _read_json(content: bytes, url: str, project: str | None) -> tuple[Distribution, ...]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON, or only a part of it") from None
    if not isinstance(data, dict) or not isinstance(data.get("files"), list):
        raise ValueError("is JSON, but not a list of files")
    meta = data.get("meta")
    api = meta.get("api-version") if isinstance(meta, dict) else None
    if not isinstance(api, str) or api.partition(".")[0] != "1":
        raise ValueError(f"is of version {redact_url(str(api))[:20]} of the protocol, which is not supported")
    name = data.get("name")
    if project is not None and isinstance(name, str) and normalise(name) != project:
        raise ValueError(f"is the page of `{name[:60]}`")
    files = (_file(row, url) for row in data["files"] if isinstance(row, dict))
    return tuple(file for file in files if file is not None)


def _file(row: Mapping[str, Any], base: str) -> Distribution | None:
    filename, address = row.get("filename"), row.get("url")
    if not isinstance(filename, str) or not isinstance(address, str):
        return None
    url, fragment = _resolved(address, base)
    if url is None:
        return None
    advertised = row.get("core-metadata", row.get("dist-info-metadata"))
    return Distribution(
        filename=filename,
        url=url,
        hashes=_digests(row.get("hashes")) or fragment,
        requires_python=_text(row.get("requires-python")),
        yanked=row.get("yanked", False) is not False,
        uploaded=uploaded(row.get("upload-time")),
        metadata=_digests(advertised) if isinstance(advertised, dict) or advertised is True else None,
    )


def _digests(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {name.lower(): digest.lower() for name, digest in value.items() if isinstance(digest, str) and _HEX(digest)}


def _read_html(content: bytes, charset: str, url: str, project: str | None) -> tuple[Distribution, ...]:
    try:
        text = content.decode(charset, "replace")
    except LookupError:
        text = content.decode("utf-8", "replace")
    parser = _Anchors(url)
    try:
        parser.feed(text)
    except AssertionError:  # what it raises for a declaration that is none
        raise ValueError("is not HTML") from None
    # A page of an index may lack its closing tags, but a file that is half written out is one that was cut off.
    if parser.rawdata.rstrip().startswith("<") or parser.inside:
        raise ValueError("is cut off in the middle of a link")
    if not parser.files and "<" not in text:
        raise ValueError("is not HTML")
    # Where one has to log in first, that page comes in the place of every other.
    if not parser.files and parser.asking and project is not None:
        raise ValueError("is a web page, not a list of files")
    return tuple(parser.files)


class _Anchors(HTMLParser):
    """The files that anchors name: PEP 503, with the attributes of PEP 592 and 658."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base = base
        self.files: list[Distribution] = []
        self.inside = False
        self.asking = False
        self._based = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.inside = True
            file = _anchor(dict(attrs), self.base)
            if file is not None:
                self.files.append(file)
        elif tag in ("form", "script", "iframe"):
            self.asking = True
        elif tag == "base" and not self._based:
            self._based = True  # the first one counts
            base = _resolved(dict(attrs).get("href") or "", self.base)[0]
            self.base = base if base is not None else self.base

    def handle_endtag(self, tag: str) -> None:
        if tag in ("a", "body", "html"):
            self.inside = False


def _anchor(attributes: Mapping[str, str | None], base: str) -> Distribution | None:
    address = attributes.get("href")
    if not address:
        return None
    url, hashes = _resolved(address, base)
    if url is None:
        return None
    filename = unquote(url.partition("?")[0].rpartition("/")[2])
    if not filename.endswith((".whl", ".gz", ".zip", ".bz2", ".tgz", ".xz", ".Z", ".tar")):
        return None
    # PEP 714: the new name counts where both stand.
    advertised = attributes.get("data-core-metadata", attributes.get("data-dist-info-metadata"))
    return Distribution(
        filename=filename,
        url=url,
        hashes=hashes,
        requires_python=_text(attributes.get("data-requires-python")),
        yanked="data-yanked" in attributes,
        # No specification has this one; some mirrors write it all the same.
        uploaded=uploaded(attributes.get("data-upload-time")),
        metadata=_digest(advertised) if advertised is not None and advertised != "false" else None,
    )


def _resolved(address: str, base: str) -> tuple[str | None, dict[str, str]]:
    """An absolute URL without fragment, and the digest that the fragment is."""
    address, _, fragment = address.strip().partition("#")
    # Nearly all addresses are absolute and plain, and taking URLs apart would be most of the work.
    if not _PLAIN(address):
        try:
            address = urljoin(base, address)
            parts = urlsplit(address)
            if parts.scheme not in ("http", "https", "file") or (parts.scheme != "file" and not parts.hostname):
                return None, {}
            # What comes from elsewhere does not name files of this machine.
            if parts.scheme == "file" and not base.lower().startswith("file:"):
                return None, {}
        except ValueError:
            return None, {}
        address = redact_url(address)
    return address, _digest(fragment)


def _digest(text: str) -> dict[str, str]:
    found = _DIGEST(text)
    return {found[1].lower(): found[2].lower()} if found is not None else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def uploaded(value: object) -> str | None:
    """A time as indexes state it, to the second and in UTC, so that times compare as texts; None for what is none.

    >>> uploaded("2016-08-17T06:13:12.929751Z")
    '2016-08-17T06:13:12Z'
    """
    if not isinstance(value, str):
        return None
    if _INSTANT(value):
        return f"{value[:19]}Z"
    try:
        # Python 3.10 takes only three or six digits of a second, and they are dropped anyway.
        time = datetime.fromisoformat(_FRACTION.sub("", value, count=1))
        return f"{time.astimezone(timezone.utc).isoformat()[:19]}Z" if time.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


_HEX = lazy_pattern(r"[0-9A-Fa-f]{16,256}", re.ASCII).fullmatch
_DIGEST = lazy_pattern(r"(\w{2,20})=([0-9A-Fa-f]{16,256})(?:&.*)?", re.ASCII).fullmatch
_PLAIN = lazy_pattern(r"https?://[a-z0-9.-]+(?::\d{1,5})?/[\w./%+~!-]*", re.ASCII).fullmatch
_FRACTION = lazy_pattern(r"\.\d+", re.ASCII)
_INSTANT = lazy_pattern(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(?:\.\d+)?Z", re.ASCII).fullmatch
