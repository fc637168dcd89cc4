"""Each file of ``universes/`` is a small world: records, releases, an environment, the plan, and why it is that one."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli

from tests.planner.toy import alternative_text, environment, issue, planned, request, shown, table

UNIVERSES = sorted((Path(__file__).parents[1] / "universes").glob("*.toml"))


@pytest.mark.parametrize("path", UNIVERSES, ids=lambda path: path.stem)
def test_universe(path: Path) -> None:
    written = tomli.loads(path.read_text("utf-8"))
    assert set(written) - {"request", "dead"} == {"why", "environment", "records", "packages", "plan"}
    issues = [issue(number, one) for number, one in enumerate(written["records"], 1)]
    catalogue = table(written["packages"], written.get("dead", ()))
    made = planned(environment(written["environment"]), issues, catalogue, request(written.get("request", {})))
    expected = dict(written["plan"])
    alternatives = expected.pop("alternatives", None)
    assert shown(made) == expected, written["why"]
    if alternatives is not None:
        assert [alternative_text(one) for one in made.alternatives] == alternatives, written["why"]


def test_there_are_universes() -> None:
    assert UNIVERSES
