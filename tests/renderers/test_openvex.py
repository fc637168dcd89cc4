from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gradcompat.model.report import Report
from gradcompat.renderers.vex import environment_purl, purl
from tests.renderers.reports import advised, audit, entry, everything, partly_suppressed, record, rendered, report


def document(some: Report) -> dict[str, Any]:
    data = json.loads(rendered(some, "openvex"))
    assert isinstance(data, dict)
    return data


def by_id(some: Report) -> dict[str, dict[str, Any]]:
    return {one["vulnerability"]["name"]: one for one in reversed(document(some)["statements"])}


def test_each_status_has_what_the_specification_asks_for() -> None:
    statements = by_id(everything())
    assert {name: one["status"] for name, one in statements.items()} == {
        "GC-0001": "affected",
        "GC-0002": "affected",
        "GC-0003": "not_affected",
        "GC-0004": "under_investigation",
        "GC-0006": "not_affected",
    }
    assert statements["GC-0001"]["action_statement"] == "upgrade transformers 4.49.0 to 4.52.1"
    assert statements["GC-0004"]["status_notes"] == "could apply if training.packing is true"
    assert "impact_statement" in statements["GC-0006"]
    for one in statements.values():
        assert set(one) <= {
            "vulnerability", "products", "status", "status_notes", "justification", "impact_statement",
            "action_statement",
        }  # fmt: skip
        assert (one["status"] == "affected") == ("action_statement" in one)
        assert (one["status"] == "not_affected") == (("justification" in one) != ("impact_statement" in one))


def test_a_refutation_is_justified_by_its_measurement() -> None:
    statement = by_id(everything())["GC-0003"]
    assert statement["justification"] == "vulnerable_code_not_present"
    assert statement["status_notes"] == (
        "measured here: not reproduced: both losses are 2.5 "
        "(packing_equivalence; transformers 4.49.0 on cpu, Python 3.11.7, seed 0, 0.5 s)"
    )


def test_what_was_reproduced_and_hangs_on_something_unseen_stays_open() -> None:
    some = report(audit(advised(record(), status="conditional", probed="reproduced")))
    statement = by_id(some)["GC-0001"]
    assert statement["status"] == "under_investigation"
    assert "measured here: reproduced" in statement["status_notes"]


def test_the_product_is_the_environment() -> None:
    some = report(audit(advised(record(), entry(), entry("torch", "2.5.1+cu124")), source="a b/uv.lock"))
    assert by_id(some)["GC-0001"]["products"] == [
        {
            "@id": "pkg:generic/a%20b/uv.lock",
            "subcomponents": [
                {"@id": name, "identifiers": {"purl": name}}
                for name in ("pkg:pypi/transformers@4.49.0", "pkg:pypi/torch@2.5.1%2Bcu124")
            ],
        }
    ]


def test_a_document_is_named_by_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    first = document(everything())
    assert document(everything()) == first
    assert first["timestamp"] == "2026-01-02T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767312001")
    assert document(everything())["@id"] != first["@id"]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    assert document(everything())["timestamp"] > "2026"


def test_statements_that_say_the_same_are_made_once() -> None:
    some = report(audit(advised(record(), entry(line=3)), advised(record(), entry(line=9))))
    assert len(document(some)["statements"]) == 1


@pytest.mark.parametrize("some", [everything(), partly_suppressed(), report(audit(advised(record())))])
def test_it_is_valid(some: Report) -> None:
    path = os.environ.get("GRADCOMPAT_OPENVEX_SCHEMA")
    if path is None:
        pytest.skip("name openvex_json_schema.json of github.com/openvex/spec in GRADCOMPAT_OPENVEX_SCHEMA")
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(
        json.loads(Path(path).read_text("utf-8")), format_checker=jsonschema.FormatChecker()
    )
    validator.validate(document(some))


def test_names_are_encoded() -> None:
    assert purl(entry("a/b@c?d#e\u202e", "1 2")) == "pkg:pypi/a%2Fb%40c%3Fd%23e%E2%80%AE@1%202"
    assert purl(entry("torch", None)) == "pkg:pypi/torch"
    assert environment_purl("../x/uv.lock") == "pkg:generic/../x/uv.lock"
    assert environment_purl("/") == "pkg:generic/environment"
