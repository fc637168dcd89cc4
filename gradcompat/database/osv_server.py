"""The records behind the API of osv.dev, on a socket of this machine.

One loop reads all connections, and each ends with its answer. A client has :data:`SECONDS` for its request, and as many
to take the answer.
"""

from __future__ import annotations

import asyncio
import io
import ipaddress
import json
import socket
from collections.abc import Callable
from contextlib import suppress
from email.message import Message
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from gradcompat.database.osv_api import Advisories, Answer, refusal
from gradcompat.errors import UsageError
from gradcompat.startup.lazy_dataclasses import dataclass

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

MAX_BODY = 1024 * 1024
SECONDS = 10.0
_WAITING = 2048
_LONGEST_LINE = 65_536
_LONGEST_HEAD = 4 * _LONGEST_LINE
_MOST_CONNECTIONS = 4096
_FILES_LEFT = 128
_DRAINED = 8 * MAX_BODY
_DRAIN_SECONDS = 2.0


def loopback(host: str) -> str:
    """The address of a host that only this machine reaches.

    Raises:
        UsageError: if it is another one.
    """
    if host.lower() == "localhost":
        return "127.0.0.1"
    with suppress(ValueError):
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
        if address.is_loopback:
            return str(address)
    raise UsageError(
        f"`--host {host}` is not an address of this machine alone",
        hint="the server has no passwords and no encryption: it listens on 127.0.0.1, ::1 and the like",
    )


class Server:
    """The listening socket, and what is said on its connections.

    A connection costs a place until its request is there, and no thread: so those who say nothing keep nobody waiting.
    Where the places run out, the one that has been silent the longest is given up.
    """

    def __init__(
        self,
        address: tuple[str, int],
        advisories: Advisories,
        *,
        failed: Callable[[str], object] = lambda _: None,
        seconds: float = SECONDS,
    ) -> None:
        """Listen.

        Args:
            address: a host and a port.
            advisories: what answers.
            failed: is called with the reason where a request could not be answered.
            seconds: that a client has for its request, and for taking the answer.

        Raises:
            OSError: if the address cannot be used.
        """
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.socket = socket.create_server(address, family=family, backlog=_WAITING)
        self._advisories, self._failed, self._seconds = advisories, failed, seconds
        self._silent: dict[asyncio.StreamWriter, None] = {}  # the longest first
        self._connections = 0
        self._stopped: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    @property
    def url(self) -> str:
        """``http://127.0.0.1:8573``."""
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def serve(self, ready: Callable[[], object] = lambda: None) -> None:
        """Answer until :meth:`stop`; ``ready`` is called before the first one."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, about: self._failed(about.get("message", "")))
        ended = asyncio.Event()
        self._stopped = loop, ended
        try:
            async with await asyncio.start_server(self._connected, sock=self.socket, limit=_LONGEST_LINE):
                ready()
                await ended.wait()
        finally:
            loop.set_exception_handler(lambda *_: None)  # a connection that the end cuts off is no failure

    def stop(self) -> None:
        """Stop answering; may be called by another thread."""
        if self._stopped is not None:
            loop, ended = self._stopped
            loop.call_soon_threadsafe(ended.set)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request and its answer. A connection that breaks is its client's affair."""
        self._connections += 1
        if self._connections > _places() and self._silent:
            oldest = next(iter(self._silent))
            del self._silent[oldest]
            oldest.transport.abort()
        self._silent[writer] = None
        try:
            request = await asyncio.wait_for(_request(reader, writer), self._seconds)
            self._silent.pop(writer, None)
            if request is not None:
                answer = await asyncio.to_thread(self._answer, request)
                await asyncio.wait_for(_send(answer, writer, body=request.method != "HEAD"), self._seconds)
                if answer.status != HTTPStatus.OK:
                    await asyncio.wait_for(_drain(reader, writer), _DRAIN_SECONDS)
            writer.close()
            await asyncio.wait_for(writer.wait_closed(), self._seconds)
        except (OSError, asyncio.TimeoutError):
            pass
        finally:
            writer.transport.abort()
            self._silent.pop(writer, None)
            self._connections -= 1

    def _answer(self, request: _Request) -> Answer:
        if request.refused is not None:
            return request.refused
        try:
            return self._advisories.answer(request.method, request.target, request.body)
        except Exception as error:
            self._failed(repr(error))
            return refusal(500, "Internal error.")


def _places() -> int:
    """How many connections the system lets this process have, with some files left for the rest of it."""
    if resource is None:
        return _MOST_CONNECTIONS
    return min(_MOST_CONNECTIONS, max(1, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _FILES_LEFT))


@dataclass(frozen=True, slots=True)
class _Request:
    """What a client asks, or why that is refused."""

    method: str
    target: str = ""
    body: bytes = b""
    refused: Answer | None = None


class _Head(BaseHTTPRequestHandler):
    """The lines of a request before its body, as the standard library reads them; no socket.

    Attributes:
        complete: it is a request; where it is none, ``refused`` says why, unless nothing is to be said to it.
        expects: the client waits for a word before it sends the body.
    """

    def __init__(self, lines: bytes) -> None:
        self.rfile = io.BufferedReader(io.BytesIO(lines))
        self.raw_requestline = self.rfile.readline()
        self.refused: Answer | None = None
        self.expects = False
        self.complete = self.parse_request()

    def handle_expect_100(self) -> bool:
        """Told by :func:`_request`, where the length is known to be right."""
        self.expects = True
        return True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """What the base class refuses, in our words: its own hold pieces of the request."""
        self.refused = refusal(code, f"{HTTPStatus(code).phrase}.")


async def _request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> _Request | None:
    """Read one request; None if there is none.

    Raises:
        OSError: if the connection breaks.
    """
    lines = b""
    try:
        while (line := await reader.readline()) not in (b"\r\n", b"\n", b""):
            lines += line
            if len(lines) > _LONGEST_HEAD:
                return _Request("", refused=refusal(431, "Request Header Fields Too Large."))
    except ValueError:  # a line without end
        status = 431 if lines else 414
        phrase = "Request Header Fields Too Large." if lines else "Request-URI Too Long."
        return _Request("", refused=refusal(status, phrase))
    if not lines:
        return None
    head = _Head(lines + line)
    if not head.complete:
        return None if head.refused is None else _Request("", refused=head.refused)
    if not _is_local(head.headers.get("Host")):
        return _Request(head.command, refused=refusal(403, "The host of the request is not this machine."))
    if head.command != "POST":
        return _Request(head.command, head.path)
    length = _length(head.headers)
    if isinstance(length, Answer):
        return _Request(head.command, refused=length)
    if head.expects:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        return _Request(head.command, head.path, await reader.readexactly(length))
    except asyncio.IncompleteReadError:
        return _Request(head.command, refused=refusal(400, "The body is shorter than its length."))


def _is_local(host: str | None) -> bool:
    """A page of another site that has pointed its own name to this machine is not answered."""
    if host is None:
        return True  # HTTP/1.0, which no browser speaks
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    try:
        loopback(name.strip())
    except UsageError:
        return False
    return True


def _length(headers: Message) -> int | Answer:
    """Of the body, or why it is not read."""
    lengths = [text.strip() for text in headers.get_all("Content-Length", [])]
    if not lengths or "Transfer-Encoding" in headers:
        return refusal(411, "The length of the body is missing.")
    if len(set(lengths)) > 1 or not (lengths[0].isascii() and lengths[0].isdigit()):
        return refusal(400, "The length of the body is not a number.")
    if len(lengths[0]) > 9 or int(lengths[0]) > MAX_BODY:
        return refusal(413, f"The body is longer than {MAX_BODY} bytes.")
    return int(lengths[0])


async def _send(answer: Answer, writer: asyncio.StreamWriter, *, body: bool) -> None:
    """Write the answer, until the system has taken all of it."""
    data = json.dumps(answer.data).encode("ascii")
    lines = [
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        "Server: gradcompat",
        f"Date: {formatdate(usegmt=True)}",
        "Content-Type: application/json",
        "X-Content-Type-Options: nosniff",
        f"Content-Length: {len(data)}",
        "Connection: close",
        *([] if answer.allow is None else [f"Allow: {answer.allow}"]),
    ]
    writer.transport.set_write_buffer_limits(0)
    writer.write("\r\n".join([*lines, "", ""]).encode("ascii") + (data if body else b""))
    await writer.drain()


async def _drain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read what is still coming, for a while: a socket closed with unread data takes the answer back."""
    writer.write_eof()
    rest = _DRAINED
    while rest > 0 and (data := await reader.read(65536)):
        rest -= len(data)
