"""Somebody's own records: one that is right, for tests to break; and a server with TLS that hands files out."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trustme

HEAD = """\
date: "2026-11-22"
horizon:
  acme-trainer: {version: "3.2.0", date: "2026-11-22"}
issues:
"""

RECORD = """\
  - id: ACME-0001
    summary: The learning rate of the second epoch is that of the first one again
    details: The scheduler is made anew for every epoch.
    level: error
    silent: true
    categories: [optimizer]
    affected:
      - packages: {acme-trainer: ">=3.0.0,<3.1.4"}
    remedies:
      - {kind: upgrade, package: acme-trainer, versions: ">=3.1.4"}
    references:
      - {type: REPORT, url: "https://tracker.acme.example/TRAIN-812"}
    range_basis: tags
    evidence: ["scheduler.py was read in 2.9.9, 3.0.0, 3.1.3 and 3.1.4."]
    examples:
      affected:
        - {acme-trainer: 3.0.0}
        - {acme-trainer: 3.1.3}
      not_affected:
        - {acme-trainer: 2.9.9}
        - {acme-trainer: 3.1.4}
"""

# The line on which the record begins.
FIRST_LINE = 5


def own(*changes: tuple[str, str], head: str = HEAD) -> str:
    """The file with pieces of its text replaced, each of which it has to have."""
    text = head + RECORD
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


@dataclass
class Reply:
    """What the server answers; of ``body``, only ``sent`` bytes if that is given, and then it hangs up."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: int | None = None


class TlsServer:
    """Path → what is answered; ``asked`` has the headers of every request."""

    def __init__(self, base: str, authority: Path) -> None:
        self.base = base
        self.authority = authority
        self.pages: dict[str, Reply] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

    @property
    def env(self) -> dict[str, str]:
        """What makes a process trust it."""
        return {"SSL_CERT_FILE": str(self.authority)}


@contextmanager
def serving_tls(folder: Path) -> Iterator[TlsServer]:
    """A server on 127.0.0.1 with the certificate of an authority that nobody knows."""
    authority = trustme.CA()
    path = folder / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self) -> None:
            server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            reply = server.pages.get(self.path, Reply(status=404))
            etag = reply.headers.get("ETag")
            if etag is not None and self.headers.get("If-None-Match") == etag:
                reply = Reply(status=304)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.status != 304:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body[: reply.sent])
            self.close_connection = reply.sent is not None

        def log_message(self, *_: object) -> None:
            pass

    class Listening(ThreadingHTTPServer):
        daemon_threads = True

        def get_request(self) -> tuple[socket.socket, object]:
            # The handshake is made when a thread first reads, so that a bad client holds nobody up.
            connection, address = super().get_request()
            return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

        def handle_error(self, *_: object) -> None:
            pass  # a client that does not trust the certificate hangs up

    listening = Listening(("127.0.0.1", 0), Handler)
    server = TlsServer(f"https://127.0.0.1:{listening.server_address[1]}", path)
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()
