"""Small inputs that could cause endless work: what they need is counted, and what exceeds it is a gap."""

from __future__ import annotations

from pathlib import Path

from packaging.version import Version

from gradcompat.budget import Budget
from gradcompat.formats.document import Document
from gradcompat.markers import may_hold, parse_marker
from gradcompat.sources.reading import MOST_ENTRIES, MOST_SKIPPED, read
from gradcompat.versions import VersionSet


def test_a_budget_that_is_spent_stays_spent() -> None:
    budget = Budget(10)
    assert budget.take(10)
    assert not budget.spent
    assert not budget.take()
    assert budget.spent
    assert not budget.take(0)


def test_entries_of_one_name_beyond_the_limit_are_a_gap() -> None:
    text = "".join(f"torch==2.{number}.0\n" for number in range(10_000))
    environment = read(Document("requirements.txt", text))
    assert len(environment.packages) == MOST_ENTRIES
    (gap,) = environment.skipped
    assert (gap.what, gap.gap) == ("torch", True)
    assert gap.reason == f"appears 10,000 times: only the first {MOST_ENTRIES} entries are checked"


def test_unreadable_lines_beyond_the_limit_are_one_gap() -> None:
    text = "".join(f"p{number}==1.0\na b\n" for number in range(4_000))
    environment = read(Document("requirements.txt", text, Path("requirements.txt")))
    assert len(environment.skipped) == MOST_SKIPPED + 1
    assert environment.skipped[-1].what == "3,000 more parts"
    assert environment.skipped[-1].gap


def test_a_marker_of_many_extras_is_evaluated_once_for_all_of_them() -> None:
    text = " or ".join(f"(extra == 'e{number}' and python_version < '3.1')" for number in range(1_000))
    marker = parse_marker(text)
    assert marker is not None
    assert may_hold(marker, {"python_version": "3.11"}) is False
    assert may_hold(marker, {"python_version": "3.0"}) is True


def test_clauses_that_exclude_single_versions_are_joined() -> None:
    versions = VersionSet.parse(",".join(f"!=1.{number}" for number in range(300)))
    assert len(versions.intervals) == 301
    assert Version("1.7") not in versions
    assert Version("1.7.1") in versions
