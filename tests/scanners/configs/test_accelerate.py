"""What `accelerate config` writes: a part of a run, with FSDP, DeepSpeed, or a file of DeepSpeed's."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.scanners.configs import accelerate
from tests.scanners.scanned import fixture, lines, stated


def test_fsdp() -> None:
    context = accelerate.scan(fixture("accelerate/fsdp.yaml"))
    assert (context.source, context.kind, context.run, context.skipped) == ("fsdp.yaml", "accelerate", False, ())
    assert lines(context) == [
        (2, "distributed.strategy", "fsdp"),
        (5, "training.torch_compile", True),
        (7, "training.gradient_checkpointing", True),
        (7, "fsdp.activation_checkpointing", True),
        (8, "fsdp.auto_wrap", True),
        (10, "fsdp.sharding_strategy", "FULL_SHARD"),
        (11, "fsdp.state_dict_type", "SHARDED_STATE_DICT"),
        (12, "fsdp.use_orig_params", False),
        (13, "fsdp.version", 1),
        (15, "precision.mode", "bf16"),
        (17, "distributed.processes", 16),
    ]
    assert context.settings[-1].spelling == "num_processes: {}"


def test_deepspeed() -> None:
    context = accelerate.scan(fixture("accelerate/zero2.yaml"))
    assert lines(context) == [
        (3, "training.gradient_accumulation_steps", 8),
        (4, "deepspeed.gradient_clipping", 1.0),
        (5, "deepspeed.offload_optimizer", "cpu"),
        (6, "deepspeed.offload_param", "none"),
        (8, "deepspeed.zero_stage", 2),
        (9, "distributed.strategy", "deepspeed"),
        (10, "precision.mode", "no"),
        (11, "distributed.processes", 4),
    ]


@pytest.mark.parametrize(
    ("text", "gathers"),
    [
        ("{zero_stage: 3}", False),
        ("{zero_stage: 3, zero3_save_16bit_model: true}", True),
        ("{zero_stage: 3, zero3_save_16bit_model: false}", False),
        ("{zero_stage: 2}", None),
        ("{deepspeed_config_file: ds.json}", None),
    ],
)
def test_zero_3_gathers_weights_where_it_is_told_to(text: str, gathers: bool | None) -> None:
    written = f"distributed_type: DEEPSPEED\nmixed_precision: bf16\ndeepspeed_config: {text}\n"
    context = accelerate.scan(Document("a.yaml", written))
    assert dict(stated(context)).get("deepspeed.gather_16bit_weights") is gathers


def test_a_file_of_deepspeed() -> None:
    context = accelerate.scan(fixture("accelerate/file.yaml"))
    assert context.refers_to == ("configs/zero3.json",)
    assert lines(context) == [(5, "distributed.strategy", "deepspeed"), (6, "distributed.processes", 8)]


@pytest.mark.parametrize(
    ("written", "strategy"),
    [("NO", "none"), ("'NO'", "none"), ("MULTI_GPU", "ddp"), ("MEGATRON_LM", "megatron_lm"), ("${type}", None)],
)
def test_strategies(written: str, strategy: str | None) -> None:
    context = accelerate.scan(Document("a.yaml", f"distributed_type: {written}\nmixed_precision: fp8\n"))
    assert stated(context) == {"distributed.strategy": strategy, "precision.mode": "fp8"}


@pytest.mark.parametrize(("strategy", "expected"), [("FSDP", [(1, True)]), ("MULTI_GPU", [])])
def test_fsdp_is_that_of_version_1_unless_it_says_otherwise(strategy: str, expected: list[tuple[int, bool]]) -> None:
    context = accelerate.scan(Document(path="a.yaml", text=f"distributed_type: {strategy}\nnum_processes: 4\n"))
    assert [(one.value, one.presumed) for one in context.settings if one.key == "fsdp.version"] == expected


def test_a_switch_of_fsdp_2_is_no_strategy() -> None:
    text = "distributed_type: FSDP\nfsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: true}\n"
    context = accelerate.scan(Document("a.yaml", text))
    said = {"distributed.strategy": "fsdp", "fsdp.version": 2, "fsdp.state_dict_type": "SHARDED_STATE_DICT"}
    assert stated(context) == said


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("{fsdp_version: 2}", [("SHARDED_STATE_DICT", True)]),
        ("{fsdp_version: 2, fsdp_state_dict_type: FULL_STATE_DICT}", [("FULL_STATE_DICT", False)]),
        ("{fsdp_version: 1}", [("FULL_STATE_DICT", True)]),
        ("{fsdp_sharding_strategy: FULL_SHARD}", [("FULL_STATE_DICT", True)]),
        ("{fsdp_version: 1, fsdp_state_dict_type: SHARDED_STATE_DICT}", [("SHARDED_STATE_DICT", False)]),
    ],
)
def test_how_fsdp_saves_unless_it_says_otherwise(config: str, expected: list[tuple[str, bool]]) -> None:
    context = accelerate.scan(Document("a.yaml", f"distributed_type: FSDP\nfsdp_config: {config}\n"))
    assert [(one.value, one.presumed) for one in context.settings if one.key == "fsdp.state_dict_type"] == expected


@pytest.mark.parametrize(("written", "split"), [("cp_size: 2", "context_parallel"), ("sp_size: 4", "ulysses")])
def test_processes_that_share_a_sequence(written: str, split: str) -> None:
    text = f"distributed_type: FSDP\nnum_processes: 8\nparallelism_config: {{parallelism_config_{written}}}\n"
    assert stated(accelerate.scan(Document("a.yaml", text)))["distributed.sequence_split"] == split
    alone = text.replace(written, written[:-1] + "1")
    assert "distributed.sequence_split" not in stated(accelerate.scan(Document("a.yaml", alone)))


def test_json_is_taken_as_well() -> None:
    text = '{"compute_environment": "LOCAL_MACHINE",\n\t"num_processes": 2}'
    assert lines(accelerate.scan(Document("a.json", text))) == [(2, "distributed.processes", 2)]


@pytest.mark.parametrize("text", ["num_processes: 2", "distributed_type: FSDP", "- 1", "", "a: [", "a: *a"])
def test_what_is_no_config_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        accelerate.scan(Document("a.yaml", text))
