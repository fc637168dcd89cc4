"""From what was seen to what it probably is."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from gradcompat.diagnosis.explanations import EXPLANATIONS
from gradcompat.diagnosis.ranking import Evidence, diagnose
from gradcompat.model.diagnosis import Diagnosis, DiagnosisReport, Observation, ReadFile, RuledOut, Seen
from gradcompat.model.environment import Environment, Location, Setting, Skipped
from gradcompat.model.issue import Issue, IssueProbe, SettingRemedy, VersionRemedy
from gradcompat.model.probe import ProbeSpec
from gradcompat.renderers import diagnosis_json, diagnosis_text
from gradcompat.requirements.versions import VersionSet
from tests.building import NAMES, compares, environment, equals, issue, package, versions
from tests.diagnosis.reading import with_symptoms

ELEMENT = "element 0 of tensors does not require grad"
NOTHING = Environment(source="", kind="log", packages=(), closed=False)

PEFT = with_symptoms(
    issue(
        (versions("transformers", "<5.0.0"), versions("peft"), equals("training.use_reentrant", True)),
        identifier="GC-0001",
        remedies=(
            SettingRemedy(key="training.use_reentrant", value=False),
            VersionRemedy(kind="upgrade", package="transformers", versions=VersionSet.parse(">=5.0.0")),
        ),
    ),
    ELEMENT,
)
LIGHTNING = with_symptoms(
    issue((versions("pytorch-lightning", "<2.0.7"), versions("transformers", ">=4.30.0")), identifier="GC-0002"),
    ELEMENT,
    r"loops/optimization/automatic\.py",
)
PRINTS = replace(
    with_symptoms(
        issue((versions("transformers", "<5.0.0"),), identifier="GC-0003", level="note", informational=True),
        "requires_grad False",
    ),
    categories=("behaviour-change",),
)
LOSS_ZERO = replace(
    with_symptoms(
        issue((versions("transformers", ">=4.10.3"),), identifier="GC-0004", level="note", informational=True),
        r"'loss': 0\.0[,}]",
    ),
    categories=("nan",),
)
SCALE = replace(
    issue(
        (versions("transformers", ">=4.49.0,<4.52.0"), compares("training.gradient_accumulation_steps", ">", 1)),
        identifier="GC-0005",
    ),
    categories=("loss-scale",),
)
ALL = (PEFT, LIGHTNING, PRINTS, LOSS_ZERO, SCALE)


def seen(pattern: str, line: int = 7, count: int = 1) -> Evidence:
    return Evidence(path="x.log", hits={pattern: (count, {line: "the text there"})})


def observed(kind: str, example: str = "", *, harmless: bool = False) -> Observation:
    return Observation(kind=kind, sentence=f"{kind} was seen", lines=(3, 4), example=example, harmless=harmless)


def ids(diagnoses: tuple[Diagnosis, ...]) -> list[str | None]:
    return [one.issue for one in diagnoses]


def told(
    evidence: Evidence, known: Environment = NOTHING, issues: tuple[Issue, ...] = ALL
) -> tuple[tuple[Diagnosis, ...], tuple[RuledOut, ...]]:
    diagnoses, ruled_out, _ = diagnose([evidence], known, issues, NAMES)
    return diagnoses, ruled_out


def test_one_record_of_which_everything_fits() -> None:
    known = environment(
        package("transformers", "4.57.6"), package("peft", "0.18.0"), settings={"training.use_reentrant": True}
    )
    diagnoses, _ = told(seen(ELEMENT), known, (PEFT,))
    assert diagnoses == (
        Diagnosis(
            title="The loss is wrong",
            score=0.892,
            because=(
                Seen(
                    sentence="this is there once",
                    location=Location(path="x.log", line=7),
                    text="the text there",
                ),
                Seen(sentence="transformers 4.57.6 is in <5.0.0", location=Location(path="uv.lock", line=1)),
                Seen(sentence="peft 0.18.0 is there", location=Location(path="uv.lock", line=1)),
                Seen(sentence="training.use_reentrant is true", location=Location(path="uv.lock", line=1)),
            ),
            settles=("whether it goes away with training.use_reentrant false or transformers >=5.0.0",),
            issue="GC-0001",
        ),
    )


def test_what_was_not_seen_stays_an_if() -> None:
    (diagnosis,), _ = told(seen(ELEMENT), environment(package("transformers", "4.57.6"), package("peft", "1")), (PEFT,))
    assert diagnosis.against == ("only if training.use_reentrant is true",)
    assert diagnosis.settles[0] == "its config, --context FILE, or what you know: --set training.use_reentrant=…"
    known = environment(
        package("transformers", "4.57.6"), package("peft", "1"), settings={"training.gradient_checkpointing": True}
    )
    (diagnosis,), _ = told(seen(ELEMENT), known, (PEFT,))
    assert diagnosis.settles[0] == "what you know: --set training.use_reentrant=…"


def test_without_versions_it_says_which_would_settle_it() -> None:
    (diagnosis,), _ = told(seen(ELEMENT), NOTHING, (PEFT,))
    assert diagnosis.against == ("no version of transformers or peft was seen",)
    assert diagnosis.settles[0] == (
        "the versions of the run, --environment LOCKFILE: it takes transformers <5.0.0 and peft"
    )


def test_another_version_rules_out() -> None:
    known = environment(package("transformers", "5.0.0", line=9), package("peft", "0.18.0"))
    assert told(seen(ELEMENT), known, (PEFT,)) == (
        (),
        (
            RuledOut(
                issue="GC-0001",
                title="The loss is wrong",
                sentence="transformers 5.0.0 (uv.lock:9) is not in <5.0.0",
            ),
        ),
    )


def test_a_message_that_records_share_says_less_for_each() -> None:
    alone, _ = told(seen(ELEMENT), NOTHING, (PEFT,))
    shared, _ = told(seen(ELEMENT), NOTHING, (PEFT, LIGHTNING))
    assert alone[0].score > max(one.score for one in shared)


def test_the_way_of_the_traceback_ranks() -> None:
    evidence = replace(seen(ELEMENT), modules=frozenset({"transformers", "peft", "torch"}))
    diagnoses, _ = told(evidence)
    assert ids(diagnoses) == ["GC-0001", "GC-0002"]
    assert diagnoses[1].against[1] == "no traceback passes through pytorch-lightning"
    evidence = replace(seen(ELEMENT), modules=frozenset({"transformers", "lightning", "torch"}))
    assert ids(told(evidence)[0]) == ["GC-0002", "GC-0001"]


def test_a_place_alone_is_no_symptom() -> None:
    assert told(seen(r"loops/optimization/automatic\.py")) == ((), ())
    both = Evidence(
        path="x.log", hits={pattern: (1, {5: ""}) for pattern in (ELEMENT, r"loops/optimization/automatic\.py")}
    )
    assert ids(told(both)[0])[0] == "GC-0002"


def test_what_is_harmless_comes_last_and_in_every_version() -> None:
    evidence = Evidence(path="x.log", hits={ELEMENT: (1, {5: ""}), "requires_grad False": (2, {1: ""})})
    diagnoses, _ = told(evidence, environment(package("transformers", "5.0.0"), closed=False))
    assert [(one.issue, one.harmless) for one in diagnoses] == [("GC-0002", False), ("GC-0003", True)]


def test_a_record_explains_what_a_loss_of_zero_means_with_all_that_means_the_same() -> None:
    zero = observed("loss-zero", "{'loss': 0.0, 'grad_norm': nan}")
    evidence = Evidence(path="state.json", observations=[zero, observed("grad-norm-not-finite")])
    (diagnosis,), _ = told(evidence)
    assert (diagnosis.issue, diagnosis.score) == ("GC-0004", 0.85)
    assert [one.sentence for one in diagnosis.because] == ["loss-zero was seen", "grad-norm-not-finite was seen"]


def test_what_a_curve_means_stands_before_why_it_came_to_that() -> None:
    race = with_symptoms(issue((versions("deepspeed", "<0.19"),), identifier="GC-0002"), *LOSS_ZERO.symptoms)
    race = replace(race, categories=("nan",))
    evidence = Evidence(path="state.json", observations=[observed("loss-zero", "{'loss': 0.0, 'grad_norm': nan}")])
    diagnoses, _ = told(evidence, environment(package("deepspeed", "0.12.4"), closed=False), (race, LOSS_ZERO))
    assert ids(diagnoses) == ["GC-0004", "GC-0002"]


def test_lines_of_another_tool_are_not_those_of_the_record() -> None:
    zero = observed("loss-zero", "{'loss': 0.0, 'grad_norm': nan}")
    (diagnosis,), _ = told(Evidence(path="mm.log", hits={}, observations=[zero]))
    assert (diagnosis.issue, diagnosis.title) == (None, EXPLANATIONS["loss-zero"].title)


def test_a_line_that_the_curve_does_not_bear_out_is_none() -> None:
    """A reinforcement learner begins with a loss of 0."""
    assert told(seen(r"'loss': 0\.0[,}]")) == ((), ())


def test_records_of_the_same_harm_are_named_where_their_versions_are_seen() -> None:
    evidence = Evidence(path="x.log", hits={}, observations=[observed("loss-times-accumulation")])
    assert ids(told(evidence)[0]) == [None]
    known = environment(package("transformers", "4.49.0"), settings={"training.gradient_accumulation_steps": 8})
    diagnoses, _ = told(evidence, known)
    assert ids(diagnoses) == [None, "GC-0005"]
    assert ids(told(evidence, environment(package("transformers", "4.52.1")))[0]) == [None]


def test_two_signs_of_the_same_are_one_explanation() -> None:
    one = Evidence(path="a", observations=[observed("loss-not-finite")])
    two = Evidence(path="a", observations=[observed("loss-not-finite"), observed("grad-norm-not-finite")])
    (first,), (second,) = told(one)[0], told(two)[0]
    assert len(second.because) == 2
    assert second.score > first.score


def test_a_kind_without_an_explanation_is_still_said() -> None:
    (diagnosis,), _ = told(Evidence(path="a", observations=[observed("of-tomorrow")]))
    assert diagnosis.title == "Of-tomorrow was seen"


@pytest.mark.parametrize("kind", ["grad-norm-overflow", "run-resumed"])
def test_harmless_curves_are_harmless(kind: str) -> None:
    (diagnosis,), _ = told(Evidence(path="a", observations=[observed(kind, harmless=True)]))
    assert diagnosis.harmless


def test_a_metric_says_nothing_for_a_record_of_another_harm() -> None:
    example = "{'loss': 0.0, 'grad_norm': 0.0}"
    evidence = Evidence(path="x.json", observations=[observed("loss-and-norm-zero", example)])
    assert ids(told(evidence, issues=(LOSS_ZERO,))[0]) == [None]
    nothing_trained = replace(LOSS_ZERO, categories=("no-op-training",), informational=False)
    assert ids(told(evidence, issues=(nothing_trained,))[0]) == [None, "GC-0004"]


def test_errors_that_nothing_explains_are_shown() -> None:
    evidence = Evidence(
        path="x.log",
        hits={ELEMENT: (1, {7: "RuntimeError: " + ELEMENT})},
        errors={"RuntimeError: " + ELEMENT: 7, "ValueError: another": 9},
    )
    _, _, unexplained = diagnose([evidence], NOTHING, ALL, NAMES)
    assert unexplained == (
        Seen(sentence="an error", location=Location(path="x.log", line=9), text="ValueError: another"),
    )


def test_nothing_seen_is_nothing_said() -> None:
    assert diagnose([Evidence(path="x.log", hits={})], NOTHING, ALL, NAMES) == ((), (), ())


REPORT = DiagnosisReport(
    files=(ReadFile(path="x.log", kind="log", lines=1204, steps=12),),
    versions=(Seen(sentence="torch 2.5.1", location=Location(path="x.log", line=3)),),
    settings=(Seen(sentence="training.packing true", location=Location(path="x.log", line=5)),),
    diagnoses=(
        Diagnosis(
            title="The run is wrong",
            score=0.5,
            because=(
                Seen(sentence="this is there 3 times", location=Location(path="x.log", line=7), text="Err\x1b[31mor"),
                Seen(sentence="torch 2.5.1 is in <2.6", location=Location(path="x.log", line=3)),
            ),
            against=("only if it rains",),
            settles=("the weather",),
            issue="GC-0001",
        ),
        Diagnosis(title="All is well", score=0.1, because=(), harmless=True),
    ),
    ruled_out=(RuledOut(issue="GC-0002", title="Another", sentence="torch 2.5.1 (x.log:3) is not in <2"),),
    unexplained=(Seen(sentence="an error", location=Location(path="x.log", line=9), text="ValueError: no"),),
    skipped=(Skipped(what="y.log", reason="there is no such file", location=Location(path="y.log")),),
    records=2,
    date="2026-01-02",
    exit_status=1,
)


def test_text() -> None:
    out = io.StringIO()
    diagnosis_text.render(REPORT, out)
    assert out.getvalue() == (
        "x.log: log, 1,204 lines, 12 steps with metrics\n"
        "  with torch 2.5.1 (line 3)\n"
        "  set training.packing true (line 5)\n"
        "\n"
        "1. GC-0001: The run is wrong\n"
        "   because  x.log:7  Err\\x1b[31mor (this is there 3 times)\n"
        "            torch 2.5.1 is in <2.6 (x.log:3)\n"
        "   but      only if it rains\n"
        "   settles  the weather\n"
        "   more     gradcompat explain GC-0001\n"
        "\n"
        "Harmless:\n"
        "\n"
        "- All is well\n"
        "\n"
        "Similar, but ruled out:\n"
        "  GC-0002 Another: torch 2.5.1 (x.log:3) is not in <2\n"
        "\n"
        "Not explained:\n"
        "  x.log:9  ValueError: no\n"
        "\n"
        "  not checked: y.log: there is no such file\n"
        "\n"
        "1 explanation, 1 of no concern, 1 not explained, 1 not read (2 records of 2026-01-02)\n"
    )


def test_many_facts_are_counted() -> None:
    facts = tuple(
        Seen(sentence=f"name{number} 1", location=Location(path="x.log", line=number)) for number in range(1, 15)
    )
    out = io.StringIO()
    diagnosis_text.render(replace(REPORT, versions=facts, settings=()), out)
    assert "name12 1 (line 12) and 2 more\n" in out.getvalue().replace("\n    ", " ")


def test_json_says_the_same() -> None:
    out = io.StringIO()
    diagnosis_json.render(REPORT, out)
    assert '"exit_status": 1' in out.getvalue()
    assert '"sentence": "torch 2.5.1 is in <2.6"' in out.getvalue()
    assert json.loads(out.getvalue())["settings"] == [
        {"sentence": "training.packing true", "text": None, "path": "x.log", "line": 5}
    ]


def test_one_of_two_versions_that_a_log_speaks_of() -> None:
    peft = package("peft", "0.18.0")
    known = environment(package("transformers", "4.57.6"), peft, settings={"training.use_reentrant": True})
    (alone,), _ = told(seen(ELEMENT), known, (PEFT,))
    both = replace(known, packages=(*known.packages, package("transformers", "5.1.0")))
    (diagnosis,), ruled_out = told(seen(ELEMENT), both, (PEFT,))
    assert diagnosis.against == ("transformers 5.1.0 (uv.lock:1) is there, too, and is not affected",)
    assert (alone.against, alone.score > diagnosis.score, ruled_out) == ((), True, ())


def test_settings_that_differ_stay_an_if_and_are_named() -> None:
    known = environment(package("transformers", "4.57.6"), package("peft", "0.18.0"))
    settings = tuple(
        Setting(key="training.use_reentrant", value=value, location=Location(path="x.log", line=line))
        for value, line in ((True, 3), (False, 90))
    )
    (diagnosis,), ruled_out = told(seen(ELEMENT), replace(known, settings=settings), (PEFT,))
    assert diagnosis.against == (
        "only if training.use_reentrant is true",
        "training.use_reentrant is true (x.log:3) and training.use_reentrant is false (x.log:90): which of them counts "
        "is not known",
    )
    assert ruled_out == ()


def test_a_setting_rules_out_and_is_named() -> None:
    known = environment(
        package("transformers", "4.57.6"), package("peft", "0.18.0"), settings={"training.use_reentrant": False}
    )
    _, ruled_out = told(seen(ELEMENT), known, (PEFT,))
    assert ruled_out == (
        RuledOut(issue="GC-0001", title="The loss is wrong", sentence="training.use_reentrant is false (uv.lock:1)"),
    )


def test_two_settings_of_which_each_rules_out() -> None:
    record = with_symptoms(
        issue(
            (
                versions("transformers", "<5.0.0"),
                equals("training.use_reentrant", True),
                compares("training.gradient_accumulation_steps", ">", 1),
            ),
            identifier="GC-0001",
        ),
        ELEMENT,
    )
    known = environment(
        package("transformers", "4.57.6"),
        settings={"training.use_reentrant": False, "training.gradient_accumulation_steps": 1},
    )
    _, ruled_out = told(seen(ELEMENT), known, (record,))
    assert [one.sentence for one in ruled_out] == [
        "training.use_reentrant is false (uv.lock:1) and training.gradient_accumulation_steps is 1 (uv.lock:1)"
    ]


def test_a_probe_would_settle_it() -> None:
    measured = replace(PEFT, probes=(IssueProbe(spec=ProbeSpec(name="of_its_own")),))
    (diagnosis,), _ = told(seen(ELEMENT), NOTHING, (measured,))
    assert diagnosis.settles[1] == "its probe, in the interpreter of the run: gradcompat probe GC-0001 --python PATH"
    harmless = replace(PRINTS, probes=measured.probes)
    (diagnosis,), _ = told(seen("requires_grad False"), NOTHING, (harmless,))
    assert [one for one in diagnosis.settles if "probe" in one] == []
