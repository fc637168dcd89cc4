"""What is presumed of runs: engines that are named, defaults that are left out, ranges that are judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gradcompat
from gradcompat.audit.published import allowed
from gradcompat.audit.report_parts import parts_of, questions_of
from gradcompat.knowledge.load import load
from gradcompat.matcher import match
from gradcompat.model.environment import Environment, Location, Setting
from gradcompat.model.finding import Finding
from gradcompat.model.report import ReportedFinding
from gradcompat.presumptions.engines import named_engines
from gradcompat.presumptions.left_out import left_out
from gradcompat.versions import parse_version
from tests.building import NAMES, compares, environment, equals, issue, package, versions

BASE = load()


def presumed(stated: Environment, *terms: object, engines: frozenset[str] = frozenset()) -> Finding:
    (finding,) = match(replace(stated, engines=engines), [issue((versions("torch"), *terms))], NAMES)  # type: ignore[arg-type]
    return finding


def test_the_best_known_defect_is_told(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.47.0\n", "utf-8")
    stated: dict[str, int | str] = {
        "training.gradient_accumulation_steps": 8,
        "model.architecture": "LlamaForCausalLM",
    }
    report = gradcompat.check(tmp_path / "requirements.txt", settings=stated, only=["GC-0015"])
    (reported,) = report.findings
    assert (reported.finding.status, report.exit_status) == ("affected", 1)
    assert {one.key for one in reported.finding.assumed} <= {"deepspeed", "distributed.strategy"}
    assert reported.finding.assumed
    without = gradcompat.check(tmp_path / "requirements.txt", settings=stated, only=["GC-0015"], assume="none")
    assert [one.finding.status for one in without.findings] == ["conditional"]
    used = gradcompat.check(
        tmp_path / "requirements.txt", settings={**stated, "distributed.strategy": "deepspeed"}, only=["GC-0015"]
    )
    assert used.findings == ()


@pytest.mark.parametrize(
    ("packages", "settings", "run", "named"),
    [
        (("torch",), {}, False, False),
        (("deepspeed",), {}, False, True),
        (("deepspeed",), {}, True, False),  # it is installed, and the run does not use it
        (("deepspeed",), {"deepspeed.zero_stage": 2}, True, True),
        ((), {"distributed.strategy": "deepspeed"}, True, True),
    ],
)
def test_what_names_an_engine(packages: tuple[str, ...], settings: dict[str, object], run: bool, named: bool) -> None:
    assert ("deepspeed" in named_engines(packages, settings, run=run)) is named


def test_an_engine_that_is_not_named_is_dormant_and_one_that_is_named_is_open() -> None:
    stage = equals("deepspeed.zero_stage", 1, 2)
    stated = environment(package("torch", "2.5.1"))
    assert presumed(stated, stage).dormant == ("DeepSpeed ZeRO",)
    assert presumed(stated, stage, engines=frozenset({"deepspeed"})).status == "conditional"


def test_what_is_set_and_not_literal_is_not_presumed() -> None:
    unread = Setting(key="training.torch_compile", value=None, location=Location(path="train.py", line=3))
    stated = environment(package("torch", "2.5.1"))
    compiled = equals("training.torch_compile", True)
    assert presumed(stated, compiled).status == "dormant"
    assert presumed(replace(stated, settings=(unread,)), compiled).status == "conditional"


def run_of(*packages: tuple[str, str], framework: str = "transformers.Trainer", compiled: bool = False) -> Environment:
    stated: dict[str, str | bool] = {"training.framework": framework}
    if compiled:
        stated["training.torch_compile"] = True
    return environment(*(package(*one) for one in packages), settings=stated)


@pytest.mark.parametrize(
    ("run", "key", "value"),
    [
        (run_of(("transformers", "4.53.3")), "training.average_tokens_across_devices", False),
        (run_of(("transformers", "4.54.0")), "training.average_tokens_across_devices", True),
        (run_of(("transformers", "4.49.0")), "training.gradient_accumulation_steps", 1),
        (run_of(("trl", "0.21.0"), framework="trl"), "training.gradient_checkpointing", False),
        (run_of(("trl", "0.22.0"), framework="trl"), "training.gradient_checkpointing", True),
        (run_of(("trl", "0.18.0"), framework="trl"), "precision.mode", None),
        (run_of(("trl", "0.19.0"), framework="trl"), "precision.mode", "bf16"),
        (run_of(("transformers", "99.0")), "training.torch_compile", None),  # nobody has read it
        (run_of(("transformers", "4.49.0"), framework="lightning"), "training.torch_compile", None),
        (run_of(("transformers", "4.49.0"), compiled=True), "training.torch_compile", None),
    ],
)
def test_a_run_leaves_to_its_trainer_what_it_does_not_say(run: Environment, key: str, value: object) -> None:
    found = {setting.key: setting for setting in left_out(run)}
    assert (found[key].value if key in found else None) == value
    assert all(setting.presumed for setting in found.values())


def test_a_range_is_judged_by_the_newest_release_beside_the_pins() -> None:
    entry = package("torchvision", specifier=">=0.15")
    pins = {"torch": parse_version("2.5.1")}
    assert allowed(entry, "torchvision", python=None, pins=pins)[-1] == "0.20.1"  # type: ignore[arg-type]
    assert allowed(entry, "torchvision", python=None)[-1] != "0.20.1"
    assert allowed(package("torchvision", "0.20.1"), "torchvision", python=None) == ()
    assert allowed(package("no-such-package"), "no-such-package", python=None) == ()


@pytest.mark.parametrize(
    ("releases", "status"),
    [(("1", "2"), "affected"), (("1", "3"), "dormant"), (("3", "2"), "conditional"), ((), "conditional")],
)
def test_a_range(releases: tuple[str, ...], status: str) -> None:
    entry = replace(package("torch", specifier=">=1"), releases=releases)
    stated = replace(environment(entry), engines=frozenset())
    (finding,) = match(stated, [issue((versions("torch", "<3"),))], NAMES)
    assert finding.status == status


def test_a_range_is_no_gap(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers>=4.40\n", "utf-8")
    assert gradcompat.check(tmp_path / "requirements.txt").exit_status == 0
    assert gradcompat.check(tmp_path / "requirements.txt", strict=True).exit_status in (1, 3)
    (tmp_path / "requirements.txt").write_text("transformers==what\n", "utf-8")
    assert gradcompat.check(tmp_path / "requirements.txt").exit_status in (2, 3)


def test_each_open_finding_counts_for_one_question() -> None:
    steps = compares("training.gradient_accumulation_steps", ">", 1)
    checkpointing = equals("training.gradient_checkpointing", True)
    stated = replace(environment(package("torch", "2.5.1")), engines=frozenset())
    records = [
        issue((versions("torch"), steps), identifier="GC-0001"),
        issue((versions("torch"), steps, checkpointing), identifier="GC-0002"),
        issue((versions("torch"), checkpointing), identifier="GC-0003"),
    ]
    found = match(stated, records, NAMES)
    assert [(one.key, one.ids) for one in questions_of(found)] == [
        ("training.gradient_accumulation_steps", ("GC-0001", "GC-0002")),
        ("training.gradient_checkpointing", ("GC-0003",)),
    ]


def test_five_findings_could_apply_and_the_others_are_questions() -> None:
    stated = replace(environment(package("torch", "2.5.1")), engines=frozenset())
    steps = compares("training.gradient_accumulation_steps", ">", 1)
    records = [issue((versions("torch"), steps), identifier=f"GC-{number:04}", level="warning") for number in range(9)]
    records.append(issue((versions("torch"), steps), identifier="GC-0009", level="error"))
    records.append(issue((versions("torch"), steps), identifier="GC-0010", level="note"))
    findings = [ReportedFinding(finding=one, advice=None) for one in match(stated, records, NAMES)]
    parts = parts_of([*findings, replace(findings[-2])])  # the worst one of two environments
    shown = [one.finding.issue.id for one in parts.possible]
    assert shown == ["GC-0009", "GC-0000", "GC-0001", "GC-0002", "GC-0003"]
    assert parts.further["GC-0009"] == 1
    ((question),) = parts.questions
    assert question.ids == ("GC-0004", "GC-0005", "GC-0006", "GC-0007", "GC-0008", "GC-0010")
    everything = parts_of(findings, everything=True)
    assert len(everything.possible) == len(records)
    assert everything.questions == ()
