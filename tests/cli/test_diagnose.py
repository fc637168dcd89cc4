"""``gradcompat diagnose`` as a user runs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from gradcompat.audit.logged_settings import settings_of
from gradcompat.diagnosis.excerpts import Excerpt
from tests.conftest import Run

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"

TRAINER = "".join(
    f"{{'loss': {2.5 - step / 50:.4f}, 'grad_norm': {1 + step % 7 / 10}, 'learning_rate': 2e-05, "
    f"'epoch': {step / 100}}}\n"
    for step in range(1, 60)
)
MASKED = "{'loss': 1.0778, 'grad_norm': nan, 'learning_rate': 0.0, 'epoch': 0.0}\n" + "".join(
    f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': {step}e-07, 'epoch': {step / 100}}}\n" for step in range(1, 10)
)


def test_a_healthy_log(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("- `transformers` version: 4.46.1\n" + TRAINER)
    outcome = run("diagnose", "train.log")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(
        "train.log: log, 60 lines, 59 steps with metrics\n  with transformers 4.46.1 (line 1)\n"
        "  set training.framework transformers.Trainer or trl (line 2)\n\nnothing recognised ("
    )


def test_a_masked_nan(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(MASKED)
    outcome = run("diagnose", "train.log", "--format", "json")
    assert outcome.status == 1
    first = json.loads(outcome.out)["diagnoses"][0]
    assert first["harmless"] is False
    zero = first["because"][0]
    assert (zero["sentence"], zero["path"], zero["line"]) == (
        "loss is exactly 0 in 9 of 10 steps, after 1.078",
        "train.log",
        2,
    )


def test_a_trainer_state_shows_the_same(run: Run, tmp_path: Path) -> None:
    history = [{"loss": 1.07, "grad_norm": float("nan"), "epoch": 0.0, "step": 1}]
    history += [{"loss": 0.0, "grad_norm": float("nan"), "epoch": step / 10, "step": step} for step in range(2, 12)]
    (tmp_path / "trainer_state.json").write_text(json.dumps({"log_history": history}, indent=1))
    outcome = run("diagnose", "trainer_state.json")
    assert outcome.status == 1
    assert "trainer_state.json: JSON, 11 steps with metrics" in outcome.out
    assert "loss is exactly 0 in 10 of 11 steps" in outcome.out


def test_the_prints_of_reentrant_checkpointing_are_harmless(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("before .to: requires_grad=True\nafter .to: requires_grad=False\n")
    outcome = run("diagnose", "x.log")
    assert outcome.status == 0
    assert "Harmless:\n\n- GC-0003: requires_grad is False inside" in outcome.out
    assert "x.log:2  after .to: requires_grad=False" in outcome.out


ERROR = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn\n"


def test_the_environment_rules_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(ERROR)
    (tmp_path / "pip.txt").write_text(
        "Package      Version\n------------ -------\ntransformers 5.0.0\ntorch        2.9.0\n"
    )
    outcome = run("diagnose", "x.log", "--environment", "pip.txt")
    assert "Similar, but ruled out:\n" in outcome.out
    assert "transformers 5.0.0 (pip.txt:3) is not in <5.0.0" in outcome.out.replace("\n    ", " ")


def test_the_log_knows_better_than_the_environment(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("- `transformers` version: 4.57.6\n" + ERROR)
    (tmp_path / "pip.txt").write_text(
        "Package      Version\n------------ -------\ntransformers 5.0.0\ntorch        2.9.0\n"
    )
    outcome = run("diagnose", "x.log", "--environment", "pip.txt")
    assert "note: pip.txt:3: transformers: is 5.0.0 there, and 4.57.6 in x.log:1, which counts" in outcome.out
    assert "transformers 4.57.6 is in <5.0.0rc2 (x.log:1)" in outcome.out


def test_facts_decide(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("- `transformers` version: 4.57.6\n- PEFT version: 0.18.0\n" + ERROR)
    asked = run("diagnose", "x.log").out
    assert "--set training.use_reentrant=…" in asked.replace("\n            ", " ")
    stated = run(
        "diagnose", "x.log", "--set", "training.use_reentrant=false", "--set", "training.frozen_embeddings=false"
    ).out
    assert 'require grad": training.use_reentrant is false (--set)' in stated.replace("\n    ", " ")


def test_standard_input(run: Run) -> None:
    outcome = run("diagnose", "-", stdin=ERROR)
    assert outcome.status == 1
    assert "-:1  RuntimeError: element 0 of tensors" in outcome.out
    assert run("diagnose", "-", stdin=MASKED.encode("utf-16")).status == 1


def test_what_cannot_be_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good.log").write_text(TRAINER)
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "binary.log").write_bytes(bytes(range(256)) * 50)
    (tmp_path / "old.log.gz").write_bytes(b"\x1f\x8b\x08\0" + bytes(100))
    assert run("diagnose", "missing").err == "error: `missing`: there is no such file\n"
    assert run("diagnose", "missing").status == 2
    assert run("diagnose", "binary.log").err == "error: `binary.log`: is binary, not a log\n"
    assert run("diagnose", "old.log.gz").err == (
        "error: `old.log.gz`: is compressed\n\nhint: `gzip -dc old.log.gz | gradcompat diagnose -` reads it\n"
    )
    assert run("diagnose", ".").err == ("error: `.`: is a folder, not a file\n\nhint: to read from a pipe, use `-`\n")
    outcome = run("diagnose", "good.log", "missing", "empty.log")
    assert outcome.status == 3
    assert "not checked: missing: there is no such file\n  not checked: empty.log: is empty\n" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "xml"), "`--format xml` is not known"),
        (("--set", "no.such=1"), "`no.such` is not a known setting"),
        (("--environment", "missing"), "`missing`: there is no such file or folder"),
    ],
)
def test_wrong_usage(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "good.log").write_text(TRAINER)
    outcome = run("diagnose", "good.log", *arguments)
    assert outcome.status == 2
    assert message in outcome.err


def test_tensorboard_and_tables(run: Run, tmp_path: Path) -> None:
    rows = ["step,loss,grad_norm", "1,1.07,nan", *(f"{step},nan,nan" for step in range(2, 12))]
    (tmp_path / "metrics.csv").write_text("\n".join(rows) + "\n")
    outcome = run("diagnose", "metrics.csv")
    assert outcome.status == 1
    assert "metrics.csv: CSV, 11 steps with metrics" in outcome.out
    assert "1. The run has gone to NaN" in outcome.out
    rows = [json.dumps({"current_steps": step, "loss": 2.0 - step / 50, "lr": 1e-5}) for step in range(1, 30)]
    (tmp_path / "trainer_log.jsonl").write_text("\n".join(rows) + "\n")
    outcome = run("diagnose", "trainer_log.jsonl")
    assert (outcome.status, outcome.out.partition("\n")[0]) == (
        0,
        "trainer_log.jsonl: JSON lines, 29 steps with metrics",
    )


def test_an_event_file(run: Run) -> None:
    outcome = run("diagnose", "tensorboardx-2.6.5.tfevents", cwd=LOGS)
    assert outcome.status == 1
    assert outcome.out.startswith("tensorboardx-2.6.5.tfevents: TensorBoard events, 12 steps with metrics\n\n")
    assert "grad_norm is nan in 3 of 12 steps (tensorboardx-2.6.5.tfevents)" in outcome.out
    piped = run("diagnose", "-", stdin=(LOGS / "tensorboardx-2.6.5.tfevents").read_bytes())
    assert (piped.status, piped.err) == (2, "error: `-`: is a TensorBoard event file, which has to be named\n")


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("trainer-4.57.6-healthy.log", 0),
        ("trainer-5.23.0-healthy.log", 0),
        ("lightning-2.6.6-bar.log", 0),
        ("lightning-2.6.6-metrics.csv", 0),
        ("trainer-4.57.6-masked-nan.log", 1),
        ("trainer-5.23.0-masked-nan.log", 1),
        ("trainer_state-5.23.0-masked-nan.json", 1),
    ],
)
def test_logs_of_real_runs(run: Run, name: str, status: int) -> None:
    outcome = run("diagnose", name, cwd=LOGS)
    assert outcome.status == status, outcome.out
    assert ("nothing recognised" in outcome.out) == (status == 0)
    assert ("GC-0014: The Hugging Face Trainer logs a loss" in outcome.out) == (status == 1)


INSTALLED = "Successfully installed peft-0.14.0 torch-2.5.1 transformers-4.49.0\n"
SUMMED = "".join(
    f"{{'loss': {80 - step / 2}, 'grad_norm': {3 + step % 7 / 10}, 'learning_rate': 2e-05, 'epoch': {step / 100}}}\n"
    for step in range(1, 40)
)
LAUNCH = (
    "+ accelerate launch --num_processes 2 train.py --model_name_or_path llava-hf/llava-1.5-7b-hf "
    "--gradient_accumulation_steps 8 --output_dir out\n"
)
LOCK = """\
version = 1
requires-python = ">=3.10"

[[package]]
name = "torch"
version = "2.5.1"
source = { registry = "https://index.example/simple" }

[[package]]
name = "transformers"
version = "4.49.0"
source = { registry = "https://index.example/simple" }
"""
CONFIG = """\
model_name_or_path: llava-hf/llava-1.5-7b-hf
stage: sft
finetuning_type: lora
dataset: mine
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
output_dir: out
"""


def case_two(out: str) -> dict[str, list[str]]:
    """What is said of the record of LLaVA's loss: the sentences for it, and those against it."""
    report = json.loads(out)
    (found,) = [one for one in report["diagnoses"] if one["issue"] == "GC-0004"]
    return {
        "because": [f"{one['sentence']} ({one['path']}:{one['line']})" for one in found["because"][1:]],
        "against": found["against"],
    }


def settings(out: str) -> list[str]:
    return [f"{one['sentence']} ({one['path']}:{one['line']})" for one in json.loads(out)["settings"]]


def test_the_command_line_in_a_log_decides(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(INSTALLED + SUMMED)
    unsaid = case_two(run("diagnose", "x.log", "--format", "json").out)
    assert unsaid["because"] == [
        "transformers 4.49.0 is in >=4.49.0,<4.52.0 (x.log:1)",
        "training.framework is transformers.Trainer (x.log:2)",  # by the format of what it prints
    ]
    assert unsaid["against"][0].startswith(
        "only if training.gradient_accumulation_steps is more than 1 and the model is Llava*ForConditionalGeneration"
    )
    (tmp_path / "x.log").write_text(INSTALLED + LAUNCH + SUMMED)
    assert case_two(run("diagnose", "x.log", "--format", "json").out) == {
        "because": [
            "transformers 4.49.0 is in >=4.49.0,<4.52.0 (x.log:1)",
            "training.gradient_accumulation_steps is 8 (x.log:2)",
            "training.framework is transformers.Trainer (x.log:3)",
            "model.architecture is LlavaForConditionalGeneration (x.log:2)",
        ],
        "against": [],
    }
    (tmp_path / "x.log").write_text(INSTALLED + LAUNCH.replace("steps 8", "steps 1") + SUMMED)
    assert '"GC-0004"' not in run("diagnose", "x.log", "--format", "json").out


ARGUMENTS = """\
01/02/2026 10:00:00 - INFO - __main__ - Training/evaluation parameters TrainingArguments(
_n_gpu=1,
accelerator_config={'split_batches': False, 'gradient_accumulation_kwargs': None},
adafactor=False,
adam_beta1=0.9,
adam_beta2=0.999,
adam_epsilon=1e-08,
auto_find_batch_size=False,
bf16=True,
bf16_full_eval=False,
dataloader_drop_last=False,
dataloader_num_workers=0,
deepspeed=None,
do_train=True,
fp16=False,
fsdp=[<FSDPOption.FULL_SHARD: 'full_shard'>],
gradient_accumulation_steps=8,
gradient_checkpointing=True,
gradient_checkpointing_kwargs={'use_reentrant': False},
hub_token=<HUB_TOKEN>,
max_grad_norm=1.0,
optim=OptimizerNames.ADAMW_TORCH,
output_dir=out,
seed=42,
)
"""


def test_printed_arguments_are_what_the_run_has(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(INSTALLED + ARGUMENTS + ERROR)
    outcome = run("diagnose", "x.log", "--format", "json")
    assert {
        "distributed.strategy fsdp (x.log:17)",
        "training.gradient_accumulation_steps 8 (x.log:18)",
        "training.gradient_checkpointing true (x.log:19)",
        "training.use_reentrant false (x.log:20)",
        "precision.mode bf16 (x.log:10)",
        "optimizer.library torch (x.log:23)",
        "training.framework transformers.Trainer (x.log:3)",
    } <= set(settings(outcome.out))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "INFO:__main__:Namespace(lr=1e-05, gradient_accumulation_steps=4, mixed_precision='bf16')\n",
            ["training.gradient_accumulation_steps 4 (x.log:1)", "precision.mode bf16 (x.log:1)"],
        ),
        (
            "Model config LlavaConfig {\n"
            '  "architectures": [\n    "LlavaForConditionalGeneration"\n  ],\n'
            '  "model_type": "llava",\n  "torch_dtype": "float16",\n  "transformers_version": "4.49.0",\n'
            '  "use_cache": true\n}\n',
            ["model.architecture LlavaForConditionalGeneration (x.log:2)"],
        ),
        (
            "[2026-01-02 10:00:00,123] [INFO] [config.py:1003:print]   json = {\n"
            '    "train_batch_size": 16, \n    "bf16": {\n        "enabled": true\n    }, \n'
            '    "zero_optimization": {\n        "stage": 2, \n        "offload_optimizer": {\n'
            '            "device": "cpu"\n        }\n    }\n}\n',
            ["precision.mode bf16 (x.log:4)", "deepspeed.zero_stage 2 (x.log:7)"],
        ),
        (
            "INFO:torchtune.utils._logging:Running LoRAFinetuneRecipe with resolved config:\n\nbatch_size: 2\n"
            "gradient_accumulation_steps: 8\nmodel:\n  _component_: torchtune.models.llama3.lora_llama3_8b\n\n",
            ["training.gradient_accumulation_steps 8 (x.log:4)", "peft.method lora (x.log:6)"],
        ),
        (
            "[2026-01-02 10:00:00] [INFO] [axolotl.cli.config.load_cfg:248] [PID:1] [RANK:0] config:\n{\n"
            '  "base_model": "org/x",\n  "gradient_accumulation_steps": 8,\n  "micro_batch_size": 2,\n'
            '  "sequence_len": 2048,\n  "bf16": true\n}\n',
            ["training.gradient_accumulation_steps 8 (x.log:4)", "precision.mode bf16 (x.log:7)"],
        ),
    ],
)
def test_configs_that_are_printed(run: Run, tmp_path: Path, text: str, expected: list[str]) -> None:
    (tmp_path / "x.log").write_text(text)
    found = settings(run("diagnose", "x.log", "--format", "json").out)
    assert [one for one in expected if one not in found] == []


def test_two_launches_that_differ_leave_it_open(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(INSTALLED + LAUNCH + LAUNCH.replace("steps 8", "steps 1") + SUMMED)
    outcome = run("diagnose", "x.log", "--format", "json")
    assert case_two(outcome.out)["against"] == [
        "only if you accumulate gradients (gradient_accumulation_steps > 1)",
        "training.gradient_accumulation_steps is 8 (x.log:2) and training.gradient_accumulation_steps is 1 (x.log:3): "
        "which of them counts is not known",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--context", "train.yaml", "--environment", "uv.lock"),
        ("uv.lock", "train.yaml"),
    ],
)
def test_a_config_and_a_lockfile_beside_the_log(run: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "x.log").write_text(SUMMED)
    (tmp_path / "uv.lock").write_text(LOCK)
    (tmp_path / "train.yaml").write_text(CONFIG)
    outcome = run("diagnose", "x.log", *arguments)
    assert outcome.out.startswith(
        "x.log: log, 39 lines, 39 steps with metrics\n"
        "uv.lock: environment\n"
        "train.yaml: training config\n"
        "  with torch 2.5.1 (uv.lock:6), transformers 4.49.0 (uv.lock:11)\n"
        "  set model."
    )
    assert case_two(run("diagnose", "x.log", *arguments, "--format", "json").out) == {
        "because": [
            "transformers 4.49.0 is in >=4.49.0,<4.52.0 (uv.lock:11)",
            "training.gradient_accumulation_steps is 8 (train.yaml:6)",
            "training.framework is transformers.Trainer (train.yaml:2)",
            "model.architecture is LlavaForConditionalGeneration (train.yaml:1)",
        ],
        "against": [],
    }


def test_the_log_knows_better_than_the_config_and_the_user_than_both(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(INSTALLED + LAUNCH + SUMMED)
    (tmp_path / "train.yaml").write_text(CONFIG.replace("steps: 8", "steps: 2"))
    outcome = run("diagnose", "x.log", "train.yaml")
    note = "  note: train.yaml:6: training.gradient_accumulation_steps: is 2 there, and 8 in x.log:2, which counts\n"
    assert note in outcome.out.replace("\n    ", " ")
    assert case_two(run("diagnose", "x.log", "train.yaml", "--format", "json").out)["against"] == []
    stated = run(
        "diagnose", "x.log", "train.yaml", "--set", "training.gradient_accumulation_steps=1", "--format", "json"
    )
    assert '"GC-0004"' not in stated.out
    assert "training.gradient_accumulation_steps 1 (--set:None)" in settings(stated.out)


def test_curves_are_judged_with_what_is_known(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(SUMMED)
    (tmp_path / "said.log").write_text("  Gradient Accumulation steps = 8\n" + SUMMED)
    (tmp_path / "train.yaml").write_text(CONFIG)
    divided = "divided by the 8 micro-batches"
    assert divided not in run("diagnose", "x.log").out
    assert divided in run("diagnose", "x.log", "train.yaml").out
    assert divided in run("diagnose", "said.log").out
    assert divided not in run("diagnose", "said.log", "--set", "training.gradient_accumulation_steps=1").out


def test_what_a_print_says_beside_its_arguments() -> None:
    line = "model_name_or_path='llava-hf/llava-1.5-7b-hf', lr=1e-05, bits=4"
    found = settings_of([Excerpt("arguments", "Namespace", ((5, line),))], "x.log")
    assert [(one.key, one.value, str(one.location)) for one in found] == [
        ("model.name", "llava-hf/llava-1.5-7b-hf", "x.log:5"),
        ("quantization.bits", 4, "x.log:5"),
        ("quantization.method", "bitsandbytes", "x.log:5"),
        ("model.architecture", ("LlavaForConditionalGeneration",), "x.log:5"),
    ]


def test_the_dtype_of_a_printed_config_is_not_the_one_of_the_run() -> None:
    lines = ("{", '"model_type": "llama",', '"torch_dtype": "float16",', '"vocab_size": 32000', "}")
    found = settings_of([Excerpt("model", "", tuple(enumerate(lines, start=9)))], "x.log")
    assert [(one.key, one.value, str(one.location)) for one in found] == [
        ("model.family", "llama", "x.log:10"),
        ("model.vocab_size", 32000, "x.log:12"),
    ]


def test_the_print_of_an_adapter_lists_what_it_does_not_use() -> None:
    line = (
        "task_type='CAUSAL_LM', peft_type=<PeftType.LORA: 'LORA'>, base_model_name_or_path=None, revision=None, r=8, "
        "lora_alpha=16, lora_dropout=0.0, modules_to_save=None, target_modules={'q_proj'}, use_rslora=False"
    )
    found = settings_of([Excerpt("arguments", "LoraConfig", ((3, line),))], "x.log")
    assert [(one.key, one.value) for one in found] == [
        ("peft.task_type", "CAUSAL_LM"),
        ("peft.method", "lora"),
        ("peft.modules_to_save", False),
    ]


def test_several_configs_are_several_runs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(INSTALLED + SUMMED)
    (tmp_path / "a.yaml").write_text(CONFIG)
    (tmp_path / "b.yaml").write_text(CONFIG.replace("steps: 8", "steps: 1"))
    outcome = run("diagnose", "x.log", "--context", "a.yaml", "--context", "b.yaml", "--format", "json")
    assert [one["reason"] for one in json.loads(outcome.out)["skipped"]] == [
        "describe several runs: settings on which they differ count as unknown"
    ]
    assert case_two(outcome.out)["against"][0] == "only if you accumulate gradients (gradient_accumulation_steps > 1)"


def test_a_config_that_cannot_be_read_is_a_gap(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(TRAINER)
    outcome = run("diagnose", "x.log", "--context", "missing.yaml")
    assert outcome.status == 3
    assert "not checked: missing.yaml: there is no such file" in outcome.out


def test_what_sorts_in_and_what_does_not(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(TRAINER)
    (tmp_path / "uv.lock").write_text(LOCK)
    (tmp_path / "poetry.lock").write_text("")
    (tmp_path / "train.yaml").write_text(CONFIG)
    (tmp_path / "notes.yaml").write_text("- a list\n- of notes\n")
    assert run("diagnose", "x.log", "notes.yaml").out.startswith("x.log: log, 59 lines")
    assert "notes.yaml: log, 2 lines" in run("diagnose", "x.log", "notes.yaml").out
    assert run("diagnose", "uv.lock").err == (
        "error: `uv.lock` is not a log: there is nothing to diagnose\n\nhint: `gradcompat check` looks at it\n"
    )
    assert run("diagnose", "x.log", "uv.lock", "poetry.lock").err == (
        "error: `uv.lock` and `poetry.lock` are two environments\n\nhint: a run has one: name the one it ran with\n"
    )
    assert run("diagnose", "x.log", "uv.lock", "--environment", "pip.txt").status == 2
    both = run("diagnose", "x.log", "--python", "python3", "--environment", "pip.txt")
    assert both.err.startswith("error: `--environment pip.txt` and `--python python3` are two environments\n")


def test_an_interpreter_is_an_environment(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(TRAINER)
    outcome = run("diagnose", "x.log", "--python", sys.executable)
    assert outcome.out.splitlines()[1] == f"{sys.executable}: environment"
    assert outcome.status == 0


TOO_LARGE = "".join(
    f"{{'loss': {24.0 - step / 4}, 'grad_norm': 91.2, 'learning_rate': 1e-05, 'epoch': 0.0{step}}}\n"
    for step in range(1, 7)
)


def test_what_is_presumed_of_a_run_is_said_and_can_be_revoked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("  Gradient Accumulation steps = 8\n" + TOO_LARGE, "utf-8")
    (tmp_path / "requirements.txt").write_text("transformers==4.47.0\ntorch==2.5.1\n", "utf-8")
    command = (
        *("diagnose", "train.log", "requirements.txt", "--set", "model.architecture=LlamaForCausalLM"),
        *("--format", "json"),
    )
    usual, facts = (
        {one["issue"]: one for one in json.loads(run(*command, *more, cwd=tmp_path).out)["diagnoses"]}["GC-0015"]
        for more in ((), ("--assume", "none"))
    )
    assert [one["sentence"] for one in usual["assumed"]] == ["the run uses no DeepSpeed, FSDP or other sharding"]
    assert usual["against"] == []
    assert facts["assumed"] == []
    assert facts["against"] == ["only if distributed.strategy is not deepspeed"]
    assert usual["score"] > facts["score"]
    told = run(*command[:-2], cwd=tmp_path).out
    assert "taking it that the run uses no DeepSpeed, FSDP or other sharding" in told
    # What was seen of the run takes the place of what is usual.
    stated = run(*command, "--set", "distributed.strategy=deepspeed", cwd=tmp_path)
    assert "GC-0015" not in {one["issue"] for one in json.loads(stated.out)["diagnoses"]}


NAN = "".join(f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': {rate}e-05, 'epoch': 0.1}}\n" for rate in (5, 4, 3))
SCRIPT = """\
from trl import SFTConfig, SFTTrainer

SFTTrainer("EleutherAI/pythia-160m", args=SFTConfig(output_dir="out"), train_dataset=data).train()
"""


def test_what_the_run_does_not_use_is_a_line_and_no_explanation(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(NAN)
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\ntrl==1.9.0\ntransformers==5.20.0\n")

    def unused(*arguments: str) -> dict[str, bool]:
        found = json.loads(run("diagnose", "x.log", *arguments, "--format", "json").out)["diagnoses"]
        return {one["issue"]: one["unused"] for one in found}

    known = unused("train.py", "requirements.txt")
    assert known["GC-0011"], "no deepspeed is named"
    assert not known["GC-0014"]
    assert not unused()["GC-0011"], "nothing is known of the run"
    assert not unused("train.py", "--set", "deepspeed.zero_stage=2")["GC-0011"]
    assert not unused("train.py", "--assume", "none")["GC-0011"]
    out = run("diagnose", "x.log", "train.py", "requirements.txt").out
    assert "which take what this run does not seem to use:\n  GC-0011: " in out
    assert ". GC-0011" not in out


def test_another_word_for_what_is_presumed_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(TOO_LARGE, "utf-8")
    outcome = run("diagnose", "train.log", "--assume", "much", cwd=tmp_path)
    assert outcome.status == 2
    assert "`--assume much` is not known" in outcome.err


PREFERENCE = (
    "{{'loss': 0.6931, 'grad_norm': 0.0, 'learning_rate': 5e-07, 'rewards/chosen': 0.0, 'logps/chosen': -24{0}.2, "
    "'epoch': 0.0{0}}}\n"
)


def test_a_record_of_another_method_is_ruled_out_by_what_the_log_prints(run: Run, tmp_path: Path) -> None:
    (tmp_path / "dpo.log").write_text("".join(map(PREFERENCE.format, range(1, 6))), "utf-8")
    out = run("diagnose", "dpo.log").out
    assert "1. No gradient arrives: nothing is trained" in out
    ruled_out = " ".join(out[out.index("ruled out:") :].split())
    assert "GC-0023" not in out[: out.index("ruled out:")]
    assert "on a quantised base: training.method is dpo, kto, cpo, orpo or bco (dpo.log:1)" in ruled_out


def test_versions_of_pip_show_above_a_log(run: Run, tmp_path: Path) -> None:
    shown = "Name: transformers\nVersion: 4.47.0\nSummary: models\n---\nName: torch\nVersion: 2.5.1\n\n"
    steps = "".join(
        f"{{'loss': 18.{i}1, 'grad_norm': 33.2, 'learning_rate': 2e-05, 'epoch': 0.0{i}}}\n" for i in range(1, 4)
    )
    (tmp_path / "run.log").write_text(shown + steps, "utf-8")
    out = run("diagnose", "run.log", "--set", "training.gradient_accumulation_steps=8").out
    assert "  with transformers 4.47.0 (run.log:2), torch 2.5.1 (run.log:6)\n" in out
    assert "GC-0015" in out
    # Five explanations are told in full, the others by their titles.
    assert out.count("   because  ") == 5
    assert "Less likely:\n  GC-" in out
