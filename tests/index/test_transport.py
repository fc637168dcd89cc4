"""What is sent where; the rest of it is tested with a whole index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from gradcompat.errors import IndexUnavailable
from gradcompat.index.transport import Transport


def faked(answer: Callable[[httpx.Request], httpx.Response]) -> Transport:
    one = Transport(sleep=lambda _: None)
    one._client = httpx.Client(transport=httpx.MockTransport(answer))
    return one


def problem(one: Transport, url: str) -> str:
    with pytest.raises(IndexUnavailable) as caught:
        one.get(url, limit=10)
    return str(caught.value)


def test_a_redirect_does_not_lead_from_https_to_http() -> None:
    one = faked(lambda _: httpx.Response(302, headers={"Location": "http://me:pw@other.example/a?token=b"}))
    assert problem(one, "https://index.example/a") == (
        "`https://index.example/a`: redirects from https to http (`http://other.example/a`)"
    )


@pytest.mark.parametrize("url", ["https://[", "https://index.example:port/", "nonsense", "https://"])
def test_what_is_no_url(url: str) -> None:
    assert problem(Transport(sleep=lambda _: None), url).endswith(("is not a URL", "it is not a URL"))


def test_a_connection_that_fails_is_not_quoted_where_it_names_an_address() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("proxy http://me:secret@proxy.example refused")

    assert problem(faked(fail), "https://index.example/") == "`https://index.example/`: cannot be reached, 4 times over"


def test_certificates_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable) as caught:
        Transport(certificates=tmp_path / "none.pem")
    assert str(caught.value) == f"`{tmp_path / 'none.pem'}`: cannot be read as certificates: No such file or directory"
