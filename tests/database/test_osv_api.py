"""The API of osv.dev: what a query gets, page by page, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcompat.database.osv_api import Advisories
from tests.database.advised import advisories

TRANSFORMERS = {"name": "transformers", "ecosystem": "PyPI"}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Advisories:
    return advisories(tmp_path_factory.mktemp("plain"))


def posted(some: Advisories, path: str, data: object) -> Any:
    answer = some.answer("POST", path, json.dumps(data).encode())
    assert answer.status == 200, answer
    return answer.data


def ids(result: Any) -> list[str]:
    return [one["id"] for one in result.get("vulns", [])]


def asked(some: Advisories, package: dict[str, str], version: str | None = None, **more: str) -> list[str]:
    return ids(posted(some, "/v1/query", {"package": package, **({"version": version} if version else {}), **more}))


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("4.48.3", []),
        ("4.49.0", ["x_GC-0002"]),
        ("4.51.3", ["x_GC-0002", "x_GC-0003"]),
        ("4.51.3+local", ["x_GC-0002", "x_GC-0003"]),
        ("4.52.1", ["x_GC-0003"]),
        ("4.53.0", []),
        ("4.53.0.dev0", []),  # of a commit that may lie behind the fix
        (None, ["x_GC-0002", "x_GC-0003"]),
        ("main", []),
    ],
)
def test_a_version_gets_what_is_true_of_it_without_conditions(
    plain: Advisories, version: str | None, expected: list[str]
) -> None:
    assert asked(plain, TRANSFORMERS, version) == expected


@pytest.mark.parametrize(
    ("package", "version", "expected"),
    [
        ({"purl": "pkg:pypi/transformers@4.49.0"}, None, ["x_GC-0002"]),
        ({"purl": "pkg:pypi/transformers"}, "4.49.0", ["x_GC-0002"]),
        ({"purl": "pkg:npm/transformers@4.49.0"}, None, []),
        ({"name": "Transformers", "ecosystem": "PyPI"}, "4.49.0", ["x_GC-0002"]),
        ({"name": "transformers", "ecosystem": "npm"}, "4.49.0", []),
        ({"name": "lightning", "ecosystem": "PyPI"}, "1.9.0", ["x_GC-0005"]),
        ({"name": "pytorch_lightning", "ecosystem": "PyPI"}, "1.9.0", ["x_GC-0005"]),
        ({"name": "unheard-of", "ecosystem": "PyPI"}, "1.0", []),
    ],
)
def test_a_package_is_found_under_its_names(
    plain: Advisories, package: dict[str, str], version: str | None, expected: list[str]
) -> None:
    assert asked(plain, package, version) == expected


def test_conditional_records_are_answered_where_they_are_asked_for(tmp_path: Path) -> None:
    both = advisories(tmp_path, conditional=True)
    (first, second) = posted(both, "/v1/query", {"package": TRANSFORMERS, "version": "4.49.0"})["vulns"]
    assert first["id"] == "x_GC-0001"
    assert first["summary"] == (
        "The loss is multiplied by the number of micro-batches (only if transformers is >=4.49.0,<4.52.1 and "
        "training.gradient_accumulation_steps is more than 1)"
    )
    assert first["affected"] == []
    assert second["summary"] == "The loss is multiplied by the number of micro-batches"
    assert both.answering == 4


def test_a_batch_answers_each_query_in_its_place(plain: Advisories) -> None:
    queries = [
        {"package": TRANSFORMERS, "version": "4.48.3"},
        {"package": {"purl": "pkg:pypi/transformers@4.52.1"}},
        {"commit": "6879efc2c1596d11a6a6ad296f80063b558d5e0f"},
    ]
    assert posted(plain, "/v1/querybatch", {"queries": queries}) == {
        "results": [{}, {"vulns": [{"id": "x_GC-0003", "modified": "2026-11-20T00:00:00Z"}]}, {}]
    }
    assert posted(plain, "/v1/querybatch", {}) == {"results": []}


def test_pages_follow_one_another(tmp_path: Path) -> None:
    some = advisories(tmp_path, page=1)
    first = posted(some, "/v1/query", {"package": TRANSFORMERS, "version": "4.51.3"})
    token = first["next_page_token"]
    second = posted(some, "/v1/query", {"package": TRANSFORMERS, "version": "4.51.3", "page_token": token})
    assert (ids(first), ids(second)) == (["x_GC-0002"], ["x_GC-0003"])
    assert "next_page_token" not in second


def test_a_batch_holds_no_more_than_a_page_of_all_queries(tmp_path: Path) -> None:
    some = advisories(tmp_path, batch_page=3)
    queries: list[dict[str, Any]] = [{"package": TRANSFORMERS, "version": "4.51.3"} for _ in range(3)]
    found: dict[int, list[str]] = {0: [], 1: [], 2: []}
    pages, open_ones = 0, [0, 1, 2]
    while open_ones:
        results = posted(some, "/v1/querybatch", {"queries": [queries[one] for one in open_ones]})["results"]
        assert sum(len(ids(one)) for one in results) <= 3
        pages += 1
        for one, result in zip(open_ones, results, strict=True):
            found[one] += ids(result)
            queries[one]["page_token"] = result.get("next_page_token")
        open_ones = [one for one in open_ones if queries[one]["page_token"]]
    assert pages == 2
    assert list(found.values()) == [["x_GC-0002", "x_GC-0003"]] * 3


@pytest.mark.parametrize("identifier", ["x_GC-0001", "GC-0001", "x_GC-0004", "x_GC%2D0001"])
def test_every_record_has_an_address(plain: Advisories, identifier: str) -> None:
    answer = plain.answer("GET", f"/v1/vulns/{identifier}")
    assert answer.status == 200
    assert answer.data["id"] == f"x_GC-{identifier[-4:]}"
    assert ("withdrawn" in answer.data) == identifier.endswith("4")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        ("GET", "/", b"", 404, "The current request is not defined by this API."),
        ("GET", "/v1/vulns/x_GC-9999", b"", 404, "Bug not found."),
        ("GET", "/v1/vulns/", b"", 404, "Bug not found."),
        ("GET", "//[", b"", 400, "Invalid path."),
        ("GET", "/v1/query", b"", 405, "The method is not allowed here: use POST."),
        ("POST", "/v1/vulns/x_GC-0001", b"", 405, "The method is not allowed here: use GET."),
        ("POST", "/v1/query", b"", 400, "The body is not JSON."),
        ("POST", "/v1/query", b"\xff", 400, "The body is not JSON."),
        ("POST", "/v1/query", b"[" * 100_000, 400, "The body is not JSON."),
        ("POST", "/v1/query", b"1" * 5_000, 400, "The body is not JSON."),
        ("POST", "/v1/query", b"[]", 400, "Invalid query."),
        ("POST", "/v1/query", b"{}", 400, "Invalid query."),
        ("POST", "/v1/query", b'{"package": "torch"}', 400, "Invalid query."),
        ("POST", "/v1/query", b'{"package": {"name": "torch"}}', 400, "Invalid query."),
        ("POST", "/v1/query", b'{"package": {"name": 1, "ecosystem": "PyPI"}}', 400, "Invalid query."),
        ("POST", "/v1/query", b'{"package": {"purl": "torch"}}', 400, "Invalid Package URL."),
        (
            "POST",
            "/v1/query",
            b'{"package": {"purl": "pkg:pypi/torch", "name": "torch"}}',
            400,
            "Either a purl, or a name and an ecosystem are allowed.",
        ),
        (
            "POST",
            "/v1/query",
            b'{"package": {"purl": "pkg:pypi/torch@1"}, "version": "1"}',
            400,
            "The version is in the purl and beside it.",
        ),
        (
            "POST",
            "/v1/query",
            b'{"commit": "a", "version": "1"}',
            400,
            "Either commit or version is allowed, not both.",
        ),
        ("POST", "/v1/querybatch", b'{"queries": {}}', 400, "Invalid query."),
        ("POST", "/v1/querybatch", b'{"queries": [{}]}', 400, "Invalid query."),
    ],
)
def test_what_is_wrong_is_refused(
    plain: Advisories, method: str, path: str, body: bytes, status: int, message: str
) -> None:
    answer = plain.answer(method, path, body)
    assert (answer.status, answer.data["message"]) == (status, message)
    assert set(answer.data) == {"code", "message"}


@pytest.mark.parametrize("token", ["?", "MQ", "LTE=", "MTAwMDAwMDAwMDAwMA==", "OTk=", "\u00e9"])
def test_a_page_that_nobody_has_handed_out_is_refused(plain: Advisories, token: str) -> None:
    query = {"package": TRANSFORMERS, "version": "4.49.0", "page_token": token}
    answer = plain.answer("POST", "/v1/query", json.dumps(query).encode())
    assert (answer.status, answer.data["message"]) == (400, "Invalid page token.")


_TEXTS = st.sampled_from(["", "transformers", "PyPI", "4.49.0", "pkg:pypi/transformers@4.49.0", "MQ=="]) | st.text()
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)
_PACKAGES = st.fixed_dictionaries(
    {}, optional={"name": _TEXTS | _VALUES, "ecosystem": _TEXTS | _VALUES, "purl": _TEXTS | _VALUES}
)
_QUERIES = st.fixed_dictionaries(
    {}, optional={"package": _PACKAGES | _VALUES, "version": _TEXTS | _VALUES, "page_token": _TEXTS, "commit": _TEXTS}
)
_BODIES = st.binary() | (
    (_QUERIES | st.fixed_dictionaries({"queries": st.lists(_QUERIES, max_size=3)}) | _VALUES).map(
        lambda data: json.dumps(data).encode()
    )
)
_PATHS = st.sampled_from(["/v1/query", "/v1/querybatch", "/v1/vulns/x_GC-0001"]) | st.text().map(
    lambda text: f"/v1/vulns/{text}"
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(method=st.sampled_from(["GET", "POST"]), path=_PATHS | st.text(), body=_BODIES)
def test_anything_gets_an_answer(plain: Advisories, method: str, path: str, body: bytes) -> None:
    answer = plain.answer(method, path, body)
    assert answer.status in (200, 400, 404, 405)
    json.dumps(answer.data, allow_nan=False).encode("ascii")
