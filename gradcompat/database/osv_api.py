"""The API of osv.dev over our records: a request in, a status and JSON out. No sockets here.

A query is about one version of one package, and nobody who answers it sees the training or the rest of the
environment. So it gets the records whose range claims that version whatever else there is; those that hang on
something are given only where that was asked for, and their summary then says on what. They may well not apply:
`gradcompat check` decides that, an auditor cannot.

Without a version all records that speak of the package count, as at osv.dev. Withdrawn ones are found by their id
alone.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from gradcompat.knowledge.load import KnowledgeBase, issue_from
from gradcompat.knowledge.osv import ECOSYSTEM, PREFIX, advisory, plain_ranges, possible_ranges, with_conditions
from gradcompat.model.release import Catalogue
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet, locate
from gradcompat.sources.purl import parse_purl
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.truth import Truth

QUERY, BATCH, RECORD = "/v1/query", "/v1/querybatch", "/v1/vulns/"

# As osv.dev: a page of one query, and of all queries of a batch together, and how many of these there may be.
PAGE = 1_000
BATCH_PAGE = 3_000
MAX_QUERIES = 1_000

# What osv.dev has in `code`, from gRPC, by the status of the answer; an internal error where it is not listed.
_CODES = {400: 3, 403: 7, 404: 5, 405: 12, 408: 4, 411: 3, 413: 3, 414: 3, 431: 3}
_INTERNAL = 13


@dataclass(frozen=True, slots=True)
class Answer:
    """A status of HTTP, and the object that goes with it; ``allow`` is the one method that there is here."""

    status: int
    data: Mapping[str, Any]
    allow: str | None = None


def refusal(status: int, message: str) -> Answer:
    """An error as osv.dev words it."""
    return Answer(status, {"code": _CODES.get(status, _INTERNAL), "message": message})


class _Invalid(Exception):
    """The request is wrong; the message says what, and holds nothing of it."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One query. ``name`` is None where it is about something that we know nothing of."""

    name: str | None
    version: str | None
    start: int


class Advisories:
    """The records as an OSV database. It is built once, and then only read: any number of threads may ask."""

    def __init__(
        self,
        base: KnowledgeBase,
        catalogue: Catalogue,
        *,
        conditional: bool = False,
        page: int = PAGE,
        batch_page: int = BATCH_PAGE,
    ) -> None:
        """Make advisories of all records.

        Args:
            base: the records.
            catalogue: where the releases of affected ranges are looked up.
            conditional: queries also get what hangs on something else.
            page: how many advisories one answer to a query holds.
            batch_page: how many all answers of a batch hold together.
        """
        self._families = base.names.families
        self._page, self._batch_page = page, batch_page
        self._records: dict[str, dict[str, Any]] = {}
        self._ranges: dict[str, list[tuple[str, VersionSet]]] = {}
        for issue in map(issue_from, base.records):
            data = advisory(issue, base, catalogue)
            self._records[issue.id] = with_conditions(data, issue) if conditional else data
            if issue.withdrawn is None:
                for name, versions in (possible_ranges if conditional else plain_ranges)(issue).items():
                    self._ranges.setdefault(name, []).append((issue.id, versions))
        self.answering = len({identifier for ranges in self._ranges.values() for identifier, _ in ranges})

    def answer(self, method: str, target: str, body: bytes = b"") -> Answer:
        """Answer one request."""
        try:
            path = urlsplit(target).path
        except ValueError:
            return refusal(400, "Invalid path.")
        expected = "POST" if path in (QUERY, BATCH) else "GET" if path.startswith(RECORD) else None
        if expected is None:
            return refusal(404, "The current request is not defined by this API.")
        if method != expected:
            return replace(refusal(405, f"The method is not allowed here: use {expected}."), allow=expected)
        try:
            if path == QUERY:
                return Answer(200, self._one(_asked(_read(body), self._families), self._page, whole=True))
            if path == BATCH:
                return Answer(200, {"results": self._batch(_read(body))})
        except _Invalid as error:
            return refusal(400, str(error))
        identifier = unquote(path.removeprefix(RECORD)).removeprefix(PREFIX)
        record = self._records.get(identifier)
        return refusal(404, "Bug not found.") if record is None else Answer(200, record)

    def _batch(self, data: Any) -> list[dict[str, Any]]:
        queries = data.get("queries") if isinstance(data, dict) else None
        if queries is None:
            return []
        if not isinstance(queries, list):
            raise _Invalid("Invalid query.")
        if len(queries) > MAX_QUERIES:
            raise _Invalid("Too many queries.")
        left, results = self._batch_page, []
        for asked in [_asked(query, self._families) for query in queries]:
            result = self._one(asked, min(self._page, left), whole=False)
            left -= len(result.get("vulns", ()))
            results.append(result)
        return results

    def _one(self, asked: _Asked, page: int, *, whole: bool) -> dict[str, Any]:
        """A page of what answers one query: advisories, or their ids; nothing at all where nothing does."""
        ranges = self._ranges.get(asked.name or "", [])
        if asked.version is not None and ranges:
            # Looked at once: whoever asks may send a version of a million characters.
            window = locate(asked.version)
            ranges = [one for one in ranges if window is not None and one[1].truth(window) is Truth.YES]
        found = [self._records[identifier] for identifier, _ in ranges]
        if asked.start > len(found):
            raise _Invalid("Invalid page token.")
        shown = found[asked.start : asked.start + page]
        vulns = shown if whole else [{"id": one["id"], "modified": one["modified"]} for one in shown]
        behind = asked.start + len(shown)
        return {
            **({"vulns": vulns} if vulns else {}),
            **({"next_page_token": _token(behind)} if behind < len(found) else {}),
        }


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # no UTF-8, no JSON, a number without end, nested beyond reason
        raise _Invalid("The body is not JSON.") from None


def _asked(query: Any, families: Mapping[str, str]) -> _Asked:
    """One query, checked.

    Raises:
        _Invalid: if it is none.
    """
    if not isinstance(query, dict):
        raise _Invalid("Invalid query.")
    package = query.get("package")
    if package is None:
        package = {}
    if not isinstance(package, dict):
        raise _Invalid("Invalid query.")
    commit, version, token = (_text(query, key) for key in ("commit", "version", "page_token"))
    name, ecosystem, purl = (_text(package, key) for key in ("name", "ecosystem", "purl"))
    if commit and version:
        raise _Invalid("Either commit or version is allowed, not both.")
    if purl:
        if name or ecosystem:
            raise _Invalid("Either a purl, or a name and an ecosystem are allowed.")
        parsed = parse_purl(purl)
        if parsed is None:
            raise _Invalid("Invalid Package URL.")
        if parsed.version and version:
            raise _Invalid("The version is in the purl and beside it.")
        name, version = parsed.name, version or parsed.version or ""
        ecosystem = ECOSYSTEM if parsed.type == "pypi" else "of others"
    elif bool(name) != bool(ecosystem) or not (name or commit):
        raise _Invalid("Invalid query.")
    if commit or ecosystem != ECOSYSTEM:
        return _Asked(None, None, _start(token))
    name = normalise(name)
    return _Asked(families.get(name, name), version or None, _start(token))


def _text(data: Mapping[str, Any], key: str) -> str:
    """A string; what is missing, null or empty is the same."""
    value = data.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Invalid("Invalid query.")
    return value


def _token(start: int) -> str:
    return urlsafe_b64encode(b"%d" % start).decode("ascii")


def _start(token: str) -> int:
    """Where the page begins; 0 without a token."""
    if not token:
        return 0
    try:
        number = urlsafe_b64decode(token.encode("ascii"))
    except ValueError:  # UnicodeEncodeError and binascii.Error are
        number = b""
    if not number.isdigit() or len(number) > 9:
        raise _Invalid("Invalid page token.")
    return int(number)
