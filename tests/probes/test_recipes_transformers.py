"""The recipes around transformers, PEFT, TRL and accelerate, really run: in releases with a defect, and in others.

Which releases those are, is up to whoever runs it: ``GRADCOMPAT_PROBE_PYTHON`` names an interpreter with torch, and
``GRADCOMPAT_PROBE_LAYERS`` folders of packages that go before its own. What has to come out follows from the versions.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from packaging.specifiers import SpecifierSet

from gradcompat.model.probe import Measurement, ParameterValue, ProbeSpec
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge
from tests.probes.really import NEEDS_TORCH, ran

pytestmark = NEEDS_TORCH

EVERYWHERE: Mapping[str, str] = {}
NOWHERE = {"torch": "<0"}
REPLAYED_ORDER = {"transformers": "<5.0.0rc1", "accelerate": ">=1.7.0,<1.15.0"}
LOST_MASK = {"transformers": ">=5.9.0,<5.18.0"}
LOST_MASK_OF_DOGE = {"transformers": ">=5.0.0rc0,<5.18.0"}
UNPACKED = {"transformers": "<4.53.1"}
PROBABILITIES = {"transformers": ">=5.0.0rc0,<5.6.0"}
OVERWRITTEN = {"transformers": ">=5.0.0rc0,<5.13.0"}
KEYS_FROM_THE_CACHE = {"transformers": "<5.5.2"}
PADDING_BY_ID = {"trl": "<0.16.1"}
UNSCALED = {"trl": ">=0.12.0,<0.14.0", "transformers": ">=4.46.0"}

# What is run, and the releases in which it has to show the defect: all that are named have to be such releases.
CASES: tuple[tuple[str, Mapping[str, ParameterValue], Mapping[str, str]], ...] = (
    ("resume", {"what": "weights"}, NOWHERE),
    ("resume", {"what": "weights", "plant": True}, EVERYWHERE),
    ("resume", {"what": "rng"}, NOWHERE),
    ("resume", {"what": "rng", "plant": True}, EVERYWHERE),
    ("resume", {"what": "order"}, REPLAYED_ORDER),
    ("resume", {"what": "order", "plant": True}, EVERYWHERE),
    ("attention_masks", {"what": "causal", "model": "llama"}, NOWHERE),
    ("attention_masks", {"what": "causal", "model": "llama", "plant": True}, EVERYWHERE),
    ("attention_masks", {"what": "causal", "model": "bert"}, NOWHERE),
    ("attention_masks", {"what": "causal", "model": "roformer"}, LOST_MASK),
    ("attention_masks", {"what": "causal", "model": "big_bird"}, LOST_MASK),
    ("attention_masks", {"what": "causal", "model": "rembert"}, LOST_MASK),
    ("attention_masks", {"what": "causal", "model": "megatron_bert"}, LOST_MASK),
    ("attention_masks", {"what": "causal", "model": "doge", "attention": "sdpa"}, LOST_MASK_OF_DOGE),
    ("attention_masks", {"what": "causal", "model": "doge", "cache": "default"}, {"transformers": "<5.18.0"}),
    ("attention_masks", {"what": "causal", "model": "doge", "attention": "eager"}, NOWHERE),
    ("attention_masks", {"what": "left_padding", "model": "llama"}, NOWHERE),
    ("attention_masks", {"what": "left_padding", "model": "llama", "plant": True}, EVERYWHERE),
    ("attention_masks", {"what": "right_padding", "model": "llama"}, NOWHERE),
    ("attention_masks", {"what": "right_padding", "model": "llama", "plant": True}, EVERYWHERE),
    ("attention_masks", {"what": "packing", "attention": "sdpa"}, UNPACKED),
    ("attention_masks", {"what": "packing", "attention": "eager"}, UNPACKED),
    ("attention_masks", {"what": "packing", "attention": "sdpa", "cache": "default"}, EVERYWHERE),
    ("attention_masks", {"what": "packing", "attention": "sdpa", "cache": "trainer"}, {"transformers": "<5.0.0rc0"}),
    ("attention_masks", {"what": "packing", "attention": "sdpa", "mask": "ones"}, EVERYWHERE),
    ("attention_masks", {"what": "packing", "attention": "sdpa", "mask": "blocks"}, NOWHERE),
    ("attention_masks", {"what": "packing", "attention": "eager", "mask": "blocks"}, NOWHERE),
    ("attention_masks", {"what": "packing", "mask": "blocks", "plant": True}, EVERYWHERE),
    ("loss_masking", {"what": "shift", "model": "llama"}, NOWHERE),
    ("loss_masking", {"what": "shift", "model": "llama", "plant": True}, EVERYWHERE),
    ("loss_masking", {"what": "shift", "model": "gpt2"}, NOWHERE),
    ("loss_masking", {"what": "end", "through": "transformers"}, EVERYWHERE),
    ("loss_masking", {"what": "end", "through": "trl"}, PADDING_BY_ID),
    ("loss_masking", {"what": "prompt"}, NOWHERE),
    ("loss_masking", {"what": "prompt", "plant": True}, EVERYWHERE),
    ("round_trip", {"what": "weights"}, NOWHERE),
    ("round_trip", {"what": "weights", "plant": True}, EVERYWHERE),
    ("round_trip", {"what": "tied"}, NOWHERE),
    ("round_trip", {"what": "tied", "plant": True}, EVERYWHERE),
    ("round_trip", {"what": "buffers"}, {"transformers": ">=5.0.0rc2"}),
    ("round_trip", {"what": "buffers", "plant": True}, EVERYWHERE),
    ("round_trip", {"what": "dtype"}, {"transformers": ">=5.0.0rc2"}),
    ("round_trip", {"what": "dtype", "plant": True}, EVERYWHERE),
    ("round_trip", {"what": "initialiser"}, OVERWRITTEN),
    ("round_trip", {"what": "initialiser", "writes": "no_grad"}, OVERWRITTEN),
    ("round_trip", {"what": "initialiser", "plant": True}, EVERYWHERE),
    ("round_trip", {"what": "from_config"}, {"transformers": ">=4.49.0"}),
    ("round_trip", {"what": "from_config", "plant": True}, EVERYWHERE),
    ("round_trip", {"what": "tokenizer"}, {"transformers": "==4.57.2"}),
    ("round_trip", {"what": "tokenizer", "plant": True}, EVERYWHERE),
    ("adapters", {"what": "layers"}, {"peft": ">=0.8.0,<0.20.0"}),
    ("adapters", {"what": "layers", "plant": True}, EVERYWHERE),
    ("adapters", {"what": "tokens"}, {"peft": "<0.18.0rc0"}),
    ("adapters", {"what": "tokens", "plant": True}, EVERYWHERE),
    ("adapters", {"what": "merged", "kind": "lora"}, NOWHERE),
    ("adapters", {"what": "merged", "kind": "lora", "plant": True}, EVERYWHERE),
    ("loraplus_rates", {}, {"peft": "<0.21.0"}),
    ("loraplus_rates", {"plant": True}, {"peft": ">=0.12.0"}),
    ("adapter_scaling", {"what": "merged_bias"}, {"peft": ">=0.14.0,<0.16.0"}),
    ("adapter_scaling", {"what": "merged_bias", "plant": True}, {"peft": ">=0.14.0"}),
    ("adapter_scaling", {"what": "set_scale"}, {"peft": "<0.18.0"}),
    ("adapter_scaling", {"what": "set_scale", "plant": True}, {"peft": ">=0.18.0"}),  # before, both cancel out
    ("adapters", {"what": "frozen"}, {"trl": ">=0.20.0,<0.23.1"}),
    ("adapters", {"what": "frozen", "plant": True}, EVERYWHERE),
    ("accumulation_beyond_trainer", {}, NOWHERE),
    ("accumulation_beyond_trainer", {"plant": True}, EVERYWHERE),
    ("accumulation_beyond_trainer", {"sync_each_batch": True}, {"accelerate": ">=0.28.0,<0.31.0"}),
    ("router_loss", {"model": "mixtral"}, PROBABILITIES),
    ("router_loss", {"model": "olmoe"}, PROBABILITIES),
    ("router_loss", {"model": "mixtral", "through": "sft"}, {"trl": "==0.23.0"}),
    ("loading_without", {"package": "sentencepiece"}, NOWHERE),
    ("loading_without", {"package": "sentencepiece", "plant": True}, EVERYWHERE),
    ("switch_router", {}, {"transformers": ">=5.0.0rc0,<5.18.0"}),
    ("switch_router", {"plant": True}, EVERYWHERE),
    ("label_shift", {"model": "llama"}, NOWHERE),
    ("label_shift", {"model": "llama", "plant": True}, EVERYWHERE),
    ("label_shift", {"model": "jetmoe"}, {"transformers": ">=4.48.3,<4.54.0"}),
    ("label_shift", {"model": "moshi"}, {"transformers": ">=4.48.3,<5.17.0"}),
    ("label_shift", {"model": "git"}, {"transformers": ">=4.48.3,<5.15.0"}),
    ("label_shift", {"model": "moonshine"}, {"transformers": "<5.13.0"}),
    ("label_shift", {"model": "vision_encoder_decoder"}, {"transformers": ">=4.50.0,<5.0.0"}),
    ("checkpointed_model", {"model": "llama", "reentrant": "true"}, EVERYWHERE),
    ("checkpointed_model", {"model": "llama", "reentrant": "false"}, NOWHERE),
    ("checkpointed_model", {"model": "llama", "reentrant": "false", "plant": True}, EVERYWHERE),
    ("checkpointed_model", {"what": "cache", "model": "llama"}, NOWHERE),
    ("checkpointed_model", {"what": "cache", "model": "llama", "plant": True}, EVERYWHERE),
    ("checkpointed_model", {"what": "training", "model": "llama"}, NOWHERE),
    ("checkpointed_model", {"what": "training", "model": "llama", "plant": True}, EVERYWHERE),
    ("checkpointed_model", {"what": "cache", "model": "gemma4"}, KEYS_FROM_THE_CACHE),
    ("checkpointed_model", {"model": "gemma4", "reentrant": "false"}, KEYS_FROM_THE_CACHE),
    ("checkpointed_model", {"model": "gemma4", "reentrant": "true"}, EVERYWHERE),
    ("trainer_starts", {}, {"transformers": ">=4.52.0", "accelerate": "<1.3.0"}),
    ("trainer_starts", {"plant": True}, EVERYWHERE),
    ("nan_in_the_log", {"filter": "default"}, EVERYWHERE),
    ("nan_in_the_log", {"filter": "off"}, NOWHERE),
    ("preference_accumulation", {"method": "dpo"}, UNSCALED),
    ("preference_accumulation", {"method": "kto"}, UNSCALED),
    ("preference_accumulation", {"method": "cpo"}, UNSCALED),
    ("preference_accumulation", {"method": "orpo"}, {"trl": ">=0.12.0,<0.20.0", "transformers": ">=4.46.0"}),
    ("preference_router", {"method": "dpo"}, {"trl": ">=0.29.0,<1.8.0"}),
    ("preference_router", {"method": "dpo", "plant": True}, EVERYWHERE),
    ("grpo_temperature", {}, {"trl": "<0.16.0"}),
    ("grpo_temperature", {"plant": True}, {"trl": ">=0.16.0"}),
    ("grpo_reward_scale", {}, {"trl": ">=0.22.0,<0.22.2"}),
    ("grpo_reward_scale", {"plant": True}, {"trl": ">=0.16.0,!=0.22.0,!=0.22.1"}),
    ("sample_ends", {"kind": "text"}, {"trl": "<0.16.0"}),
    ("sample_ends", {"kind": "text", "plant": True}, NOWHERE),
    ("gkd_divergence", {"beta": 0.1}, {"trl": "<0.16.0"}),
    ("gkd_divergence", {"beta": 0.1, "plant": True}, {"trl": ">=0.16.0"}),
    ("embedding_accumulation", {}, {"transformers": ">=4.46.0,<4.53.0"}),
    ("embedding_accumulation", {"plant": True}, EVERYWHERE),
    ("rotary_precision", {"model": "llama"}, {"transformers": ">=4.38.0,<4.38.2"}),
    ("rotary_precision", {"model": "llama", "plant": True}, EVERYWHERE),
    ("padding_in_bf16", {"model": "llama"}, NOWHERE),
    ("padding_in_bf16", {"model": "llama", "plant": True}, EVERYWHERE),
    ("padding_in_bf16", {"model": "stablelm"}, {"transformers": ">=4.42.0,<5.0.0"}),
    ("router_padding", {"model": "mixtral"}, {"transformers": ">=4.37.0,<4.38.0"}),
    ("router_padding", {"model": "mixtral", "plant": True}, EVERYWHERE),
    ("merged_heads", {"trained": "head"}, {"transformers": "<5.0.0"}),
    ("merged_heads", {"trained": "head", "tied": False}, NOWHERE),
    ("merged_heads", {"trained": "head", "tied": False, "plant": True}, EVERYWHERE),
    ("loaded_adapters", {"trained": "head"}, {"transformers": ">=5.0.0rc0,<5.18.0"}),
    ("loaded_adapters", {"trained": "lora"}, NOWHERE),
    ("loaded_adapters", {"trained": "lora", "plant": True}, EVERYWHERE),
    ("older_ties", {"model": "llava"}, NOWHERE),
    ("older_ties", {"model": "llava", "plant": True}, EVERYWHERE),
    ("older_ties", {"model": "internvl"}, {"transformers": "==5.0.0"}),
    ("older_ties", {"model": "smolvlm"}, {"transformers": ">=5.0.0rc0"}),
    ("checkpointing_cache", {"model": "llama"}, {"transformers": ">=4.36.0,<4.36.2"}),
    ("checkpointing_cache", {"model": "llama", "plant": True}, EVERYWHERE),
    ("evaluation_between_steps", {}, {"accelerate": "<0.20.0"}),
    ("evaluation_between_steps", {"plant": True}, EVERYWHERE),
    ("accelerator_state", {}, {"accelerate": "<1.1.0", "torch": ">=2.6.0"}),
    ("accelerator_state", {"plant": True}, EVERYWHERE),
    ("parsed_arguments", {}, {"transformers": ">=4.57.0,<4.57.5"}),
    ("parsed_arguments", {"plant": True}, EVERYWHERE),
    ("evaluation_loss", {}, EVERYWHERE),
    ("stream_epochs", {}, {"accelerate": "<0.24.0"}),
    ("stream_epochs", {"plant": True}, EVERYWHERE),
)
SPECS = tuple(ProbeSpec(name=name, parameters=parameters) for name, parameters, _ in CASES)


@pytest.fixture(scope="module")
def measured() -> Mapping[str, Measurement]:
    """All of them, in one process as far as it lives."""
    return ran(SPECS)


@pytest.mark.parametrize(
    ("spec", "where"), [(spec, where) for spec, (_, _, where) in zip(SPECS, CASES, strict=True)], ids=str
)
def test_a_defect_shows_where_it_is_and_nowhere_else(
    spec: ProbeSpec, where: Mapping[str, str], measured: Mapping[str, Measurement]
) -> None:
    measurement = measured[str(spec)]
    outcome, reason = judge(recipe_of(spec), measurement)
    if outcome == "skipped":
        pytest.skip(reason)
    if measurement.values.get("resumed") == 0:
        pytest.skip(str(measurement.values["error"]))
    affected = all(
        SpecifierSet(wanted).contains(measurement.packages[package], prereleases=True)
        for package, wanted in where.items()
    )
    assert outcome == ("reproduced" if affected else "not_reproduced"), (reason, measurement.output)
