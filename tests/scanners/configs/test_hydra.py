"""Hydra's configs, as far as they are literal, and the files that they are composed of."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat
from gradcompat.errors import Malformed
from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document, read_document
from gradcompat.model.context import Context
from gradcompat.scanners.configs import hydra
from tests.scanners.scanned import Line, fixture, stated
from tests.scanners.scanned import lines as all_lines


def test_what_overrides_the_choices_of_another_config_is_a_part() -> None:
    context = hydra.scan(fixture("hydra/run.yaml"))
    assert (context.source, context.kind, context.run, context.skipped) == ("run.yaml", "hydra", False, ())
    assert context.refers_to == (
        "data/mnist.yaml",
        "trainer/ddp.yaml",
        "local/default.yaml",
        "base.yaml",
        "meta-llama/Llama-2-7b-hf/config.json",
    )
    assert lines(context) == [
        (9, "training.framework", "lightning"),
        (10, "distributed.processes", 2),
        (11, "precision.half_weights", None),
        (12, "training.gradient_accumulation_steps", 4),
        (16, "precision.mode", "fp16"),
        (18, "training.use_reentrant", False),
        (21, "optimizer.name", "Adafactor"),
        (21, "optimizer.library", "transformers"),
        (23, "peft.method", "lora"),
        (23, "peft.modules_to_save", True),
        (24, "model.name", "meta-llama/Llama-2-7b-hf"),
        (24, "model.architecture", ("LlamaForCausalLM",)),
    ]


def lines(context: Context) -> list[Line]:
    """What is written of the run, but for the classes that are made."""
    return [line for line in all_lines(context) if line[1] not in ("code.symbols", "code.calls")]


def test_a_file_of_a_group_is_a_part() -> None:
    context = hydra.scan(fixture("hydra/group.yaml"))
    assert (context.run, context.refers_to) == (False, ())
    assert lines(context) == [
        (1, "training.framework", "lightning"),
        (3, "distributed.processes", None),
        (5, "distributed.strategy", "fsdp"),
    ]


def test_interpolations_are_unknown_and_null_is_nothing() -> None:
    text = "defaults: [_self_]\na: {b: {gradient_accumulation_steps: '${steps}', gradient_checkpointing: null}}"
    assert stated(hydra.scan(Document("a.yaml", text))) == {"training.gradient_accumulation_steps": None}


def test_aliases_are_read_once() -> None:
    bomb = "".join(f"k{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}\n" for n in range(1, 60))
    text = f"defaults: [_self_]\nk0: &a0 {{accumulate_grad_batches: 3, accumulate_grad_batches: 2}}\n{bomb}"
    context = hydra.scan(Document("a.yaml", text))
    assert lines(context) == [(2, "training.gradient_accumulation_steps", 2)]
    assert [(one.what, one.gap) for one in context.skipped] == [("accumulate_grad_batches", False)]


@pytest.mark.parametrize(
    "text",
    [
        "gradient_accumulation_steps: 2",
        "defaults: {run: {shell: bash}}\ngradient_accumulation_steps: 2",
        "defaults: [{db: mysql}]\nname: x",
        "a: {_target_: mine.Thing}",
        "- 1",
        "",
    ],
)
def test_what_is_not_hydras_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        hydra.scan(Document("a.yaml", text))


def test_the_workers_of_the_loaders_that_are_made() -> None:
    text = "defaults: [_self_]\ndata: {_target_: src.data.PhotoDataModule, num_workers: 4}\ntrain: {num_workers: 2}\n"
    assert lines(hydra.scan(Document("a.yaml", text)))[:1] == [(2, "training.dataloader_num_workers", 4)]
    alone = "data:\n  _target_: src.data.PhotoDataModule\n  num_workers: 4\n"
    assert not hydra.scan(Document("a.yaml", alone)).run


@pytest.mark.parametrize(("beside", "runs"), [("", False), ("optimizer: {_target_: torch.optim.AdamW}\n", True)])
def test_a_config_that_loads_a_model_alone_is_no_run(tmp_path: Path, beside: str, runs: bool) -> None:
    text = (
        f"vae:\n  _target_: diffusers.AutoencoderKL.from_pretrained\n  pretrained_model_name_or_path: any/vae\n{beside}"
    )
    assert hydra.scan(Document("infer.yaml", text)).run is runs
    (tmp_path / "infer.yaml").write_text(text, "utf-8")
    assert hydra.scan(read_document(tmp_path / "infer.yaml", "infer.yaml", root_of_folder(tmp_path, "."))).run is runs


def test_a_program_that_imports_hydra_alone_and_builds_its_trainer_from_the_config(tmp_path: Path) -> None:
    """`experiment=big` overrides the strategy, and the program names no framework itself."""
    files = {
        "requirements.txt": "deepspeed==0.12.0\ntorch==2.5.1\npytorch-lightning==2.3.0\n",
        "run.sh": "python train.py experiment=big\n",
        "train.py": (
            "import hydra\nfrom hydra.utils import instantiate\n\n\n"
            '@hydra.main(version_base=None, config_path="configs", config_name="train")\n'
            "def main(cfg):\n    instantiate(cfg.trainer).fit(instantiate(cfg.model))\n\n\nmain()\n"
        ),
        "configs/train.yaml": "defaults:\n  - _self_\n  - strategy: ddp\n  - trainer: default\n  - experiment: null\n",
        "configs/strategy/ddp.yaml": "_target_: lightning.pytorch.strategies.DDPStrategy\n",
        "configs/strategy/deepspeed.yaml": (
            "_target_: lightning.pytorch.strategies.DeepSpeedStrategy\nstage: 2\noverlap_comm: true\n"
        ),
        "configs/trainer/default.yaml": "_target_: lightning.pytorch.Trainer\nstrategy: ${strategy}\n",
        "configs/experiment/big.yaml": "# @package _global_\ndefaults:\n  - override /strategy: deepspeed\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    (audit,) = gradcompat.check(tmp_path).audits
    assert audit.contexts == tuple(
        " + ".join(str(tmp_path / part) for part in parts) for parts in [("run.sh", "train.py", "configs/train.yaml")]
    )


def test_a_config_of_a_group_that_takes_from_the_folder_above_is_composed_with_the_primary_one(tmp_path: Path) -> None:
    files = {
        "requirements.txt": "torch==2.5.1\npytorch-lightning==2.3.0\n",
        "run.sh": "python train.py pipeline=genes\n",
        "train.py": (
            "import hydra\nfrom hydra.utils import instantiate\n\n\n"
            '@hydra.main(version_base=None, config_path="configs", config_name="train")\n'
            "def main(cfg):\n    instantiate(cfg.trainer).fit(instantiate(cfg.model))\n\n\nmain()\n"
        ),
        "configs/train.yaml": "defaults:\n  - _self_\n  - pipeline: genes\n",
        "configs/trainer/default.yaml": "_target_: lightning.pytorch.Trainer\naccumulate_grad_batches: 4\n",
        "configs/pipeline/genes.yaml": "# @package _global_\ndefaults:\n  - /trainer: default\ntrain:\n  mode: max\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    (audit,) = gradcompat.check(tmp_path).audits
    assert audit.contexts == tuple(
        " + ".join(str(tmp_path / part) for part in parts) for parts in [("run.sh", "train.py", "configs/train.yaml")]
    )
    assert not any("no such file" in one.reason for one in audit.skipped)
