"""LLaMA-Factory's configs: its own words, and where one argument changes what another one says."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.configs import llamafactory
from tests.scanners.scanned import fixture, lines, stated


def test_a_config_in_yaml() -> None:
    context = llamafactory.scan(fixture("llamafactory/lora_dpo.yaml"))
    assert (context.source, context.kind, context.run, context.skipped) == ("lora_dpo.yaml", "llamafactory", True, ())
    assert context.refers_to == ("ds/zero2.json", "Qwen/Qwen2.5-7B-Instruct/config.json")
    assert lines(context) == [
        (2, "model.name", "Qwen/Qwen2.5-7B-Instruct"),
        (2, "model.architecture", ("Qwen2ForCausalLM",)),
        (3, "quantization.bits", 4),
        (3, "quantization.float_storage", True),
        (4, "quantization.method", "bitsandbytes"),
        (5, "model.attn_implementation", "flash_attention_2"),
        (8, "training.method", "dpo"),
        (9, "peft.method", "lora"),
        (11, "peft.modules_to_save", True),
        (12, "training.loss_type", "sigmoid"),
        (13, "distributed.strategy", "deepspeed"),
        (18, "data.sequence_length", 4096),
        (21, "training.per_device_train_batch_size", 1),
        (22, "training.gradient_accumulation_steps", 8),
        (24, "training.num_train_epochs", 3.0),
        (25, "precision.mode", "bf16"),
        (27, "optimizer.name", "paged_adamw_8bit"),
        (27, "optimizer.library", "bitsandbytes"),
        (28, "training.gradient_checkpointing", True),
        (29, "training.use_reentrant", False),
    ]


def test_a_config_in_json() -> None:
    context = llamafactory.scan(fixture("llamafactory/freeze_pt.json"))
    assert (context.source, context.kind, context.run, context.skipped) == ("freeze_pt.json", "llamafactory", True, ())
    assert context.refers_to == ("models/mine/config.json",)
    assert lines(context) == [
        (2, "model.name", "models/mine"),
        (3, "training.method", "pretrain"),
        (3, "training.framework", "transformers.Trainer"),
        (5, "peft.method", "none"),
        (5, "training.frozen_embeddings", True),
        (8, "training.gradient_checkpointing", False),
        (9, "training.gradient_accumulation_steps", 2),
        (11, "optimizer.name", "galore"),
        (13, "precision.mode", "fp8"),
        (3, "data.unequal_labels", False),
    ]


HEAD = "model_name_or_path: m\ntemplate: t\nlearning_rate: 1e-4\n"


def said(text: str) -> dict[str, SettingValue | None]:
    settings = stated(llamafactory.scan(Document("c.yaml", HEAD + text)))
    del settings["model.name"]
    return settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("finetuning_type: full\n", {"peft.method": "none"}),
        ("finetuning_type: oft\n", {"peft.method": "oft"}),
        ("finetuning_type: freeze\n", {"peft.method": "none", "training.frozen_embeddings": True}),
        ("finetuning_type: freeze\nfreeze_extra_modules: embed_tokens\n", {"peft.method": "none"}),
        ("stage: rm\n", {"training.method": "reward", "training.framework": "transformers.Trainer"}),
        ("stage: kto\n", {"training.method": "kto"}),
        (
            "stage: sft\ntensor_model_parallel_size: 2\n",
            {"training.method": "sft", "training.framework": "megatron"},
        ),
        (
            "stage: ppo\ndisable_gradient_checkpointing: true\n",
            {"training.method": "ppo", "training.gradient_checkpointing": False},
        ),
        ("stage: dpo\nflash_attn: disabled\n", {"training.method": "dpo", "model.attn_implementation": "eager"}),
        ("stage: dpo\nflash_attn: false\n", {"training.method": "dpo", "model.attn_implementation": None}),
        ("stage: dpo\nflash_attn: auto\n", {"training.method": "dpo"}),
        ("stage: dpo\nmoe_aux_loss_coef: 0.001\n", {"training.method": "dpo", "model.output_router_logits": True}),
        ("stage: dpo\nmoe_aux_loss_coef: 0.0\n", {"training.method": "dpo"}),
        ("stage: dpo\npure_bf16: true\nbf16: false\n", {"training.method": "dpo", "precision.mode": "bf16"}),
        ("stage: dpo\ndisable_shuffling: true\n", {"training.method": "dpo", "data.shuffle": False}),
        (
            "stage: dpo\nneat_packing: true\n",
            {"training.method": "dpo", "training.packing": True, "training.packing_strategy": "neat"},
        ),
        ("stage: dpo\npacking: true\nneat_packing: false\n", {"training.method": "dpo", "training.packing": True}),
    ],
)
def test_its_own_words(text: str, expected: dict[str, object]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "model_name_or_path: m\ntemplate: t\ninfer_backend: huggingface\n",
        "model_name_or_path: m\ntemplate: t\nfinetuning_type: lora\nexport_dir: out\n",
        "model_name_or_path: m\ntemplate: t\nstage: sft\ndo_train: false\ndo_predict: true\nlearning_rate: 1\n",
        "model_name_or_path: m\nstage: build\ndo_train: true\ntemplate: t\n",
        "stage: sft\ndo_train: true\ntemplate: t\n",
    ],
)
def test_what_does_not_train_is_refused(text: str) -> None:
    with pytest.raises(Malformed) as caught:
        llamafactory.scan(Document("c.yaml", text))
    assert str(caught.value) == "`c.yaml`: is not a LLaMA-Factory training config"


def test_a_stage_with_a_way_of_tuning_needs_no_other_key() -> None:
    text = (
        "model_name_or_path: google/gemma-3-4b-pt\nstage: pt\nfinetuning_type: full\ngradient_accumulation_steps: 8\n"
    )
    context = llamafactory.scan(Document("train.yaml", text))
    assert {setting.key: setting.value for setting in context.settings}["training.framework"] == "transformers.Trainer"
    with pytest.raises(Malformed):
        llamafactory.scan(Document("train.yaml", text.replace("finetuning_type: full\n", "")))


def test_the_keys_of_transformers_arguments_are_taken_from_it() -> None:
    text = f"{HEAD}stage: sft\nevaluation_strategy: steps\noverwrite_output_dir: true\n"
    uses = [use for use in llamafactory.scan(Document("sft.yaml", text)).uses if use.kind == "keyword"]
    given = {use.keyword: use for use in uses}
    assert "overwrite_output_dir" not in given
    use = given["evaluation_strategy"]
    assert (use.full_name, use.kind, use.conditional) == ("transformers.Seq2SeqTrainingArguments", "keyword", False)
    assert (use.location.path, use.location.line) == ("sft.yaml", 5)
    text = '{"model_name_or_path": "m", "template": "t", "learning_rate": 1,\n "stage": "sft", "no_cuda": true}'
    uses = [use for use in llamafactory.scan(Document("sft.json", text)).uses if use.keyword == "no_cuda"]
    assert {(use.module, use.kind, use.location.line) for use in uses} == {
        ("transformers", "keyword", 2),
        ("llamafactory", "option", 2),
    }


_PREFERENCES = "stage: dpo\ndo_train: true\nfinetuning_type: lora\nmodel_name_or_path: Qwen/Qwen2.5-7B\ndataset: d\n"
_ADAPTER = "adapter_name_or_path: saves/sft\n"


def test_a_likelihood_term_beside_preferences() -> None:
    settings = llamafactory.scan(Document("dpo.yaml", _PREFERENCES + "pref_loss: simpo\npref_ftx: 0.1\n")).settings
    stated = {one.key: one.value for one in settings}
    assert (stated["training.loss_type"], stated["training.sft_weight"]) == ("simpo", 0.1)


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        (_PREFERENCES + _ADAPTER, True),
        (_PREFERENCES + _ADAPTER + "pref_loss: sigmoid\n", True),
        (_PREFERENCES + _ADAPTER + "create_new_adapter: true\n", False),
        (_PREFERENCES + _ADAPTER + "ref_model: saves/merged\n", False),
        (_PREFERENCES + "adapter_name_or_path: saves/sft,saves/dpo\n", False),
        (_PREFERENCES + _ADAPTER + "pref_loss: orpo\n", False),
        (_PREFERENCES.replace("dpo", "sft") + _ADAPTER, False),
        (_PREFERENCES, None),
    ],
)
def test_an_adapter_that_preference_training_goes_on_with(text: str, alone: bool | None) -> None:
    stated = {one.key: one.value for one in llamafactory.scan(Document("dpo.yaml", text)).settings}
    assert stated.get("training.resumed_adapter_alone") is alone
