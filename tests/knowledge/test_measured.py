"""Rows on disk, the ranges that they make, and records that say otherwise."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version
from typer.testing import CliRunner, Result

from gradcompat.cli.app import app
from gradcompat.errors import KnowledgeError, UsageError
from gradcompat.knowledge import matrix
from gradcompat.knowledge.evidence import Yardstick
from gradcompat.knowledge.lint import lint, unproved_bounds
from gradcompat.knowledge.measured import FOLDER, append, read_rows, row_data, tidy
from gradcompat.knowledge.ranges import ranges, verdicts_of
from gradcompat.knowledge.records import read
from gradcompat.model.issue import IssueProbe
from gradcompat.model.probe import Measurement, Outcome, ProbeSpec, Row
from gradcompat.model.ranges import Gap, Range, Ranges
from gradcompat.probes.matrix import digest
from gradcompat.recipes.table import recipe_of
from tests.knowledge.authored import RECORD, record, written

KNOWLEDGE = Path(__file__).parents[2] / "knowledge"
LLAVA = ProbeSpec(name="accumulation_equivalence", parameters={"model": "llava"})
LLAMA = ProbeSpec(name="accumulation_equivalence", parameters={"model": "llama"})


def row(version: str, ratio: float | None = 1.0, spec: ProbeSpec = LLAVA, **changed: object) -> Row:
    """A row with this ratio of losses and gradients; None for a cell that could not be run."""
    values = {"loss_ratio": ratio, "update_ratio": ratio, "update_cosine": 1.0, "control_update_norm": 1.0,
              "control_loss_ratio": 1.0, "control_update_ratio": 1.0}  # fmt: skip
    measurement = Measurement(
        spec=spec,
        state="skipped" if ratio is None else "measured",
        reason="it does not import" if ratio is None else "",
        values={} if ratio is None else values,
        packages={"torch": "2.13.0"},
        python="3.11.7",
        seconds=1.234,
    )
    whole = Row(
        package="transformers", version=version, measurement=measurement, platform="linux-x86_64", digest="0" * 12,
        date="2026-11-20",
    )  # fmt: skip
    return replace(whole, **changed)  # type: ignore[arg-type]


def versions(folder: Path) -> list[str]:
    return [one.version for one in read_rows(folder)]


# --- rows ---


def test_rows_come_back(tmp_path: Path) -> None:
    rows = [row("4.9.0"), row("4.10.0", 4.0), row("4.10.0", beside={"tokenizers": "0.19.1"}), row("4.11.0", None)]
    append(tmp_path / "new", rows)
    back = read_rows(tmp_path / "new")
    assert [row_data(one) for one in back] == [row_data(one) for one in rows]
    assert [one.cell for one in back] == [one.cell for one in rows]


def test_every_package_has_its_file_and_releases_stand_in_their_order(tmp_path: Path) -> None:
    append(tmp_path, [row("4.10.0"), row("4.9.0"), row("2.0", package="peft")])
    tidy(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["peft.jsonl", "transformers.jsonl"]
    lines = (tmp_path / "transformers.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["version"] for line in lines] == ["4.9.0", "4.10.0"]


def test_the_newest_row_of_a_cell_stays(tmp_path: Path) -> None:
    append(tmp_path, [row("1.0", None)])
    append(tmp_path, [row("1.0", 4.0, digest="1" * 12)])
    tidy(tmp_path)
    (one,) = read_rows(tmp_path)
    assert (one.measurement.state, one.digest) == ("measured", "1" * 12)


def test_what_is_tidy_is_not_written_again(tmp_path: Path) -> None:
    append(tmp_path, [row("1.0")])
    tidy(tmp_path)
    before = (tmp_path / "transformers.jsonl").stat().st_ino
    tidy(tmp_path)
    assert (tmp_path / "transformers.jsonl").stat().st_ino == before


@pytest.mark.parametrize("left", ['{"package": "tr', '{"package": "transformers", "version": "1.1"', "{"])
def test_a_line_that_a_kill_left_half_written_is_no_row(tmp_path: Path, left: str) -> None:
    append(tmp_path, [row("1.0")])
    path = tmp_path / "transformers.jsonl"
    path.write_text(path.read_text("utf-8") + left, "utf-8")
    assert versions(tmp_path) == ["1.0"]
    append(tmp_path, [row("1.2")])
    assert versions(tmp_path) == ["1.0", "1.2"]


@pytest.mark.parametrize("line", ["[]", "1", '{"package": "x"}', "nonsense}", '{"package": 1, "values": []}'])
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "transformers.jsonl"
    append(tmp_path, [row("1.0")])
    path.write_text(f"{line}\n" + path.read_text("utf-8"), "utf-8")
    with pytest.raises(KnowledgeError, match="is not a row of measurements") as caught:
        read_rows(tmp_path)
    assert (caught.value.path, caught.value.line) == (str(path), 1)


# What Python takes for the end of a line, letters of several bytes, and a lone half of a character.
TEXTS = st.text(st.sampled_from('aé漢😀\u2028\u2029\x85\x0b\x0c\x1c\r\n\ud83d\\"}'), max_size=8)


def saying(version: str, reason: str) -> Row:
    plain = row(version, None)
    return replace(plain, measurement=replace(plain.measurement, reason=reason))


@given(reasons=st.lists(TEXTS, min_size=1, max_size=4), cut=st.integers(min_value=0))
def test_a_kill_at_any_byte_loses_the_row_that_is_written_and_no_other(
    tmp_path_factory: pytest.TempPathFactory, reasons: list[str], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    rows = [saying(f"1.{number}", reason) for number, reason in enumerate(reasons)]
    append(folder, rows[:-1])
    path = folder / "transformers.jsonl"
    kept = path.stat().st_size if path.exists() else 0
    append(folder, rows[-1:])
    data = path.read_bytes()
    cut = kept + cut % (len(data) - kept)
    path.write_bytes(data[:cut])
    whole = rows if cut == len(data) - 1 else rows[:-1]  # only the end of the line is missing
    assert [row_data(one) for one in read_rows(folder)] == [row_data(one) for one in whole]
    append(folder, [row("2.0")])
    tidy(folder)
    assert [row_data(one) for one in read_rows(folder)] == [row_data(one) for one in (*whole, row("2.0"))]


@pytest.mark.parametrize("reason", ["no é", "a\u2028b", "a\x85b"])
def test_rows_of_earlier_versions_are_read(tmp_path: Path, reason: str) -> None:
    path = tmp_path / "transformers.jsonl"
    line = json.dumps(row_data(saying("1.0", reason)), ensure_ascii=False) + "\n"
    half = json.dumps(row_data(saying("1.1", "é")), ensure_ascii=False).encode().partition("é".encode())[0] + b"\xc3"
    path.write_bytes(line.encode() + half)
    (one,) = read_rows(tmp_path)
    assert one.measurement.reason == reason
    append(tmp_path, [row("1.2")])
    assert versions(tmp_path) == ["1.0", "1.2"]


def test_a_kill_while_a_file_is_sorted_leaves_nothing_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path, [row("1.1"), row("1.0")])

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, killed)
            patch.setattr(Path, "replace", killed)
            with pytest.raises(Killed):
                tidy(tmp_path)
        assert sorted(versions(tmp_path)) == ["1.0", "1.1"]
    tidy(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["transformers.jsonl"]
    lines = (tmp_path / "transformers.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["version"] for line in lines] == ["1.0", "1.1"]


def test_no_space_for_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path, [row("1.1"), row("1.0")])

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = (tmp_path / "transformers.jsonl").read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KnowledgeError, match="cannot be written: No space left on device"):
        append(tmp_path / "other", [row("1.2")])
    with pytest.raises(KnowledgeError, match="cannot be written: No space left on device"):
        tidy(tmp_path)
    assert (tmp_path / "transformers.jsonl").read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked there")
def test_several_runs_write_into_one_folder(tmp_path: Path) -> None:
    def measuring(number: int) -> None:
        for minor in range(20):
            append(tmp_path, [row(f"{number}.{minor}")])
            tidy(tmp_path)

    with ThreadPoolExecutor(4) as several:
        list(several.map(measuring, range(4)))
    assert versions(tmp_path) == [f"{number}.{minor}" for number in range(4) for minor in range(20)]
    assert [path.name for path in tmp_path.iterdir()] == ["transformers.jsonl"]


def test_a_folder_without_rows_has_none(tmp_path: Path) -> None:
    assert read_rows(tmp_path / "nothing") == ()


# --- ranges ---

R, N, I, S = "reproduced", "not_reproduced", "inconclusive", "skipped"  # noqa: E741
SIGNS: dict[str, Outcome | None] = {
    "X": "reproduced",
    ".": "not_reproduced",
    "?": "inconclusive",
    "-": "skipped",
    " ": None,
}


def found(text: str) -> Ranges:
    """The ranges of releases 1, 2, 3, … with these signs."""
    outcomes = {Version(str(number)): SIGNS[sign] for number, sign in enumerate(text, 1)}
    return ranges(outcomes, {version: outcome for version, outcome in outcomes.items() if outcome is not None})


def shown(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(str(one.versions), one.doubts) for one in found(text).affected]


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        (".XX.", [(">=2,<4", ())]),
        (".X.X.", [(">=2,<3", ()), (">=4,<5", ())]),
        (".XX", [(">=2", ("3 is the newest release",))]),
        ("XX.", [(">=1,<3", ("1 is the lowest release with a verdict, so it may begin earlier",))]),
        ("- X.", [(">=3,<4", ("3 is the lowest release with a verdict (1 skipped, 2 not run), so it may begin "
                              "earlier",))]),
        (".  X.", [(">=4,<5", ("it begins behind 1 and not later than with 4 (2 to 3 not run)",))]),
        (".X ?.", [(">=2,<=2", ("it ends behind 2 and not later than with 5 (3 not run, 4 inconclusive)",))]),
        (".X--X.", [(">=2,<6", ("there may be holes in it (3 to 4 skipped)",))]),
        (".X ", [(">=2,<=2", ("2 is the highest release with a verdict (3 not run), so it may end later",))]),
        ("....", []),
        ("?- ", []),
        ("", []),
    ],
)  # fmt: skip
def test_ranges(signs: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    expected = [(text.replace(">=2,<=2", "==2"), doubts) for text, doubts in expected]
    assert shown(signs) == expected


def test_what_is_not_known_is_kept_apart() -> None:
    one = found(".X- ?.")
    gap = (Gap(outcome="skipped", releases=(Version("3"),)), Gap(outcome=None, releases=(Version("4"),)),
           Gap(outcome="inconclusive", releases=(Version("5"),)))  # fmt: skip
    assert one == Ranges(
        affected=(Range(first=Version("2"), last=Version("2"), before=Version("1"), behind=Version("6"), above=gap),),
        right=2,
        unknown=gap,
    )
    assert not one.exact
    assert found(".X.").exact
    assert not found(".X. ").exact


@given(st.text(alphabet="X.?- ", max_size=14))
def test_against_a_naive_oracle(signs: str) -> None:
    every = [Version(str(number)) for number in range(1, len(signs) + 1)]
    made = found(signs)
    inside = {one: any(one in each.versions for each in made.affected) for one in every}
    unsure = {one for each in made.affected for gap in (*each.below, *each.inside, *each.above) for one in gap.releases}
    for position, (version, sign) in enumerate(zip(every, signs, strict=True)):
        if sign == "X":
            assert inside[version]
        elif sign == ".":
            assert not inside[version]
        elif inside[version]:  # claimed without a verdict: only between two that are wrong, and it is said
            assert "X" in signs[:position].rpartition(".")[2]
            assert "X" in signs[position:].partition(".")[0]
            assert version in unsure
    for one in made.affected:
        low, high = every.index(one.first), every.index(one.last)
        assert "." not in signs[low : high + 1]
        assert one.begins == (low > 0 and signs[low - 1] == ".")
        assert one.ends == (high + 1 < len(signs) and signs[high + 1] == ".")
        assert one.lasts == (high + 1 == len(signs))
    # Stretches are as long as can be: something right lies between any two.
    for left, right in zip(made.affected, made.affected[1:], strict=False):
        assert "." in signs[every.index(left.last) : every.index(right.first)]
    assert made.right == signs.count(".")
    assert [one for gap in made.unknown for one in gap.releases] == [
        version for version, sign in zip(every, signs, strict=True) if sign in "?- "
    ]


def test_the_worst_of_several_rows_counts_and_quantities_decide() -> None:
    on_gpu = replace(row("1.0", 4.0).measurement, device="cuda:0 NVIDIA H200")
    rows = [row("1.0"), row("1.0", measurement=on_gpu), row("1.1", None), row("2.0", 4.0, LLAMA), row("rubbish", 4.0)]
    assert verdicts_of(rows, IssueProbe(spec=LLAVA)) == {Version("1.0"): R, Version("1.1"): S}
    assert verdicts_of(rows, IssueProbe(spec=LLAVA, quantities=("update_cosine",))) == {
        Version("1.0"): N,
        Version("1.1"): S,
    }


# --- records against rows ---

PROBE = "    probes: [{name: accumulation_equivalence, parameters: {model: llava}}]\n"
MEASURED = record(("range_basis: tags", "range_basis: measured"), ("    evidence: [", f"{PROBE}    evidence: ["))
PROVING = (row("4.48.3"), row("4.49.0", 4.0), row("4.52.0", 4.0), row("4.52.1"))


def problems(folder: Path, rows: Sequence[Row], *records: str) -> list[tuple[str | None, str]]:
    return [(one.record, one.message) for one in lint(read(written(folder, *records)), rows)]


def unproved(folder: Path, rows: Sequence[Row], *records: str) -> list[tuple[str | None, str]]:
    return [(one.record, one.message) for one in unproved_bounds(read(written(folder, *records)), rows)]


def test_rows_that_prove_a_record(tmp_path: Path) -> None:
    assert problems(tmp_path, PROVING, MEASURED) == []
    assert unproved(tmp_path, PROVING, MEASURED) == []


def test_a_row_that_shows_it_elsewhere(tmp_path: Path) -> None:
    rows = [*PROVING, row("4.53.0", 4.0), row("4.46.0", 2.0), row("4.54.0", 4.0, LLAMA)]
    assert problems(tmp_path, rows, MEASURED) == [
        (
            "GC-0001",
            "transformers 4.46.0, 4.53.0: `accumulation_equivalence(model=llava)` is reproduced, and no record that "
            "names this probe has them in its ranges; on 4.46.0 the logged loss is 2 times that of the large batch, "
            "and the gradients are 2 times those of the large batch",
        )
    ]


def test_another_record_may_explain_what_a_probe_shows(tmp_path: Path) -> None:
    steps = "training.gradient_accumulation_steps"
    other = record(
        ("    evidence: [", f"{PROBE}    evidence: ["),
        ("GC-0001", "GC-0002"),
        ('">=4.49.0,<4.52.1"', '"==4.46.0"'),
        (f"        - {{transformers: 4.52.0, {steps}: 2}}\n", ""),
        ("{transformers: 4.48.3,", "{transformers: 4.45.2,"),
        ("{transformers: 4.49.0", "{transformers: 4.46.0"),
        ('      - {kind: upgrade, package: transformers, versions: ">=4.52.1"}\n', ""),
        ('      - {kind: downgrade, package: transformers, versions: "==4.48.3"}\n', ""),
    )
    rows = [*PROVING, row("4.46.0", 4.0), row("4.45.2")]
    assert problems(tmp_path, rows, MEASURED, other) == []
    assert [one for one, _ in problems(tmp_path, [*rows, row("4.44.0", 4.0)], MEASURED, other)] == [
        "GC-0001",
        "GC-0002",
    ]


def test_rows_that_show_nothing_where_it_should_be(tmp_path: Path) -> None:
    rows = [*PROVING, row("4.50.0"), row("4.51.0", None), row("4.51.1")]
    assert problems(tmp_path, rows, MEASURED) == [
        (
            "GC-0001",
            "transformers 4.50.0, 4.51.1: in the ranges, and no probe of the record is reproduced; on 4.50.0 the "
            "logged loss is 1 times that of the large batch, and the gradients are 1 times those of the large batch, "
            "and the direction of the gradients agrees to 1",
        )
    ]


TWO = MEASURED.replace(
    "{model: llava}}]", "{model: llava}}, {name: accumulation_equivalence, parameters: {model: llama}}]"
)


def test_one_of_several_probes_is_enough(tmp_path: Path) -> None:
    rows = [*PROVING, row("4.50.0"), row("4.50.0", 4.0, LLAMA), row("4.51.0"), row("4.51.0", None, LLAMA)]
    assert problems(tmp_path, rows, TWO) == []


def test_a_combination_with_a_second_package_is_not_refuted_by_what_is_not_shown(tmp_path: Path) -> None:
    both = MEASURED.replace(
        'packages: {transformers: ">=4.49.0,<4.52.1"}', 'packages: {transformers: ">=4.49.0,<4.52.1", peft: "*"}'
    )
    both = (
        both.replace("8}", "8, peft: 0.15.0}").replace("2}", "2, peft: 0.15.0}").replace("s: 1}", "s: 1, peft: 0.15.0}")
    )
    both = both.replace("{transformers: 4.49.0}", "{transformers: 4.49.0, peft: 0.15.0}")
    assert problems(tmp_path, [*PROVING, row("4.50.0")], both) == []


def test_names_of_one_code_are_one_package(tmp_path: Path) -> None:
    lightning = (
        MEASURED.replace("transformers:", "pytorch-lightning:")
        .replace("package: transformers", "package: pytorch-lightning")
        .replace("level: error", "level: warning")  # an error of Lightning asks whether it drives
    )
    rows = [replace(one, package="lightning") for one in (*PROVING, row("4.53.0", 4.0))]
    ((_, message),) = problems(tmp_path, rows, lightning)
    assert message.startswith("pytorch-lightning 4.53.0: ")


def test_a_withdrawn_record_is_left_alone(tmp_path: Path) -> None:
    withdrawn = MEASURED + "    withdrawn: it was wrong\n"
    assert problems(tmp_path, [*PROVING, row("4.53.0", 4.0)], withdrawn) == []
    assert unproved(tmp_path, [], withdrawn) == []


WHERE = "affected.0: transformers >=4.49.0,<4.52.1: says `measured`, and no row"


@pytest.mark.parametrize(
    ("rows", "text", "messages"),
    [
        ((), RECORD.replace("basis: tags", "basis: measured"), ["says `measured` and has no probe"]),
        ((), RECORD, []),
        ((), MEASURED, [f"says `measured`, and there is no row of `{LLAVA}` for its packages"]),
        ([row("4.48.3"), row("4.52.1")], MEASURED, [f"{WHERE} in it is reproduced"]),
        (PROVING[1:], MEASURED, [f"{WHERE} before it is right"]),
        (PROVING[:-1], MEASURED, [f"{WHERE} behind it is right"]),
        ([*PROVING[:-1], row("4.52.1", None)], MEASURED, [f"{WHERE} behind it is right"]),
        # The probe that is right beyond the bound has to be one that shows the defect.
        ([*PROVING[:-1], row("4.52.1", 1.0, LLAMA)], TWO, [f"{WHERE} behind it is right"]),
    ],
)  # fmt: skip
def test_bounds_that_no_row_proves(tmp_path: Path, rows: Sequence[Row], text: str, messages: list[str]) -> None:
    assert [message for _, message in unproved(tmp_path, rows, text)] == messages


def test_a_bound_that_is_known_in_another_way(tmp_path: Path) -> None:
    stated = MEASURED.replace(
        "    evidence: [", '    bounds: [{package: transformers, bound: "<4.52.1", basis: tags}]\n    evidence: ['
    )
    assert unproved(tmp_path, PROVING[:-1], stated) == []
    assert [message for _, message in unproved(tmp_path, PROVING[1:], stated)] == [f"{WHERE} before it is right"]
    assert [message for _, message in unproved(tmp_path, [], stated)] == [
        f"says `measured`, and there is no row of `{LLAVA}` for its packages"
    ]


def test_the_bounds_of_every_package_of_a_pair_need_rows(tmp_path: Path) -> None:
    pair = MEASURED.replace(
        'packages: {transformers: ">=4.49.0,<4.52.1"}', 'packages: {transformers: ">=4.49.0,<4.52.1", peft: ">=0.15.0"}'
    )
    (message,) = [message for _, message in unproved(tmp_path, PROVING, pair)]
    assert message == "affected.0: peft >=0.15.0: says `measured`, and no row in it is reproduced"
    rows = [*PROVING, row("0.14.0", package="peft"), row("0.15.0", 4.0, package="peft")]
    assert unproved(tmp_path, rows, pair) == []


def test_a_hole_needs_a_row_in_it(tmp_path: Path) -> None:
    holed = MEASURED.replace(">=4.49.0,<4.52.1", ">=4.49.0,<4.50.0 || >=4.51.0,<4.52.1")
    rows = [*PROVING, row("4.51.0", 4.0)]
    where = "affected.0: transformers"
    assert sorted(message for _, message in unproved(tmp_path, rows, holed)) == [
        f"{where} >=4.49.0,<4.50.0: says `measured`, and no row behind it is right",
        f"{where} >=4.51.0,<4.52.1: says `measured`, and no row before it is right",
    ]
    assert unproved(tmp_path, [*rows, row("4.50.0")], holed) == []


# --- mutations of records and rows that passed for right ---

FIRST, SECOND = ">=4.49.0,<4.51.0", ">=4.51.0,<4.52.1"
BOUND = MEASURED.replace(
    "{model: llava}}]",
    "{model: llava}, combinations: [0]}, "
    "{name: accumulation_equivalence, parameters: {model: llama}, combinations: [1]}]",
).replace(
    """      - packages: {transformers: ">=4.49.0,<4.52.1"}""",
    f'''      - packages: {{transformers: "{FIRST}"}}
        settings: {{training.gradient_accumulation_steps: ">1", training.packing: true}}
      - packages: {{transformers: "{SECOND}"}}''',
)
BOUND = BOUND.replace(
    "      not_affected:\n",
    "        - {transformers: 4.49.0, training.gradient_accumulation_steps: 8, training.packing: true}\n"
    "      not_affected:\n"
    "        - {transformers: 4.50.0, training.gradient_accumulation_steps: 8, training.packing: false}\n",
).replace("        - {transformers: 4.49.0, training.gradient_accumulation_steps: 8}\n", "")


def test_a_probe_proves_the_combination_that_it_is_bound_to(tmp_path: Path) -> None:
    rows = [
        *(row("4.48.3"), row("4.49.0", 4.0), row("4.50.0", 4.0), row("4.51.0")),
        *(row("4.50.0", 1.0, LLAMA), row("4.51.0", 4.0, LLAMA), row("4.52.0", 4.0, LLAMA), row("4.52.1", 1.0, LLAMA)),
    ]
    assert [message for message in unproved(tmp_path, rows, BOUND) if "measured" in message[1]] == []
    assert [message for _, message in problems(tmp_path, rows, BOUND) if "reproduced" in message] == []
    # The range of the first is widened against its own rows: those of the second say nothing for it.
    wider = BOUND.replace(FIRST, ">=4.49.0,<4.52.1")
    (message,) = [message for _, message in problems(tmp_path, rows, wider) if "reproduced" in message]
    assert message.startswith("transformers 4.51.0: in the ranges, and no probe of the record is reproduced")
    # Unbound, the second would prove it.
    loose = wider.replace(", combinations: [0]", ", combinations: [0, 1]").replace(
        ", combinations: [1]", ", combinations: [0, 1]"
    )
    assert [message for _, message in problems(tmp_path, rows, loose) if "in the ranges" in message] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            (", combinations: [0]", ""),
            "say in `combinations` which of `affected` it proves",
        ),
        (
            ("combinations: [0]", "combinations: [2]"),
            "has no combination 2",
        ),
    ],
)
def test_probes_of_several_combinations_say_which(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert any(message in found for _, found in problems(tmp_path, (), BOUND.replace(*change)))


def test_a_combination_that_no_probe_is_bound_to(tmp_path: Path) -> None:
    rows = [*PROVING, row("4.50.0", 4.0), row("4.51.0", 1.0)]
    only = BOUND.replace(", {name: accumulation_equivalence, parameters: {model: llama}, combinations: [1]}", "")
    assert [message for _, message in unproved(tmp_path, rows, only)] == [
        f"affected.1: transformers {SECOND}: says `measured`, and no probe is bound to it"
    ]


def test_a_planted_defect_proves_nothing(tmp_path: Path) -> None:
    probe = "probes: [{name: optimizer_closure, parameters: {optimizer: adamw, plant: true}}]"
    planted = RECORD.replace("    evidence:", f"    {probe}\n    evidence:")
    if "plant" not in recipe_of(ProbeSpec(name="optimizer_closure")).parameters:
        planted = planted.replace(
            "optimizer_closure, parameters: {optimizer: adamw,", "optax_updates, parameters: {what: distance,"
        )
    ((_, message),) = problems(tmp_path, (), planted)
    assert "is a defect that the recipe puts in: it proves nothing" in message
    spec = ProbeSpec(name="optax_updates", parameters={"what": "distance", "plant": True})
    ((_, message),) = problems(tmp_path, [row("4.49.0", 4.0, spec)], RECORD)
    assert message == (
        "measured: transformers 4.49.0: `optax_updates(plant=True, what=distance)`: the defect was planted, and says "
        "nothing about the release: delete the row"
    )


def test_a_row_of_another_release_than_it_says(tmp_path: Path) -> None:
    moved = row("4.49.0", 4.0)
    moved = replace(moved, measurement=replace(moved.measurement, packages={"transformers": "4.48.0"}))
    ((_, message),) = problems(tmp_path, [moved], RECORD)
    assert message == (
        f"measured: transformers 4.49.0: `{LLAVA}`: 4.48.0 was imported, so that it is a row of another release: "
        "measure it again"
    )
    local = replace(moved, measurement=replace(moved.measurement, packages={"transformers": "4.49.0+cpu"}))
    assert problems(tmp_path, [local], RECORD) == []


def held(folder: Path, rows: Sequence[Row], *, digest: str = "0" * 12, releases: Sequence[str] = ()) -> list[str]:
    """What is wrong with the bounds of the record, by these standards."""
    yardstick = Yardstick(digest=lambda spec: digest, releases=lambda name: [Version(one) for one in releases])
    return [one.message for one in unproved_bounds(read(written(folder, MEASURED)), rows, yardstick)]


def test_rows_of_older_code_prove_no_bound(tmp_path: Path) -> None:
    assert held(tmp_path, PROVING) == []
    assert held(tmp_path, PROVING, digest="1" * 12) == [
        f"{WHERE} in it is reproduced by the recipe as it is today: measure these releases again"
    ]
    again = [replace(one, digest="1" * 12) for one in PROVING[:-1]]
    assert held(tmp_path, [*again, PROVING[-1]], digest="1" * 12) == [
        f"{WHERE} behind it is right by the recipe as it is today: measure these releases again"
    ]


def test_no_release_lies_unmeasured_at_a_bound(tmp_path: Path) -> None:
    every = ["4.47.0", "4.48.3", "4.49.0", "4.50.0", "4.52.0", "4.52.1", "4.52.2"]
    assert held(tmp_path, PROVING, releases=every) == []
    far = [row("4.47.0"), *PROVING[1:-1], row("4.52.2")]
    where = "affected.0: transformers >=4.49.0,<4.52.1: says `measured`, and next to its end"
    assert held(tmp_path, far, releases=every) == [
        f"{where} 4.48.3 was not measured",
        f"{where} 4.52.1 was not measured",
    ]
    # One that was tried and cannot be run is not unmeasured.
    assert held(tmp_path, [*far, row("4.48.3", None), row("4.52.1", None)], releases=every) == []


# --- the commands ---


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["knowledge", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_lint_reads_the_rows_beside_the_records(tmp_path: Path) -> None:
    path = str(written(tmp_path, MEASURED))
    only = ("lint", path, "--only", "gc-0001")
    without = run(*only)
    assert without.exit_code == 1
    assert without.stdout.endswith("1 of 1 record, 0 measurements, 1 problem\n")
    append(tmp_path / FOLDER, PROVING)
    assert "by the recipe as it is today" in run(*only).stdout
    append(tmp_path / FOLDER, [replace(one, digest=digest(recipe_of(LLAVA))) for one in PROVING])
    tidy(tmp_path / FOLDER)
    assert run("lint", path).stdout == "1 record, 4 measurements, no problems\n"
    append(tmp_path / FOLDER, [row("4.53.0", 4.0)])
    assert run(*only).exit_code == 1


def test_lint_of_records_that_are_not_there(tmp_path: Path) -> None:
    path = str(written(tmp_path, MEASURED))
    with pytest.raises(UsageError, match="there is no record `GC-0002`"):
        run("lint", path, "--only", "GC-0002")
    with pytest.raises(UsageError, match="--only is for the records of FILE"):
        run("lint", "--only", "GC-0001", "--knowledge", path)


def test_ranges_in_words(tmp_path: Path) -> None:
    append(tmp_path, [row("4.48.3"), row("4.49.0", 4.0), row("4.51.3", 4.0), row("4.52.1"), row("4.52.2", None)])
    result = run("ranges", "Transformers", "gc-0004", "--measured", str(tmp_path))
    assert result.exit_code == 3
    lines = result.stdout.splitlines()
    assert lines[0] == "transformers: accumulation_equivalence(model=llava) (loss_ratio)"
    assert lines[1].startswith("  transformers >=4.49.0,<=4.51.3")
    assert "    there may be holes in it (4.50.0 to 4.51.2 not run)" in lines
    assert "    it ends behind 4.51.3 and not later than with 4.52.1 (4.52.0 not run)" in lines
    assert "4.52.2 skipped" in result.stdout


def test_ranges_of_a_package_that_the_snapshot_does_not_know(tmp_path: Path) -> None:
    append(tmp_path, [row(version, ratio, package="toy") for version, ratio in (("1", 1.0), ("2", 4.0), ("3", 1.0))])
    result = run("ranges", "toy", "--measured", str(tmp_path))
    assert (result.exit_code, result.stdout) == (
        0, "toy: accumulation_equivalence(model=llava)\n  toy >=2,<3\n  2 releases right\n",
    )  # fmt: skip
    assert result.stderr == "note: the releases of toy other than the measured ones are unknown\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ranges", "nothing"), "nothing was measured of that"),
        (("ranges", "transformers", "GC-9999"), "`GC-9999` is neither a record nor a recipe"),
        (("ranges", "transformers", "--measured", "no/such"), "`no/such`: is not a folder of measurements"),
        (("matrix", "nothing"), "nothing was measured of that"),
        (("matrix", "--format", "png"), "`--format png` is not known"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    append(tmp_path, [row("1.0")])
    more = () if "--measured" in arguments else ("--measured", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        run(*arguments, *more)
    assert str(caught.value) == message


# --- what ships ---


def test_what_is_compiled_is_current() -> None:
    rows = read_rows(KNOWLEDGE / FOLDER)
    text = matrix.SHIPPED.read_text("utf-8") if matrix.SHIPPED.exists() else matrix.dumps(matrix.compile_rows(()))
    assert text == matrix.dumps(matrix.compile_rows(rows)), (
        f"{matrix.SHIPPED.name} is not what {KNOWLEDGE.name}/{FOLDER} says: run `gradcompat knowledge compile`"
    )


@pytest.mark.parametrize("path", sorted((KNOWLEDGE / FOLDER).glob("*.jsonl")), ids=lambda path: path.name)
def test_rows_that_ship_are_tidy_and_name_no_machine(path: Path, tmp_path: Path) -> None:
    text = path.read_text("utf-8")
    (tmp_path / path.name).write_text(text, "utf-8")
    tidy(tmp_path)
    assert (tmp_path / path.name).read_text("utf-8") == text, "run `gradcompat knowledge measure`, which sorts the rows"
    assert [line for line in text.splitlines() if re.search(r"(?<![\w.…])/\w+|[A-Z]:\\|://", line)] == []
