"""Configs of TRL, and of other scripts with transformers' arguments."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.scanners.configs import trl
from tests.scanners.scanned import fixture, lines, stated


def test_a_config_of_trl() -> None:
    context = trl.scan(fixture("trl/sft.yaml"))
    assert (context.source, context.kind, context.run, context.skipped) == ("sft.yaml", "trl", True, ())
    assert context.refers_to == ("Qwen/Qwen3-0.6B/config.json",)
    assert lines(context) == [
        (2, "model.name", "Qwen/Qwen3-0.6B"),
        (2, "model.architecture", ("Qwen3ForCausalLM",)),
        (3, "model.torch_dtype", "bfloat16"),
        (4, "model.attn_implementation", "flash_attention_2"),
        (6, "model.use_cache", False),
        (8, "peft.method", "lora"),
        (8, "peft.given_to_trainer", True),
        (9, "peft.modules_to_save", True),
        (10, "quantization.method", "bitsandbytes"),
        (10, "quantization.bits", 4),
        (11, "quantization.double_quant", True),
        (14, "data.sequence_length", 2048),
        (14, "data.truncated", True),
        (15, "training.packing", True),
        (17, "training.per_device_train_batch_size", 4),
        (18, "training.gradient_accumulation_steps", 4),
        (19, "training.gradient_checkpointing", True),
        (20, "training.use_reentrant", False),
        (21, "precision.mode", "no"),
        (23, "distributed.strategy", "fsdp"),
        (23, "fsdp.sharding_strategy", "HYBRID_SHARD"),
        (23, "fsdp.auto_wrap", True),
        (25, "fsdp.use_orig_params", True),
        (26, "training.max_grad_norm", 1.0),
        (28, "training.torch_compile", True),
        (28, "training.compile_backend", "inductor"),
        (29, "training.loss_type", None),
        (None, "training.framework", "trl"),
        (None, "training.method", "sft"),
        (None, "quantization.float_storage", True),
    ]


@pytest.mark.parametrize(("dtype", "stored"), [("bfloat16", True), ("auto", False), (None, False)])
def test_bits_are_stored_as_the_weights_are_before_trl_has_an_argument_for_it(dtype: str | None, stored: bool) -> None:
    named = "" if dtype is None else f"torch_dtype: {dtype}\n"
    text = f"model_name_or_path: m\noutput_dir: x\npacking: true\nbf16: true\nload_in_4bit: true\n{named}"
    settings = [one for one in trl.scan(Document("c.yaml", text)).settings if one.key == "quantization.float_storage"]
    assert [(one.value, *map(str, one.where)) for one in settings] == ([(True, "trl < 0.26.0")] if stored else [])


def test_a_config_of_another_script() -> None:
    context = trl.scan(fixture("trl/script.yaml"))
    assert (context.source, context.kind, context.run, context.skipped) == ("script.yaml", "transformers", True, ())
    assert context.refers_to == ("./checkpoints/base/config.json",)
    assert lines(context) == [
        (1, "model.name", "./checkpoints/base"),
        (3, "precision.mode", "bf16"),
        (4, "training.num_train_epochs", 2.0),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "model_name_or_path: m\nbf16: true\n",
        "output_dir: x\nbf16: true\nnum_train_epochs: 1\n",
        "model_name_or_path: [m]\noutput_dir: x\nbf16: true\n",
    ],
)
def test_too_little_is_refused(text: str) -> None:
    with pytest.raises(Malformed) as caught:
        trl.scan(Document("c.yaml", text))
    assert str(caught.value) == "`c.yaml`: is not a TRL config, and has no arguments of transformers' Trainer"


def test_a_value_on_the_next_line_is_shown_there() -> None:
    context = trl.scan(
        Document("c.yaml", "model_name_or_path:\n  m\nseed:\n  4\noutput_dir: x\nbf16: true\npacking: no\n")
    )
    assert stated(context)["training.framework"] == "trl"
    assert (4, "training.seed", 4) in lines(context)
    assert (7, "training.packing", False) in lines(context)


def test_activation_checkpointing_is_the_new_name_of_gradient_checkpointing() -> None:
    """transformers 5.23.0 has both, and warns of the old one."""
    text = (
        "model_name_or_path: m\noutput_dir: out\nlearning_rate: 1e-4\nactivation_checkpointing: true\n"
        "activation_checkpointing_kwargs:\n  use_reentrant: true\n"
    )
    found = lines(trl.scan(Document("sft.yaml", text)))
    assert (4, "training.gradient_checkpointing", True) in found
    assert (6, "training.use_reentrant", True) in found


@pytest.mark.parametrize(
    ("argument", "methods"),
    [
        ("packing: true", ["sft"]),
        ("packing: true\nteacher_model_name_or_path: m", ["gkd"]),
        ("desirable_weight: 1.0", ["kto"]),
        ("num_generations: 8", ["grpo", "rloo"]),
        ("num_generations: 8\nscale_rewards: none", ["grpo"]),
        ("max_prompt_length: 512", []),
        ("max_seq_length: 1024\nbeta: 0.1\nmax_prompt_length: 300", []),
        ("max_seq_length: 1024\nbeta: 0.1\nmax_prompt_length: 300\ntask_type: dpo", ["dpo"]),
        ("packing: true\nlora_task_type: CAUSAL_LM\nstage: sft", ["sft"]),
    ],
)
def test_an_argument_of_one_trainer_says_what_is_presumably_trained(argument: str, methods: list[str]) -> None:
    text = f"model_name_or_path: m\noutput_dir: out\nlearning_rate: 1.0e-5\n{argument}\n"
    settings = trl.scan(Document(path="recipe.yaml", text=text)).settings
    assert [one.value for one in settings if one.key == "training.method"] == methods
    assert all(one.presumed for one in settings if one.key == "training.method")


@pytest.mark.parametrize(("argument", "method"), [("max_length: 512", "none"), ("use_peft: true", "lora")])
def test_an_adapter_is_made_where_it_is_asked_for(argument: str, method: str) -> None:
    text = f"model_name_or_path: m\noutput_dir: out\nlearning_rate: 1.0e-5\npacking: true\n{argument}\n"
    settings = trl.scan(Document(path="recipe.yaml", text=text)).settings
    assert [one.value for one in settings if one.key == "peft.method"] == [method]
