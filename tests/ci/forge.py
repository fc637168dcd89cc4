"""The GraphQL API of a forge, as far as comments go, on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAGE = 2


@dataclass
class Comment:
    id: str
    body: str
    own: bool


@dataclass
class Forge:
    """Its comments, what was asked, and what goes wrong on purpose."""

    url: str = ""
    token: str = "secret-token"  # noqa: S105 - of nothing
    comments: list[Comment] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    broken: tuple[int, bytes] | None = None
    read_only: bool = False

    def write(self, body: str, *, own: bool = False) -> None:
        self.comments.append(Comment(f"IC_{len(self.comments)}", body, own))

    def answer(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        if query.strip().startswith("mutation"):
            if self.read_only:
                error = {"type": "FORBIDDEN", "message": "Resource not accessible by integration"}
                return {"data": {"addComment": None}, "errors": [error]}
            if "addComment" in query:
                assert variables["id"] == "PR_7"
                self.asked.append("add")
                self.write(variables["body"], own=True)
            else:
                (old,) = [one for one in self.comments if one.id == variables["id"]]
                assert old.own
                self.asked.append("edit")
                old.body = variables["body"]
            return {"data": {"clientMutationId": None}}
        assert (variables["owner"], variables["name"], variables["number"]) == ("someone", "project", 7)
        start = int(variables["after"] or 0)
        shown = self.comments[start : start + PAGE]
        more = start + PAGE < len(self.comments)
        nodes = [{"id": one.id, "body": one.body, "viewerDidAuthor": one.own} for one in shown]
        pages = {"hasNextPage": more, "endCursor": str(start + PAGE) if more else None}
        return {
            "data": {"repository": {"pullRequest": {"id": "PR_7", "comments": {"nodes": nodes, "pageInfo": pages}}}}
        }


@contextmanager
def forge() -> Iterator[Forge]:
    it = Forge()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if it.broken is not None:
                status, data = it.broken
            elif self.headers["Authorization"] != f"Bearer {it.token}":
                status, data = 401, b'{"message": "Bad credentials"}'
            else:
                status, data = 200, json.dumps(it.answer(body["query"], body["variables"])).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    it.url = f"http://127.0.0.1:{server.server_address[1]}/graphql"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield it
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
