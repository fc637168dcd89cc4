"""Configs of LLaMA-Factory and axolotl of other projects: every setting as it was read with eyes, line for line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import SourceError
from gradcompat.formats.document import read_document
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.any_config import scan
from gradcompat.scanners.configs import axolotl, llamafactory, ms_swift, trainer_state, training_args, trl
from tests.scanners.scanned import written

Line = tuple[int | None, str, SettingValue | None]

AXOLOTL = "axolotl-ai-cloud__axolotl__067b021c__examples__"
FACTORY = "hiyouga__LLaMA-Factory__ff6d4d12__examples__"

LONG_CONTEXT: list[Line] = [
    (1, "model.name", "meta-llama/Llama-3.1-8B"),
    (1, "model.architecture", ("LlamaForCausalLM",)),
    (15, "training.evaluates", None),
    (18, "data.sequence_length", 500_000),
    (20, "training.packing", True),
    (27, "training.gradient_accumulation_steps", 1),
    (28, "training.per_device_train_batch_size", 1),
    (29, "training.num_train_epochs", 1.0),
    (30, "optimizer.name", "adamw_torch_8bit"),
    (30, "optimizer.library", "torchao"),
    (31, "optimizer.scheduler", "cosine"),
    (34, "precision.mode", None),
    (35, "precision.tf32", True),
    (37, "training.gradient_checkpointing", True),
    (42, "model.attn_implementation", "flash_attention_2"),
    (44, "optimizer.warmup_steps", 100),
    (46, "training.evaluates", True),
    (47, "optimizer.weight_decay", 0.0),
]

SETTINGS: dict[str, list[Line]] = {
    f"{AXOLOTL}alst__llama3-8b-deepspeed-alst.yaml": [
        *LONG_CONTEXT,
        (51, "distributed.strategy", "deepspeed"),
        (None, "training.framework", "transformers.Trainer"),
    ],
    f"{AXOLOTL}alst__llama3-8b-fsdp2-alst.yaml": [
        *LONG_CONTEXT,
        (51, "fsdp.version", 2),
        (52, "distributed.strategy", "fsdp"),
        (54, "fsdp.state_dict_type", "SHARDED_STATE_DICT"),
        (55, "fsdp.auto_wrap", True),
        (56, "fsdp.layer_class", True),
        (None, "training.framework", "transformers.Trainer"),
    ],
    f"{AXOLOTL}archived__cerebras__btlm-ft.yml": [
        (1, "model.name", "cerebras/btlm-3b-8k-base"),
        (1, "model.architecture", ("BTLMLMHeadModel",)),
        (17, "training.evaluates", True),
        (21, "data.sequence_length", 2048),
        (23, "training.packing", False),
        (41, "training.gradient_accumulation_steps", 1),
        (42, "training.per_device_train_batch_size", 1),
        (43, "training.num_train_epochs", 1.0),
        (44, "optimizer.name", "adamw_torch_fused"),
        (44, "optimizer.library", "torch"),
        (44, "optimizer.fused", True),
        (47, "training.max_grad_norm", 1.0),
        (50, "optimizer.scheduler", "cosine"),
        (55, "precision.mode", None),
        (56, "precision.tf32", True),
        (58, "training.gradient_checkpointing", False),
        (62, "model.attn_implementation", "flash_attention_2"),
        (73, "optimizer.weight_decay", 0.1),
        (None, "training.framework", "transformers.Trainer"),
    ],
    f"{AXOLOTL}archived__dbrx__fft-ds-zero3.yaml": [
        (1, "model.name", "LnL-AI/dbrx-base-converted-v2"),
        (1, "model.architecture", ("DbrxForCausalLM",)),
        (11, "training.evaluates", None),
        (14, "data.sequence_length", 512),
        (15, "training.packing", False),
        (18, "training.frozen_embeddings", None),
        (27, "training.gradient_accumulation_steps", 1),
        (28, "training.per_device_train_batch_size", 1),
        (29, "training.num_train_epochs", 1.0),
        (30, "optimizer.name", "paged_adamw_8bit"),
        (30, "optimizer.library", "bitsandbytes"),
        (31, "optimizer.scheduler", "cosine"),
        (34, "precision.mode", None),
        (35, "precision.tf32", False),
        (37, "training.gradient_checkpointing", True),
        (39, "training.use_reentrant", False),
        (42, "model.attn_implementation", "flash_attention_2"),
        (48, "optimizer.weight_decay", 0.0),
        (49, "distributed.strategy", "deepspeed"),
        (None, "training.framework", "transformers.Trainer"),
    ],
    f"{AXOLOTL}deepseek-v2__fft-fsdp-16b.yaml": [
        (1, "model.name", "deepseek-ai/DeepSeek-V2-Lite"),
        (1, "model.architecture", ("DeepseekV2ForCausalLM",)),
        (10, "training.evaluates", None),
        (13, "data.sequence_length", 2048),
        (14, "training.packing", True),
        (23, "training.gradient_accumulation_steps", 8),
        (24, "training.per_device_train_batch_size", 1),
        (25, "training.num_train_epochs", 1.0),
        (26, "optimizer.name", "adamw_torch_fused"),
        (26, "optimizer.library", "torch"),
        (26, "optimizer.fused", True),
        (27, "optimizer.scheduler", "cosine"),
        (30, "precision.mode", None),
        (31, "precision.tf32", False),
        (33, "training.gradient_checkpointing", True),
        (35, "training.use_reentrant", False),
        (38, "model.attn_implementation", "flash_attention_2"),
        (41, "training.evaluates", True),
        (43, "optimizer.weight_decay", 0.0),
        (45, "distributed.strategy", "fsdp"),
        (45, "fsdp.sharding_strategy", "FULL_SHARD"),
        (45, "fsdp.auto_wrap", True),
        (52, "fsdp.use_orig_params", False),
        (53, "fsdp.cpu_ram_efficient_loading", True),
        (55, "fsdp.layer_class", True),
        (56, "fsdp.state_dict_type", "FULL_STATE_DICT"),
        (None, "training.framework", "transformers.Trainer"),
    ],
    f"{FACTORY}extras__fp8__llama3_fp8_deepspeed_sft.yaml": [
        (6, "model.name", "meta-llama/Meta-Llama-3-8B-Instruct"),
        (6, "model.architecture", ("LlamaForCausalLM",)),
        (10, "training.method", "sft"),
        (10, "training.framework", "transformers.Trainer"),
        (12, "peft.method", "none"),
        (17, "data.sequence_length", 1024),
        (30, "training.per_device_train_batch_size", 1),
        (31, "training.gradient_accumulation_steps", 8),
        (33, "training.num_train_epochs", 3.0),
        (34, "optimizer.scheduler", "cosine"),
        (39, "precision.mode", "fp8"),
        (44, "distributed.strategy", "deepspeed"),
    ],
    f"{FACTORY}extras__llama_pro__llama3_freeze_sft.yaml": [
        (2, "model.name", "models/llama3-8b-pro"),
        (6, "training.method", "sft"),
        (6, "training.framework", "transformers.Trainer"),
        (8, "peft.method", "none"),
        (8, "training.frozen_embeddings", True),
        (16, "data.sequence_length", 2048),
        (20, "training.dataloader_num_workers", 4),
        (28, "training.save_only_model", False),
        (32, "training.per_device_train_batch_size", 1),
        (33, "training.gradient_accumulation_steps", 8),
        (35, "training.num_train_epochs", 3.0),
        (36, "optimizer.scheduler", "cosine"),
        (38, "precision.mode", "bf16"),
    ],
    f"{FACTORY}train_full__qwen3_full_sft.yaml": [
        (2, "model.name", "Qwen/Qwen3-4B-Instruct-2507"),
        (2, "model.architecture", ("Qwen3ForCausalLM",)),
        (6, "training.method", "sft"),
        (6, "training.framework", "transformers.Trainer"),
        (8, "peft.method", "none"),
        (9, "distributed.strategy", "deepspeed"),
        (14, "data.sequence_length", 2048),
        (17, "training.dataloader_num_workers", 4),
        (25, "training.save_only_model", False),
        (29, "training.per_device_train_batch_size", 1),
        (30, "training.gradient_accumulation_steps", 2),
        (32, "training.num_train_epochs", 3.0),
        (33, "optimizer.scheduler", "cosine"),
        (35, "precision.mode", "bf16"),
    ],
    f"{FACTORY}train_lora__qwen3_lora_sft_ds3.yaml": [
        (2, "model.name", "Qwen/Qwen3-4B-Instruct-2507"),
        (2, "model.architecture", ("Qwen3ForCausalLM",)),
        (6, "training.method", "sft"),
        (6, "training.framework", "transformers.Trainer"),
        (8, "peft.method", "lora"),
        (11, "distributed.strategy", "deepspeed"),
        (16, "data.sequence_length", 2048),
        (19, "training.dataloader_num_workers", 4),
        (27, "training.save_only_model", False),
        (31, "training.per_device_train_batch_size", 1),
        (32, "training.gradient_accumulation_steps", 2),
        (34, "training.num_train_epochs", 3.0),
        (35, "optimizer.scheduler", "cosine"),
        (37, "precision.mode", "bf16"),
    ],
}

REFERENCES = {
    f"{AXOLOTL}alst__llama3-8b-deepspeed-alst.yaml": "deepspeed_configs/zero3_bf16_cpuoffload_all.json",
    f"{AXOLOTL}archived__dbrx__fft-ds-zero3.yaml": "deepspeed_configs/zero3_bf16.json",
    f"{FACTORY}extras__fp8__llama3_fp8_deepspeed_sft.yaml": "examples/deepspeed/ds_z3_fp8_config.json",
    f"{FACTORY}train_full__qwen3_full_sft.yaml": "examples/deepspeed/ds_z3_config.json",
    f"{FACTORY}train_lora__qwen3_lora_sft_ds3.yaml": "examples/deepspeed/ds_z3_config.json",
}


@pytest.mark.parametrize("kind", ["axolotl", "llamafactory"])
def test_every_config_says_what_was_read_with_eyes(corpus: Path, kind: str) -> None:
    found = {}
    for path in sorted((corpus / f"config-{kind}").iterdir()):
        context = scan(read_document(path, path.name))
        assert (context.kind, context.run, context.skipped) == (kind, True, ())
        found[path.name] = [(one.location.line, one.key, one.value) for one in written(context)]
        files = [name for name in context.refers_to if not name.endswith("/config.json")]
        assert files == ([REFERENCES[path.name]] if path.name in REFERENCES else [])
    start = AXOLOTL if kind == "axolotl" else FACTORY
    assert found == {name: settings for name, settings in SETTINGS.items() if name.startswith(start)}


def test_nothing_else_is_taken_for_a_config_of_a_trainer(corpus: Path) -> None:
    """Lockfiles, environments, other tools' configs: each scanner refuses them, asked without a look at the marks."""
    looked_at, taken = 0, []
    for path in sorted(path for ending in ("yaml", "yml", "json") for path in corpus.glob(f"*/*.{ending}")):
        if path.parent.name in ("config-axolotl", "config-llamafactory") or path.stat().st_size > 100_000:
            continue
        looked_at += 1
        document = read_document(path, path.name)
        for module in (axolotl, llamafactory, ms_swift, trainer_state, training_args, trl):
            try:
                taken.append((path.name, module.scan(document).kind))
            except SourceError:
                continue
    assert taken == []
    assert looked_at >= 30
