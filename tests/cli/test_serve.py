"""``gradcompat knowledge serve``: what it says, and its end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection

import pytest

from tests.conftest import Run


@contextmanager
def command(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and its one line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gradcompat", "knowledge", "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.e2e
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal elsewhere only")
def test_it_says_where_it_is_and_ends_with_ctrl_c() -> None:
    with command() as (process, line):
        found = re.fullmatch(
            r"http://127\.0\.0\.1:(\d+) answers as osv\.dev does, with the \d+ records? without conditions "
            r"among \d+ of \d{4}-\d\d-\d\d; Ctrl-C ends it\n",
            line,
        )
        assert found is not None, line
        place = ("127.0.0.1", int(found[1]))
        # Nobody is there any more when the answer comes: a signal that would end another command.
        for _ in range(20):
            with socket.create_connection(place) as connection:
                connection.sendall(b"GET /v1/vulns/x_GC-0001 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with closing(HTTPConnection(*place, timeout=30)) as client:
            client.request("GET", "/v1/vulns/x_GC-0001")
            response = client.getresponse()
            assert response.status == 200
            assert response.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.e2e
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal elsewhere only")
def test_clients_that_the_end_cuts_off_are_no_failures() -> None:
    with command() as (process, line), ExitStack() as clients:
        port = int(line.partition(" ")[0].rpartition(":")[2])
        silent = [clients.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(10)]
        silent[0].sendall(b"GET /v1/vulns/x_GC-0001 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert silent[0].recv(15) == b"HTTP/1.1 200 OK"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.e2e
def test_conditional_records_are_counted() -> None:
    with command("--conditional") as (_, line):
        assert re.search(r"with the \d\d+ records with or without conditions among", line)


def test_a_port_in_use_is_said(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = run("knowledge", "serve", "--port", str(port))
    assert outcome.status == 2
    assert outcome.err.startswith(f"error: cannot listen on port {port}: ")
    assert outcome.err.endswith("hint: `--port 0` takes a free one\n")


def test_another_host_is_refused(run: Run) -> None:
    outcome = run("knowledge", "serve", "--host", "0.0.0.0")  # noqa: S104 - refused
    assert outcome.status == 2
    assert outcome.err.startswith("error: `--host 0.0.0.0` is not an address of this machine alone\n")
