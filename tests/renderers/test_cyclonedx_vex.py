from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gradcompat.model.report import Report
from tests.renderers.reports import advised, audit, entry, everything, partly_suppressed, record, rendered, report


def document(some: Report) -> dict[str, Any]:
    data = json.loads(rendered(some, "cyclonedx-vex"))
    assert isinstance(data, dict)
    return data


def problem(text: str) -> object:
    """What the validator of CycloneDX says against it."""
    schema = pytest.importorskip("cyclonedx.schema", reason="needs cyclonedx-python-lib[json-validation]")
    pytest.importorskip("jsonschema", reason="needs cyclonedx-python-lib[json-validation]")
    from cyclonedx.validation.json import JsonStrictValidator

    return JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(text)


@pytest.mark.parametrize(
    "some",
    [
        everything(),
        partly_suppressed(),
        report(exit_status=0),
        report(audit(advised(record(), entry("a/b@c\u202e", "1 2\x1b")), source="a b\\c:\n")),
    ],
)
def test_it_is_valid(some: Report) -> None:
    assert problem(rendered(some, "cyclonedx-vex")) is None


def test_the_golden_files_are_valid() -> None:
    for path in (Path(__file__).parents[1] / "golden").glob("*.cyclonedx-vex"):
        assert problem(path.read_text("utf-8")) is None


def test_each_state() -> None:
    analyses = {one["id"]: one["analysis"] for one in reversed(document(everything())["vulnerabilities"])}
    assert {name: one["state"] for name, one in analyses.items()} == {
        "GC-0001": "exploitable",
        "GC-0002": "exploitable",
        "GC-0003": "not_affected",
        "GC-0004": "in_triage",
        "GC-0006": "not_affected",
    }
    assert analyses["GC-0001"]["response"] == ["update"]
    assert analyses["GC-0003"]["justification"] == "code_not_present"
    assert analyses["GC-0003"]["detail"].startswith("measured here: not reproduced: both losses")
    assert analyses["GC-0004"] == {"state": "in_triage", "detail": "could apply if training.packing is true"}


def test_every_reference_leads_to_a_component() -> None:
    data = document(everything())
    components = [*data["components"], *(one for part in data["components"] for one in part.get("components", ()))]
    references = [one["bom-ref"] for one in components]
    assert len(set(references)) == len(references)
    for one in data["vulnerabilities"]:
        assert {affected["ref"] for affected in one["affects"]} <= set(references)
    # The same package in two environments is two components, since one may be affected and the other not.
    assert sum(one["name"] == "transformers" for one in components) == 2


def test_what_was_not_checked_is_said() -> None:
    properties = document(everything())["metadata"]["properties"]
    assert [one["value"] for one in properties if one["name"] == "gradcompat:not-checked"] == [
        "not checked: line 9: `clip==1.0==` is no requirement",
        "not checked: new.lock: lockfile version 3 is not supported",
    ]
