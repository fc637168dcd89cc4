"""Requires-Dist for a target: markers, extras, and lines that are none."""

from __future__ import annotations

import re

import pytest
from packaging.version import Version

from gradcompat.index.snapshot import Snapshot
from gradcompat.model.release import Target
from gradcompat.names import normalise
from gradcompat.planner import requirements
from gradcompat.planner.requirements import Need, allows, needs_of

LINUX = Target(python="3.11.7")
EXTRA = re.compile(r"extra == ['\"]([A-Za-z0-9._-]+)")


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
    assert needs.with_extras(frozenset({"torch", "dev-tools"})) == (
        Need("numpy", "<2.0,>=1.17"),
        Need("triton", "==3.1.0"),
        Need("ruff", "==0.5", (), "dev-tools"),
        Need("accelerate", ">=0.26", ("deepspeed",), "torch"),
    )
    assert [str(need) for need in needs.with_extras(frozenset())] == ["numpy<2.0,>=1.17", "triton==3.1.0"]
    assert [str(need) for need in needs.with_extras(frozenset({"torch"}))][2:] == ["accelerate[deepspeed]>=0.26"]


def test_what_waits_for_an_extra_is_what_reading_all_of_it_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of every fifth release in the snapshot, with some of the extras that they speak of."""
    snapshot = Snapshot()
    cases = [
        (lines, frozenset(sorted({normalise(extra) for line in lines for extra in EXTRA.findall(line)})[::2]))
        for name in snapshot.names[::5]
        for release in snapshot.releases(name)[-3:]
        if (lines := snapshot.requires(release))
    ]
    found = [set(needs_of(lines, LINUX).with_extras(extras)) for lines, extras in cases]
    monkeypatch.setattr(requirements, "_ONE_EXTRA", re.compile("(?!)"))
    assert found == [set(needs_of(lines, LINUX).with_extras(extras)) for lines, extras in cases]
    assert sum(map(len, found)) > 500


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
