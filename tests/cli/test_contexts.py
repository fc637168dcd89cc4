"""``gradcompat check`` with training configs beside the environments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import Run

LLAVA = "GC-0004"


def lock(folder: Path, **versions: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entries = "".join(
        f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{ registry = "x" }}\n'
        for name, version in versions.items()
    )
    (folder / "uv.lock").write_text(f"version = 1\n{entries}")


def config(path: Path, steps: int, model: str = "llava-hf/llava-1.5-7b-hf") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"model_name_or_path: {model}\nstage: sft\nfinetuning_type: lora\ndataset: demo\noutput_dir: out\n"
        f"per_device_train_batch_size: 1\ngradient_accumulation_steps: {steps}\n"
    )


def found(run: Run, *arguments: str) -> tuple[int, dict[str, Any]]:
    outcome = run("check", *arguments, "--only", LLAVA, "--all", "--format", "json")
    (finding,) = json.loads(outcome.out)["findings"]
    return outcome.status, finding


def test_one_setting_makes_the_difference(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    assert found(run, ".") == (0, found(run, "uv.lock")[1])
    assert found(run, ".")[1]["status"] == "dormant"
    config(tmp_path / "train.yaml", 8)
    status, finding = found(run, ".")
    assert (status, finding["status"], finding["contexts"]) == (1, "affected", ["train.yaml"])
    assert [(one["path"], one["line"]) for one in finding["because"]] == [
        ("uv.lock", 4),
        ("train.yaml", 7),
        ("train.yaml", 2),
        ("train.yaml", 1),
    ]
    config(tmp_path / "train.yaml", 1)
    assert found(run, ".")[1]["status"] == "not_affected"
    config(tmp_path / "train.yaml", 8, "Qwen/Qwen2-7B")
    assert found(run, ".")[1]["status"] == "not_affected"


def test_a_config_is_named_as_a_target_or_with_context(run: Run, tmp_path: Path) -> None:
    lock(tmp_path / "project", transformers="4.49.0")
    config(tmp_path / "elsewhere" / "train.yaml", 8)
    for arguments in (
        ("project/uv.lock", "elsewhere/train.yaml"),
        ("project/uv.lock", "--context", "elsewhere/train.yaml"),
        ("project", "--context", "elsewhere"),
    ):
        assert found(run, *arguments)[1]["contexts"] == ["elsewhere/train.yaml"]


def test_a_pasted_list_and_a_config(run: Run, tmp_path: Path) -> None:
    config(tmp_path / "train.yaml", 8)
    outcome = run("check", "-", "train.yaml", stdin="Package      Version\n------------ -------\ntransformers 4.50.1\n")
    assert outcome.status == 1
    assert f"error {LLAVA}, silent: " in outcome.out
    assert "training.gradient_accumulation_steps is 8\n            (train.yaml:7)" in outcome.out


def test_configs_that_contradict_are_runs_of_their_own(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    for name, steps in (("a", 1), ("b", 4), ("c", 16)):
        config(tmp_path / "configs" / f"{name}.yaml", steps)
    status, finding = found(run, ".")
    assert (status, finding["status"]) == (1, "affected")
    assert finding["contexts"] == ["configs/b.yaml", "configs/c.yaml"]
    outcome = run("check", ".", "--only", LLAVA)
    assert outcome.out.startswith("uv.lock: uv.lock, 1 package, 1 of them with records; with 3 training runs\n")
    assert "  in        2 training runs: configs/b.yaml, configs/c.yaml\n" in outcome.out


def test_what_the_user_says_counts_more_than_a_config(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    config(tmp_path / "train.yaml", 8)
    assert found(run, ".", "--set", "training.gradient_accumulation_steps=1")[1]["status"] == "not_affected"


def test_each_project_of_a_repository_keeps_its_own(run: Run, tmp_path: Path) -> None:
    for name, steps in (("one", 1), ("two", 8)):
        lock(tmp_path / name, transformers="4.49.0")
        config(tmp_path / name / "configs" / "train.yaml", steps)
    report = json.loads(run("check", ".", "--only", LLAVA, "--format", "json").out)
    assert [(one["source"], one["contexts"]) for one in report["findings"]] == [
        ("two/uv.lock", ["two/configs/train.yaml"])
    ]


def test_a_setting_that_is_to_change_is_shown_as_its_line(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0", deepspeed="0.16.4")
    (tmp_path / "ds.json").write_text(
        '{\n "train_micro_batch_size_per_gpu": 1,\n "bf16": {"enabled": true},\n'
        ' "zero_optimization": {\n  "stage": 2,\n  "overlap_comm": true\n }\n}\n'
    )
    outcome = run("check", ".", "--only", "GC-0011")
    assert outcome.status == 0  # a warning
    assert 'set deepspeed.overlap_comm to false; in ds.json:6 write `"overlap_comm": false`' in outcome.out


def test_a_context_that_cannot_be_read_is_not_passed_over(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.48.3")
    (tmp_path / "broken.yaml").write_text("model_name_or_path: x\nstage: [sft\n")
    outcome = run("check", "uv.lock", "--context", "broken.yaml", "--context", "missing.yaml")
    assert outcome.status == 3
    assert "broken.yaml:2: not valid YAML: " in outcome.out
    assert "missing.yaml: there is no such file or folder\n" in outcome.out
    outcome = run("check", ".")
    assert outcome.status == 3
    assert "broken.yaml" in outcome.out


def test_inspect_shows_the_settings_of_a_config(run: Run, tmp_path: Path) -> None:
    config(tmp_path / "train.yaml", 8)
    outcome = run("inspect", "train.yaml")
    assert outcome.status == 0
    assert "  training.gradient_accumulation_steps = 8  line 7\n" in outcome.out
    shown = json.loads(run("inspect", "train.yaml", "--format", "json").out)
    stated = {"key": "training.gradient_accumulation_steps", "value": 8, "path": "train.yaml", "line": 7}
    assert {**stated, "presumed": False, "where": []} in shown["settings"]


def test_what_is_as_large_as_data_is_scanned_where_it_is_named(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    config(tmp_path / "train.yaml", 8)
    with (tmp_path / "train.yaml").open("a") as file:
        file.writelines(f"# {number:>60}\n" for number in range(5000))
    status, finding = found(run, ".")
    assert (status, finding["status"]) == (3, "dormant")
    assert found(run, ".", "--context", "train.yaml")[1]["status"] == "affected"


def test_a_config_that_nothing_names_counts_where_it_is_named(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0", deepspeed="0.16.4")
    config(tmp_path / "train.yaml", 8)
    (tmp_path / "ds.json").write_text(
        '{"train_batch_size": 1, "zero_optimization": {"stage": 2, "overlap_comm": true}}\n'
    )
    report = json.loads(run("check", ".", "--only", "GC-0011", "--format", "json").out)
    assert [(one["status"], one["contexts"]) for one in report["findings"]] == [("dormant", ["train.yaml"])]
    unused = {"what": "ds.json", "reason": "read, and no training run", "gap": False, "range": False}
    assert {**unused, "path": "ds.json", "line": None} in report["environments"][0]["skipped"]
    report = json.loads(run("check", ".", "--context", "ds.json", "--only", "GC-0011", "--format", "json").out)
    assert [(one["status"], one["contexts"]) for one in report["findings"]] == [("affected", ["ds.json"])]


def test_a_script_that_starts_what_is_not_there_is_no_run_beside_programs(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    (tmp_path / "run.sh").write_text(
        "torchrun train.py --model_name_or_path llava-hf/llava-1.5-7b-hf --gradient_accumulation_steps 8\n"
    )
    assert found(run, ".")[1]["status"] == "affected"  # where no program is, the script is what there is
    (tmp_path / "serve.py").write_text("print('hello')\n")
    assert found(run, ".")[1]["status"] == "dormant"
    assert found(run, ".", "--context", "run.sh")[1]["status"] == "affected"
    (tmp_path / "train.py").write_text("from transformers import Trainer\nTrainer().train()\n")
    assert found(run, ".")[1]["contexts"] == ["run.sh + train.py"]


def test_what_context_names_is_one_run(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    config(tmp_path / "train.yaml", 8, "Qwen/Qwen2-7B")
    (tmp_path / "run.sh").write_text("llamafactory-cli train --model_name_or_path llava-hf/llava-1.5-7b-hf\n")
    _, finding = found(run, "uv.lock", "--context", "train.yaml", "--context", "run.sh")
    assert (finding["status"], finding["contexts"]) == ("affected", ["run.sh + train.yaml"])


def test_the_sft_stage_of_llama_factory_is_not_trls_trainer(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, trl="0.9.6")
    config(tmp_path / "train.yaml", 8)
    arguments = ("check", ".", "--set", "data.pad_is_eos=true", "--only", "GC-0021", "--all", "--format", "json")
    assert [one["status"] for one in json.loads(run(*arguments).out)["findings"]] == ["not_affected"]
    (tmp_path / "train.yaml").unlink()
    (tmp_path / "train.py").write_text("from trl import SFTTrainer\nSFTTrainer('m').train()\n")
    assert [one["status"] for one in json.loads(run(*arguments).out)["findings"]] == ["affected"]


def test_inspect_shows_each_run_with_its_final_values(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    (tmp_path / "helper.py").write_text("STEPS = 8\n")
    (tmp_path / "train.py").write_text(
        "from helper import STEPS\nfrom transformers import Trainer, TrainingArguments\n"
        "Trainer('m', TrainingArguments('out', per_device_train_batch_size=STEPS)).train()\n"
    )
    (tmp_path / "demo.py").write_text("import transformers\ntransformers.AutoModel.from_pretrained('x')\n")
    outcome = run("inspect", ".", "--set", "training.seed=3")
    assert outcome.status == 0
    assert "helper is part of this project" not in outcome.out
    assert "training run train.py in uv.lock: " in outcome.out
    assert "  training.per_device_train_batch_size = 8 (train.py:3)\n" in outcome.out
    assert "  training.gradient_accumulation_steps = 1 (default of transformers 4.49.0)\n" in outcome.out
    assert "  training.seed = 3 (--set)\n" in outcome.out
    assert "demo.py: read, and no training run\n" in outcome.out
    (shown,) = json.loads(run("inspect", ".", "--format", "json").out)["runs"]
    assert (shown["source"], shown["environment"]) == ("train.py", "uv.lock")
    stated = {"value": 8, "path": "train.py", "line": 3}
    assert {"key": "training.per_device_train_batch_size", "value": 8, "stated": [stated]} in shown["settings"]
