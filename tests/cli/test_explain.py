"""``gradcompat explain``."""

from __future__ import annotations

import pytest

from gradcompat.knowledge.load import load
from gradcompat.vocabulary import KEYS
from tests.conftest import Run


@pytest.mark.parametrize("identifier", [record["id"] for record in load().records][:3])
def test_a_record_is_shown_in_full(run: Run, identifier: str) -> None:
    outcome = run("explain", identifier.lower())
    assert outcome.status == 0
    assert outcome.out.startswith(f"{identifier} ")
    for title in ("Affected when", "Evidence (ranges: ", "References"):
        assert f"\n{title}" in outcome.out


def test_an_unknown_record_is_a_usage_error(run: Run) -> None:
    outcome = run("explain", "GC-9999")
    assert outcome.status == 2
    assert outcome.err == ("error: there is no record `GC-9999`\n\nhint: ids look like GC-0002; `check` prints them\n")


def test_settings_lists_the_whole_vocabulary(run: Run) -> None:
    lines = run("explain", "settings").out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(KEYS)
