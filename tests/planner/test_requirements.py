"""Requires-Dist for a target: markers, extras, and lines that are none."""

from __future__ import annotations

import re

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gradcompat.index.snapshot import Snapshot
from gradcompat.model.release import Target
from gradcompat.planner import requirements
from gradcompat.planner.requirements import Need, allows, needs_of
from gradcompat.requirements.names import normalise

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


WINDOWS = Target(python="3.9.0", platform="win32", machine="AMD64", glibc=None)
PYPY = Target(python="3.13.0", platform="darwin", machine="arm64", glibc=None, implementation="pp")


def snapshot_lines() -> list[str]:
    """Each line of Requires-Dist of the newest releases in the snapshot, and of every twentieth of the others."""
    snapshot = Snapshot()
    releases = [
        release
        for name in snapshot.names
        for release in (*snapshot.releases(name)[:-3:20], *snapshot.releases(name)[-3:])
    ]
    return sorted({line for release in releases for line in snapshot.requires(release) or ()})


def test_plain_lines_are_read_as_packaging_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = snapshot_lines()
    plain = {target: [requirements.needs_of([line], target) for line in lines] for target in (LINUX, WINDOWS, PYPY)}
    read_plainly = sum(requirements._plain(line, LINUX) is not None for line in lines)
    assert read_plainly > 0.95 * len(lines) > 2_000
    monkeypatch.setattr(requirements, "_plain", lambda line, target: None)
    requirements._needs_of_line.cache_clear()
    for target, found in plain.items():
        assert found == [requirements.needs_of([line], target) for line in lines]


def test_plain_specifiers_allow_what_packaging_allows() -> None:
    needs = [need for line in snapshot_lines() for need in needs_of([line], LINUX).all]
    specifiers = sorted({need.specifier for need in needs if need.specifier})
    versions = [
        "0.1",
        "1.0",
        "1.26.4",
        "2.0",
        "2.0.0",
        "2.5.1",
        "2.5.1+cu124",
        "3.11",
        "4.49.0",
        "23.2",
        "1!2.0",
        "2.0rc1",
        "2.0.post1",
        "1.0.dev0",
    ]
    assert len(specifiers) > 500
    for version in map(Version, versions):
        allowed = [specifier for specifier in specifiers if allows(specifier, version)]
        assert allowed == [
            specifier for specifier in specifiers if SpecifierSet(specifier).contains(version, prereleases=True)
        ]


@pytest.mark.parametrize("specifier", ["*", "1.0", ">=1.0 || ==3.0", ">=3.0.*", "~=1"])
def test_what_is_no_specifier_is_refused(specifier: str) -> None:
    with pytest.raises(ValueError, match="specifier"):
        allows(specifier, Version("2.0"))


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
