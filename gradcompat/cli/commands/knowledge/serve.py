"""``gradcompat knowledge serve``: the records behind the API of osv.dev, for auditors on this machine.

One thread answers one connection, and as many as :data:`SLOTS` at a time; the others wait in the queue of the system.
A connection has :data:`SECONDS` for all it wants to say and hear, and ends with its answer.
"""

from __future__ import annotations

import gc
import io
import ipaddress
import json
import signal
import socket
import socketserver
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore
from time import monotonic
from typing import Annotated, Any

import typer

from gradcompat.cli.parameters import OwnRecords
from gradcompat.database.open import known_records
from gradcompat.database.osv_api import Advisories, Answer, refusal
from gradcompat.errors import UsageError
from gradcompat.index.snapshot import Snapshot
from gradcompat.messages import counted
from gradcompat.renderers.terminal import safe

MAX_BODY = 1024 * 1024
SECONDS = 10.0
SLOTS = 128
_WAITING = 2048
_DRAINED = 8 * MAX_BODY
_DRAIN_SECONDS = 2.0


def command(
    *,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on, of this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 8573,
    conditional: Annotated[
        bool,
        typer.Option("--conditional", help="Also answer with records that hang on something else, and say on what."),
    ] = False,
    knowledge: OwnRecords,
) -> int:
    """Answer auditors of this machine as osv.dev does: `uv audit`, `pip-audit` and the like.

    A query is about one version of one package, so it gets the records whose range claims that version whatever the
    training and the other packages are. Most defects hang on more: with --conditional a query also gets those, and
    their summary ends with the condition. Whether it holds, `gradcompat check` finds out, and no auditor.

    `/v1/query`, `/v1/querybatch` and `/v1/vulns/ID` are answered. The address is printed in one line; Ctrl-C ends it.

    Examples:
      gradcompat knowledge serve
      uv audit --no-cache --service-url http://127.0.0.1:8573
      pip-audit -r requirements.txt -s osv --osv-url http://127.0.0.1:8573/v1/query
    """
    return run(host, port, conditional=conditional, knowledge=knowledge)


def run(host: str, port: int, *, conditional: bool, knowledge: Sequence[str] = ()) -> int:
    """Answer until Ctrl-C.

    Raises:
        UsageError: if the address is not of this machine alone, or cannot be used.
        KnowledgeError: if the knowledge base cannot be loaded.
        IndexUnavailable: if the snapshot of releases cannot be read.
    """
    address = loopback(host)
    base = known_records(knowledge)
    advisories = Advisories(base, Snapshot(), conditional=conditional)
    try:
        server = Server((address, port), advisories)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot listen on port {port}: {reason}", hint="`--port 0` takes a free one") from None
    # One run of a command keeps no garbage and ends at a signal; a server does neither.
    gc.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a client that has gone is no reason to end
    which = "with or without conditions" if conditional else "without conditions"
    with server, suppress(KeyboardInterrupt):
        sys.stdout.write(
            f"{server.url} answers as osv.dev does, with the {counted(advisories.answering, 'record')} {which} among "
            f"{len(base.records)} of {base.date}; Ctrl-C ends it\n"
        )
        sys.stdout.flush()
        server.serve_forever()
    return 0


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
        f"`--host {host}` is no address of this machine alone",
        hint="the server has no passwords and no encryption: it listens on 127.0.0.1, ::1 and the like",
    )


class Server(ThreadingHTTPServer):
    """The listening socket; a bounded number of connections is answered at a time."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = _WAITING

    def __init__(self, address: tuple[str, int], advisories: Advisories, *, seconds: float = SECONDS) -> None:
        """Listen.

        Raises:
            OSError: if the address cannot be used.
        """
        self.advisories = advisories
        self.seconds = seconds
        self._slots = BoundedSemaphore(SLOTS)
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    @property
    def url(self) -> str:
        """``http://127.0.0.1:8573``."""
        host, port = self.server_address[:2]
        shown = host.decode() if isinstance(host, (bytes, bytearray)) else str(host)
        return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"

    def server_bind(self) -> None:
        """Without the name of the machine, for which the base class may ask a name server."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Hand the connection to a thread, when one is free."""
        self._slots.acquire()
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started, or Ctrl-C came in between
            self._slots.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """In the thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - as the base class calls it
        """A connection that broke is its client's affair; anything else is said in one line."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            sys.stderr.write(safe(f"error: a request was not answered: {error!r}") + "\n")


class _Timed(io.RawIOBase):
    """What a socket says, up to a moment; a byte now and then does not keep the connection."""

    def __init__(self, connection: socket.socket, end: float) -> None:
        self._connection, self._end = connection, end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # header and body are two writes, of which the second would wait

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(_Timed(self.connection, monotonic() + self.server.seconds))

    def do_GET(self) -> None:
        self._answered("GET", lambda: b"")

    def do_POST(self) -> None:
        self._answered("POST", self._body)

    def _answered(self, method: str, body: Callable[[], bytes | Answer]) -> None:
        if not self._is_local(self.headers.get("Host")):
            self._send(refusal(403, "The host of the request is not this machine."))
            return
        content = body()
        try:
            answer = (
                content if isinstance(content, Answer) else self.server.advisories.answer(method, self.path, content)
            )
        except Exception:
            # The client hears of it, too; the base class would only hang up.
            self._send(refusal(500, "Internal error."))
            raise
        self._send(answer)

    def _is_local(self, host: str | None) -> bool:
        """A page of another site that has pointed its own name to this machine is not answered."""
        if host is None:
            return True  # HTTP/1.0, which no browser speaks
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        try:
            loopback(name.strip())
        except UsageError:
            return False
        return True

    def handle_expect_100(self) -> bool:
        """Whoever asks before sending is told at once what would not be read."""
        length = self._length()
        if isinstance(length, Answer):
            self._send(length)
            return False
        return super().handle_expect_100()

    def _body(self) -> bytes | Answer:
        """What was sent along, or why it is not read."""
        length = self._length()
        if isinstance(length, Answer):
            return length
        body = self.rfile.read(length)
        return body if len(body) == length else refusal(400, "The body is shorter than its length.")

    def _length(self) -> int | Answer:
        lengths = [text.strip() for text in self.headers.get_all("Content-Length", [])]
        if not lengths or "Transfer-Encoding" in self.headers:
            return refusal(411, "The length of the body is missing.")
        if len(set(lengths)) > 1 or not (lengths[0].isascii() and lengths[0].isdigit()):
            return refusal(400, "The length of the body is no number.")
        if len(lengths[0]) > 9 or int(lengths[0]) > MAX_BODY:
            return refusal(413, f"The body is longer than {MAX_BODY} bytes.")
        return int(lengths[0])

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """What the base class refuses, in our words: its own hold pieces of the request."""
        if code == HTTPStatus.NOT_IMPLEMENTED:  # a method that we have no function for
            self._send(self.server.advisories.answer(self.command, self.path))
            return
        self._send(refusal(code, f"{HTTPStatus(code).phrase}."))

    def _send(self, answer: Answer) -> None:
        data = json.dumps(answer.data).encode("ascii")
        self.close_connection = True
        self.request_version = self.protocol_version  # the base class writes no status where it could read none
        self.connection.settimeout(self.server.seconds)
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        if answer.allow is not None:
            self.send_header("Allow", answer.allow)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
        if answer.status != HTTPStatus.OK:
            self._drain()

    def _drain(self) -> None:
        """Read what is still coming, for a while: a socket closed with unread data takes the answer back."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            rest, end = _DRAINED, monotonic() + _DRAIN_SECONDS
            while rest > 0 and (left := end - monotonic()) > 0:
                self.connection.settimeout(left)
                received = len(self.connection.recv(65536))
                if received == 0:
                    return
                rest -= received

    def version_string(self) -> str:
        return "gradcompat"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        """Nothing: who asks what is nobody's affair."""
