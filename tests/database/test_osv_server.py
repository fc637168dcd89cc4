"""The server of records: this machine alone, hostile clients, and many at once."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcompat.database.osv_api import Advisories
from gradcompat.database.osv_server import MAX_BODY, Server, loopback
from gradcompat.errors import UsageError
from gradcompat.requirements.versions import locate
from tests.database.advised import advisories
from tests.examples import examples

QUERY = json.dumps({"package": {"name": "transformers", "ecosystem": "PyPI"}, "version": "4.49.0"}).encode()


def _print(reason: str) -> None:
    """To the standard error of the test that runs."""
    sys.stderr.write(reason)


@contextmanager
def serving(some: Advisories, host: str = "127.0.0.1", *, seconds: float = 10) -> Iterator[Server]:
    server = Server((host, 0), some, failed=_print, seconds=seconds)
    ready = threading.Event()
    thread = threading.Thread(target=asyncio.run, args=(server.serve(ready.set),), daemon=True)
    thread.start()
    ready.wait(30)
    try:
        yield server
    finally:
        server.stop()
        thread.join()
        server.socket.close()


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Advisories:
    return advisories(tmp_path_factory.mktemp("records"))


@pytest.fixture
def server(some: Advisories) -> Iterator[Server]:
    with serving(some) as one:
        yield one


def address(server: Server) -> tuple[str, int]:
    host, port = server.socket.getsockname()[:2]
    assert isinstance(host, str)
    return host, port


def asked(
    server: Server, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    with closing(HTTPConnection(*address(server), timeout=30)) as client:
        client.request(method, path, body, headers or {})
        return read(client.getresponse())


def read(response: HTTPResponse) -> tuple[int, Any]:
    assert response.getheader("Content-Type") == "application/json"
    return response.status, json.loads(response.read())


def said(server: Server, data: bytes, *, seconds: float = 30) -> bytes:
    """What the server says to these bytes, until it hangs up."""
    with socket.create_connection(address(server), timeout=seconds) as connection:
        connection.sendall(data)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def works(server: Server) -> bool:
    status, data = asked(server, "POST", "/v1/query", QUERY)
    return status == 200 and [one["id"] for one in data["vulns"]] == ["x_GC-0002"]


def test_the_three_addresses_answer(server: Server) -> None:
    assert works(server)
    batch = json.dumps({"queries": [json.loads(QUERY)]}).encode()
    assert asked(server, "POST", "/v1/querybatch", batch) == (
        200,
        {"results": [{"vulns": [{"id": "x_GC-0002", "modified": "2026-11-20T00:00:00Z"}]}]},
    )
    status, data = asked(server, "GET", "/v1/vulns/x_GC-0002")
    assert (status, data["aliases"]) == (200, ["GC-0002"])


def test_errors_are_json(server: Server) -> None:
    assert asked(server, "GET", "/v1/vulns/x") == (404, {"code": 5, "message": "Bug not found."})
    assert asked(server, "POST", "/v1/query", b"{") == (400, {"code": 3, "message": "The body is not JSON."})
    assert asked(server, "PUT", "/v1/query", b"{}") == (
        405,
        {"code": 12, "message": "The method is not allowed here: use POST."},
    )
    assert b"\r\nAllow: GET\r\n" in said(server, b"TRACE /v1/vulns/x HTTP/1.1\r\nHost: localhost\r\n\r\n")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])  # noqa: S104 - refused
def test_other_addresses_are_refused(host: str) -> None:
    with pytest.raises(UsageError, match="not an address of this machine alone"):
        loopback(host)


@pytest.mark.parametrize(
    ("host", "taken"),
    [("localhost", "127.0.0.1"), ("127.0.0.1", "127.0.0.1"), ("127.1.2.3", "127.1.2.3"), ("[::1]", "::1")],
)
def test_addresses_of_this_machine_are_taken(host: str, taken: str) -> None:
    assert loopback(host) == taken


def test_the_newer_protocol_is_served_too(some: Advisories) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with serving(some, "::1") as server:
        assert re.fullmatch(r"http://\[::1\]:\d+", server.url)
        assert works(server)


@pytest.mark.parametrize("host", ["example.org", "example.org:8573", "127.0.0.1.example.org", "192.0.2.1:80", ""])
def test_a_page_that_points_its_name_here_is_not_answered(server: Server, host: str) -> None:
    assert asked(server, "GET", "/v1/vulns/x_GC-0002", headers={"Host": host})[0] == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8573", "127.0.0.1:1", "[::1]", "[::1]:8573"])
def test_the_names_of_this_machine_are_answered(server: Server, host: str) -> None:
    assert asked(server, "GET", "/v1/vulns/x_GC-0002", headers={"Host": host})[0] == 200


HEAD = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\r\n", None),
        (b"\x00\xff\x00\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 505),
        (b"GET / HTTP/1.one\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\n\r\n", 404),
        (b"BREW /pot HTTP/1.1\r\n\r\n", 404),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\n" + b"".join(b"a%d: b\r\n" % one for one in range(200)) + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\na: " + b"b" * 70_000 + b"\r\n\r\n", 431),
        (HEAD + b"\r\n", 411),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}", 411),
        (HEAD + b"Content-Length: x\r\n\r\n", 400),
        (HEAD + b"Content-Length: -1\r\n\r\n", 400),
        (HEAD + b"Content-Length: \xb2\r\n\r\n", 400),
        (HEAD + b"Content-Length: +2\r\n\r\n{}", 400),
        (HEAD + b"Content-Length: 2\r\n\r\n\xff\xfe", 400),
        (HEAD + b"Content-Length: 5000\r\n\r\n" + b"[" * 5000, 400),
        (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        (HEAD + b"Content-Length: %d\r\n\r\n" % (MAX_BODY + 1), 413),
        (HEAD + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n", 413),
        (HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY + 1), 413),
    ],
)
def test_malformed_requests_are_survived(server: Server, data: bytes, status: int | None) -> None:
    answer = said(server, data)
    if status is None:
        assert answer == b""
    else:
        assert status_of(answer) == status
        assert json.loads(answer.rpartition(b"\r\n")[2]).keys() == {"code", "message"}
    assert works(server)


FIRST = [
    *(b"POST /v1/query HTTP/1.1", b"POST /v1/querybatch HTTP/1.1", b"HEAD /v1/vulns/x HTTP/1.1", b"GET / HTTP/1.1"),
    *(b"GET /v1/vulns/x_GC-0002 HTTP/1.0", b"GET http://[::1/ HTTP/1.1", b"PRI * HTTP/2.0", b"POST /v1/query"),
    *(b"GET /v1/vulns/%ff%00%2e%2e HTTP/1.1", b"OPTIONS * HTTP/1.1", b"CONNECT a:1 HTTP/1.1", b"\x16\x03\x01", b""),
]
HEADERS = [
    *(b"Content-Length: 0", b"Content-Length: 5", b"Content-Length: +5", b"Content-Length: 5, 5", b"Content-Length:"),
    *(b"Content-Length: 99999999999999999999", b"Content-Length: \xb2", b"content-length:\t1", b"Content-Length: 0x5"),
    *(b"Content-Length: -5", b"Content-Length: 5_0", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip"),
    *(b"Host: localhost", b"Host: example.org", b"Host: [::1", b"Host: \xff", b"Host:", b"Host: 127.0.0.1:x"),
    *(b"Connection: keep-alive", b"Expect: 100-continue", b"Expect: 200", b"Upgrade: websocket", b" folded", b":"),
    *(b"a: " + b"b" * 5000, b"no colon", b"\x00: \x00", b"GET /v1/vulns/x_GC-0002 HTTP/1.1"),
]
BODIES = [
    *(
        b"",
        b"{}",
        b'{"queries": [{}]}',
        b'{"package": 1}',
        b"\xff\xfe",
        b"[" * 2000,
        b"5\r\n{}   \r\n0\r\n\r\n",
        b"ffffffffff",
    ),
    *(b'{"page_token": "////"}', b'{"page_token": -1}', b'{"version": "1", "package": {"purl": "pkg:pypi/"}}', QUERY),
    b"GET /v1/vulns/x_GC-0002 HTTP/1.1\r\nHost: localhost\r\n\r\n",
]
REQUESTS = st.builds(
    lambda first, headers, body, end: end.join([first, *headers, b"", body]),
    st.one_of(st.sampled_from(FIRST), st.just(FIRST[0]), st.binary(max_size=20)),
    st.lists(st.one_of(st.sampled_from(HEADERS), st.binary(max_size=20)), max_size=3),
    st.one_of(st.sampled_from(BODIES), st.binary(max_size=30)),
    st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r", b"\x00"]),
)


@given(data=REQUESTS)
@settings(deadline=None, max_examples=examples(250), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_survived(server: Server, capfd: pytest.CaptureFixture[str], data: bytes) -> None:
    with socket.create_connection(address(server), timeout=30) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    answer = answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    if answer:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert status_of(head) < 500 or status_of(head) == 505, data
        assert answer.count(b"HTTP/1.1 ") == 1  # nothing that comes behind is another request
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        assert length is not None
        assert len(body) in (int(length[1]), 0)
        assert body == b"" or isinstance(json.loads(body), dict)
    assert capfd.readouterr().err == ""


WORDS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["4.49.0", "pkg:pypi/transformers@4.49.0", "MQ==", "LTE=", "9" * 5000, "\ud800", ""]),
    st.sampled_from([None, 1, -1, 1.5, float("nan"), True, [], [1], {}, {"name": 1}]),
)
PACKAGES = st.fixed_dictionaries(
    {"name": st.one_of(st.just("transformers"), WORDS), "ecosystem": st.one_of(st.just("PyPI"), WORDS)},
    optional={"purl": WORDS},
)
ONE = st.fixed_dictionaries(
    {"package": st.one_of(PACKAGES, PACKAGES, WORDS)}, optional={"version": WORDS, "commit": WORDS, "page_token": WORDS}
)
QUERIES = st.one_of(ONE, ONE, WORDS)


@given(data=QUERIES, target=st.sampled_from(["/v1/query", "/v1/querybatch"]), queries=st.booleans())
@settings(deadline=None, max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_query_has_an_answer(some: Advisories, data: object, target: str, queries: bool) -> None:
    body = json.dumps({"queries": [data]} if queries else data).encode()
    answer = some.answer("POST", target, body)
    assert answer.status in (200, 400)
    json.dumps(answer.data)


def test_a_batch_is_bounded(server: Server) -> None:
    def batch(number: int) -> bytes:
        return json.dumps({"queries": [json.loads(QUERY)] * number}).encode()

    assert asked(server, "POST", "/v1/querybatch", batch(1_000))[0] == 200
    assert asked(server, "POST", "/v1/querybatch", batch(1_001)) == (400, {"code": 3, "message": "Too many queries."})


def test_a_long_version_is_read_once(some: Advisories) -> None:
    """It takes no longer where many records speak of the package."""
    version = "1.0+" + "a." * 200_000 + "a"
    body = json.dumps({"package": {"name": "transformers", "ecosystem": "PyPI"}, "version": version}).encode()
    with mock.patch("gradcompat.database.osv_api.locate", wraps=locate) as looked:
        assert some.answer("POST", "/v1/query", body).status == 200
    assert looked.call_count == 1


def test_a_refused_body_does_not_take_the_answer_away(server: Server) -> None:
    body = b" " * (4 * MAX_BODY)
    assert asked(server, "POST", "/v1/query", body) == (
        413,
        {"code": 3, "message": f"The body is longer than {MAX_BODY} bytes."},
    )


def test_the_largest_body_is_read(server: Server) -> None:
    assert asked(server, "POST", "/v1/query", QUERY + b" " * (MAX_BODY - len(QUERY)))[0] == 200


def test_a_client_that_goes_is_no_trouble(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    for data in (b"", b"POST /v1/", HEAD + b"Content-Length: 100\r\n\r\n{", HEAD + b"Content-Length: 2\r\n\r\n{}"):
        with socket.create_connection(address(server)) as connection:
            connection.sendall(data)
            # Close with a reset, so that the answer meets nobody.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    assert works(server)
    assert capfd.readouterr().err == ""


def test_a_client_that_dawdles_is_cut_off(some: Advisories) -> None:
    with serving(some, seconds=0.5) as server:
        started = time.monotonic()
        with socket.create_connection(address(server), timeout=30) as connection, suppress(OSError):
            while time.monotonic() - started < 20:
                connection.sendall(b"G")  # a byte now and then does not keep it
                time.sleep(0.05)
        assert time.monotonic() - started < 20
        assert works(server)


def test_those_who_say_nothing_keep_nobody_waiting(some: Advisories) -> None:
    """Nor do those who begin a request, or stop in the midst of its body."""
    with serving(some, seconds=3600) as server:
        begun = (b"", b"POST /v1/", HEAD + b"Content-Length: 100\r\n\r\n{")
        silent = [socket.create_connection(address(server)) for _ in range(200)]
        try:
            for number, connection in enumerate(silent):
                connection.sendall(begun[number % 3])
            request = HEAD + b"Content-Length: %d\r\n\r\n" % len(QUERY) + QUERY
            assert status_of(said(server, request, seconds=20)) == 200
        finally:
            for connection in silent:
                connection.close()


def test_where_the_places_run_out_the_longest_silence_ends(some: Advisories) -> None:
    with (
        mock.patch("gradcompat.database.osv_server._places", return_value=20),
        serving(some, seconds=3600) as server,
    ):
        silent = [socket.create_connection(address(server), timeout=20) for _ in range(25)]
        try:
            assert works(server)
            for connection in silent[:5]:
                with suppress(ConnectionResetError):
                    assert connection.recv(1) == b""
            silent[-1].sendall(b"GET /v1/vulns/x HTTP/1.1\r\n\r\n")
            assert status_of(silent[-1].recv(100)) == 404
        finally:
            for connection in silent:
                connection.close()


def test_a_thousand_queries_at_once(server: Server) -> None:
    gate = threading.Barrier(200)
    batch = json.dumps({"queries": [json.loads(QUERY)] * 50}).encode()

    def ask(number: int) -> int:
        gate.wait(60)
        match number % 3:
            case 0:
                return asked(server, "POST", "/v1/query", QUERY)[0]
            case 1:
                return asked(server, "POST", "/v1/querybatch", batch)[0]
        return asked(server, "GET", "/v1/vulns/x_GC-0002")[0]

    with ThreadPoolExecutor(200) as pool:
        assert set(pool.map(ask, range(examples(1000)))) == {200}


def test_a_thousand_connections_at_once(server: Server) -> None:
    """All are open before the first one is read."""
    resource = pytest.importorskip("resource", reason="the number of open files is limited elsewhere")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4096:
        if hard < 4096:
            pytest.skip(f"this machine allows {hard} open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(QUERY) + QUERY
    connections = []
    try:
        for _ in range(examples(1000)):
            connections.append(socket.create_connection(address(server), timeout=60))
        for connection in connections:
            connection.sendall(request)
        for connection in connections:
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
    finally:
        for connection in connections:
            connection.close()


def test_records_live_where_the_server_is_started(tmp_path: Path, some: Advisories) -> None:
    """Two services do not mix their records."""
    with serving(some) as one, serving(advisories(tmp_path, conditional=True)) as other:
        assert len(asked(one, "POST", "/v1/query", QUERY)[1]["vulns"]) == 1
        assert len(asked(other, "POST", "/v1/query", QUERY)[1]["vulns"]) == 2


def test_an_answer_that_fails_is_told_and_hides_its_reason(
    server: Server, some: Advisories, capfd: pytest.CaptureFixture[str]
) -> None:
    with mock.patch.object(type(some), "answer", side_effect=ZeroDivisionError("a secret")):
        status, data = asked(server, "POST", "/v1/query", QUERY)
    assert (status, data["message"]) == (500, "Internal error.")
    assert capfd.readouterr().err == "ZeroDivisionError('a secret')"
