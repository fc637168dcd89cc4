"""DeepSpeed's JSON with its nested keys, its comments, and GPT-NeoX's YAML."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import Location, Skipped
from gradcompat.scanners.configs import deepspeed
from tests.scanners.scanned import fixture, lines, stated


def scan_text(text: str) -> dict[str, object]:
    return dict(stated(deepspeed.scan(Document("ds.json", text))))


def test_a_config() -> None:
    context = deepspeed.scan(fixture("deepspeed/zero3.json"))
    assert (context.source, context.kind, context.run, context.skipped) == ("zero3.json", "deepspeed", False, ())
    assert lines(context) == [
        (5, "distributed.strategy", "deepspeed"),
        (6, "deepspeed.zero_stage", 3),
        (8, "deepspeed.offload_optimizer", "cpu"),
        (9, "deepspeed.offload_param", "none"),
        (10, "deepspeed.overlap_comm", True),
        (11, "deepspeed.contiguous_gradients", True),
        (15, "optimizer.name", "AdamW"),
        (15, "optimizer.library", "deepspeed"),
        (19, "deepspeed.grad_accum_dtype", "fp32"),
        (21, "deepspeed.gradient_clipping", 1.0),
        (22, "training.per_device_train_batch_size", 2),
        (6, "deepspeed.own_scheduler", False),
        (20, "deepspeed.same_accumulation", True),
        (6, "deepspeed.gather_16bit_weights", False),
    ]
    stage = context.settings[1]
    assert (stage.location, stage.spelling) == (Location(path="zero3.json", line=6, column=14), '"stage": {}')


def test_comments_and_trailing_commas_are_read_over_and_told() -> None:
    context = deepspeed.scan(fixture("deepspeed/commented.json"))
    assert lines(context) == [
        (3, "distributed.strategy", "deepspeed"),
        (4, "deepspeed.zero_stage", 2),
        (5, "deepspeed.offload_optimizer", "cpu"),
        (6, "deepspeed.overlap_comm", True),
        (9, "deepspeed.communication_data_type", "bf16"),
        (10, "optimizer.name", "AdamW"),
        (10, "optimizer.library", "torch"),
        (10, "optimizer.weight_decay", 0.01),
        (11, "training.gradient_accumulation_steps", 10),
        (4, "deepspeed.gradient_clipping", 0.0),
        (4, "deepspeed.own_scheduler", False),
    ]
    reason = "DeepSpeed itself ignores it, transformers and accelerate reject such a file"
    assert context.skipped == (
        Skipped(what="comments", reason=reason, gap=False, location=Location(path="commented.json", line=2)),
        Skipped(
            what="a comma after the last element",
            reason=reason,
            gap=False,
            location=Location(path="commented.json", line=6),
        ),
    )


@pytest.mark.parametrize(
    ("sizes", "steps"),
    [
        ('"train_micro_batch_size_per_gpu": 4', 1),
        ('"train_batch_size": 32', 1),
        ('"train_micro_batch_size_per_gpu": 4, "train_batch_size": 32', None),
        ('"train_micro_batch_size_per_gpu": "auto"', None),
        ('"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": "auto"', None),
    ],
)
def test_a_file_that_names_one_size_accumulates_nothing(sizes: str, steps: int | None) -> None:
    context = deepspeed.scan(Document(path="ds.json", text=f'{{{sizes}, "zero_optimization": {{"stage": 2}}}}'))
    said = [one for one in context.settings if one.key == "training.gradient_accumulation_steps"]
    assert [(one.value, one.presumed) for one in said] == ([] if steps is None else [(steps, True)])


def test_gpt_neox() -> None:
    context = deepspeed.scan(fixture("deepspeed/neox.yml"))
    assert (context.kind, context.run, context.skipped) == ("gpt-neox", True, ())
    assert lines(context) == [
        (4, "deepspeed.pipeline_stages", 2),
        (6, "data.sequence_length", 2048),
        (7, "training.gradient_checkpointing", True),
        (8, "training.per_device_train_batch_size", 4),
        (9, "training.gradient_accumulation_steps", 2),
        (10, "distributed.strategy", "deepspeed"),
        (10, "deepspeed.zero_stage", 1),
        (10, "deepspeed.overlap_comm", True),
        (11, "precision.mode", "bf16"),
        (12, "deepspeed.grad_accum_dtype", "fp32"),
        (13, "deepspeed.communication_data_type", "fp32"),
        (None, "training.framework", "megatron"),
    ]
    assert context.settings[0].spelling == '"pipe-parallel-size": {}'


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ('"bf16": {"enabled": true}, "fp16": {"enabled": false}', "bf16"),
        ('"bfloat16": {"enabled": true}', "bf16"),
        ('"fp16": {"enabled": true}', "fp16"),
        ('"bf16": {"enabled": false}, "fp16": {"enabled": false}', "no"),
        ('"amp": {"enabled": true}, "fp16": {"enabled": false}, "bf16": {"enabled": false}', None),
    ],
)
def test_precision(text: str, mode: str | None) -> None:
    assert scan_text(f'{{"steps_per_print": 1, {text}}}') == {"precision.mode": mode, "deepspeed.zero_stage": 0}


def test_one_switch_that_is_off_says_nothing() -> None:
    assert scan_text('{"steps_per_print": 1, "fp16": {"enabled": false}}') == {"deepspeed.zero_stage": 0}


def test_a_config_without_zero_is_stage_0() -> None:
    assert scan_text('{"steps_per_print": 1}') == {"deepspeed.zero_stage": 0}
    assert "deepspeed.zero_stage" not in scan_text('{"zero_optimization": {"overlap_comm": true}}')


def test_ways_of_former_versions() -> None:
    assert scan_text('{"zero_optimization": true}') == {"deepspeed.zero_stage": 1, "distributed.strategy": "deepspeed"}
    assert scan_text('{"zero_optimization": {"stage": 2, "cpu_offload": true}}') == {
        "distributed.strategy": "deepspeed",
        "deepspeed.zero_stage": 2,
        "deepspeed.offload_optimizer": "cpu",
        "deepspeed.gradient_clipping": 0.0,
        "deepspeed.own_scheduler": False,
    }


@pytest.mark.parametrize(
    ("text", "gathers"),
    [
        ('"stage": 3', False),
        ('"stage": 3, "stage3_gather_16bit_weights_on_model_save": true', True),
        ('"stage": 3, "stage3_gather_16bit_weights_on_model_save": false', False),
        ('"stage": 3, "stage3_gather_fp16_weights_on_model_save": true', True),
        ('"stage": 2', None),
    ],
)
def test_a_stage_3_gathers_weights_where_it_is_told_to(text: str, gathers: bool | None) -> None:
    assert scan_text(f'{{"zero_optimization": {{{text}}}}}').get("deepspeed.gather_16bit_weights") is gathers


def test_what_nobody_understands_is_a_gap() -> None:
    context = deepspeed.scan(Document("ds.json", '{"zero_optimization": {"stage": [2],\n "overlap_comm": "maybe"}}'))
    assert [(one.what, one.gap, one.location) for one in context.skipped] == [
        ("zero_optimization.stage", True, Location(path="ds.json", line=1, column=33)),
        ("zero_optimization.overlap_comm", True, Location(path="ds.json", line=2, column=18)),
    ]


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("a.json", '{"train_batch_size": 8}', "`a.json`: is not a DeepSpeed config"),
        ("a.json", '{"deepspeed": {"zero_optimization": {"stage": 2}}}', "`a.json`: is not a DeepSpeed config"),
        ("a.yaml", "zero_optimization: {stage: 2}", "`a.yaml`: is not a DeepSpeed config"),
        ("a.yaml", "name: x\nseed: 1\nprecision: bf16", "`a.yaml`: is not a DeepSpeed config"),
        ("a.json", '{"zero_optimization": {\n', None),
        ("a.json", "", None),
        ("a.json", "[1]", None),
        ("a.json", '{"a": ' * 100_000, None),
        ("a.yml", "{" * 100_000, None),
        ("a.json", '"\\' * 200_000, None),
        ("a.json", "{/*" * 100_000, None),
    ],
)
def test_what_is_no_config_is_refused(path: str, text: str, message: str | None) -> None:
    with pytest.raises(Malformed) as caught:
        deepspeed.scan(Document(path, text))
    assert message is None or str(caught.value) == message


@pytest.mark.parametrize(
    ("zero", "offload"),
    [
        ('{"stage": 2, "overlap_comm": true}', "none"),
        ('{"stage": 2, "offload_optimizer": {"pin_memory": true}}', "none"),
        ('{"stage": 2, "offload_optimizer": {"device": "cpu"}}', "cpu"),
        ('{"stage": 2, "offload_optimizer": {"device": "auto"}}', None),
        ('{"stage": 2, "cpu_offload": true}', "cpu"),
        ('{"overlap_comm": true}', "absent"),
    ],
)
def test_a_stage_without_offloading_keeps_the_optimizer(zero: str, offload: str | None) -> None:
    settings = scan_text(f'{{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {zero}}}')
    assert settings.get("deepspeed.offload_optimizer", "absent") == offload


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [('"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}}, ', True), ("", False)],
)
def test_whose_scheduler_it_is(scheduler: str, expected: bool) -> None:
    said = scan_text(f'{{{scheduler}"zero_optimization": {{"stage": 2}}, "train_micro_batch_size_per_gpu": 1}}')
    assert said["deepspeed.own_scheduler"] is expected


@pytest.mark.parametrize(
    ("parameters", "peak"),
    [
        ('"warmup_num_steps": 5', None),
        ('"warmup_max_lr": 0.001', True),
        ('"warmup_max_lr": [0.1, 0.2]', True),
        ('"warmup_max_lr": "auto"', True),
    ],
)
def test_the_peak_of_a_schedule(parameters: str, peak: bool | None) -> None:
    text = f'{{"zero_optimization": {{"stage": 1}}, "scheduler": {{"type": "WarmupLR", "params": {{{parameters}}}}}}}'
    assert scan_text(text).get("optimizer.warmup_peak") == peak
