"""What is waived or known from before, and waivers that do nothing any more, in every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from gradcompat.audit.fingerprints import fingerprints
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.issue import Level
from gradcompat.model.report import Report, Suppression
from gradcompat.renderers.registry import RENDERERS
from gradcompat.renderers.results import results
from gradcompat.renderers.suppressed_text import counts_text
from tests.renderers.reports import (
    FOR_GOOD,
    KNOWN,
    UNUSED,
    advised,
    audit,
    entry,
    partly_suppressed,
    record,
    rendered,
    report,
    suppressed,
)


@pytest.mark.parametrize("form", sorted(RENDERERS))
def test_report(form: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    golden(f"suppressed.{'txt' if form == 'text' else form}", rendered(partly_suppressed(), form))


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_they_are_listed_where_that_is_asked_for(
    form: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    some = replace(partly_suppressed(), show_suppressed=True)
    golden(f"suppressed-shown.{'txt' if form == 'text' else form}", rendered(some, form))


@pytest.mark.parametrize("form", ["sarif", "junit", "html"])
def test_they_can_be_left_out(form: str) -> None:
    some = replace(partly_suppressed(), show_suppressed=False)
    text = rendered(some, form)
    assert "GC-0002" in rendered(partly_suppressed(), form)
    assert "GC-0002" not in text
    assert "GC-0001" in text
    assert "unused waiver" in text


@pytest.mark.parametrize("form", ["github", "gitlab"])
def test_forges_that_show_what_is_to_be_done_do_not_see_them(form: str) -> None:
    text = rendered(partly_suppressed(), form)
    assert "GC-0001" in text
    assert not any(identifier in text for identifier in ("GC-0002", "GC-0003", "GC-0004"))
    assert "no finding here needs it" in text


def test_a_note_about_a_baseline_is_no_finding_for_gitlab() -> None:
    some = replace(report(), remarks=(replace(UNUSED, kind="gone-from-baseline", level="note"),))
    assert json.loads(rendered(some, "gitlab")) == []
    assert rendered(some, "github").startswith("::notice file=gradcompat.toml,line=14,title=gone from baseline::")


def test_json_has_them_among_the_findings_with_the_reason() -> None:
    data = json.loads(rendered(partly_suppressed(), "json"))
    assert [one["suppressed"] and one["suppressed"]["kind"] for one in data["findings"]] == [
        None,
        "waiver",
        "waiver",
        "baseline",
        "baseline",
    ]
    assert data["findings"][1]["suppressed"] == {
        "kind": "waiver",
        "reason": "one step of accumulation only",
        "path": "gradcompat.toml",
        "line": 4,
        "until": "2026-06-30",
    }
    assert data["remarks"] == [
        {
            "kind": "unused-waiver",
            "level": "warning",
            "text": "unused waiver of GC-0009: no finding here needs it",
            "path": "gradcompat.toml",
            "line": 14,
        }
    ]


def fingerprints_of(some: Report) -> list[str]:
    return [one["fingerprint"] for one in json.loads(rendered(some, "json"))["findings"]]


def test_a_finding_keeps_its_fingerprint_whatever_else_is_suppressed() -> None:
    found = [advised(record(), entry(line=line)) for line in (3, 40, 200)]
    before = fingerprints_of(report(audit(*found)))
    assert len(set(before)) == 3
    for number, one in enumerate(found):
        rest = [other for other in found if other is not one]
        some = report(replace(audit(*rest), suppressed=(suppressed(one),)))
        after = fingerprints_of(some)
        assert after[-1] == before[number]
        assert sorted(after) == sorted(before)
    assert list(fingerprints([audit(*found)], RepositoryPaths()).values()) == before


def test_what_is_suppressed_neither_counts_nor_fails() -> None:
    counting = [(one.counts, one.fails) for one in results(partly_suppressed(), RepositoryPaths(), suppressed=True)]
    assert counting == [(True, True), *[(False, False)] * 4]
    assert len(list(results(partly_suppressed(), RepositoryPaths()))) == 1


def test_sarif_says_who_accepted_what() -> None:
    (run,) = json.loads(rendered(partly_suppressed(), "sarif"))["runs"]
    assert [(one["ruleId"], len(one["suppressions"])) for one in run["results"]] == [
        ("GC-0001", 0),
        ("GC-0001", 1),
        ("GC-0002", 1),
        ("GC-0003", 1),
    ]
    assert run["results"][1]["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "one step of accumulation only",
            "location": {
                "physicalLocation": {
                    "artifactLocation": {"uri": "gradcompat.toml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 4, "startColumn": 1, "endLine": 4},
                }
            },
            "properties": {"kind": "waiver", "until": "2026-06-30"},
        }
    ]
    (invocation,) = run["invocations"]
    (said,) = invocation["toolConfigurationNotifications"]
    assert (said["descriptor"], said["level"]) == ({"id": "unused-waiver"}, "warning")
    # What is merely possible is no result of SARIF, suppressed or not.
    (possible,) = [one for one in invocation["toolExecutionNotifications"] if "associatedRule" in one]
    assert possible["message"]["text"].endswith("baseline, old.json: the baseline has it")


def test_who_accepts_a_defect_has_it() -> None:
    statements = json.loads(rendered(partly_suppressed(), "openvex"))["statements"]
    assert [(one["vulnerability"]["name"], one["status"]) for one in statements] == [
        ("GC-0001", "affected"),
        ("GC-0001", "affected"),
        ("GC-0002", "affected"),
        ("GC-0004", "under_investigation"),
        ("GC-0003", "affected"),
    ]
    assert statements[1]["action_statement"] == (
        "accepted (waiver, gradcompat.toml:4, until 2026-06-30: one step of accumulation only); "
        "upgrade transformers 4.49.0 to 4.52.1"
    )
    assert statements[4]["action_statement"].startswith("not new (baseline, old.json: the baseline has it); upgrade")
    analyses = [
        one["analysis"] for one in json.loads(rendered(partly_suppressed(), "cyclonedx-vex"))["vulnerabilities"]
    ]
    assert [(one["state"], one.get("response")) for one in analyses] == [
        ("exploitable", ["update"]),
        ("exploitable", ["update"]),
        ("exploitable", ["will_not_fix", "update"]),  # without an end
        ("in_triage", None),
        ("exploitable", ["update"]),
    ]


@pytest.mark.parametrize(("level", "failures"), [("error", "1"), ("warning", "0"), ("note", "0")])
def test_a_waiver_is_a_case_that_fails_where_the_project_says_so(level: Level, failures: str) -> None:
    some = replace(report(), remarks=(replace(UNUSED, level=level),))
    (suite,) = ElementTree.fromstring(rendered(some, "junit").partition("\n")[2])  # noqa: S314  # our own
    assert (suite.get("name"), suite.get("failures")) == ("gradcompat.toml", failures)
    (case,) = suite
    assert (case.find("failure") is not None) == (failures == "1")


def test_a_suppressed_case_is_skipped() -> None:
    suites = ElementTree.fromstring(rendered(partly_suppressed(), "junit").partition("\n")[2])  # noqa: S314  # our own
    assert [(one.get("tests"), one.get("failures"), one.get("skipped")) for one in suites] == [
        ("4", "1", "3"),
        ("1", "0", "1"),
        ("1", "0", "0"),
        ("1", "0", "0"),
    ]
    (skipped,) = suites[1][0]
    assert skipped.get("message") == "suppressed: baseline, old.json: the baseline has it"


def test_nothing_is_called_clean_that_is_merely_suppressed() -> None:
    text = rendered(partly_suppressed(), "text")
    assert "no defect is sure in clean.lock\n" in text
    assert "only suppressed findings in b/uv.lock\n" in text
    alone = report(replace(audit(), suppressed=(suppressed(advised(record())),)), exit_status=0)
    assert rendered(alone, "text").splitlines()[-1].startswith("no other known defect found (")
    shown = rendered(alone, "markdown")
    assert shown.startswith("**gradcompat**: no other known defect found ")
    assert "\n\n1 suppressed, by a waiver\n\n" in shown
    assert '<p class="clean">No other known defect found.</p>' in rendered(alone, "html")


@pytest.mark.parametrize(
    ("kinds", "text"),
    [
        ((), ""),
        ((FOR_GOOD,), "1 suppressed, by a waiver"),
        ((KNOWN, KNOWN), "2 suppressed, by the baseline"),
        ((KNOWN, FOR_GOOD, FOR_GOOD), "3 suppressed: 2 by waivers, 1 by the baseline"),
        ((replace(KNOWN, kind="diff"), KNOWN), "2 suppressed: 1 by the baseline, 1 there before"),
    ],
)
def test_they_are_counted_by_what_suppresses_them(kinds: tuple[Suppression, ...], text: str) -> None:
    assert counts_text([suppressed(advised(record()), kind) for kind in kinds]) == text


def test_a_reason_cannot_speak_to_the_terminal() -> None:
    why = replace(FOR_GOOD, reason="fine\x1b[2J\u202e\nerror GC-0001", until="\x07")
    some = report(replace(audit(), suppressed=(suppressed(advised(record()), why),)))
    said = replace(UNUSED, text="unused\x1b]8;;x\x07")
    text = rendered(replace(some, remarks=(said,), show_suppressed=True), "text")
    assert all(line.isprintable() for line in text.splitlines())
    assert "fine\\x1b[2J\\u202e\\nerror GC-0001" in text.replace("\n        ", " ")
