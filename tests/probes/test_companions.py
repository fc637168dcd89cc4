"""What a release needs beside it."""

from __future__ import annotations

import dataclasses

import pytest

from gradcompat.model.release import Release
from gradcompat.probes.dependency_selection import Companions, companions, fits
from tests.probes.toys import BASE, Table, release

PYTHON = "".join(BASE.python.split(".")[:2])


def chosen(found: Companions) -> list[str]:
    return [f"{one.name} {one.version}" for one in found.releases]


OTHERS = (
    release("1.0", "tokens", "2023-01-01"),
    release("1.1", "tokens", "2023-06-10"),
    release("1.2", "tokens", "2023-08-01"),
    release("2.0", "tokens", "2025-01-01"),
    release("2.1", "tokens", "2025-02-01", yanked=True),
    release("3.0rc1", "tokens", "2023-05-01"),
)


def test_the_newest_that_was_there_when_the_release_was_new() -> None:
    toy = release("1.0", uploaded="2023-06-01")
    found = companions(toy, BASE, Table([toy, *OTHERS], {"toy 1.0": ["tokens>=1.0"]}))
    assert chosen(found) == ["tokens 1.1"]  # ten days later, and neither two months nor two years
    assert (found.missing, found.unknown) == ((), ())


def test_the_oldest_of_those_that_came_later_where_no_other_fits() -> None:
    toy = release("1.0", uploaded="2023-06-01")
    assert chosen(companions(toy, BASE, Table([*OTHERS], {"toy 1.0": ["tokens>=1.2"]}))) == ["tokens 1.2"]


def test_the_newest_of_all_for_who_installs_today() -> None:
    toy = release("1.0", uploaded="2023-06-01")
    table = Table([toy, *OTHERS], {"toy 1.0": ["tokens>=1.0"]})
    assert chosen(companions(toy, BASE, table, current=True)) == ["tokens 2.0"]


def test_a_companion_that_excludes_the_release_gives_way_to_an_older_one() -> None:
    toy = release("1.0", uploaded="2025-06-01")
    requires = {"tokens 2.0": ["toy<1"], "tokens 1.2": ["toy<1"], "tokens 1.1": ["toy>=1"]}
    assert chosen(companions(toy, BASE, Table([toy, *OTHERS], requires), ["tokens"])) == ["tokens 1.1"]
    requires |= {"tokens 1.1": ["toy!=1.0"], "tokens 1.0": ["toy>1"]}
    found = companions(toy, BASE, Table([toy, *OTHERS], requires), ["tokens"])
    assert (chosen(found), found.missing) == (
        [],
        ("no release satisfies tokens, which toy 1.0 requires beside the others",),
    )


def test_a_choice_that_a_later_requirement_excludes_is_made_again() -> None:
    toy = release("1.0", uploaded="2025-06-01")
    hub = release("0.3", "hub", "2025-05-01")
    requires = {"toy 1.0": ["tokens", "hub"], "hub 0.3": ["tokens<2", "numpy<2"]}
    table = Table([toy, hub, release("1.26", "numpy", "2025-01-01"), *OTHERS], requires)
    assert chosen(companions(toy, BASE, table)) == ["tokens 1.2", "hub 0.3", "numpy 1.26"]


def test_libraries_for_gpus_come_with_torch_or_not_at_all() -> None:
    toy = release("1.0", uploaded="2025-06-01")
    blas = release("12.0", "nvidia-cublas-cu12", wheels=("py3-none-manylinux2014_x86_64",))
    query = release("13.0", "nvidia-ml-py")
    table = Table([toy, blas, query], {"toy 1.0": ["nvidia-cublas-cu12", "nvidia-ml-py"]})
    found = companions(toy, BASE, table)
    assert chosen(found) == ["nvidia-ml-py 13.0"]
    assert found.missing == ("nvidia-cublas-cu12, which toy 1.0 requires, comes with torch or not at all",)


def test_what_the_base_has_is_taken_and_torch_is_never_replaced() -> None:
    toy = release("1.0", uploaded="2023-06-01")
    requires = ["numpy>=1.17", "torch>=1.0", "torch<2.6; extra == 'old'", "torch<2.0"]
    found = companions(toy, BASE, Table([*OTHERS], {"toy 1.0": requires}))
    assert chosen(found) == []
    assert found.missing == ("toy 1.0 requires torch<2.0, and the base has torch 2.13.0",)


def test_companions_have_companions_and_markers_count() -> None:
    toy = release("1.0", uploaded="2025-06-01")
    hub = release("0.3", "hub", "2025-05-01")
    requires = {
        "toy 1.0": [
            "hub; sys_platform == 'linux'",
            "winhub; sys_platform == 'win32'",
            "tokens; extra == 'fast'",
            "not ok",
        ],
        "hub 0.3": ["tokens<2"],
    }
    found = companions(toy, BASE, Table([hub, *OTHERS], requires))
    assert chosen(found) == ["hub 0.3", "tokens 1.2"]
    assert found.missing == ()


def test_what_probes_need_is_chosen_as_the_extra_of_the_release_has_it() -> None:
    toy = release("1.0", uploaded="2025-06-01")
    table = Table([*OTHERS], {"toy 1.0": ["tokens<1.2; extra == 'fast'"]})
    assert chosen(companions(toy, BASE, table, ["tokens"])) == ["tokens 1.1"]
    assert chosen(companions(toy, BASE, Table([*OTHERS]), ["tokens"])) == ["tokens 2.0"]


def test_what_there_is_not_is_said() -> None:
    found = companions(release("1.0"), BASE, Table([*OTHERS], {"toy 1.0": ["tokens>=9", "nothing"]}))
    assert found.missing == (
        "no release satisfies tokens>=9, which toy 1.0 requires",
        "no release satisfies nothing, which toy 1.0 requires",
    )
    assert found.unknown == ()


def test_an_index_that_fails_midway_is_not_the_same_as_nothing_that_fits() -> None:
    table = Table([*OTHERS], {"toy 1.0": ["tokens", "hub"]}, silent="hub")
    found = companions(release("1.0", uploaded="2025-06-01"), BASE, table)
    assert chosen(found) == ["tokens 2.0"]
    assert found.missing == ()
    assert found.unknown == ("hub, which toy 1.0 requires: `hub`: the index does not answer",)


def test_requirements_that_nobody_knows_are_not_the_same_as_none() -> None:
    found = companions(release("1.0"), BASE, Table([], {"toy 1.0": None}))
    assert found == Companions(releases=(), missing=(), unknown=("what toy 1.0 requires: the table does not say",))


@pytest.mark.parametrize(
    ("one", "fitting"),
    [
        (release("1"), True),
        (release("1", requires_python=">=3.99"), False),
        (release("1", requires_python="rubbish"), False),
        (release("1", wheels=()), False),
        (release("1", wheels=(), sdist=True), True),
        (release("1", wheels=(f"cp{PYTHON}-cp{PYTHON}-manylinux_2_17_x86_64.manylinux2014_x86_64",)), True),
        (release("1", wheels=("cp38-abi3-manylinux2014_x86_64",)), True),
        (release("1", wheels=("cp38-cp38-manylinux2014_x86_64",), sdist=True), False),
        (release("1", wheels=("cp38-abi3-manylinux_2_35_x86_64",)), False),
        (release("1", wheels=("cp38-abi3-musllinux_1_2_x86_64",)), False),
        (release("1", wheels=("cp38-abi3-manylinux2014_aarch64", "cp38-abi3-macosx_11_0_universal2")), False),
        (release("1", wheels=("py3-none-linux_x86_64",)), True),
    ],
)
def test_what_can_be_laid_over_the_base(one: Release, fitting: bool) -> None:
    assert fits(one, BASE) is fitting


def test_other_systems() -> None:
    wheels = ("cp38-abi3-macosx_11_0_arm64", "cp38-abi3-win_amd64", "cp38-abi3-musllinux_1_2_x86_64")
    mac = dataclasses.replace(BASE, platform="darwin", machine="arm64", glibc=None)
    windows = dataclasses.replace(BASE, platform="win32", machine="AMD64", glibc=None)
    alpine = dataclasses.replace(BASE, glibc=None)
    for base, own in zip((mac, windows, alpine), wheels, strict=True):
        assert [fits(release("1", wheels=(one,)), base) for one in wheels] == [one == own for one in wheels]
