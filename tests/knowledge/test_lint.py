"""Records against their own examples, and against one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.knowledge.compile import compile_record
from gradcompat.knowledge.lint import lint
from gradcompat.knowledge.load import issue_from
from gradcompat.knowledge.records import read
from gradcompat.model.issue import Check
from tests.knowledge.authored import FIRST_LINE, RECORD, record, written


def problems(folder: Path, *records: str) -> list[tuple[int | None, str | None, str]]:
    return [(one.line, one.record, one.message) for one in lint(read(written(folder, *records)))]


def test_a_record_that_is_right(tmp_path: Path) -> None:
    assert problems(tmp_path, RECORD) == []


def test_records_that_are_picked_are_checked_alone(tmp_path: Path) -> None:
    wrong = RECORD.replace("{transformers: 4.52.1, ", "{transformers: 4.52.0, ")
    other = wrong.replace("GC-0001", "GC-0002")
    found = lint(read(written(tmp_path, wrong, other)), only=["GC-0002"])
    assert {one.record for one in found} == {"GC-0002"}
    assert {one.record for one in lint(read(written(tmp_path, wrong, other)))} == {"GC-0001", "GC-0002"}


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
                "affected.0: no not_affected example differs in training.gradient_accumulation_steps alone: is it "
                "really needed?",
                "examples.not_affected.2 (transformers, training.gradient_accumulation_steps): should be not_affected "
                "and is affected",
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
    # A warning, which need not ask who drives the run.
    warned = RECORD.replace("level: error", "level: warning").replace("transformers", "pytorch-lightning")
    assert problems(tmp_path, warned) == []
    # The examples may use either name.
    head, _, examples = warned.partition("    examples:")
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
    ("1.0 on 4.48.3 and 4.52.1", "1.0 on 4.47.0 and 4.48.4"),
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


def test_a_setting_that_no_term_asks_for_cures_nothing(tmp_path: Path) -> None:
    remedy = "    remedies:\n      - {kind: setting, key: deepspeed.reduce_scatter, value: false}\n"
    mutated = record(("    remedies:\n", remedy))
    text = "remedies.0: no combination asks for deepspeed.reduce_scatter, so that who sets it is told the same again"
    assert problems(tmp_path, mutated) == [(FIRST_LINE, "GC-0001", text)]


def test_problems_of_the_schema_are_among_them_in_the_order_of_the_file(tmp_path: Path) -> None:
    early = record((f"        - {EARLY}\n", ""))
    second = record(("GC-0001", "GC-0002"), ("level: error", "level: fatal"))
    assert problems(tmp_path, early, second) == [
        (FIRST_LINE, "GC-0001", "affected.0: transformers >=4.49.0,<4.52.1: no not_affected example is before it"),
        (FIRST_LINE + early.count("\n"), "GC-0002", "level: Input should be 'error', 'warning' or 'note'"),
    ]


# --- mutations of records that passed for right ---


def test_a_release_beyond_a_bound_that_nobody_has_looked_at(tmp_path: Path) -> None:
    # The example says that 4.47.1 is right, and neither a row nor the evidence speaks of it.
    unseen = record(("transformers: 4.48.3,", "transformers: 4.47.1,"))
    wanted = (
        "affected.0: transformers >=4.49.0,<4.52.1: nobody has looked at 4.47.1, the release before it: it has no row, "
        "and the evidence does not speak of it"
    )
    assert problems(tmp_path, unseen) == [(FIRST_LINE, "GC-0001", wanted)]
    by_tag = unseen.replace("1.0 on 4.48.3", "1.0 on v4.47.1")
    assert problems(tmp_path, by_tag) == []
    # What others say was looked at by nobody here, and says so.
    said = unseen.replace(
        "    evidence:", '    bounds: [{package: transformers, bound: ">=4.49.0", basis: reported}]\n    evidence:'
    )
    assert problems(tmp_path, said) == []


@pytest.mark.parametrize(
    ("evidence", "named"),
    [
        ("4.52.1 is right", True),
        ("it is right at v4.52.1.", True),
        ("core_v4.52.1", True),
        ("14.52.1", False),
        ("4.52.10", False),
        ("4.52.1.post1", False),
        ("4.52", False),
    ],
)
def test_evidence_names_a_release_as_a_whole(tmp_path: Path, evidence: str, named: bool) -> None:
    text = record(("1.0 on 4.48.3 and 4.52.1", f"1.0 on 4.48.3; {evidence}"))
    assert ("nobody has looked at 4.52.1" not in str(problems(tmp_path, text))) is named


def test_each_condition_of_an_error_is_negated_by_itself(tmp_path: Path) -> None:
    # Packing is one condition more, of which no example says that it is needed.
    wider = record(
        (
            'training.gradient_accumulation_steps: ">1"}',
            'training.gradient_accumulation_steps: ">1", data.packed: true}',
        )
    )
    wider = wider.replace("data.packed", "training.packing")
    wider = (
        wider.replace("steps: 8}", "steps: 8, training.packing: true}")
        .replace("steps: 2}", "steps: 2, training.packing: true}")
        .replace("steps: 1}", "steps: 1, training.packing: true}")
    )
    wanted = "affected.0: no not_affected example differs in training.packing alone: is it really needed?"
    assert problems(tmp_path, wider) == [(FIRST_LINE, "GC-0001", wanted)]
    assert problems(tmp_path, wider.replace("level: error", "level: warning")) == []
    without = "        - {transformers: 4.49.0, training.gradient_accumulation_steps: 8, training.packing: false}\n"
    shown = wider.replace("      conditional:\n", without + "      conditional:\n")
    assert problems(tmp_path, shown) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("[loss-scale]", "[nan]"),
            "NaN raises no error: say `silent: true`, or name the message in `symptoms`",
        ),
        (
            ("[loss-scale]", "[loss-scale]\n    checked: {date: yesterday, what: [bounds]}"),
            "checked.date: String should match pattern '^\\d{4}-\\d{2}-\\d{2}$'",
        ),
        (
            ("[loss-scale]", '[loss-scale]\n    checked: {date: "2026-11-22", what: [summary]}'),
            "checked.what.0: Input should be 'bounds', 'conditions' or 'remedies'",
        ),
        (
            ("[loss-scale]", '[loss-scale]\n    checked: {date: "2026-11-22", what: [remedies, bounds]}'),
            "checked.what: parts are in alphabetical order, each once",
        ),
        (
            ("The loss is multiplied by the number of micro-batches", "A summary of 101 letters".ljust(101, "x")),
            "summary: String should have at most 100 characters",
        ),
    ],
)
def test_what_the_schema_refuses(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    text = record(change)
    if "nan" in change[1]:
        text = text.replace("silent: true", "silent: false")
    assert [found for _, _, found in problems(tmp_path, text)] == [message]


def test_a_summary_may_have_a_hundred_characters(tmp_path: Path) -> None:
    text = record(("The loss is multiplied by the number of micro-batches", "A summary of 100 letters".ljust(100, "x")))
    assert problems(tmp_path, text) == []


def test_the_records_are_no_older_than_the_last_check_of_one(tmp_path: Path) -> None:
    text = record(("[loss-scale]", '[loss-scale]\n    checked: {date: "2026-11-21", what: [bounds]}'))
    assert problems(tmp_path, text) == [(None, None, "date: is 2026-11-20, and GC-0001 was checked on 2026-11-21")]


def test_an_independent_check_is_kept(tmp_path: Path) -> None:
    text = record(("[loss-scale]", '[loss-scale]\n    checked: {date: "2026-11-20", what: [bounds, remedies]}'))
    assert problems(tmp_path, text) == []
    (found,) = read(written(tmp_path, text)).records
    assert issue_from(compile_record(found)).checked == Check(date="2026-11-20", what=("bounds", "remedies"))


def test_an_error_of_a_framework_asks_who_drives_the_run(tmp_path: Path) -> None:
    beside = RECORD.replace("transformers", "torchtune")
    wanted = (
        "affected.0: an environment with torchtune whose run another framework drives is told as well: "
        "ask for training.framework, or name a symbol"
    )
    assert wanted in [message for _, _, message in problems(tmp_path, beside)]
    asked = beside.replace("settings: {training.grad", "settings: {training.framework: torchtune, training.grad")
    assert asked != beside
    for other in (asked, beside.replace("level: error", "level: warning"), RECORD):
        assert wanted not in [message for _, _, message in problems(tmp_path, other)]
