"""Recipes that train on several processes, or through DeepSpeed: really run, and what is planted is found.

DeepSpeed is measured where it is installed, or lies in a folder that ``GRADCOMPAT_PROBE_LAYERS`` names: its defects are
found in the releases that have them, and in no other.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from gradcompat.model.probe import Measurement, Outcome, ParameterValue, ProbeSpec
from gradcompat.probes.runner import Interpreter, Job, run
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge, wrong_values
from tests.probes.really import ran

Parameters = Mapping[str, ParameterValue]

RANKS = str(Path(__file__).parents[1] / "fixtures" / "probes" / "ranks.py")

RIGHT: tuple[Parameters, ...] = (
    {"engine": "ddp", "accumulation": 2},
    {"engine": "ddp", "processes": 3},
    {"engine": "fsdp1", "accumulation": 2},
    {"engine": "fsdp2", "accumulation": 2},
)
PLANTED: tuple[tuple[str, Parameters, tuple[str, ...]], ...] = (
    (
        "data_parallel_equivalence",
        {"engine": "ddp", "accumulation": 2, "plant": "dropped"},
        ("update_ratio", "update_cosine", "tensor_ratio", "second_update_ratio"),
    ),
    (
        "data_parallel_equivalence",
        {"engine": "ddp", "plant": "unsynchronised"},
        ("update_ratio", "update_cosine", "tensor_ratio", "second_update_ratio", "rank_difference"),
    ),
    (
        "deepspeed_step",
        {"accumulation": 4, "plant": True},
        ("update_ratio", "update_cosine", "last_update_ratio"),
    ),
    ("infinite_gradient", {"plant": True}, ("spared",)),
    ("deepspeed_schedules", {"plant": True}, ("warm_rate_error",)),
    ("deepspeed_accumulation", {"plant": True}, ("loss_ratio", "update_ratio")),
)
# Releases of DeepSpeed, and the values that are wrong in them.
OF_RELEASES: tuple[tuple[str, Parameters, str, tuple[str, ...]], ...] = (
    ("deepspeed_step", {"stage": 0, "dtype": "float16", "optimizer": "fused"}, ">=0.17.6,<0.18.2", ("moved",)),
    ("deepspeed_step", {"stage": 0, "dtype": "float16"}, ">=0.18.3", ("update_ratio",)),
    ("deepspeed_step", {"stage": 0, "dtype": "bfloat16"}, ">=0.17.6,<0.18.6", ("last_update_ratio",)),
    ("deepspeed_step", {"accumulation": 4, "offload": True}, ">=0.15.2,<0.19.0", ("update_ratio", "update_cosine")),
    (
        "deepspeed_step",
        {"stage": 1, "dtype": "bfloat16", "communication_data_type": "float32", "bucket": "small"},
        ">=0.17.2,<0.18.2",
        ("completed",),
    ),
    (
        "data_parallel_equivalence",
        {"engine": "deepspeed", "stage": 1, "dtype": "bfloat16", "grad_accum_dtype": "float32"},
        ">=0.18.3,<0.19.0",
        ("update_ratio", "update_cosine"),
    ),
    ("data_parallel_equivalence", {"engine": "pipeline", "accumulation": 4}, ">=0.16.0,<0.19.3", ("tensor_ratio",)),
    ("data_parallel_equivalence", {"engine": "deepspeed", "stage": 3, "accumulation": 2}, "<0", ()),
    ("deepspeed_step", {"stage": 2, "accumulation": 4}, ">=0.17.6,<0.18.3", ("update_ratio", "update_cosine")),
    ("deepspeed_step", {"stage": 1, "accumulation": 4, "loss": "inside"}, ">=0.18.3,<0.19.6", ("update_ratio",)),
    ("deepspeed_step", {"stage": 1, "accumulation": 4, "divided_by": "loop"}, "==0.18.3", ("update_ratio",)),
    ("deepspeed_schedules", {"schedule": "WarmupLR"}, ">=0.17.2,<0.19.4", ("warm_rate_error",)),
    ("deepspeed_schedules", {"schedule": "WarmupCosineLR"}, ">=0.15.3,<0.19.0", ("first_rate_error",)),
    ("infinite_gradient", {"stage": 1}, ">=0.13.2,<0.16.6", ("spared",)),
)


def measured(name: str, parameters: Parameters) -> tuple[Measurement, Outcome, str]:
    spec = ProbeSpec(name=name, parameters=parameters)
    (measurement,) = ran((spec,)).values()
    if measurement.state == "skipped":
        pytest.skip(measurement.reason)
    return measurement, *judge(recipe_of(spec), measurement)


@pytest.mark.probe
@pytest.mark.parametrize("parameters", RIGHT, ids=str)
def test_several_processes_train_as_one(parameters: Parameters) -> None:
    _, outcome, reason = measured("data_parallel_equivalence", parameters)
    assert outcome == "not_reproduced", reason


@pytest.mark.probe
@pytest.mark.parametrize(("name", "parameters", "values"), PLANTED, ids=str)
def test_what_is_planted_is_found(name: str, parameters: Parameters, values: tuple[str, ...]) -> None:
    measurement, outcome, reason = measured(name, parameters)
    assert outcome == "reproduced", reason
    assert wrong_values(recipe_of(measurement.spec), measurement) == values


@pytest.mark.probe
@pytest.mark.parametrize(("name", "parameters", "releases", "values"), OF_RELEASES, ids=str)
def test_a_defect_is_found_in_the_releases_that_have_it(
    name: str, parameters: Parameters, releases: str, values: tuple[str, ...]
) -> None:
    measurement, _, _ = measured(name, parameters)
    recipe = recipe_of(measurement.spec)
    has_it = measurement.packages["deepspeed"] in SpecifierSet(releases)
    assert judge(recipe, measurement, values)[0] == ("reproduced" if has_it else "not_reproduced")


@pytest.mark.probe
def test_one_process_has_nobody_to_train_with() -> None:
    job = Job(spec=ProbeSpec(name="any", parameters={"processes": 1}), recipe="data_parallel", alone=True)
    (measurement,) = run([job], Interpreter(path=Path(os.environ["GRADCOMPAT_PROBE_PYTHON"])))
    assert (measurement.state, measurement.reason) == ("skipped", "one process has nobody to train with")


def alive(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(process: str) -> bool:
    """A process that was killed needs a moment to be reaped by whoever inherited it."""
    ends = time.monotonic() + 20
    while alive(process) and time.monotonic() < ends:
        time.sleep(0.02)
    return not alive(process)


def ranks(tmp_path: Path, mode: str, seconds: float = 60.0) -> tuple[Measurement, list[str]]:
    """A recipe that starts two more of itself; what came of it, and the processes that it had."""
    spec = ProbeSpec(name="ranks", parameters={"processes": 3, "mode": mode, "folder": str(tmp_path)})
    (measurement,) = run(
        [Job(spec=spec, recipe=RANKS, seconds=seconds, alone=True)], Interpreter(path=Path(sys.executable))
    )
    return measurement, [path.read_text() for path in sorted(tmp_path.glob("rank-*"))]


@pytest.mark.e2e  # ranks are processes, and one that hangs is waited for
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    ("mode", "seconds", "state", "reason"),
    [
        ("ends", 60.0, "measured", ""),
        ("leaves", 60.0, "measured", ""),
        ("hangs", 5.0, "hung", "did not end within 5 s"),
        ("dies", 60.0, "crashed", "the process was killed by SIGKILL"),
        ("raises", 60.0, "failed", "ValueError: rank 0 is tired"),
    ],
)
def test_no_rank_outlives_the_run(tmp_path: Path, mode: str, seconds: float, state: str, reason: str) -> None:
    measurement, processes = ranks(tmp_path, mode, seconds)
    assert (measurement.state, measurement.reason) == (state, reason)
    assert len(processes) == 3
    assert [process for process in processes if not gone(process)] == []
