"""Requires-Dist for a target: markers, extras, and lines that are none."""

from __future__ import annotations

from packaging.version import Version

from gradcompat.model.release import Target
from gradcompat.planner.requirements import Need, Needs, allows, needs_of

LINUX = Target(python="3.11.7")


def test_markers_and_extras() -> None:
    lines = [
        "NumPy<2.0,>=1.17",
        "triton==3.1.0; platform_system == 'Linux' and python_version < '3.13'",
        "pefile; sys_platform == 'win32'",
        "Accelerate[DeepSpeed] (>=0.26) ; extra == 'torch'",
        'ruff==0.5 ; extra == "dev.tools" and python_version >= "3.9"',
        'numpy>=1.17,<2.0; "dev_tools" == extra',
    ]
    needs = needs_of(lines, LINUX)
    assert needs == Needs(
        (
            Need("numpy", "<2.0,>=1.17"),
            Need("triton", "==3.1.0"),
            Need("accelerate", ">=0.26", ("deepspeed",), "torch"),
            Need("ruff", "==0.5", (), "dev-tools"),
        )
    )
    assert [str(need) for need in needs.with_extras(frozenset())] == ["numpy<2.0,>=1.17", "triton==3.1.0"]
    assert [str(need) for need in needs.with_extras(frozenset({"torch"}))][2:] == ["accelerate[deepspeed]>=0.26"]


def test_lines_that_cannot_be_read_are_kept() -> None:
    lines = ["regex (!=2019.12.17", "", "a" * 20_000, "numpy; python_version ~ 3", "six", "x" + "(" * 5_000]
    needs = needs_of(lines, LINUX)
    assert needs.all == (Need("six", ""),)
    assert [line[:12] for line in needs.unreadable] == [line[:12] for line in lines if line != "six"]
    assert max(map(len, needs.unreadable)) == 200


def test_versions_are_compared_as_pip_does() -> None:
    assert allows("==2.5.1", Version("2.5.1+cu124"))
    assert allows(">=1.0", Version("2.0rc1"))
    assert not allows(">=2.0", Version("2.0rc1"))
    assert allows("", Version("0.1.dev0"))
