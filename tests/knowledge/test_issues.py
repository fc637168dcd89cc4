"""The knowledge that ships: it lints, every example runs through the real matcher, and its compiled form is current."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradcompat.knowledge.compile import compile_record, compile_records, dumps
from gradcompat.knowledge.examples import environment_from
from gradcompat.knowledge.lint import lint
from gradcompat.knowledge.load import COMPILED, issue_from, load
from gradcompat.knowledge.measured import FOLDER, read_rows
from gradcompat.knowledge.records import Authored, read
from gradcompat.knowledge.schema import Record
from gradcompat.matching.matcher import match
from gradcompat.terms.class_facts import with_class_facts

ISSUES = Path(__file__).parents[2] / "knowledge" / "issues.yaml"


@pytest.fixture(scope="module")
def authored() -> Authored:
    return read(ISSUES)


def examples() -> Iterator[Any]:
    for record in read(ISSUES).records:
        if record.withdrawn is None:
            for expected in ("affected", "conditional", "not_affected"):
                for number, example in enumerate(getattr(record.examples, expected), 1):
                    yield pytest.param(record, expected, example, id=f"{record.id}-{expected}-{number}")


@pytest.mark.e2e  # goes over all records and rows, as `gradcompat knowledge lint` does
def test_there_is_nothing_to_complain_about(authored: Authored) -> None:
    assert "\n".join(map(str, lint(authored, read_rows(ISSUES.parent / FOLDER)))) == ""


@pytest.mark.parametrize(("record", "expected", "example"), list(examples()))
def test_examples(record: Record, expected: str, example: dict[str, Any]) -> None:
    # An example may be about other packages than the record: then there is not a finding, and nothing is affected.
    base = load()
    environment = with_class_facts(environment_from(example), base.class_facts)
    found = match(environment, [issue_from(compile_record(record))], base.names)
    assert ([finding.status for finding in found] or ["not_affected"]) == [expected]


def test_what_is_compiled_is_current(authored: Authored) -> None:
    assert COMPILED.read_text("utf-8") == dumps(compile_records(authored)), (
        f"{COMPILED.name} is not what {ISSUES.name} says: run `gradcompat knowledge compile`"
    )


def test_an_anchor_has_one_place() -> None:
    # An alias would mean whichever stands before it, and PyYAML's own composer refuses the file.
    anchors = [
        event.anchor
        for event in yaml.parse(ISSUES.read_text("utf-8"), yaml.CSafeLoader)
        if isinstance(event, yaml.NodeEvent) and not isinstance(event, yaml.AliasEvent) and event.anchor is not None
    ]
    assert sorted(anchors) == sorted(set(anchors))


def test_ids_are_in_order(authored: Authored) -> None:
    ids = [record.id for record in authored.records]
    assert ids == sorted(set(ids))
