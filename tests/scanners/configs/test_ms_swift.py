"""ms-swift's arguments: as written for a run, and as a run writes them down."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import Location, Setting
from gradcompat.scanners.configs import ms_swift
from tests.scanners.scanned import fixture, lines, stated


def test_the_arguments_of_a_run() -> None:
    context = ms_swift.scan(fixture("ms_swift/args.json"))
    assert (context.source, context.kind, context.run, context.skipped) == ("args.json", "ms-swift", True, ())
    assert context.refers_to == ("Qwen/Qwen2.5-VL-7B-Instruct/config.json",)
    assert lines(context) == [
        (3, "training.per_device_train_batch_size", 1),
        (4, "training.gradient_accumulation_steps", 16),
        (5, "training.gradient_checkpointing", True),
        (6, "training.use_reentrant", False),
        (8, "training.num_train_epochs", 1.0),
        (9, "optimizer.scheduler", "cosine"),
        (10, "precision.mode", "bf16"),
        (12, "optimizer.name", "adamw_torch_fused"),
        (12, "optimizer.library", "torch"),
        (12, "optimizer.fused", True),
        (15, "distributed.strategy", "deepspeed"),
        (17, "deepspeed.zero_stage", 3),
        (18, "deepspeed.offload_optimizer", "cpu"),
        (19, "deepspeed.overlap_comm", False),
        (22, "model.name", "Qwen/Qwen2.5-VL-7B-Instruct"),
        (22, "model.architecture", ("Qwen2_5_VLForConditionalGeneration",)),
        (24, "peft.method", "lora"),
        (26, "model.torch_dtype", "bfloat16"),
        (27, "model.attn_implementation", "flash_attention_2"),
        (32, "training.padding_free", False),
        (33, "data.sequence_length", 2048),
        (34, "distributed.processes", 8),
    ]


@pytest.mark.parametrize(("more", "driven"), [("", ["transformers.Trainer"]), ("rlhf_type: dpo\n", [])])
def test_the_trainer_of_a_run_that_names_no_method_is_presumed(more: str, driven: list[str]) -> None:
    text = f"model: acme/m\ntrain_type: lora\ndataset: [a]\ntorch_dtype: bfloat16\nlearning_rate: 1e-4\n{more}"
    context = ms_swift.scan(Document(path="swift.yaml", text=text))
    presumed = [one.value for one in context.settings if one.key == "training.framework" and one.presumed]
    assert presumed == driven


def test_a_config() -> None:
    context = ms_swift.scan(fixture("ms_swift/dpo.yaml"))
    assert (context.source, context.kind, context.run, context.skipped) == ("dpo.yaml", "ms-swift", True, ())
    assert context.refers_to == ("Qwen/Qwen2.5-7B-Instruct/config.json",)
    assert lines(context) == [
        (1, "training.method", "dpo"),
        (2, "model.name", "Qwen/Qwen2.5-7B-Instruct"),
        (2, "model.architecture", ("Qwen2ForCausalLM",)),
        (3, "peft.method", "none"),
        (5, "model.torch_dtype", "bfloat16"),
        (6, "training.num_train_epochs", 1.0),
        (7, "distributed.strategy", "deepspeed"),
        (7, "deepspeed.zero_stage", 2),
        (7, "deepspeed.offload_optimizer", "cpu"),
        (8, "quantization.method", "bitsandbytes"),
        (9, "quantization.bits", 4),
        (10, "quantization.double_quant", False),
    ]


@pytest.mark.parametrize(
    ("deepspeed", "stage", "offload"),
    [
        ("zero0", 0, "none"),
        ("zero1", 1, "none"),
        ("zero3", 3, "none"),
        ("zero3_offload", 3, "cpu"),
        ("my.json", None, None),
    ],
)
def test_the_deepspeed_configs_that_it_brings(deepspeed: str, stage: int | None, offload: str | None) -> None:
    text = (
        f"train_type: lora\nmodel: m\ndataset: d\ntorch_dtype: bfloat16\nlearning_rate: 1e-4\ndeepspeed: {deepspeed}\n"
    )
    settings = stated(ms_swift.scan(Document("c.yaml", text)))
    assert settings["distributed.strategy"] == "deepspeed"
    assert (settings.get("deepspeed.zero_stage"), settings.get("deepspeed.offload_optimizer")) == (stage, offload)


@pytest.mark.parametrize(
    "text",
    [
        "model: m\ndataset: d\ntemplate: t\nlearning_rate: 1\n",
        "train_type: lora\nmodel: m\nlearning_rate: 1\n",
        "train_type: lora\nmodel: m\ndataset: d\ntemplate: t\nsampler_type: sample\n",
    ],
)
def test_what_does_not_train_is_refused(text: str) -> None:
    with pytest.raises(Malformed) as caught:
        ms_swift.scan(Document("c.yaml", text))
    assert str(caught.value) == "`c.yaml`: has no training arguments of ms-swift"


@pytest.mark.parametrize(
    ("padding", "side"), [("", ("right", True)), ("padding_side: left\n", ("left", False))], ids=["unsaid", "left"]
)
def test_a_reranker_is_padded_on_the_right_unless_it_is_told_otherwise(padding: str, side: tuple[str, bool]) -> None:
    text = f"train_type: full\ntask_type: generative_reranker\ndataset: a\nlearning_rate: 1e-5\ntemplate: x\n{padding}"
    settings = {one.key: one for one in ms_swift.scan(Document("a.yaml", text)).settings}
    assert settings["training.method"].value == "generative_reranker"
    assert (settings["data.padding_side"].value, settings["data.padding_side"].presumed) == side


@pytest.mark.parametrize(
    ("stated", "steps"),
    [
        ({}, 16),
        ({"training.per_device_train_batch_size": 3, "distributed.processes": 2}, 3),
        ({"training.per_device_train_batch_size": 32}, 1),
        ({"training.gradient_accumulation_steps": 4}, None),
        ({"distributed.processes": None}, None),
        ({"training.method": "grpo"}, None),
    ],
)
def test_sixteen_samples_make_a_step_where_no_steps_are_said(stated: dict[str, int | None], steps: int | None) -> None:
    place = Location(path="sft.sh")
    found = ms_swift.micro_batches([Setting(key=key, value=value, location=place) for key, value in stated.items()])
    old = [one.value for one in found if all(question.holds("2.6.1") for question in one.where)]
    assert old == ([] if steps is None else [steps])
    found = ms_swift.micro_batches([Setting(key=key, value=value, location=place) for key, value in stated.items()])
    between = [one.value for one in found if all(question.holds("3.2.1") for question in one.where)]
    assert between == ([] if steps is None else [1])


@pytest.mark.parametrize(
    ("method", "arguments", "said"),
    [
        ("sft", {}, True),
        ("pretrain", {"task_type": "causal_lm"}, True),
        (None, {"rlhf_type": None}, True),
        ("dpo", {"rlhf_type": "dpo"}, False),
        (None, {"rlhf_type": "dpo"}, False),
        ("sft", {"task_type": "seq_cls"}, False),
    ],
)
def test_a_step_of_a_language_model_is_divided_by_its_labels(
    method: str | None, arguments: dict[str, object], said: bool
) -> None:
    stated = [] if method is None else [Setting(key="training.method", value=method, location=Location(path="sft.sh"))]
    found = list(ms_swift.weighed_by_labels(stated, arguments))
    assert [one.value for one in found if all(question.holds("2.5.2") for question in one.where)] == [True] * said
    assert not [one for one in found if all(question.holds("2.5.1.post1") for question in one.where)]


def test_the_arguments_of_its_megatron() -> None:
    text = "rlhf_type: grpo\nmodel: Qwen/Qwen3-8B\ndataset: a/b\ntensor_model_parallel_size: 2\nmicro_batch_size: 1\n"
    context = ms_swift.scan(Document("grpo.yaml", text))
    assert ("training.framework", "megatron") in {(one.key, one.value) for one in context.settings}
    assert ("training.method", "grpo") in {(one.key, one.value) for one in context.settings}
