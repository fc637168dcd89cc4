"""The recipes that need torch alone, really run: nothing is found where nothing is wrong, and what is planted is found.

Where torch itself has the defect it is named: those cases hold for the release that they were measured with.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from gradcompat.model.probe import Measurement, Outcome, ParameterValue, ProbeSpec
from gradcompat.probes.runner import Interpreter, Job, run
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge, wrong_values

pytestmark = pytest.mark.probe

Parameters = Mapping[str, ParameterValue]

RIGHT: tuple[tuple[str, Parameters], ...] = (
    ("no_op_training", {"optimizer": "sgd"}),
    ("no_op_training", {"optimizer": "adamw"}),
    ("no_op_training", {"optimizer": "adamw", "rate": 2e-5}),
    ("no_op_training", {"optimizer": "adamw", "frozen": "embeddings"}),
    ("no_op_training", {"optimizer": "adamw", "frozen": "all_but_head"}),
    ("no_op_training", {"optimizer": "adamw", "dtype": "bfloat16"}),
    ("clipping", {"norm": 2}),
    ("clipping", {"norm": 1}),
    ("clipping", {"norm": "inf"}),
    ("clipping", {"dtype": "bfloat16", "size": "large"}),
    ("clipping", {"dtype": "float16"}),
    ("optimizer_step", {"optimizer": "adamw", "variant": "weight_decay"}),
    ("optimizer_step", {"optimizer": "adamw", "variant": "amsgrad"}),
    ("optimizer_step", {"optimizer": "adamw", "variant": "maximize"}),
    ("optimizer_step", {"optimizer": "adamw", "layout": "transposed"}),
    ("optimizer_step", {"optimizer": "adam", "variant": "weight_decay"}),
    ("optimizer_step", {"optimizer": "sgd", "variant": "nesterov"}),
    ("optimizer_step", {"optimizer": "adagrad"}),
    ("optimizer_step", {"optimizer": "rmsprop", "variant": "momentum"}),
    ("mixed_precision", {"dtype": "bfloat16"}),
    ("mixed_precision", {"dtype": "float16"}),
    ("kernels", {"kernel": "sdpa", "mask": "causal"}),
    ("kernels", {"kernel": "sdpa", "mask": "padding"}),
    ("kernels", {"kernel": "sdpa", "mask": "left_padding"}),
    ("kernels", {"kernel": "sdpa_math", "mask": "causal", "heads": "grouped"}),
    ("kernels", {"kernel": "sdpa_flash", "mask": "causal", "layout": "transposed"}),
    ("kernels", {"kernel": "layer_norm"}),
    ("kernels", {"kernel": "rms_norm"}),
    ("recomputation", {"block": "dropout"}),
    ("recomputation", {"block": "dropout", "reentrant": True}),
    ("recomputation", {"block": "rrelu", "early_stop": "false"}),
    ("compiled", {"backend": "aot_eager", "block": "attention"}),
)
# What is broken on purpose, and the values that show it.
PLANTED: tuple[tuple[str, Parameters, tuple[str, ...]], ...] = (
    ("no_op_training", {"plant": "stale_optimizer"}, ("moved_share", "moved_elements")),
    ("no_op_training", {"plant": "detached"}, ("moved_share", "moved_elements")),
    ("no_op_training", {"plant": "zero_rate"}, ("moved_share", "moved_elements")),
    ("clipping", {"plant": True}, ("norm_ratio", "clipped_ratio", "clipped_cosine")),
    (
        "optimizer_step",
        {"plant": "on_copies", "layout": "transposed"},
        ("update_ratio", "update_cosine", "update_error"),
    ),
    (
        "optimizer_step",
        {"plant": "coupled_decay", "variant": "weight_decay"},
        ("update_ratio", "update_cosine", "update_error"),
    ),
    (
        "mixed_precision",
        {"dtype": "float16", "plant": "step_anyway"},
        ("overflow_moved", "clipped_ratio", "masked_nan_moved"),
    ),
    (
        "mixed_precision",
        {"dtype": "float16", "plant": "hide_nan"},
        ("overflow_scale", "masked_nan_scale", "masked_nan_moved"),
    ),
    ("mixed_precision", {"dtype": "float16", "plant": "clip_scaled"}, ("clipped_ratio",)),
    (
        "kernels",
        {"mask": "causal", "plant": "leak"},
        ("output_error", "without_grad_error", "gradient_ratio", "gradient_cosine"),
    ),
    ("kernels", {"mask": "causal", "plant": "detached"}, ("gradient_ratio", "gradient_cosine")),
    ("kernels", {"mask": "causal", "plant": "eval"}, ("without_grad_error",)),
    ("recomputation", {"plant": True}, ("gradient_ratio", "gradient_cosine")),
    (
        "compiled",
        {"backend": "aot_eager", "shapes": 2, "plant": True},
        ("gradient_ratio", "gradient_cosine", "second_gradient_ratio"),
    ),
)
# What torch 2.13 does on a CPU.
OF_TORCH_2_13: tuple[tuple[str, Parameters, tuple[str, ...]], ...] = (
    # An update of 2e-5 is less than half of what two neighbouring numbers are apart there.
    ("no_op_training", {"dtype": "bfloat16", "rate": 2e-5}, ("moved_share", "moved_elements")),
    # The norm is added up in float16: it is infinite, and what is divided by it is nothing.
    ("clipping", {"dtype": "float16", "size": "large"}, ("norm_ratio", "clipped_ratio", "clipped_cosine")),
    # The fused kernels for the CPU go through memory, whatever the strides say; those for CUDA refuse.
    ("optimizer_step", {"implementation": "fused", "layout": "mixed"}, ("update_cosine", "update_error")),
    ("recomputation", {"block": "rrelu"}, ("gradient_ratio", "gradient_cosine")),
)


@pytest.fixture(scope="module")
def measured() -> Mapping[str, Measurement]:
    """Everything in as few processes as possible, since importing torch takes longest."""
    broken = [(name, parameters) for name, parameters, _ in (*PLANTED, *OF_TORCH_2_13)]
    return {str(one.spec): one for one in _run([*RIGHT, *broken])}


def _run(wanted: list[tuple[str, Parameters]], *layers: Path) -> tuple[Measurement, ...]:
    specs = [ProbeSpec(name=name, parameters=parameters) for name, parameters in wanted]
    jobs = [Job.of(spec, recipe_of(spec)) for spec in specs]
    return run(jobs, Interpreter(path=Path(os.environ["GRADCOMPAT_PROBE_PYTHON"]), layers=layers))


def _found(measurement: Measurement) -> tuple[Outcome, tuple[str, ...]]:
    outcome, reason = judge(recipe_of(measurement.spec), measurement)
    if outcome == "skipped":
        pytest.skip(reason)
    return outcome, wrong_values(recipe_of(measurement.spec), measurement)


def _name(parameter: object) -> str | None:
    return "-".join(f"{key}={value}" for key, value in parameter.items()) if isinstance(parameter, dict) else None


@pytest.mark.parametrize(("name", "parameters"), RIGHT, ids=_name)
def test_nothing_is_found_where_nothing_is_wrong(
    measured: Mapping[str, Measurement], name: str, parameters: Parameters
) -> None:
    measurement = measured[str(ProbeSpec(name=name, parameters=parameters))]
    assert _found(measurement) == ("not_reproduced", ()), judge(recipe_of(measurement.spec), measurement)[1]


@pytest.mark.parametrize(("name", "parameters", "values"), PLANTED, ids=_name)
def test_what_is_planted_is_found(
    measured: Mapping[str, Measurement], name: str, parameters: Parameters, values: tuple[str, ...]
) -> None:
    assert _found(measured[str(ProbeSpec(name=name, parameters=parameters))]) == ("reproduced", values)


@pytest.mark.parametrize(("name", "parameters", "values"), OF_TORCH_2_13, ids=_name)
def test_what_torch_2_13_does_is_found(
    measured: Mapping[str, Measurement], name: str, parameters: Parameters, values: tuple[str, ...]
) -> None:
    measurement = measured[str(ProbeSpec(name=name, parameters=parameters))]
    if not measurement.packages.get("torch", "").startswith("2.13."):
        pytest.skip("it was measured with torch 2.13")
    assert _found(measurement) == ("reproduced", values)


def test_inductor_gives_what_the_block_gives() -> None:
    """By itself, since a cold compiler takes a minute and more."""
    (measurement,) = _run([("compiled", {"backend": "inductor", "block": "gated"})])
    assert _found(measurement) == ("not_reproduced", ()), judge(recipe_of(measurement.spec), measurement)[1]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch", ("not_reproduced", "it can be imported: True")),
        (
            "raise RuntimeError('operator torchvision::nms does not exist')",
            (
                "reproduced",
                "it can be imported: False, and the error is RuntimeError: operator torchvision::nms does not exist",
            ),
        ),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            ("reproduced", "the process was killed by SIGSEGV"),
        ),
    ],
    ids=["right", "operators", "crash"],
)
def test_imports_are_answered(tmp_path: Path, source: str, expected: tuple[Outcome, str]) -> None:
    (tmp_path / "torchvision.py").write_text(source + "\n", "utf-8")
    (measurement,) = _run([("imports", {"module": "torchvision"})], tmp_path)
    assert judge(recipe_of(measurement.spec), measurement) == expected


def test_a_broken_torch_is_no_defect_of_what_follows(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so: cannot open shared object file')\n", "utf-8")
    (tmp_path / "torchvision.py").write_text("import torch\n", "utf-8")
    (measurement,) = _run([("imports", {"module": "torchvision"})], tmp_path)
    assert judge(recipe_of(measurement.spec), measurement) == (
        "inconclusive",
        "the control is not right: what is imported before it can be: False",
    )
