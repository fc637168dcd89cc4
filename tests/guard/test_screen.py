"""What the guard prints and writes, and which records it names."""

from __future__ import annotations

import json
from pathlib import Path

from gradcompat.guard.detectors import objective_weight
from gradcompat.guard.findings import Finding, GuardStop, Unverified, Verified
from gradcompat.guard.judgement import Judgement, local_errors
from gradcompat.guard.matched_records import Record
from gradcompat.guard.run_report import report, write
from gradcompat.guard.screen import end_line, explaining, screen, start_line, stop_words
from tests.guard.steps import gradients, step

SCALE = Record("GC-1", "Gradients grow by the factor gradient_accumulation_steps", ("gradient-scale",), "error")
OTHER = Record("GC-2", "A crash", ("crash",), "error")
WEIGHTS = Record("GC-3", "Tokens weigh unequally", ("wrong-gradient",), "warning")


def wrong() -> Judgement:
    judgement = Judgement()
    judgement.step(step(1.0, 1.0, 1.0, 1.0, accumulation=4, gradients=gradients(1.0)), ())
    return judgement


def test_the_screen_of_a_defect() -> None:
    judgement = wrong()
    hint = "`gradcompat run --on-defect warn`"
    change = "upgrade transformers 4.49.0 to 4.52.1"
    assert screen(
        judgement.findings, (OTHER, WEIGHTS, SCALE), change, stopped=stop_words(1, updating=True), warn_hint=hint
    ) == (
        "gradcompat guard: error: the gradients of step 1 are 4 times too large\n"
        "  (gradient_accumulation_steps): their weight is 4, 1 is right\n"
        "  record    GC-1: Gradients grow by the factor gradient_accumulation_steps\n"
        "  record    GC-3: Tokens weigh unequally\n"
        "  change    upgrade transformers 4.49.0 to 4.52.1\n"
        "  stopped   before the update, with exit status 86; nothing was changed\n"
        "  go on     `gradcompat run --on-defect warn`"
    )


def test_a_defect_that_no_record_explains_offers_a_report() -> None:
    text = screen(wrong().findings, (OTHER,), "", stopped="", warn_hint="")
    assert "record    none explains it; `gradcompat knowledge new --from gradcompat-guard.json`" in text
    assert "stopped" not in text


def test_the_screen_says_what_was_updated_before_the_run_was_stopped() -> None:
    assert stop_words(2, updating=True) == "before the update of step 2, with exit status 86"
    assert stop_words(2, updating=False) == "behind the update of step 2, with exit status 86"


def test_what_one_step_left_open_is_not_said_to_be_verified() -> None:
    judgement = Judgement()
    judgement.add([Verified("a"), Verified("b"), Unverified("b", "why"), Unverified("c", "no")])
    assert end_line(2, judgement) == (
        "gradcompat guard: 2 steps verified: a; not verified in every step: b (why); not verified: c (no)"
    )
    judgement.add([Finding("c", "warning", "wrong", {}, ())])
    assert end_line(2, judgement).endswith("verified: a; not verified in every step: b (why)")


def test_the_closest_record_comes_first() -> None:
    finding = Finding("objective weight", "error", "", {}, ("gradient-scale", "wrong-gradient"))
    assert [one.id for one in explaining(finding, (WEIGHTS, OTHER, SCALE))] == ["GC-1", "GC-3"]


def test_a_record_of_nothing_else_is_closer() -> None:
    both = Record("GC-4", "Gradients and the log", ("loss-scale", "wrong-gradient"), "error")
    log = Record("GC-5", "The log alone", ("loss-scale",), "warning")
    assert explaining(Finding("logged loss", "error", "", {}, ("loss-scale",)), (both, log)) == [log, both]


def test_the_first_and_the_last_line() -> None:
    assert start_line(2, "Trainer of transformers", (SCALE,), 224, "") == (
        "gradcompat guard: looks at the first 2 optimizer steps (Trainer of transformers); of 224 records apply here: "
        "GC-1"
    )
    assert start_line(1, "a loop of PyTorch", (), 0, "no interpreter can be started").endswith(
        "the first 1 optimizer step (a loop of PyTorch); records are not matched: no interpreter can be started"
    )
    judgement = wrong()
    assert "objective weight" not in end_line(1, judgement).partition("; not verified")[0]
    assert judgement.errors == judgement.findings


def test_what_is_only_a_note_is_in_the_last_line() -> None:
    judgement = Judgement()
    judgement.step(step(0.9677, accumulation=1), ())
    assert "; noted: the labels of step 1 count 0.9677 times" in end_line(1, judgement)


def test_a_finding_is_told_once() -> None:
    judgement = wrong()
    again = objective_weight.judge(step(1.0, 1.0, 1.0, 1.0, accumulation=4, number=2), ())
    assert judgement.add(again) == []


def test_what_one_rank_sees_alone_stops_all() -> None:
    assert local_errors(step(1.0)) == []
    assert [one.detector for one in local_errors(step(float("nan")))] == ["finite loss"]


def test_the_report_is_whole_or_not_there(tmp_path: Path) -> None:
    judgement = wrong()
    content = report(
        judgement,
        [step(1.0, 1.0, 1.0, 1.0, accumulation=4, gradients=gradients(1.0))],
        (SCALE,),
        facts={"training.gradient_accumulation_steps": 4},
        packages={"transformers": "4.49.0"},
        change="",
        stopped=True,
    )
    path = tmp_path / "gradcompat-guard.json"
    write(str(path), content)
    assert [one.name for one in tmp_path.iterdir()] == ["gradcompat-guard.json"]
    read = json.loads(path.read_text("utf-8"))
    assert read["findings"][0]["records"] == ["GC-1"]
    assert read["measured"][0]["objective_weight"] == 4.0
    assert read["stopped"] is True


def test_the_exception_ends_a_process_with_86() -> None:
    stop = GuardStop(tuple(wrong().findings))
    assert stop.code == 86
    assert "4 times too large" in str(stop)
