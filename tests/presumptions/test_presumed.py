"""What is presumed of runs: engines that are named, defaults that are left out, ranges that are judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gradcompat
from gradcompat.audit.published_releases import allowed
from gradcompat.audit.report_parts import parts_of, questions_of
from gradcompat.knowledge.load import load
from gradcompat.matching.matcher import match
from gradcompat.model.environment import Environment, Location, Package, Setting
from gradcompat.model.finding import Finding
from gradcompat.model.issue import (
    CodeRemedy,
    Level,
    ModelTerm,
    PackageAbsentTerm,
    PythonTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
    VirtualTerm,
)
from gradcompat.model.report import ReportedFinding
from gradcompat.presumptions import usual_terms
from gradcompat.presumptions.engines import named_engines
from gradcompat.presumptions.left_out import left_out
from gradcompat.presumptions.presumer import Presumer
from gradcompat.presumptions.usual import BROUGHT_BY, Values, usual_values
from gradcompat.releases.table import table_of
from gradcompat.requirements.versions import VersionSet, parse_version
from gradcompat.truth import Certainty
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
    assert {one.key for one in reported.finding.assumed} <= {"deepspeed", "distributed.strategy", "training.framework"}
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


def test_an_engine_that_a_run_says_it_does_without_is_not_named() -> None:
    assert "peft" in named_engines(["peft"], {}, run=True)
    assert "peft" in named_engines(["peft"], {"peft.method": "lora"}, run=True)
    assert "peft" not in named_engines(["peft"], {"peft.method": "none"}, run=True)


def test_an_engine_that_is_not_named_is_dormant_and_one_that_is_named_is_open() -> None:
    stage = equals("deepspeed.zero_stage", 1, 2)
    stated = environment(package("torch", "2.5.1"))
    assert presumed(stated, stage).dormant == ("DeepSpeed ZeRO",)
    assert presumed(stated, stage, engines=frozenset({"deepspeed"})).status == "conditional"


def test_weights_are_not_quantised_where_nothing_that_quantises_is_named() -> None:
    plain, quantised = equals("quantization.method", "none"), equals("quantization.method", "bitsandbytes")
    stated = environment(package("torch", "2.5.1"))
    told = presumed(stated, plain)
    assert (told.status, [one.sentence for one in told.assumed]) == ("affected", ["weights are not quantised"])
    assert presumed(stated, quantised).dormant == ("quantised weights",)
    for term in (plain, quantised):
        assert presumed(stated, term, engines=frozenset({"quantisation"})).status == "conditional"


def test_what_is_set_and_not_literal_is_not_presumed() -> None:
    unread = Setting(key="training.torch_compile", value=None, location=Location(path="train.py", line=3))
    stated = environment(package("torch", "2.5.1"))
    compiled = equals("training.torch_compile", True)
    assert presumed(stated, compiled).status == "dormant"
    assert presumed(replace(stated, settings=(unread,)), compiled).status == "conditional"


def test_a_computed_adapter_is_none_of_the_rare_ones() -> None:
    computed = Setting(key="peft.method", value=None, location=Location(path="train.py", line=3))
    stated = replace(environment(package("torch", "2.5.1")), settings=(computed,))
    rare, usual = (equals("peft.method", name) for name in ("lokr", "lora"))
    assert presumed(stated, rare, engines=frozenset({"peft"})).dormant == ("LoKr",)
    assert presumed(stated, usual, engines=frozenset({"peft"})).status == "conditional"


def test_a_version_that_nothing_says_is_not_the_one_release_that_is_wrong() -> None:
    unpinned = environment(package("torch", None))
    single, range_ = (issue((versions("torch", text),)) for text in ("==2.4.1", "<2.5"))
    statuses = [match(replace(unpinned, engines=frozenset()), [one], NAMES)[0].status for one in (single, range_)]
    assert statuses == ["dormant", "conditional"]


def run_of(
    *packages: tuple[str, str], framework: str = "transformers.Trainer", compiled: bool = False, **more: bool
) -> Environment:
    stated: dict[str, str | bool] = {"training.framework": framework, **{f"training.{key}": more[key] for key in more}}
    if compiled:
        stated["training.torch_compile"] = True
    return environment(*(package(*one) for one in packages), settings=stated)


def driven(run: Environment, *frameworks: str) -> Environment:
    """The same, and what drives it is only presumed."""
    stated = [setting for setting in run.settings if setting.key != "training.framework"]
    named = [setting for setting in run.settings if setting.key == "training.framework"]
    presumed = [replace(setting, value=one, presumed=True) for setting in named for one in frameworks]
    return replace(run, settings=(*stated, *presumed))


def stating(run: Environment, key: str, value: str | bool | int | tuple[str, ...]) -> Environment:
    """The same, with another value or with one more."""
    kept = tuple(setting for setting in run.settings if setting.key != key)
    return replace(run, settings=(*kept, Setting(key=key, value=value, location=Location(path="train.py", line=1))))


def looped(version: str, *calls: str) -> Environment:
    """A loop of one's own over a checkpointed model, with the calls of its code."""
    run = run_of(("transformers", version), framework="torch", gradient_checkpointing=True)
    return stating(run, "code.calls", calls)


def presumably(run: Environment, key: str, *values: str) -> Environment:
    """The same, and what the key is, is only presumed."""
    shown = tuple(Setting(key=key, value=one, location=Location(path="t.yaml"), presumed=True) for one in values)
    return replace(run, settings=(*run.settings, *shown))


FORWARD = "model.forward_takes_kwargs"
BATCH_SIZE = "training.per_device_train_batch_size"
OF_GRPO = ("training.method", "grpo")
PARALLEL = stating(run_of(("transformers", "4.57.1")), "distributed.processes", 4)
GRPO = stating(run_of(("trl", "0.24.0"), ("transformers", "4.57.1"), framework="trl"), "training.method", "grpo")
CHECKPOINTED = run_of(("transformers", "4.57.6"), ("trl", "0.26.2"), gradient_checkpointing=True)
HOOK = "training.enable_input_require_grads"
GIVEN = stating(run_of(("trl", "0.15.2"), framework="trl"), "peft.given_to_trainer", True)
WITH_TRL_1 = run_of(("transformers", "4.57.6"), ("trl", "1.0.0"), gradient_checkpointing=True)


@pytest.mark.parametrize(
    ("run", "key", "value"),
    [
        (run_of(("transformers", "4.53.3")), "training.average_tokens_across_devices", False),
        (run_of(("transformers", "4.54.0")), "training.average_tokens_across_devices", True),
        (run_of(("transformers", "4.49.0")), "training.gradient_accumulation_steps", 1),
        (run_of(("trl", "0.21.0"), framework="trl"), "training.gradient_checkpointing", False),
        (run_of(("trl", "0.22.0"), framework="trl"), "training.gradient_checkpointing", True),
        (run_of(("trl", "0.13.0"), framework="trl"), "training.gradient_accumulation_steps", 1),
        (run_of(("trl", "0.14.0"), framework="trl"), "training.gradient_accumulation_steps", None),  # GRPO has 8
        (run_of(("trl", "0.18.0"), framework="trl"), "precision.mode", "no"),
        (run_of(("trl", "0.16.1"), framework="trl"), "training.use_liger_loss", False),
        (run_of(("trl", "0.26.0"), ("transformers", "4.57.6"), framework="trl"), "training.use_liger_loss", False),
        (run_of(("transformers", "4.40.0")), "training.use_liger_kernel", False),  # which it does not have
        (run_of(("transformers", "5.23.0")), "training.gradient_checkpointing", False),  # None, and it turns nothing on
        (run_of(("transformers", "4.54.0.dev0")), "training.average_tokens_across_devices", None),
        (run_of(("transformers", "4.53.0.dev0")), "training.average_tokens_across_devices", False),
        (run_of(("lightning", "2.1.0"), framework="lightning"), "training.max_grad_norm", 0.0),
        (run_of(("trl", "0.19.0"), framework="trl"), "precision.mode", "bf16"),
        (run_of(("lightning", "2.1.0"), framework="lightning"), "training.gradient_accumulation_steps", 1),
        (run_of(("trl", "0.8.6"), ("transformers", "4.40.0"), framework="trl"), "precision.mode", "no"),
        (run_of(("transformers", "4.36.1")), "model.use_cache", True),
        (run_of(("transformers", "4.49.0")), BATCH_SIZE, 8),
        (run_of(("transformers", "4.52.3"), ("axolotl", "0.10.0")), BATCH_SIZE, None),
        (run_of(("trl", "0.12.1"), ("transformers", "4.46.3"), framework="trl"), BATCH_SIZE, 8),
        (run_of(("trl", "0.14.0"), ("transformers", "4.48.2"), framework="trl"), BATCH_SIZE, None),  # GRPO has 1
        (stating(run_of(("trl", "0.14.0"), ("transformers", "4.48.2"), framework="trl"), *OF_GRPO), BATCH_SIZE, 1),
        (stating(GRPO, BATCH_SIZE, 2), BATCH_SIZE, None),
        (GRPO, "training.loss_type", "dapo"),
        (GRPO, "training.temperature", 1.0),
        (run_of(("trl", "0.24.0"), ("transformers", "4.57.1"), framework="trl"), "training.loss_type", None),
        (run_of(("transformers", "4.57.1"), framework="torch"), "model.attn_implementation", "sdpa"),
        (run_of(("transformers", "4.35.2")), "model.attn_implementation", None),
        (run_of(("sentence-transformers", "5.7.0"), framework="sentence-transformers"), FORWARD, True),
        (PARALLEL, "distributed.strategy", "ddp"),
        (stating(PARALLEL, "distributed.processes", 1), "distributed.strategy", None),
        (stating(PARALLEL, "training.framework", "lightning"), "distributed.strategy", None),
        (stating(PARALLEL, "deepspeed.zero_stage", 2), "distributed.strategy", None),
        (run_of(("transformers", "99.0")), "training.torch_compile", None),  # nobody has read it
        (run_of(("transformers", "4.49.0"), framework="lightning"), "training.torch_compile", None),
        (run_of(("transformers", "4.49.0"), compiled=True), "training.torch_compile", None),
        (CHECKPOINTED, "training.use_reentrant", True),
        (WITH_TRL_1, "training.use_reentrant", True),
        (driven(WITH_TRL_1, "trl"), "training.use_reentrant", False),
        (driven(WITH_TRL_1, "transformers.Trainer", "trl"), "training.use_reentrant", None),  # they differ
        (driven(CHECKPOINTED, "transformers.Trainer", "trl"), "training.use_reentrant", True),
        (run_of(("transformers", "4.57.6")), "training.use_reentrant", None),  # without checkpointing it means nothing
        (run_of(("transformers", "5.0.0"), gradient_checkpointing=True), "training.use_reentrant", False),
        (looped("4.57.6", "model.gradient_checkpointing_enable()"), "training.use_reentrant", True),
        (looped("5.0.0", "gradient_checkpointing_enable()"), "training.use_reentrant", False),
        (looped("5.24.0", "activation_checkpointing_enable()"), "training.use_reentrant", False),
        (looped("4.57.6", "torch.utils.checkpoint.checkpoint(_1)"), "training.use_reentrant", None),
        (looped("4.57.6", "gradient_checkpointing_enable(_1)"), "training.use_reentrant", None),
        (
            looped("4.57.6", "a.gradient_checkpointing_enable()", "b.enable_gradient_checkpointing()"),
            "training.use_reentrant",
            None,
        ),
        (stating(GIVEN, "training.method", "dpo"), HOOK, True),
        (presumably(GIVEN, "training.method", "sft"), HOOK, True),
        (presumably(GIVEN, "training.method", "sft", "kto"), HOOK, None),
        (stating(GIVEN, "training.method", "grpo"), HOOK, None),  # which sets it from 0.16 on
        (stating(GIVEN, "training.method", "reward"), HOOK, False),  # which sets none before 0.22
        (stating(stating(GIVEN, "training.method", "reward"), "quantization.method", "bitsandbytes"), HOOK, None),
        (stating(driven(GIVEN, "transformers.Trainer"), "training.method", "sft"), HOOK, None),
        (stating(run_of(("trl", "0.15.2"), framework="trl"), "training.method", "dpo"), HOOK, None),
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
    hub = package("huggingface-hub", specifier=">=0.34.0")
    pins = {"transformers": parse_version("4.56.2")}  # asks for huggingface-hub <1.0
    assert allowed(hub, "huggingface-hub", python=None, pins=pins)[-1].startswith("0.")  # type: ignore[arg-type]
    assert not allowed(hub, "huggingface-hub", python=None)[-1].startswith("0.")
    apart = package("huggingface-hub", specifier=">=1.0")
    assert allowed(apart, "huggingface-hub", python=None, pins=pins)  # type: ignore[arg-type]
    assert allowed(package("no-such-package"), "no-such-package", python=None) == ()


@pytest.mark.parametrize(
    ("used", "categories", "packages", "status"),
    [
        (("trl.SFTTrainer",), ("wrong-loss",), ("trl",), "affected"),
        (("unsloth.FastLanguageModel",), ("wrong-loss",), ("trl",), "dormant"),
        (("unsloth.FastLanguageModel",), ("gradient-scale", "crash"), ("transformers",), "dormant"),
        (("unsloth.FastLanguageModel",), ("resume",), ("transformers",), "affected"),
        (("unsloth.FastLanguageModel",), ("wrong-loss",), ("torch",), "affected"),
        (("unsloth.FastLanguageModel",), ("wrong-loss",), ("transformers", "unsloth-zoo"), "affected"),
    ],
)
def test_what_unsloth_replaces_is_not_what_was_measured(
    used: tuple[str, ...], categories: tuple[str, ...], packages: tuple[str, ...], status: str
) -> None:
    record = replace(issue(tuple(versions(name, ">=1") for name in packages)), categories=categories)
    stated = environment(*(package(name, "2") for name in packages), settings={"code.symbols": used})
    (finding,) = match(replace(stated, engines=frozenset()), [record], NAMES)
    assert finding.status == status
    assert finding.dormant == (("what unsloth does not replace",) if status == "dormant" else ())
    (by_facts,) = match(stated, [record], NAMES)
    assert by_facts.status == "affected"


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
    something = (CodeRemedy(text="Write it otherwise"),)
    records.append(issue((versions("torch"), steps), identifier="GC-0010", level="note", remedies=something))
    # A note that nothing follows from: no answer would change what is to be done.
    records.append(issue((versions("torch"), steps), identifier="GC-0011", level="note"))
    findings = [ReportedFinding(finding=one, advice=None) for one in match(stated, records, NAMES)]
    parts = parts_of([*findings, replace(findings[9])])  # the worst one of two environments
    shown = [one.finding.issue.id for one in parts.possible]
    assert shown == ["GC-0009", "GC-0000", "GC-0001", "GC-0002", "GC-0003"]
    assert parts.further["GC-0009"] == 1
    ((question),) = parts.questions
    assert question.ids == ("GC-0004", "GC-0005", "GC-0006", "GC-0007", "GC-0008", "GC-0010")
    everything = parts_of(findings, everything=True)
    assert len(everything.possible) == len(records)
    assert everything.questions == ()


IN_TURN = """FROM python:3.11
RUN pip install 'transformers>=4.20,<5'
RUN pip install -U 'huggingface-hub>=1'
"""


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("requirements.txt", "transformers>=4.20,<5\nhuggingface-hub>=0.19\n", False),
        ("requirements.txt", "transformers>=4.20,<5\nhuggingface-hub>=1.0\n", True),
        (
            "Dockerfile",
            "FROM python:3.11\nRUN pip install 'transformers>=4.20,<5'\nRUN pip install -U 'huggingface-hub>=1'\n",
            True,
        ),
    ],
)
def test_ranges_that_are_resolved_together_go_together(tmp_path: Path, name: str, text: str, *, told: bool) -> None:
    """transformers 4 asks for huggingface-hub <1.0: what resolves both takes no newer one."""
    (tmp_path / name).write_text(text)
    (tmp_path / "train.py").write_text(TRAINING.format(dtype=""))
    found = {one.finding.issue.id for one in gradcompat.check(tmp_path).findings if one.finding.status != "dormant"}
    assert ("GC-0036" in found) == told


@pytest.mark.parametrize(
    ("term", "level", "asked"),
    [
        (equals("training.gradient_checkpointing", True), "warning", True),
        (equals("training.gradient_checkpointing", True), "note", False),
        (ModelTerm(classes=("Qwen2For*",)), "error", True),
        (ModelTerm(classes=("Gemma2For*",)), "error", False),  # one run in twenty
    ],
)
def test_nobody_is_asked_about_a_note_or_a_rarity_for_its_own_sake(term: Term, level: Level, *, asked: bool) -> None:
    stated = replace(environment(package("torch", "2.5.1")), engines=frozenset())
    record = issue((versions("torch"), term), identifier="GC-0001", level=level)
    parts = parts_of(ReportedFinding(finding=one, advice=None) for one in match(stated, [record], NAMES))
    assert bool(parts.possible or parts.questions) == asked


@pytest.mark.parametrize(
    ("torch", "settings", "status"),
    [
        ("2.6.0", {}, "dormant"),  # who trains with it has no GPU that it was not compiled for
        ("2.6.0", {"host.cuda_arch": "12.0"}, "affected"),
        ("2.7.1", {}, "conditional"),
    ],
)
def test_no_gpu_is_expected_that_torch_is_too_old_for(torch: str, settings: dict[str, str], status: str) -> None:
    record = issue((versions("torch", "<2.8.0"), VirtualTerm(name="__cuda_arch", versions=VersionSet.parse(">=12.0"))))
    stated = {key.replace("host.", "__"): value for key, value in settings.items()}
    listed = replace(environment(package("torch", torch)), engines=frozenset(), virtual=stated)
    (found,) = match(listed, [record], NAMES)
    assert found.status == status


@pytest.mark.parametrize(
    ("torch", "asked", "status"),
    [
        ("1.12.1", ">=3.11", "dormant"),
        ("1.13.1", ">=3.11", "conditional"),
        ("2.1.2", ">=3.12", "dormant"),
        ("2.2.0", ">=3.12", "conditional"),
        ("2.2.0", "<3.13", "affected"),
    ],
)
def test_no_python_is_expected_that_torch_is_too_old_for(torch: str, asked: str, status: str) -> None:
    term = PythonTerm(versions=VersionSet.parse(asked))
    assert presumed(environment(package("torch", torch)), term).status == status


def test_the_usual_models_are_in_the_releases_that_brought_them() -> None:
    table = table_of("transformers")
    assert table is not None
    classes = {model[0]: first for model, first in BROUGHT_BY["transformers"].items() if isinstance(model, tuple)}
    assert {name: str(table.history("transformers", name)[0].first) for name in classes} == classes


@pytest.mark.parametrize(
    ("release", "status"),
    [("4.36.2", "dormant"), ("4.37.0", "conditional"), (None, "conditional")],
)
def test_a_model_that_is_newer_than_transformers_is_not_usual(release: str | None, status: str) -> None:
    """Whoever installs an older release trains an older model, and names a newer one where that is not so."""
    stated = environment(package("torch", "2.5.1"), package("transformers", release))
    term = ModelTerm(classes=("Qwen2For*",))
    assert presumed(stated, term, engines=frozenset({"transformers"})).status == status


TRAINING = """import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B"{dtype})
tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-3.1-8B")
Trainer(model=model, args=TrainingArguments(output_dir="out")).train()
"""


def statuses(folder: Path, requirements: str, program: str, identifier: str) -> list[str]:
    (folder / "requirements.txt").write_text(requirements, "utf-8")
    if program:
        (folder / "train.py").write_text(program, "utf-8")
    report = gradcompat.check(folder, only=[identifier])
    return [one.finding.status for one in report.findings]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("", ["affected"]),
        (", dtype='auto'", []),
        (", dtype=torch.bfloat16", []),
        (", torch_dtype=torch.float32", []),
        (", dtype=chosen", []),
    ],
)
def test_weights_keep_the_dtype_of_the_checkpoint_where_none_is_given(
    tmp_path: Path, dtype: str, expected: list[str]
) -> None:
    program = TRAINING.format(dtype=dtype)
    assert statuses(tmp_path, "transformers==5.23.0\ntorch==2.13.0\n", program, "GC-0038") == expected


def test_a_tokenizer_has_no_dtype(tmp_path: Path) -> None:
    program = "".join(line for line in TRAINING.splitlines(True) if "AutoModelForCausalLM.from" not in line)
    assert statuses(tmp_path, "transformers==5.23.0\ntorch==2.13.0\n", program, "GC-0038") == []


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("", ["affected"]),
        (TRAINING.format(dtype=""), []),
        (TRAINING.format(dtype="") + "import datasets\ndata = datasets.load_dataset('x')\n", ["affected"]),
    ],
)
def test_a_library_that_is_listed_is_used_unless_the_code_does_not(
    tmp_path: Path, program: str, expected: list[str]
) -> None:
    listed = "datasets==2.14.4\nfsspec==2023.10.0\ntransformers==4.40.0\ntorch==2.2.0\n"
    assert statuses(tmp_path, listed, program, "GC-0196") == expected


def test_an_open_list_may_lack_accelerate(tmp_path: Path) -> None:
    listed = "transformers==4.51.0\ntorch==2.6.0\n"
    assert statuses(tmp_path, listed, TRAINING.format(dtype=""), "GC-0032") == ["conditional"]


def test_a_model_that_nothing_loads_needs_no_accelerate(tmp_path: Path) -> None:
    listed = "transformers==4.51.0\ntorch==2.6.0\n"
    scratch = "import transformers\nmodel = transformers.LlamaForCausalLM(transformers.LlamaConfig())\n"
    assert statuses(tmp_path, listed, scratch, "GC-0032") == ["dormant"]


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        ("'all-linear'", ["affected"]),
        ("r'.*_proj'", ["affected"]),
        ("['q_proj', 'v_proj']", []),
        ("targets", ["conditional"]),
    ],
)
def test_a_list_of_target_modules_is_no_word(tmp_path: Path, targets: str, expected: list[str]) -> None:
    program = (
        "from peft import LoraConfig, get_peft_model\n"
        "from transformers import MixtralForCausalLM, Trainer, TrainingArguments\n"
        "model = MixtralForCausalLM.from_pretrained('mistralai/Mixtral-8x7B-v0.1')\n"
        f"model = get_peft_model(model, LoraConfig(target_modules={targets}))\n"
        "Trainer(model=model, args=TrainingArguments(output_dir='out')).train()\n"
    )
    assert statuses(tmp_path, "transformers==5.0.0\npeft==0.19.1\ntorch==2.9.1\n", program, "GC-0102") == expected


def test_terms_that_ask_for_1_and_for_true_are_told_apart() -> None:
    presumer = Presumer(frozenset({"transformers"}), (), {})
    asked = [presumer.of_term(equals("training.label_smoothing", value)) for value in (True, 1, 1.0)]
    assert [one.condition.rpartition(": ")[2] for one in asked] == ["true", "1", "1.0"]


def test_a_term_is_decided_once_for_all_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    term = equals("training.gradient_accumulation_steps", 8)
    counted: list[str] = []

    def counting(key: str, named: frozenset[str]) -> Values | None:
        counted.append(key)
        return usual_values(key, named)

    monkeypatch.setattr(usual_terms, "usual_values", counting)
    usual_terms._of_usual.cache_clear()
    engines = frozenset({"transformers"})
    assert len({id(Presumer(engines, (), {}).of_term(term)) for _ in range(5)}) == len(counted) == 1
    stated = {"training.gradient_accumulation_steps": [Setting(key=term.key, value=None, location=Location(path="a"))]}
    assert Presumer(engines, (), stated).of_term(term).certainty is Certainty.OPEN


def stated_model(*classes: str | None) -> tuple[Setting, ...]:
    place = Location(path="train.py", line=3)
    return tuple(
        Setting(key="model.architecture", value=None if one is None else (one,), location=place) for one in classes
    )


@pytest.mark.parametrize(
    ("settings", "status"),
    [
        ((), "dormant"),
        (stated_model(None), "dormant"),  # it comes from an option, and is still no Moonshine
        (stated_model(None, "LlamaForCausalLM"), "dormant"),
        (stated_model(None, "MoonshineForConditionalGeneration"), "conditional"),
    ],
)
def test_a_class_that_is_rare_is_named_even_where_the_model_is_computed(
    settings: tuple[Setting, ...], status: str
) -> None:
    stated = replace(environment(package("torch", "2.7.0")), settings=settings)
    rare = ModelTerm(classes=("MoonshineForConditionalGeneration",))
    assert presumed(stated, rare, engines=frozenset({"transformers"})).status == status


@pytest.mark.parametrize(
    ("settings", "status"),
    [((), "affected"), (stated_model(None), "affected"), (stated_model("ClassOfMine"), "conditional")],
)
def test_the_model_is_a_language_model_unless_its_class_is_stated(settings: tuple[Setting, ...], status: str) -> None:
    stated = replace(environment(package("torch", "2.7.0")), settings=settings)
    counts = equals("model.uses_num_items_in_batch", True)
    found = presumed(stated, counts, engines=frozenset({"transformers"}))
    assert found.status == status


def test_a_model_that_does_not_count_labels_is_still_a_question() -> None:
    stated = environment(package("torch", "2.7.0"))
    found = presumed(stated, equals("model.uses_num_items_in_batch", False), engines=frozenset({"transformers"}))
    assert found.status == "conditional"
    ((unknown,),) = found.unknown
    assert unknown.plain == "your model does not divide its loss by num_items_in_batch, as T5, BART and Whisper"


def test_the_best_known_defect_is_told_where_nobody_says_the_class(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.47.0\n")
    report = gradcompat.check(tmp_path, settings={"training.gradient_accumulation_steps": 8})
    affected = [one.finding.issue.id for one in report.findings if one.finding.status == "affected"]
    assert affected == ["GC-0015"]


SERVE = "from transformers import AutoModelForCausalLM\nprint(AutoModelForCausalLM.from_pretrained('m').generate())\n"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (None, "affected"),
        (SERVE, "dormant"),
        (SERVE + "from transformers import TrainingArguments\n", "conditional"),
        (SERVE + "import accelerate\n", "conditional"),
    ],
)
def test_code_without_a_trainer_has_no_defect_of_one(tmp_path: Path, code: str | None, status: str) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.52.4\naccelerate==1.2.1\ntorch==2.7.0\n")
    if code is not None:
        (tmp_path / "serve.py").write_text(code)
    found = {one.finding.issue.id: one.finding.status for one in gradcompat.check(tmp_path).findings}
    assert found["GC-0033"] == status


BUILT = issue((versions("torch", "==2.4.*"), versions("torchvision", ">=0.20")))
FOR_TORCH = replace(NAMES, built_for={"torchvision": "torch"})


@pytest.mark.parametrize(
    ("torch", "torchvision", "status"),
    [
        (package("torch", "2.4.1"), package("torchvision", "0.20.0"), "affected"),
        # Conda's solver has paired its own builds, and a resolver takes the build that belongs to the pin.
        (package("torch", "2.4.1", source="conda"), package("torchvision", "0.20.0", source="conda"), "dormant"),
        (package("torch", "2.4.1"), package("torchvision", specifier=">=0.20"), "dormant"),
        (package("torch", specifier="==2.4.*"), package("torchvision", "0.20.0"), "dormant"),
    ],
)
def test_builds_that_somebody_pairs(torch: Package, torchvision: Package, status: str) -> None:
    (found,) = match(replace(environment(torch, torchvision), engines=frozenset()), [BUILT], FOR_TORCH)
    assert found.status == status


def test_a_commit_of_the_trunk_is_no_patched_release(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("transformers==5.0.0.dev0\ntorch==2.6.0\n", "utf-8")
    statuses = {one.finding.issue.id: one.finding.status for one in gradcompat.check(path).findings}
    assert statuses["GC-0031"] == "dormant"  # 4.57.2 alone
    assert statuses["GC-0006"] == "conditional"
    without = {one.finding.issue.id: one.finding.status for one in gradcompat.check(path, assume="none").findings}
    assert without["GC-0031"] == "conditional"


def test_the_trainer_of_sentence_transformers_could_be_used(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("sentence-transformers==3.2.1\ntransformers==4.46.0\n", "utf-8")
    report = gradcompat.check(path)
    first = [one.finding.issue.id for one in parts_of(report.findings).possible[:3]]
    assert "GC-0030" in first


@pytest.mark.parametrize("reference", ["", "@main"])
def test_the_trunk_of_a_repository_is_newer_than_every_release(tmp_path: Path, reference: str) -> None:
    """What ended in a release does not come back; what is in the newest may still be there. A commit may be any."""
    listed = f"git+https://github.com/huggingface/transformers.git{reference}\n"
    (tmp_path / "requirements.txt").write_text(listed)
    (tmp_path / "train.py").write_text(
        "from transformers import Trainer, TrainingArguments\n"
        "Trainer(1, TrainingArguments('out', gradient_accumulation_steps=8, bf16=True)).train()\n"
    )
    found = {one.finding.issue.id: one.finding for one in gradcompat.check(tmp_path).findings}
    assert found["GC-0015"].status == "dormant"  # 4.47 and 4.48
    assert {one.status for one in found.values()} >= {"conditional"}
    told = [unknown.plain for one in found.values() for way in one.unknown for unknown in way]
    assert any(text.startswith("the trunk of transformers behaves as ") for text in told)
    (tmp_path / "requirements.txt").write_text(listed.replace(reference or ".git\n", "@1a2b3c4d\n"))
    found = {one.finding.issue.id: one.finding for one in gradcompat.check(tmp_path).findings}
    assert not [one for one in found.values() for way in one.unknown for unknown in way if "trunk" in unknown.plain]


@pytest.mark.parametrize(("clipping", "status"), [("", "dormant"), (", gradient_clip_val=1.0", "affected")])
def test_lightning_clips_where_it_is_told_to(tmp_path: Path, clipping: str, status: str) -> None:
    (tmp_path / "requirements.txt").write_text("lightning==2.5.0\ntorch==2.5.1\n")
    (tmp_path / "train.py").write_text(
        "import lightning as L\nimport torch\n"
        "class Model(L.LightningModule):\n    def configure_optimizers(self):\n"
        "        return torch.optim.AdamW(self.parameters(), fused=True)\n"
        f"L.Trainer(precision='bf16-mixed'{clipping}).fit(Model())\n"
    )
    (finding,) = gradcompat.check(tmp_path, only=["GC-0381"]).findings
    assert finding.finding.status == status


@pytest.mark.parametrize(
    ("imported", "expected"),
    [
        ("from transformers import AutoModelForCausalLM", ["dormant"]),
        ("from transformers.trainer_pt_utils import get_module_class_from_name", ["dormant"]),
        ("from transformers import AutoModelForCausalLM, Trainer", ["affected"]),
        ("from transformers.training_args import OptimizerNames", ["affected"]),
        ("from trl import SFTTrainer", ["affected"]),
        ("from accelerate import Accelerator", ["dormant"]),
        ("import accelerate\nfrom accelerate import Accelerator", ["dormant"]),
    ],
)
def test_a_config_of_a_loop_of_ones_own_is_none_of_the_trainer(
    tmp_path: Path, imported: str, expected: list[str]
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "train.yaml").write_text(
        "model_name_or_path: gpt2\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 16\n"
        "learning_rate: 1.0e-5\nnum_train_epochs: 2\nweight_decay: 0.1\n"
    )
    program = f"import torch\n{imported}\nprint(torch.load('x'))\n"
    assert statuses(tmp_path, "transformers==4.42.4\ntrl==0.9.6\n", program, "GC-0005") == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", ["affected"]),
        (", max_steps=-1", ["affected"]),
        (", max_steps=100", ["conditional"]),
        (", max_steps=steps", ["conditional"]),
        (", num_train_epochs=1", []),
    ],
)
def test_a_trainer_has_three_epochs_unless_it_counts_steps(tmp_path: Path, more: str, expected: list[str]) -> None:
    program = (
        "from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer\n"
        "from sentence_transformers import SentenceTransformerTrainingArguments\n"
        f"args = SentenceTransformerTrainingArguments('out', batch_sampler='no_duplicates'{more})\n"
        "model = SentenceTransformer('microsoft/mpnet-base')\n"
        "SentenceTransformerTrainer(model=model, args=args, train_dataset=train, loss=loss).train()\n"
    )
    listed = "sentence-transformers==3.4.1\ntransformers==4.47.1\naccelerate==1.1.1\ntorch==2.5.1\n"
    assert statuses(tmp_path, listed, program, "GC-0902") == expected


def test_nearly_all_code_of_diffusers_takes_a_pipeline(tmp_path: Path) -> None:
    listed = "diffusers==0.34.0\ntransformers==5.0.0\ntorch==2.9.1\n"
    assert statuses(tmp_path, listed, "", "GC-0037") == ["affected"]
    without = (
        "import torch\nfrom diffusers import UNet2DModel\nnet = UNet2DModel()\n"
        "optimizer = torch.optim.SGD(net.parameters())\n"
        "for batch in loader:\n    net(batch).loss.backward()\n    optimizer.step()\n"
    )
    assert statuses(tmp_path, listed, without, "GC-0037") == []


@pytest.mark.parametrize(
    ("zero", "expected"),
    [('"zero_optimization": {"stage": 0}, ', []), ('"fp16": {"enabled": true}, ', ["affected"]), ("", [])],
)
def test_a_loop_with_deepspeed_is_in_float32_unless_its_config_says_more(
    tmp_path: Path, zero: str, expected: list[str]
) -> None:
    (tmp_path / "ds.json").write_text(f'{{{zero}"train_micro_batch_size_per_gpu": 1}}', "utf-8")
    program = (
        "import deepspeed\nimport torch\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "engine, *_ = deepspeed.initialize(model=net, optimizer=optimizer, config='ds.json')\n"
        "for batch in loader:\n    engine.backward(engine(batch))\n    engine.step()\n"
    )
    found = statuses(tmp_path, "deepspeed==0.18.4\ntorch==2.9.1\n", program, "GC-0041")
    assert [status for status in found if status != "dormant"] == expected


def test_what_keeps_a_defect_from_harm_is_not_there_unless_it_is_seen() -> None:
    read = environment(package("torch", "2.9.0"))
    taken = presumed(read, SymbolAbsentTerm(symbols=("*.add_adapter",)))
    assert taken.status == "affected"
    assert [one.sentence for one in taken.assumed] == ["your code does not use add_adapter"]


@pytest.mark.parametrize(
    ("pattern", "arguments", "feature"),
    [
        ("datasets.load_metric", "", "datasets.load_metric"),
        ("*PreTrainedModel.register_buffer", "", "PreTrainedModel.register_buffer"),
        ("transformers.Auto*Model.from_pretrained", "", "AutoModel.from_pretrained"),
        ("*.load_adapter", "", "load_adapter"),
        (
            "timm.*create_optimizer_v2() if given(layer_decay)",
            "with layer_decay",
            "timm.create_optimizer_v2 with layer_decay",
        ),
        (
            "*LossScaleOptimizer.apply(grads, x) if not given(x)",
            "without x",
            "LossScaleOptimizer.apply without x",
        ),
    ],
)
def test_a_function_that_is_not_used_is_named_with_its_owner(pattern: str, arguments: str, feature: str) -> None:
    read = environment(package("torch", "2.9.0"))
    assert presumed(read, SymbolTerm(symbols=(pattern,), arguments=arguments)).dormant == (feature,)


@pytest.mark.parametrize(
    ("used", "status"),
    [
        ({"code.symbols": ("torch.load",)}, "conditional"),
        ({"code.symbols": ("torch.save",)}, "not_affected"),
        ({"code.symbols": ("torch.load",), "code.calls": ("torch.load(f, weights_only=False)",)}, "not_affected"),
        ({"code.symbols": ("torch.load",), "code.calls": ("torch.load(f)",)}, "affected"),
    ],
)
def test_a_function_that_is_named_without_its_call_is_a_question(used: dict[str, tuple[str, ...]], status: str) -> None:
    term = SymbolTerm(symbols=("torch.load(f) if not given(weights_only)",), arguments="without weights_only")
    assert presumed(environment(package("torch", "2.9.0"), settings=used), term).status == status


@pytest.mark.parametrize(
    ("symbols", "status"),
    [
        (("transformers.CLIPTextModel", "transformers.CLIPTokenizer", "diffusers.UNet2DConditionModel"), "dormant"),
        (("transformers.CLIPTextModel", "transformers.AutoModelForCausalLM"), "conditional"),
        (("transformers.CLIPTextModel", "mine.load"), "conditional"),
        (("transformers.Gemma2Model", "transformers.AutoTokenizer"), "conditional"),
        (("transformers.Trainer", "transformers.pipeline"), "conditional"),
    ],
)
def test_a_program_whose_classes_all_say_which_models_they_are_trains_no_others(
    symbols: tuple[str, ...], status: str
) -> None:
    read = environment(package("torch", "2.9.0"), settings={"code.symbols": symbols})
    assert presumed(read, ModelTerm(classes=("Gemma2*",))).status == status


@pytest.mark.parametrize(
    ("symbols", "status"),
    [
        (("transformers.Trainer", "transformers.AutoModelForCausalLM"), "dormant"),
        (("transformers.Trainer", "peft.get_peft_model"), "affected"),
        (("transformers.AutoModelForCausalLM", "add_adapter"), "affected"),
        (("diffusers.StableDiffusionPipeline", "load_lora_weights"), "affected"),
        (("unsloth.FastModel", "trl.SFTTrainer"), "affected"),
        ((), "affected"),
    ],
)
def test_a_program_that_names_no_adapter_has_none(symbols: tuple[str, ...], status: str) -> None:
    read = environment(package("torch", "2.9.0"), settings={"code.symbols": symbols})
    assert presumed(read, equals("peft.method", "lora"), engines=frozenset({"peft"})).status == status


def test_a_package_that_the_run_cannot_do_without_is_there() -> None:
    """Although an open list does not name it."""
    term, listed = PackageAbsentTerm(name="peft"), environment(package("torch", "2.9.0"), closed=False)
    assert presumed(listed, term).status == "affected"
    assert presumed(listed, term, engines=frozenset({"peft"})).dormant == ("no peft",)


@pytest.mark.parametrize(("device", "status"), [('"mps"', "dormant"), ("input()", "conditional")])
def test_a_mac_has_no_other_gpu(tmp_path: Path, device: str, status: str) -> None:
    program = (
        "import torch, xformers.ops\nfrom torch import nn\n"
        f"device = {device}\nmodel = nn.Linear(8, 1).to(device)\nfor x, y in loader:\n"
        "    z = xformers.ops.memory_efficient_attention(x, x, x)\n"
        "    nn.functional.mse_loss(model(z), y).backward()\n    optimizer.step()\n"
    )
    assert statuses(tmp_path, "xformers==0.0.30\n", program, "GC-0163") == [status]


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ("from trl import ModelConfig, get_peft_config", "dormant"),
        ("from peft import AdamssConfig, get_peft_model", "dormant"),
        ("from diffusers.utils import scale_lora_layers, unscale_lora_layers", "dormant"),
        ("from peft import LoraConfig, get_peft_model", "affected"),
        ("from peft import get_peft_model", "affected"),
    ],
)
def test_an_adapter_is_lora_where_code_does_not_say_another(tmp_path: Path, used: str, expected: str) -> None:
    (tmp_path / "requirements.txt").write_text("autoawq==0.2.9\ntransformers==4.57.6\npeft==0.17.1\ntrl==0.20.0\n")
    names = used.partition("import ")[2].split(", ")
    (tmp_path / "train.py").write_text(
        f"from transformers import Trainer, TrainingArguments\nfrom trl import SFTTrainer\n{used}\n"
        f"made = [{', '.join(f'{name}()' for name in names)}]\n"
        "SFTTrainer(model='m', args=TrainingArguments('out')).train()\n"
    )
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0453"]).findings] == [expected]
