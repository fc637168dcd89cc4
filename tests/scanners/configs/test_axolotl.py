"""axolotl's configs: its own names, and switches that are words elsewhere."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.scanners.configs import axolotl
from tests.scanners.scanned import fixture, lines, stated


def test_a_config_with_an_adapter() -> None:
    context = axolotl.scan(fixture("axolotl/qlora.yml"))
    assert (context.source, context.kind, context.run, context.skipped) == ("qlora.yml", "axolotl", True, ())
    assert context.refers_to == ("mistralai/Mistral-7B-v0.1/config.json",)
    assert lines(context) == [
        (1, "model.name", "mistralai/Mistral-7B-v0.1"),
        (2, "model.architecture", ("MistralForCausalLM",)),
        (4, "quantization.method", "bitsandbytes"),
        (4, "quantization.bits", 4),
        (4, "quantization.float_storage", True),
        (5, "peft.method", "lora"),
        (6, "peft.modules_to_save", True),
        (13, "training.evaluates", True),
        (14, "data.sequence_length", 8192),
        (15, "training.packing", True),
        (17, "training.gradient_accumulation_steps", 4),
        (18, "training.per_device_train_batch_size", 2),
        (19, "training.num_train_epochs", 1.0),
        (20, "optimizer.name", "adamw_8bit"),
        (20, "optimizer.library", "bitsandbytes"),
        (21, "optimizer.scheduler", "cosine"),
        (22, "precision.mode", None),
        (24, "precision.tf32", False),
        (26, "training.gradient_checkpointing", True),
        (28, "training.use_reentrant", True),
        (29, "model.attn_implementation", "flash_attention_2"),
        (30, "training.resume_from_checkpoint", True),
        (33, "training.use_liger_kernel", True),
        (34, "optimizer.weight_decay", 0.0),
        (None, "training.framework", "transformers.Trainer"),
    ]


def test_a_config_with_fsdp_and_a_preference_loss() -> None:
    context = axolotl.scan(fixture("axolotl/fsdp_dpo.yaml"))
    assert (context.source, context.kind, context.run, context.skipped) == ("fsdp_dpo.yaml", "axolotl", True, ())
    assert context.refers_to == ("meta-llama/Llama-3.1-8B/config.json",)
    assert lines(context) == [
        (1, "model.name", "meta-llama/Llama-3.1-8B"),
        (1, "model.architecture", ("LlamaForCausalLM",)),
        (3, "training.method", "dpo"),
        (5, "training.frozen_embeddings", None),
        (7, "training.per_device_train_batch_size", 1),
        (8, "training.gradient_accumulation_steps", None),
        (9, "optimizer.name", "adamw_torch_fused"),
        (9, "optimizer.library", "torch"),
        (9, "optimizer.fused", True),
        (10, "training.torch_compile", None),
        (11, "fsdp.version", 2),
        (12, "distributed.strategy", "fsdp"),
        (14, "fsdp.state_dict_type", "SHARDED_STATE_DICT"),
        (15, "fsdp.auto_wrap", True),
        (16, "training.gradient_checkpointing", True),
        (16, "fsdp.activation_checkpointing", True),
        (18, "model.output_router_logits", True),
    ]


HEAD = "base_model: m\nsequence_len: 8\nmicro_batch_size: 1\nrl: kto\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("adapter: lora", {"peft.method": "lora"}),
        ("adapter: false", {}),
        ("adapter:", {}),
        ("sdp_attention: true", {"model.attn_implementation": "sdpa"}),
        ("flash_attention: false", {}),
        ("model_type: AutoModelForCausalLM", {}),
        ("model_type: LlamaForCausalLM", {"model.architecture": ("LlamaForCausalLM",)}),
        ("fsdp: [full_shard]", {"distributed.strategy": "fsdp", "fsdp.sharding_strategy": "FULL_SHARD"}),
        ("fsdp: []", {}),
        ("bf16: full", {"precision.mode": "bf16"}),
        ("gptq: true", {"quantization.method": "gptq"}),
        ("auto_resume_from_checkpoints: true", {"training.resume_from_checkpoint": None}),
        ("auto_resume_from_checkpoints: false", {}),
        ("per_device_train_batch_size: 4", {}),  # not axolotl's name for it
        (
            "kd_ce_alpha: 0.3\nkd_trainer: true\nplugins: [axolotl.integrations.kd.KDPlugin]",
            {
                "training.kd_ce_alpha": 0.3,
                "code.symbols": ("axolotl.integrations.kd.trainer.AxolotlKDTrainer",),
            },
        ),
        (
            "plugins: [axolotl.integrations.diffusion.DiffusionPlugin]",
            {"code.symbols": ("axolotl.integrations.diffusion.trainer.DiffusionTrainer",)},
        ),
        ("kd_ce_alpha: 0.3\nplugins: [axolotl.integrations.kd.KDPlugin]", {}),
        ("kd_ce_alpha: 0.3\nplugins: [ours.plugins.Distillation]", {"training.kd_ce_alpha": 0.3}),
        ("kd_ce_alpha: 0.3\nplugins: [axolotl.integrations.liger.LigerPlugin]", {}),
        ("kd_ce_alpha: 0.3", {}),
    ],
)
def test_its_own_words(text: str, expected: dict[str, object]) -> None:
    settings = stated(axolotl.scan(Document("c.yml", f"{HEAD}{text}\n")))
    assert settings.pop("model.name") == "m"
    assert settings.pop("data.sequence_length") == 8
    assert settings.pop("training.per_device_train_batch_size") == 1
    assert settings.pop("training.method") == "kto"
    assert settings == expected


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("rl:", "transformers.Trainer"),
        ("rl: false", "transformers.Trainer"),
        ("rl: dpo", None),
        ("reward_model: true", None),
    ],
)
def test_the_loop_is_that_of_transformers_unless_it_is_another(text: str, framework: str | None) -> None:
    context = axolotl.scan(Document("c.yml", f"base_model: m\nsequence_len: 8\nmicro_batch_size: 1\n{text}\n"))
    assert stated(context).get("training.framework") == framework


def test_a_model_to_merge_is_no_config() -> None:
    with pytest.raises(Malformed) as caught:
        axolotl.scan(Document("c.yml", "base_model: m\nmodels: [a, b]\nmerge_method: ties\ndtype: bfloat16\n"))
    assert str(caught.value) == "`c.yml`: is not an axolotl config"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("datasets: [{path: a, type: chat_template}]", False),
        ("datasets: [{path: a, type: alpaca}, {path: b, type: chat_template.default}]", False),
        ("datasets: [{path: a, type: chat_template}]\neot_tokens: [<end_of_turn>]", True),
        ("datasets: [{path: a, type: chat_template}]\nspecial_tokens: {eos_token: <end_of_turn>}", None),
        ("datasets: [{path: a, type: alpaca}]", None),
        ("datasets: [{path: a, type: chat_template.default}]\nrl: dpo", None),
        ("val_set_size: 0", None),
        ("chat_template_jinja: x\ndatasets: [{path: a, type: chat_template}]", None),
        ("datasets: [{path: a, type: chat_template, chat_template_jinja: x}]", None),
    ],
)
def test_the_end_of_a_turn(text: str, named: bool | None) -> None:
    document = Document(path="a.yml", text=f"base_model: x\nsequence_len: 512\nmicro_batch_size: 1\n{text}\n")
    assert stated(axolotl.scan(document)).get("data.turn_end_named") is named


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("chat_template: mistral_v1\ndatasets: [{path: a, type: chat_template, roles_to_train: [assistant]}]", True),
        ("datasets: [{path: a, type: chat_template, train_on_eos: turn, chat_template: alpaca}]", True),
        ("base_model: mistralai/M\ndatasets: [{path: a, type: chat_template, train_on_eos: turn}]", True),
        ("chat_template: chatml\ndatasets: [{path: a, type: chat_template, train_on_eos: turn}]", False),
        ("chat_template: mistral_v1\ndatasets: [{path: a, type: chat_template}]", None),
        ("datasets: [{path: a, type: chat_template, train_on_eos: turn}]", None),
        ("chat_template: mistral_v1\ndatasets: [{path: a, type: chat_template, train_on_eos: turn}]\nrl: dpo", None),
        ("chat_template: mistral_v1\ndatasets: [{path: a, type: chat_template, roles_to_train: []}]", None),
        ("chat_template: mistral_v1\ndatasets: [{path: a, type: chat_template, train_on_eos: null}]", None),
        (
            "base_model: mistralai/M\ntokenizer_config: o/T\n"
            "datasets: [{path: a, type: chat_template, train_on_eos: turn}]",
            None,
        ),
        (
            "base_model: mistralai/M\nchat_template: tokenizer_default_fallback_chatml\n"
            "datasets: [{path: a, type: chat_template, train_on_eos: turn}]",
            True,
        ),
        (
            "base_model: mistralai/M\nchat_template_jinja: x\n"
            "datasets: [{path: a, type: chat_template, train_on_eos: turn}]",
            None,
        ),
    ],
)
def test_a_template_that_closes_answers_alone(text: str, closed: bool | None) -> None:
    model = "" if text.startswith("base_model") else "base_model: x\n"
    document = Document(path="a.yml", text=f"{model}sequence_len: 512\nmicro_batch_size: 1\n{text}\n")
    assert stated(axolotl.scan(document)).get("data.eos_closes_answers_alone") is closed


@pytest.mark.parametrize(
    ("rest", "template"),
    [
        ("chat_template: chatml\ndatasets: [{path: a, type: chat_template}]", "chatml"),
        ("datasets: [{path: a, type: chat_template, chat_template: llama3}]", "llama3"),
        ("datasets: [{path: a, type: chat_template}]", "tokenizer_default"),
        ("chat_template: chatml\ndatasets: [{path: a, type: chat_template, chat_template: llama3}]", "llama3"),
        ("chat_template: a\ndatasets: [{path: a, type: chat_template, chat_template: tokenizer_default}]", "a"),
        (
            "chat_template: chatml\n"
            "datasets: [{path: a, type: chat_template, chat_template: llama3}, {path: b, type: chat_template}]",
            None,
        ),
        ("chat_template: chatml\ndatasets: [{path: a, type: alpaca}]", None),
        ("chat_template: chatml\nrl: dpo\ndatasets: [{path: a, type: chat_template.default}]", None),
    ],
)
def test_the_template_that_conversations_go_through(rest: str, template: str | None) -> None:
    document = Document("a.yml", f"base_model: m\nmicro_batch_size: 1\nsequence_len: 512\n{rest}\n")
    assert stated(axolotl.scan(document)).get("data.chat_template") == template
