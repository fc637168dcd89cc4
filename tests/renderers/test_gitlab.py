from __future__ import annotations

import json

from gradcompat.model.environment import Location, Package
from tests.renderers.reports import advised, audit, everything, record, rendered, report, strictly


def test_it_lists_what_is_affected_and_what_could_apply() -> None:
    data = json.loads(rendered(everything(), "gitlab"))
    assert [(one["check_name"], one["severity"], one["location"]) for one in data] == [
        ("GC-0001", "critical", {"path": "uv.lock", "lines": {"begin": 3}}),
        ("GC-0002", "major", {"path": "uv.lock", "lines": {"begin": 3}}),
        ("GC-0001", "critical", {"path": "b/uv.lock", "lines": {"begin": 3}}),
        ("GC-0004", "info", {"path": "uv.lock", "lines": {"begin": 3}}),
    ]
    assert all(set(one) == {"description", "check_name", "fingerprint", "severity", "location"} for one in data)
    assert len({one["fingerprint"] for one in data}) == len(data)


def test_a_whole_file_is_shown_at_its_first_line() -> None:
    found = advised(record(), Package(name="transformers", version="4.49.0", location=Location(path="METADATA")))
    (one,) = json.loads(rendered(report(audit(found)), "gitlab"))
    assert one["location"]["lines"] == {"begin": 1}


def test_strict_adds_what_is_conditional_as_information() -> None:
    data = json.loads(rendered(strictly(everything()), "gitlab"))
    assert [one["severity"] for one in data if one["check_name"] == "GC-0004"] == ["info"]


def test_nothing_found_is_an_empty_list() -> None:
    assert rendered(report(audit(), exit_status=0), "gitlab") == "[]\n"
