"""The table of Hugging Face's arguments: what is inside of an argument, and what several of them say together."""

from __future__ import annotations

from typing import Any

import pytest

from gradcompat.model.environment import Location, Setting, SettingValue
from gradcompat.scanners.configs import (
    axolotl,
    llamafactory,
    ms_swift,
    trainer_state,
    training_args,
    training_arguments,
    trl,
)
from gradcompat.scanners.configs.training_arguments import FEEDS, expanded, settled
from gradcompat.scanners.key_mapping import Feed, convert, fed
from gradcompat.vocabulary import KEYS

HERE = Location(path="x", line=1)


@pytest.mark.parametrize(
    "module", [training_arguments, llamafactory, axolotl, trl, ms_swift, training_args, trainer_state]
)
def test_every_feed_goes_to_a_key_and_gives_what_it_takes(module: Any) -> None:
    feeds: list[Feed] = [
        one for feed in module.FEEDS.values() for one in (feed if isinstance(feed, tuple) else (feed,))
    ]
    assert feeds
    for feed in feeds:
        assert feed.key in KEYS
        for value in [*feed.values.values(), feed.given]:
            assert value is None or convert(feed.key, value) == value, feed
        assert all(text == text.lower() for text in feed.values)


def said(name: str, value: Any) -> list[tuple[str, SettingValue | None]]:
    settings = []
    for inner, one in expanded(name, value):
        found, skipped = fed(FEEDS, inner, one, HERE)
        assert skipped == []
        settings += [(inner, setting) for setting in found]
    return [(setting.key, setting.value) for setting in settled(settings)]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("gradient_accumulation_steps", 8, [("training.gradient_accumulation_steps", 8)]),
        ("gradient_accumulation_steps", "8", [("training.gradient_accumulation_steps", 8)]),
        ("gradient_accumulation_steps", None, []),
        ("gradient_accumulation_steps", "$GAS", [("training.gradient_accumulation_steps", None)]),
        ("gradient_accumulation_steps", "${oc.env:GAS}", [("training.gradient_accumulation_steps", None)]),
        ("gradient_accumulation_steps", "{{ steps }}", [("training.gradient_accumulation_steps", None)]),
        ("gradient_checkpointing", "unsloth", [("training.gradient_checkpointing", True)]),
        ("gradient_checkpointing_kwargs", {"use_reentrant": False}, [("training.use_reentrant", False)]),
        ("gradient_checkpointing_kwargs", '{"use_reentrant": true}', [("training.use_reentrant", True)]),
        ("gradient_checkpointing_kwargs", "{'use_reentrant': True}", []),  # no JSON: the tool refuses it, too
        ("gradient_checkpointing_kwargs", '{"use_reentrant": "\\ud800"', []),
        ("gradient_checkpointing_kwargs", "{" * 9000, []),
        ("fsdp", "full_shard auto_wrap", [
            ("distributed.strategy", "fsdp"), ("fsdp.sharding_strategy", "FULL_SHARD"), ("fsdp.auto_wrap", True),
        ]),
        ("fsdp", ["shard_grad_op", "offload"], [
            ("distributed.strategy", "fsdp"), ("fsdp.sharding_strategy", "SHARD_GRAD_OP"),
        ]),
        ("fsdp", [["full_shard"], 3, None], [("distributed.strategy", "fsdp")]),
        ("fsdp", "", []),
        ("fsdp", [], []),
        ("fsdp", False, []),
        ("fsdp_config", {"fsdp_version": 2, "activation_checkpointing": True}, [
            ("fsdp.version", 2), ("training.gradient_checkpointing", True), ("fsdp.activation_checkpointing", True),
        ]),
        ("fsdp_config", {"auto_wrap_policy": "NO_WRAP"}, [("fsdp.auto_wrap", False)]),
        ("deepspeed", "ds.json", [("distributed.strategy", "deepspeed")]),
        ("deepspeed", {"zero_optimization": {"stage": 2}}, [("distributed.strategy", "deepspeed")]),
        ("deepspeed", "$DS_CONFIG", [("distributed.strategy", None)]),
        ("deepspeed", "", []),
        ("resume_from_checkpoint", "out/checkpoint-8", [("training.resume_from_checkpoint", True)]),
        ("resume_from_checkpoint", True, [("training.resume_from_checkpoint", True)]),
        ("resume_from_checkpoint", "False", [("training.resume_from_checkpoint", False)]),
        ("optim", "adamw_torch_fused", [
            ("optimizer.name", "adamw_torch_fused"), ("optimizer.library", "torch"), ("optimizer.fused", True),
        ]),
        ("optim", "OptimizerNames.LION", [("optimizer.name", "lion_32bit"), ("optimizer.library", "bitsandbytes")]),
        ("optim", "adamw_bnb_8bit", [("optimizer.name", "adamw_8bit"), ("optimizer.library", "bitsandbytes")]),
        ("optim", "paged_lion_32bit", [("optimizer.name", "paged_lion_32bit"), ("optimizer.library", "bitsandbytes")]),
        ("optim", "adafactor", [("optimizer.name", "adafactor"), ("optimizer.library", "transformers")]),
        ("optim", "my_optimizer", [("optimizer.name", "my_optimizer")]),
        ("optim_args", "momentum=0.9", [("optimizer.arguments", True)]),
        ("optim_args", None, []),
        ("lr_scheduler_type", "SchedulerType.COSINE", [("optimizer.scheduler", "cosine")]),
        ("load_in_4bit", True, [("quantization.method", "bitsandbytes"), ("quantization.bits", 4)]),
        ("load_in_4bit", False, []),
        ("use_peft", False, [("peft.method", "none"), ("peft.given_to_trainer", False)]),
        ("lora_modules_to_save", ["lm_head"], [("peft.modules_to_save", True)]),
        ("loss_type", ["dr_grpo"], [("training.loss_type", "dr_grpo")]),
        ("loss_type", ["sigmoid", "bco_pair"], [("training.loss_type", None)]),
        ("bf16", True, [("precision.mode", "bf16")]),
        ("bf16", "auto", [("precision.mode", None)]),
        ("bf16", False, [("precision.mode", "no")]),
        ("unheard_of", 3, []),
    ],
)  # fmt: skip
def test_an_argument(name: str, value: Any, expected: list[tuple[str, SettingValue | None]]) -> None:
    assert said(name, value) == expected


def together(**arguments: Any) -> list[tuple[str, SettingValue | None]]:
    named: list[tuple[str, Setting]] = []
    for name, value in arguments.items():
        named += [(name, setting) for setting in fed({**FEEDS, **EXTRA}, name, value, HERE)[0]]
    return [(setting.key, setting.value) for setting in settled(named)]


EXTRA = {"mixed_precision": Feed("precision.mode"), "fp8": Feed("precision.mode", {"true": "fp8"}, only=True)}


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        ({"bf16": True, "fp16": False}, ["bf16"]),
        ({"bf16": False, "fp16": True}, ["fp16"]),
        ({"bf16": False, "fp16": False}, ["no"]),
        ({"fp16": False}, []),
        ({"bf16": "auto", "fp16": False}, [None]),
        ({"bf16": "auto", "fp16": True}, ["fp16"]),
        ({"bf16": True, "fp16": True}, ["bf16", "fp16"]),  # which the Trainer refuses
        ({"bf16": True, "fp8": True}, ["fp8"]),
        ({"mixed_precision": "no"}, ["no"]),
    ],
)
def test_precision_is_said_by_several_switches(arguments: dict[str, Any], mode: list[str | None]) -> None:
    assert together(**arguments) == [("precision.mode", one) for one in mode]


def test_what_either_of_two_arguments_turns_on_is_on() -> None:
    assert together(torch_compile=False, torch_compile_backend="inductor") == [
        ("training.torch_compile", True),
        ("training.compile_backend", "inductor"),
    ]
    assert together(torch_compile=False) == [("training.torch_compile", False)]


def test_what_either_of_two_arguments_turns_off_is_off() -> None:
    coefficient = {"output_router_logits": Feed("model.output_router_logits"), **FEEDS}
    named = [
        (name, setting)
        for name, value in [("output_router_logits", True), ("router_aux_loss_coef", 0.0)]
        for setting in fed(coefficient, name, value, HERE)[0]
    ]
    assert [setting.value for setting in settled(named)] == [False]


def test_a_line_is_shown_where_it_takes_the_value_of_the_vocabulary() -> None:
    spelled = [
        (name, setting.key, setting.spelling)
        for name, value in [("seed", 3), ("bf16", True), ("optim", "sgd"), ("deepspeed", "x"), ("seed", "$SEED")]
        for setting in fed(FEEDS, name, value, HERE, f"{name}: {{}}")[0]
    ]
    assert spelled == [
        ("seed", "training.seed", "seed: {}"),
        ("bf16", "precision.mode", None),
        ("optim", "optimizer.name", "optim: {}"),
        ("optim", "optimizer.library", None),
        ("deepspeed", "distributed.strategy", None),
        ("seed", "training.seed", "seed: {}"),
    ]


def test_a_none_that_is_written_out() -> None:
    place = Location(path="train.yaml", line=1)
    said, skipped = fed(FEEDS, "max_length", None, place)
    assert {one.key: one.value for one in said} == {"data.sequence_length": None, "data.truncated": False}
    assert not skipped
    assert fed(FEEDS, "packing", None, place) == ([], [])
    said, _ = fed(FEEDS, "max_length", 1024, place)
    assert {one.key: one.value for one in said} == {"data.sequence_length": 1024, "data.truncated": True}
