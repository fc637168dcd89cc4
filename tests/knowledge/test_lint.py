"""Records against their own examples, and against one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.knowledge.lint import lint
from gradcompat.knowledge.records import read
from tests.knowledge.authored import FIRST_LINE, RECORD, record, written


def problems(folder: Path, *records: str) -> list[tuple[int | None, str | None, str]]:
    return [(one.line, one.record, one.message) for one in lint(read(written(folder, *records)))]


def test_a_record_that_is_right(tmp_path: Path) -> None:
    assert problems(tmp_path, RECORD) == []


EARLY = "{transformers: 4.48.3, training.gradient_accumulation_steps: 8}"
LATE = "{transformers: 4.52.1, training.gradient_accumulation_steps: 8}"


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (
            (
                "- {transformers: 4.49.0, training.gradient_accumulation_steps: 1}",
                "- {transformers: 4.51.3, training.gradient_accumulation_steps: 2}",
            ),
            [
                "examples.not_affected.2 (transformers, training.gradient_accumulation_steps): should be not_affected "
                "and is affected"
            ],
        ),
        (
            ("- {transformers: 4.49.0}", "- {torch: 2.5.1}"),
            ["examples.conditional.0 (torch): should be conditional and is not_affected"],
        ),
        (
            (f"        - {EARLY}\n", ""),
            ["affected.0: transformers >=4.49.0,<4.52.1: no not_affected example is before it"],
        ),
        (
            (f"        - {LATE}\n", ""),
            ["affected.0: transformers >=4.49.0,<4.52.1: no not_affected example is behind it"],
        ),
        (
            ('">=4.49.0,<4.52.1"', '">=4.49.0,<4.52.1 || ==4.53.0"'),
            [
                "affected.0: transformers ==4.53.0: no affected example is in it",
                "affected.0: transformers ==4.53.0: no not_affected example is behind it",
            ],
        ),
        (
            ('versions: ">=4.52.1"', 'versions: ">=4.52.0"'),
            [
                "remedies.0: transformers 4.52.0 leaves examples.affected.0 (transformers, "
                "training.gradient_accumulation_steps) affected",
                "remedies.0: transformers 4.52.0 was yanked: name the next release that was not",
            ],
        ),
        (
            ('versions: "==4.48.3"', 'versions: "==4.60.0"'),
            ["remedies.1: transformers 4.60.0: no affected example can move there"],
        ),
        (
            ("upgrade, package: transformers,", "upgrade, package: accelerate,"),
            ["remedies.0: accelerate 4.52.1: no affected example can move there"],
        ),
        (
            ('versions: "==4.48.3"', 'versions: "==4.48.3", accepts: {GC-0099: it helps}'),
            ["remedies.1: transformers 4.48.3: accepts GC-0099, which is no record"],
        ),
    ],
)
def test_one_thing_wrong(tmp_path: Path, change: tuple[str, str], messages: list[str]) -> None:
    assert problems(tmp_path, record(change)) == [(FIRST_LINE, "GC-0001", message) for message in messages]


def test_a_withdrawn_record_is_kept_as_it_is(tmp_path: Path) -> None:
    broken = record((f"        - {LATE}\n", ""), ("level: error", "withdrawn: it was another\n    level: error"))
    assert problems(tmp_path, broken) == []


def test_another_name_of_a_package(tmp_path: Path) -> None:
    wanted = "`lightning` is another name of `pytorch-lightning`: write that one, it stands for both"
    assert (FIRST_LINE, "GC-0001", wanted) in problems(tmp_path, RECORD.replace("transformers", "lightning"))
    assert problems(tmp_path, RECORD.replace("transformers", "pytorch-lightning")) == []
    # The examples may use either name.
    head, _, examples = RECORD.replace("transformers", "pytorch-lightning").partition("    examples:")
    assert problems(tmp_path, head + "    examples:" + examples.replace("pytorch-lightning", "lightning")) == []


# Those who go down to 4.48.3 meet this one.
TRAP = record(
    ("GC-0001", "GC-0002"),
    (">=4.49.0,<4.52.1", ">=4.48.0,<4.48.4"),
    (">=4.52.1", ">=4.48.4"),
    ("==4.48.3", "==4.47.0"),
    ("transformers: 4.48.3", "transformers: 4.47.0"),
    ("transformers: 4.52.1", "transformers: 4.48.4"),
    ("transformers: 4.49.0", "transformers: 4.48.0"),
    ("transformers: 4.52.0", "transformers: 4.48.2"),
)


def test_a_remedy_that_is_a_trap(tmp_path: Path) -> None:
    # 4.48.4 is in no affected range, so that the second record is right by itself.
    assert problems(tmp_path, RECORD, TRAP) == [
        (
            FIRST_LINE,
            "GC-0001",
            f"remedies.1: transformers 4.48.3 lands in the affected range of GC-0002 (examples.affected.{number})",
        )
        for number in (0, 1)
    ]
    taken = record(('"==4.48.3"', '"==4.48.3", accepts: {GC-0002: it is the lesser of the two}'))
    assert problems(tmp_path, taken, TRAP) == []
    told = TRAP.replace("level: error", "level: note\n    informational: true")
    assert problems(tmp_path, RECORD, told) == []


def test_problems_of_the_schema_are_among_them_in_the_order_of_the_file(tmp_path: Path) -> None:
    early = record((f"        - {EARLY}\n", ""))
    second = record(("GC-0001", "GC-0002"), ("level: error", "level: fatal"))
    assert problems(tmp_path, early, second) == [
        (FIRST_LINE, "GC-0001", "affected.0: transformers >=4.49.0,<4.52.1: no not_affected example is before it"),
        (FIRST_LINE + early.count("\n"), "GC-0002", "level: Input should be 'error', 'warning' or 'note'"),
    ]
