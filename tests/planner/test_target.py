"""What fits a target, without a word from the interpreter that runs the tests."""

from __future__ import annotations

import pytest
from packaging.version import Version

from gradcompat.model.release import Release, Target
from gradcompat.planner.target import described, fit, is_there, marker_environment, pure_interpreters
from gradcompat.planner.wheel_tags import supported_tags
from tests.building import package

LINUX = Target(python="3.11.7", glibc="2.28")
MAC = Target(python="3.12.1", platform="darwin", machine="arm64")
WINDOWS = Target(python="3.10.4", platform="win32", machine="AMD64")
ALPINE = Target(python="3.11.7", glibc=None)
PYPY = Target(python="3.10.14", implementation="pp")


@pytest.mark.parametrize(
    ("wheel", "fits"),
    [
        ("py3-none-any", (LINUX, MAC, WINDOWS, ALPINE, PYPY)),
        ("py2.py3-none-any", (LINUX, MAC, WINDOWS, ALPINE, PYPY)),
        ("py2-none-any", ()),
        ("cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64", (LINUX,)),
        ("cp311-cp311-manylinux1_x86_64", (LINUX,)),
        ("cp311-cp311-manylinux_2_28_x86_64", (LINUX,)),
        ("cp311-cp311-manylinux_2_34_x86_64", ()),
        ("cp311-cp311-manylinux_2_28_aarch64", ()),
        ("cp39-abi3-manylinux_2_24_x86_64", (LINUX,)),
        ("cp312-abi3-manylinux_2_24_x86_64", ()),
        ("cp311-cp311t-manylinux_2_28_x86_64", ()),
        ("cp311-cp311-musllinux_1_2_x86_64", (ALPINE,)),
        ("cp312-cp312-macosx_11_0_arm64", (MAC,)),
        ("cp312-cp312-macosx_11_0_x86_64", ()),
        ("cp310-cp310-win_amd64", (WINDOWS,)),
        ("pp310-pypy310_pp73-manylinux_2_17_x86_64", (PYPY,)),
        ("no tags", ()),
    ],
)
def test_wheels(wheel: str, fits: tuple[Target, ...]) -> None:
    release = Release(name="torch", version=Version("1"), wheels=(wheel,))
    targets = (LINUX, MAC, WINDOWS, ALPINE, PYPY)
    assert tuple(target for target in targets if fit(release, target) == "wheel") == fits


@pytest.mark.parametrize(
    ("requires_python", "expected"),
    [
        (None, "wheel"),
        (">=3.9", "wheel"),
        (">=3.12", None),
        ("<3.12,>=3.8", "wheel"),
        ("!=3.11.7", None),
        ("three", "wheel"),
    ],
)
def test_the_interpreter_that_a_release_asks_for(requires_python: str | None, expected: str | None) -> None:
    release = Release(name="trl", version=Version("1"), requires_python=requires_python, wheels=("py3-none-any",))
    assert fit(release, LINUX) == expected


def test_what_has_to_be_built() -> None:
    assert fit(Release(name="deepspeed", version=Version("1"), sdist=True), LINUX) == "sdist"
    assert fit(Release(name="deepspeed", version=Version("1")), LINUX) is None


def test_an_odd_target_has_tags_too() -> None:
    assert "py3-none-any" in supported_tags(Target(python="three", glibc="odd"))
    assert "py3-none-freebsd_amd64" in supported_tags(Target(python="3.11.1", platform="freebsd", machine="amd64"))


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        (None, True),
        ("sys_platform == 'linux'", True),
        ("sys_platform == 'win32'", False),
        ("python_version < '3.9'", False),
        ("python_full_version >= '3.11.4'", True),
        ("extra == 'cuda'", True),
        ("extra == 'cuda' and sys_platform == 'win32'", False),
        ("extra == 'extra-4-proj-cpu' or extra != 'extra-4-proj-gpu'", True),
        ("no marker", True),
        ("(" * 50_000, True),
    ],
)
def test_which_entries_are_there(marker: str | None, expected: bool) -> None:
    assert is_there(package("torch", "2.5.0", marker=marker), LINUX) is expected


def test_an_entry_is_there_if_one_of_the_ways_to_it_is() -> None:
    ways = ("sys_platform == 'win32'", "platform_machine == 'x86_64'")
    assert is_there(package("torch", "2.5.0", reached=ways), LINUX)
    assert not is_there(package("torch", "2.5.0", reached=ways[:1]), LINUX)


def test_words() -> None:
    assert [described(one) for one in (LINUX, MAC, WINDOWS)] == [
        "Python 3.11.7 on Linux x86_64",
        "Python 3.12.1 on macOS arm64",
        "Python 3.10.4 on Windows AMD64",
    ]
    assert marker_environment(PYPY)["platform_python_implementation"] == "PyPy"


@pytest.mark.parametrize("python", ["3.8.0", "3.11.7", "3.14.0", "2.7.18", "three"])
@pytest.mark.parametrize("implementation", ["cp", "pp"])
def test_wheels_of_pure_python_are_those_that_packaging_installs(python: str, implementation: str) -> None:
    target = Target(python=python, implementation=implementation)
    pure = {tag.partition("-")[0] for tag in supported_tags(target) if tag.endswith("-none-any")}
    assert pure_interpreters(target) == pure
