"""Asking an index over http: with retries, limits, and credentials that only their own origin ever sees.

Every failure is an :class:`IndexUnavailable` with one sentence. It names the address without user, password and query,
and quotes nothing of what the other side sent.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Collection, Mapping
from datetime import timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx

from gradcompat._version import __version__
from gradcompat.errors import IndexUnavailable
from gradcompat.index.credentials import Credential, redact_url
from gradcompat.index.limits import DEFAULTS, Limits
from gradcompat.index.location import named, origin
from gradcompat.startup.lazy_dataclasses import dataclass, field

_RETRIED = frozenset({408, 429, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5


class TooLarge(IndexUnavailable):
    """An answer is larger than what was asked for may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered.

    Attributes:
        status: of the response.
        headers: of the response, names in lower case.
        content: its body, decompressed.
        url: where it was found in the end.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)
    url: str


@dataclass(frozen=True, slots=True)
class _Again:
    """It did not work, and may work later.

    Attributes:
        reason: what happened.
        wait: how long the other side wants to be left alone, in seconds, if it said.
        reached: there was an answer.
    """

    reason: str
    wait: float | None = None
    reached: bool = True


class Transport:
    """Connections that are kept alive, for any number of threads.

    Attributes:
        requests: how many were sent.
    """

    def __init__(
        self,
        *,
        credentials: Callable[[str], Credential | None] = lambda _: None,
        limits: Limits = DEFAULTS,
        certificates: Path | None = None,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """Prepare, without connecting.

        Args:
            credentials: those for a URL, which are sent to its origin alone.
            limits: how long and how often.
            certificates: a file of authorities to trust in the place of those that httpx brings.
            sleep: waits some seconds; by default until :meth:`close`.

        Raises:
            IndexUnavailable: if the certificates cannot be read.
        """
        self._closed = threading.Event()
        self._credentials = credentials
        self._limits = limits
        self._sleep = sleep if sleep is not None else self._closed.wait
        self._lock = threading.Lock()
        self._reached: set[object] = set()
        self._dead: dict[object, str] = {}
        self.requests = 0
        self._client = httpx.Client(
            headers={"User-Agent": f"gradcompat/{__version__}"},
            timeout=httpx.Timeout(limits.silence, pool=None),
            limits=httpx.Limits(max_connections=limits.connections, max_keepalive_connections=limits.connections),
            verify=_trusted(certificates),
            follow_redirects=False,
        )

    def close(self) -> None:
        """End all connections; what is still under way fails."""
        self._closed.set()
        self._client.close()

    def get(
        self,
        url: str,
        *,
        limit: int,
        headers: Mapping[str, str] | None = None,
        accepted: Collection[int] = (200, 404, 410),
    ) -> Answer:
        """Ask for one address.

        Args:
            url: http or https.
            limit: how many bytes the answer may have.
            headers: of the request.
            accepted: statuses that are answers; another one is an error.

        Raises:
            TooLarge: if the answer is larger than that.
            IndexUnavailable: if there is no such answer.
        """
        where = named(url)
        try:
            place = origin(url)
        except ValueError:
            raise IndexUnavailable("is not a URL", path=where) from None
        attempt = 1
        while True:
            if place in self._dead:
                raise IndexUnavailable(self._dead[place], path=where)
            outcome = self._try(url, limit, headers or {}, accepted)
            if isinstance(outcome, Answer):
                self._reached.add(place)
                return outcome
            wait = self._limits.pause * 2 ** (attempt - 1) if outcome.wait is None else outcome.wait
            if wait > self._limits.longest_pause:
                raise IndexUnavailable(f"{outcome.reason}, and asks to retry after {wait:.0f} seconds", path=where)
            if attempt >= self._limits.attempts or self._closed.is_set():
                break
            self._sleep(wait)
            attempt += 1
        if not outcome.reached and place not in self._reached:
            # What never answered is not asked a hundred times more.
            self._dead[place] = outcome.reason
        raise IndexUnavailable(outcome.reason + (f", {attempt} times over" if attempt > 1 else ""), path=where)

    def _try(self, url: str, limit: int, headers: Mapping[str, str], accepted: Collection[int]) -> Answer | _Again:
        """One attempt, with the redirects that it leads to."""
        where = named(url)
        url, first = redact_url(url), redact_url(url)
        deadline = time.monotonic() + self._limits.total
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._send(url, limit, headers, accepted, deadline, own=_same_origin(url, first))
            if isinstance(answer, _Again) or answer.status not in _REDIRECTS:
                return answer
            url = _target(answer, url, where)
        raise IndexUnavailable(f"redirects more than {_MOST_REDIRECTS} times", path=where)

    def _send(
        self,
        url: str,
        limit: int,
        headers: Mapping[str, str],
        accepted: Collection[int],
        deadline: float,
        *,
        own: bool,
    ) -> Answer | _Again:
        where = named(url)
        with self._lock:
            self.requests += 1
            # One at a time: finding them may mean to ask the user's keyring.
            credential = self._credentials(url) if own else None
        auth = httpx.BasicAuth(credential.username, credential.password) if credential is not None else None
        try:
            with self._client.stream("GET", url, headers=headers, auth=auth) as response:
                status = response.status_code
                if status in _REDIRECTS:
                    return Answer(status=status, headers=response.headers, content=b"", url=url)
                if status in _RETRIED and status not in accepted:
                    return _Again(_answered(status), _retry_after(response.headers.get("retry-after")))
                if status not in accepted:
                    raise IndexUnavailable(_answered(status), path=where, hint=_hint(status, credential))
                content = self._body(response, where, limit, deadline)
                return Answer(status=status, headers=response.headers, content=content, url=url)
        except httpx.TimeoutException as error:
            reached = not isinstance(error, httpx.ConnectTimeout)
            return _Again(f"did not answer within {self._limits.silence:g} seconds", reached=reached)
        except httpx.DecodingError:
            raise IndexUnavailable("sent an answer that cannot be decompressed", path=where) from None
        except httpx.ConnectError as error:
            return _Again(f"cannot be reached{_detail(error)}", reached=False)
        except httpx.ProxyError:
            return _Again("cannot be reached: the proxy refuses", reached=False)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, ValueError):
            raise IndexUnavailable("cannot be asked for: it is not a URL", path=where) from None
        except httpx.TransportError:
            return _Again("closed the connection")
        except RuntimeError:  # httpx says so of a client that was closed
            if not self._closed.is_set():
                raise
            raise IndexUnavailable("was given up", path=where) from None

    def _body(self, response: httpx.Response, where: str, limit: int, deadline: float) -> bytes:
        stated = response.headers.get("content-length", "")
        if stated.isascii() and stated.isdigit() and int(stated[:20]) > limit:
            raise _too_large(where, limit)
        chunks, size = [], 0
        for chunk in response.iter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise _too_large(where, limit)
            if time.monotonic() > deadline:
                raise IndexUnavailable(f"was still sending after {self._limits.total:g} seconds", path=where)
        return b"".join(chunks)


@lru_cache(maxsize=8)  # reading a hundred and forty certificates takes longer than many a plan
def _trusted(certificates: Path | None) -> ssl.SSLContext:
    if certificates is None:
        return httpx.create_ssl_context()
    try:
        return ssl.create_default_context(cafile=str(certificates))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise IndexUnavailable(f"cannot be read as certificates: {reason}", path=str(certificates)) from None


def _same_origin(url: str, other: str) -> bool:
    try:
        return origin(url) == origin(other)
    except ValueError:
        return False


def _target(answer: Answer, url: str, where: str) -> str:
    """Where a redirect leads, without the credentials that somebody may have put there."""
    try:
        target = redact_url(urljoin(url, answer.headers.get("location", "")))
        scheme = urlsplit(target).scheme
        host = origin(target)[1]
    except ValueError:
        scheme = host = ""
    if not answer.headers.get("location") or scheme not in ("http", "https") or not host:
        raise IndexUnavailable("redirects to what is not an http address", path=where)
    if scheme == "http" and urlsplit(url).scheme == "https":
        raise IndexUnavailable(f"redirects from https to http (`{named(target)}`)", path=where)
    return target


def _answered(status: int) -> str:
    try:
        return f"answered {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"answered {status}"


def _hint(status: int, credential: Credential | None) -> str | None:
    if status not in (401, 403):
        return None
    return "the user name or the password is wrong" if credential is not None else "it may require a password"


def _retry_after(value: str | None) -> float | None:
    """Seconds that a server wants to be left alone."""
    if value is None:
        return None
    if value.isascii() and value.strip().isdigit():
        return float(value.strip()[:9])
    try:
        moment = parsedate_to_datetime(value)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
        return max(0.0, moment.timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _detail(error: httpx.ConnectError) -> str:
    """Why there is no connection, where the system says so in words that hold no address."""
    text = str(error)
    text = text.rpartition("] ")[2] if text.startswith("[Errno") else text
    return f": {text}" if text and not any(sign in text for sign in "/@\n") and len(text) < 200 else ""


def _too_large(where: str, limit: int) -> TooLarge:
    size = f"{limit / 2**20:g} MiB" if limit >= 2**20 else f"{limit} bytes"
    return TooLarge(f"is larger than {size}", path=where)
