"""Configs of DeepSpeed and accelerate of other projects: every setting as it was read with eyes, line for line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.formats.document import read_document
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.any_config import scan, scan_if_any

Line = tuple[int | None, str, SettingValue | None]

FACTORY = "hiyouga__LLaMA-Factory__ff6d4d12__examples__"


# What says `auto` is left to the trainer, as what is not there; of clipping it is a value that is not known.
DEEPSPEED: dict[str, list[Line]] = {
    "LAION-AI__Open-Assistant__f1e6ed95__model__model_training__configs__zero3_config_falcon.json": [
        (6, "deepspeed.own_scheduler", True),
        (9, "optimizer.warmup_peak", True),
        (6, "optimizer.scheduler", "WarmupDecayLR"),
        (16, "optimizer.name", "AdamW"),
        (16, "optimizer.library", "deepspeed"),
        (24, "distributed.strategy", "deepspeed"),
        (25, "deepspeed.zero_stage", 3),
        (27, "deepspeed.offload_optimizer", "cpu"),
        (31, "deepspeed.offload_param", "cpu"),
        (34, "deepspeed.overlap_comm", True),
        (35, "deepspeed.contiguous_gradients", True),
        (45, "deepspeed.gradient_clipping", None),
        (42, "deepspeed.gather_16bit_weights", True),
        (44, "deepspeed.same_accumulation", True),
    ],
    "OpenGVLab__InternVL__2410d1db__internvl_chat__zero_stage3_config_100b.json": [
        (3, "deepspeed.own_scheduler", False),
        (12, "deepspeed.gather_16bit_weights", True),
        (2, "distributed.strategy", "deepspeed"),
        (3, "deepspeed.zero_stage", 3),
        (3, "deepspeed.offload_optimizer", "none"),
        (4, "deepspeed.overlap_comm", True),
        (5, "deepspeed.contiguous_gradients", True),
        (27, "optimizer.name", "AdamW"),
        (27, "optimizer.library", "deepspeed"),
        (39, "deepspeed.gradient_clipping", None),
        (38, "deepspeed.same_accumulation", True),
    ],
    "QwenLM__Qwen__2df8e8ac__finetune__ds_config_zero3.json": [
        (24, "deepspeed.own_scheduler", True),
        (27, "optimizer.warmup_peak", True),
        (50, "deepspeed.gather_16bit_weights", True),
        (14, "optimizer.name", "AdamW"),
        (14, "optimizer.library", "deepspeed"),
        (24, "optimizer.scheduler", "WarmupLR"),
        (32, "distributed.strategy", "deepspeed"),
        (33, "deepspeed.zero_stage", 3),
        (35, "deepspeed.offload_optimizer", "none"),
        (39, "deepspeed.offload_param", "none"),
        (42, "deepspeed.overlap_comm", True),
        (43, "deepspeed.contiguous_gradients", True),
        (54, "deepspeed.gradient_clipping", None),
        (53, "deepspeed.same_accumulation", True),
    ],
    "aqlaboratory__openfold__ce0029e1__deepspeed_config.json": [
        (14, "deepspeed.own_scheduler", False),
        (11, "precision.mode", "bf16"),
        (13, "distributed.strategy", "deepspeed"),
        (14, "deepspeed.zero_stage", 2),
        (16, "deepspeed.offload_optimizer", "cpu"),
        (18, "deepspeed.contiguous_gradients", True),
        (25, "deepspeed.gradient_clipping", 0.1),
        (26, "deepspeed.forces_cpu_optimizer", False),
    ],
    "axolotl-ai-cloud__axolotl__067b021c__deepspeed_configs__zero1_torch_compile.json": [
        (3, "deepspeed.own_scheduler", False),
        (2, "distributed.strategy", "deepspeed"),
        (3, "deepspeed.zero_stage", 1),
        (3, "deepspeed.offload_optimizer", "none"),
        (4, "deepspeed.overlap_comm", True),
        (23, "deepspeed.gradient_clipping", None),
        (22, "deepspeed.same_accumulation", True),
    ],
    "axolotl-ai-cloud__axolotl__067b021c__deepspeed_configs__zero2.json": [
        (3, "deepspeed.own_scheduler", False),
        (2, "distributed.strategy", "deepspeed"),
        (3, "deepspeed.zero_stage", 2),
        (5, "deepspeed.offload_optimizer", "cpu"),
        (7, "deepspeed.contiguous_gradients", True),
        (8, "deepspeed.overlap_comm", True),
        (23, "deepspeed.gradient_clipping", None),
        (22, "deepspeed.same_accumulation", True),
    ],
    "bigscience-workshop__Megatron-DeepSpeed__8387ae17__tests__ds_config_bf16.json": [
        (6, "deepspeed.own_scheduler", False),
        (2, "training.per_device_train_batch_size", 1),
        (4, "deepspeed.gradient_clipping", 1.0),
        (5, "distributed.strategy", "deepspeed"),
        (6, "deepspeed.zero_stage", 0),
        (6, "deepspeed.offload_optimizer", "none"),
        (9, "precision.mode", "bf16"),
    ],
    f"{FACTORY}deepspeed__ds_z2_autotp_config.json": [
        (20, "deepspeed.own_scheduler", False),
        (6, "deepspeed.gradient_clipping", None),
        (19, "distributed.strategy", "deepspeed"),
        (20, "deepspeed.zero_stage", 2),
        (20, "deepspeed.offload_optimizer", "none"),
        (23, "deepspeed.overlap_comm", False),
        (24, "deepspeed.reduce_scatter", True),
        (26, "deepspeed.contiguous_gradients", True),
        (5, "deepspeed.same_accumulation", True),
    ],
    f"{FACTORY}deepspeed__ds_z3_config.json": [
        (19, "deepspeed.own_scheduler", False),
        (28, "deepspeed.gather_16bit_weights", True),
        (5, "deepspeed.gradient_clipping", None),
        (18, "distributed.strategy", "deepspeed"),
        (19, "deepspeed.zero_stage", 3),
        (19, "deepspeed.offload_optimizer", "none"),
        (20, "deepspeed.overlap_comm", False),
        (21, "deepspeed.contiguous_gradients", True),
        (4, "deepspeed.same_accumulation", True),
    ],
    # `seq_parallel_communication_data_type` is there, `communication_data_type` is not.
    "huggingface__accelerate__16cb6eb8__examples__alst_ulysses_sequence_parallelism__sp-alst.ds-config.json": [
        (6, "deepspeed.own_scheduler", False),
        (6, "deepspeed.gather_16bit_weights", False),
        (3, "precision.mode", "bf16"),
        (5, "distributed.strategy", "deepspeed"),
        (6, "deepspeed.zero_stage", 3),
        (6, "deepspeed.offload_optimizer", "none"),
        (6, "deepspeed.gradient_clipping", 0.0),
        (8, "training.gradient_accumulation_steps", 1),
    ],
}


def zero3(processes: int) -> list[Line]:
    """The file that several projects have alike."""
    return [
        (5, "deepspeed.offload_optimizer", "none"),
        (6, "deepspeed.offload_param", "none"),
        (8, "deepspeed.gather_16bit_weights", True),
        (9, "deepspeed.zero_stage", 3),
        (10, "distributed.strategy", "deepspeed"),
        (14, "precision.mode", "bf16"),
        (16, "distributed.processes", processes),
    ]


ACCELERATE: dict[str, list[Line]] = {
    "LAION-AI__Open-Assistant__f1e6ed95__model__model_training__configs__accelerate_config.yaml": [
        (5, "distributed.strategy", "deepspeed"),
        (10, "distributed.processes", 3),
    ],
    "OptimalScale__LMFlow__f3597dba__configs__accelerate_dsz3_config.yaml": zero3(8),
    "huggingface__open-r1__1416fa0c__recipes__accelerate_configs__zero3.yaml": zero3(8),
    "huggingface__peft__5d602fdb__examples__sft__configs__deepspeed_config_z3_qlora.yaml": zero3(2),
    "huggingface__trl__f2cd5771__examples__accelerate_configs__deepspeed_zero3.yaml": zero3(8),
    "huggingface__trl__f2cd5771__examples__accelerate_configs__alst_ulysses_4gpu.yaml": [
        (24, "deepspeed.gather_16bit_weights", True),
        (19, "deepspeed.zero_stage", 3),
        (21, "deepspeed.offload_optimizer", "none"),
        (22, "deepspeed.offload_param", "none"),
        (25, "distributed.strategy", "deepspeed"),
        (29, "precision.mode", "bf16"),
        (31, "distributed.processes", 4),
        (42, "distributed.sequence_split", "ulysses"),
    ],
    f"{FACTORY}accelerate__fsdp2_config.yaml": [
        (3, "distributed.strategy", "fsdp"),
        (6, "fsdp.auto_wrap", True),
        (7, "fsdp.cpu_ram_efficient_loading", True),
        (10, "fsdp.state_dict_type", "FULL_STATE_DICT"),
        (11, "fsdp.version", 2),
        (14, "precision.mode", "bf16"),
        (16, "distributed.processes", 2),
    ],
    "huggingface__alignment-handbook__925acdfe__recipes__accelerate_configs__fsdp.yaml": [
        (3, "distributed.strategy", "fsdp"),
        (7, "fsdp.auto_wrap", True),
        (9, "fsdp.cpu_ram_efficient_loading", True),
        (12, "fsdp.sharding_strategy", "FULL_SHARD"),
        (13, "fsdp.state_dict_type", "SHARDED_STATE_DICT"),
        (15, "fsdp.use_orig_params", True),
        (18, "precision.mode", "bf16"),
        (20, "distributed.processes", 8),
        (3, "fsdp.version", 1),
    ],
    "huggingface__peft__5d602fdb__examples__sft__configs__fsdp_config_qlora.yaml": [
        (3, "distributed.strategy", "fsdp"),
        (6, "fsdp.auto_wrap", True),
        (8, "fsdp.cpu_ram_efficient_loading", True),
        (11, "fsdp.sharding_strategy", "FULL_SHARD"),
        (12, "fsdp.state_dict_type", "SHARDED_STATE_DICT"),
        (14, "fsdp.use_orig_params", False),
        (17, "precision.mode", "no"),
        (19, "distributed.processes", 2),
        (3, "fsdp.version", 1),
    ],
    "huggingface__trl__f2cd5771__examples__accelerate_configs__fsdp1.yaml": [
        (3, "distributed.strategy", "fsdp"),
        (7, "fsdp.activation_checkpointing", False),
        (8, "fsdp.auto_wrap", True),
        (10, "fsdp.cpu_ram_efficient_loading", True),
        (13, "fsdp.sharding_strategy", "FULL_SHARD"),
        (14, "fsdp.state_dict_type", "FULL_STATE_DICT"),
        (16, "fsdp.use_orig_params", True),
        (17, "fsdp.version", 1),
        (20, "precision.mode", "bf16"),
        (22, "distributed.processes", 8),
    ],
}

# An absolute path of another machine is a reference all the same: its last parts may be here.
REFERENCES = {
    "LAION-AI__Open-Assistant__f1e6ed95__model__model_training__configs__accelerate_config.yaml": (
        "/mnt/data/Open-Assistant-RLHF/model/model_training/configs/deepspeed_rl.json",
    )
}


@pytest.mark.parametrize(("kind", "reviewed"), [("deepspeed", DEEPSPEED), ("accelerate", ACCELERATE)])
def test_every_setting_is_the_one_that_was_reviewed(corpus: Path, kind: str, reviewed: dict[str, list[Line]]) -> None:
    files = {path.name: path for path in (corpus / f"config-{kind}").iterdir()}
    assert reviewed.keys() <= files.keys()
    for name, expected in reviewed.items():
        context = scan(read_document(files[name], name))
        assert (context.kind, context.run, context.skipped) == (kind, False, ()), name
        assert context.refers_to == REFERENCES.get(name, ()), name
        found = [(one.location.line, one.key, one.value) for one in context.settings]
        assert sorted(found, key=repr) == sorted(expected, key=repr), name
        text = files[name].read_text().split("\n")
        for setting in context.settings:
            # The spelling is the very line, but for the value.
            if setting.spelling is not None:
                assert setting.location.line is not None
                before, _, _ = setting.spelling.partition("{}")
                assert before in text[setting.location.line - 1], (name, setting)


@pytest.mark.parametrize("folder", ["conda-env", "conda-lock", "sbom", "pixi.lock", "poetry.lock"])
def test_no_other_file_is_taken_for_one(corpus: Path, folder: str) -> None:
    for path in (corpus / folder).iterdir():
        assert scan_if_any(path, path.name) is None, path.name
