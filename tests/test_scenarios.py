"""Each file of ``scenarios/`` is an environment, a record or two, what has to be found, and a sentence saying why.

A bug in what the matcher says becomes such a file. The records are written as in ``knowledge/issues.yaml``, and what a
record needs beside the terms and remedies is filled in here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli

from gradcompat.knowledge.compile import compile_record
from gradcompat.knowledge.load import issue_from
from gradcompat.knowledge.schema import Record
from gradcompat.matching.matcher import match
from gradcompat.messages import entry_text
from gradcompat.model.environment import Environment, Location, Package, Setting
from gradcompat.model.issue import Issue, VersionRemedy
from gradcompat.planner.advice import advise
from tests.building import NAMES

SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.toml"))


def environment(scenario: dict[str, Any]) -> Environment:
    """``[environment]`` with its packages; a package is its text as ``name version``, or a table."""
    table = dict(scenario["environment"])
    here = Location(path="scenario")
    packages = []
    for one in table.pop("packages"):
        fields: dict[str, Any] = (
            dict(zip(("name", "version"), one.split(" ", 1), strict=False)) if isinstance(one, str) else one
        )
        fields = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
        packages.append(Package(location=here, **{"version": None, **fields}))
    settings = [
        Setting(key=key, value=tuple(value) if isinstance(value, list) else value, location=here)
        for place in table.pop("settings", [])
        for key, value in place.items()
    ]
    made = {"source": "scenario", "kind": "scenario", "closed": True, **table}
    return Environment(packages=tuple(packages), settings=tuple(settings), **made)


def issue(number: int, table: dict[str, Any]) -> Issue:
    record = Record.model_validate(
        {
            "id": f"GC-{number:04}",
            "summary": "Something is wrong",
            "details": "It is.",
            "level": "error",
            "silent": True,
            "categories": ["wrong-loss"],
            "remedies": [{"kind": "code", "text": "change the code"}],
            "references": [{"type": "REPORT", "url": "https://example.org/1"}],
            "range_basis": "measured",
            "evidence": ["seen"],
            "examples": {"affected": [{}], "not_affected": [{}]},
            **table,
        }
    )
    return issue_from(compile_record(record))


def findings(here: Environment, issues: list[Issue]) -> list[dict[str, Any]]:
    """Every finding as the scenarios write it, with what is empty left out."""
    shown: list[dict[str, Any]] = []
    for found in match(here, issues, NAMES):
        one: dict[str, Any] = {"id": found.issue.id, "status": found.status}
        one["packages"] = [entry_text(package) for package in found.packages]
        if found.unknown:
            one["if"] = [[unknown.sentence for unknown in group] for group in found.unknown]
        if found.status != "not_affected":
            advice = advise(found, here, issues, NAMES)
            if advice is not None and advice.clears:
                remedy = advice.remedy
                one["fix"] = f"{remedy.package} {advice.target}" if isinstance(remedy, VersionRemedy) else "setting"
                if advice.introduces:
                    one["brings"] = list(advice.introduces)
        shown.append(one)
    return shown


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_scenario(path: Path) -> None:
    scenario = tomli.loads(path.read_text("utf-8"))
    assert set(scenario) == {"why", "environment", "records", "expected"}, "a scenario has these four parts"
    issues = [issue(number, table) for number, table in enumerate(scenario["records"], 1)]
    assert findings(environment(scenario), issues) == scenario["expected"]["findings"], scenario["why"]


def test_there_are_scenarios() -> None:
    assert SCENARIOS
