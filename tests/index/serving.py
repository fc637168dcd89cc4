"""A package index in a thread of the test, which answers well or badly, as it is told."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gradcompat.index.limits import Limits

# Patience is for indexes far away; here it would only slow failing tests down.
QUICK = Limits(silence=5, total=5, attempts=3)


@dataclass(frozen=True)
class AuditRequest:
    """A request that the server got."""

    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Reply:
    """What it answers.

    Attributes:
        length: what it says the length is, where that is a lie.
        ranges: it sends parts of the body where it is asked for them.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    ranges: bool = False


class Server:
    """Its pages: path → one reply, or several of which each is given once and the last from then on."""

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self.pages: dict[str, Reply | list[Reply]] = {}
        self.asked: list[AuditRequest] = []
        self.hold = threading.Event()

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def reply(self, path: str) -> Reply:
        found = self.pages.get(path, Reply(404))
        if isinstance(found, Reply):
            return found
        return found.pop(0) if len(found) > 1 else found[0]

    def html(self, project: str, *anchors: str, **headers: str) -> None:
        body = "<!DOCTYPE html>\n<html><body>\n" + "<br/>\n".join(anchors) + "\n</body></html>\n"
        self.pages[f"/simple/{project}/"] = Reply(body=body.encode(), headers={"Content-Type": "text/html", **headers})


@contextmanager
def serving() -> Iterator[Server]:
    """A server for the time of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet for headers and body: two wait for one another

        def do_GET(self) -> None:
            server.asked.append(AuditRequest(self.path, {name.lower(): value for name, value in self.headers.items()}))
            reply = server.reply(self.path)
            status, body, headers = reply.status, reply.body, dict(reply.headers)
            if status == -1:  # says nothing at all
                server.hold.wait(10)
                self.close_connection = True
                return
            asked = self.headers.get("Range", "").removeprefix("bytes=")
            if reply.ranges and asked:
                first, _, last = asked.partition("-")
                start = int(first) if first else max(0, len(body) - int(last))
                end = min(int(last) + 1, len(body)) if first and last else len(body)
                headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(body)}"
                status, body = 206, body[start:end]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) if reply.length is None else reply.length))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = reply.length is not None

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    server = Server(listening.server_address[1])
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.hold.set()
        listening.shutdown()
        thread.join()
        listening.server_close()


def metadata(name: str, version: str, *requires: str, form: str = "2.1", extra: str = "") -> bytes:
    """METADATA, or PKG-INFO."""
    lines = [f"Metadata-Version: {form}", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {line}" for line in requires]
    return ("\n".join(lines) + f"\n{extra}\nIts description.\nRequires-Dist: not-this-one\n").encode()


def wheel(name: str, version: str, *requires: str, padding: int = 0) -> bytes:
    """A wheel with some bytes that do not compress, so that a part of it is not all of it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(f"{name}/__init__.py", b"")
        archive.writestr(f"{name}-{version}.dist-info/METADATA", metadata(name, version, *requires))
        archive.writestr(f"{name}/weights.bin", bytes(padding))
    return out.getvalue()


def sdist(name: str, version: str, content: bytes | None, padding: int = 0) -> bytes:
    """An sdist, a tar.gz, with this PKG-INFO."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=0) as archive:
        members = {"a.bin": bytes(padding), "PKG-INFO": content, "setup.py": b""}
        for member, data in members.items():
            if data is not None:
                info = tarfile.TarInfo(f"{name}-{version}/{member}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def anchor(filename: str, content: bytes | None = None, *, folder: str = "/files/", **attributes: str) -> str:
    """A link as PEP 503 has it."""
    fragment = "" if content is None else f"#sha256={hashlib.sha256(content).hexdigest()}"
    more = "".join(f' data-{name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<a href="{folder}{filename}{fragment}"{more}>{filename}</a>'


class Sleeps:
    """Remembers how long it was to sleep, and does not."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
