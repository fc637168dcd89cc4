"""Which entries of a lockfile can be installed together, and which are there wherever others are."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from operator import and_

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.markers import Marker

from gradcompat.budget import Budget
from gradcompat.matching.forks import MOST_STEPS, Forks, releases_of
from gradcompat.model.environment import Package
from gradcompat.requirements.markers import parse_marker
from tests.building import package
from tests.examples import examples

LINUX, DARWIN, WINDOWS = "sys_platform == 'linux'", "sys_platform == 'darwin'", "sys_platform == 'win32'"
CPU, GPU = "extra == 'extra-8-nanochat-cpu'", "extra == 'extra-8-nanochat-gpu'"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (None, None, True),
        (LINUX, None, True),
        (LINUX, LINUX, True),
        (LINUX, DARWIN, False),
        (LINUX, "sys_platform != 'linux'", False),
        (LINUX, "python_version >= '3.10'", True),
        ("python_version < '3.10'", "python_version >= '3.10'", False),
        ("python_full_version < '3.11'", "python_version >= '3.11'", False),
        ("python_version < '3.12'", "python_version >= '3.10'", True),
        (f"({LINUX}) or ({DARWIN})", f"({DARWIN}) or ({WINDOWS})", True),
        ("platform_machine == 'aarch64' and sys_platform == 'linux'", "platform_machine == 'x86_64'", False),
        ("platform_system == 'Windows'", LINUX, False),
        # uv's encoded extras conflict, or they would not be in the lockfile.
        (CPU, GPU, False),
        (CPU, f"{CPU} and {LINUX}", True),
        (CPU, "extra != 'extra-8-nanochat-gpu'", True),
        (GPU, "extra != 'extra-8-nanochat-gpu'", False),
        (f"{CPU} and {LINUX}", f"{CPU} and {DARWIN}", False),
        ("extra == 'group-8-nanochat-dev'", GPU, False),
        # Others can be asked for at once.
        ("extra == 'train'", "extra == 'dev'", True),
        ("extra == 'train'", "'dev' == extra", True),
        (f"extra == 'train' and {LINUX}", f"extra == 'dev' and {DARWIN}", False),
        ("extra == 'train'", GPU, True),
        # What cannot be read, or is nowhere on the grid, excludes nothing.
        ("python_version is old", LINUX, True),
        ("sys_platform == 'emscripten'", "python_version >= '3.10'", True),
        ("'cpu' in extras", LINUX, True),
        ("python_version >= 'x'", LINUX, True),
        ("(" * 5_000 + LINUX + ")" * 5_000, DARWIN, False),
        ("(" * 5_000 + LINUX, DARWIN, True),
        # Python changes where a marker says so, not only from minor release to minor release.
        ("python_full_version < '3.11.3'", "python_full_version == '3.11.*'", True),
        ("python_full_version < '3.11.3'", "python_full_version >= '3.11.3'", False),
        ("python_full_version == '3.11.3'", "python_full_version > '3.11.3'", False),
        ("python_full_version == '3.11.3'", "python_version == '3.11'", True),
        ("python_version < '3.8'", "python_version >= '3.8'", False),
        ("python_version >= '3.40'", "python_version < '3.40'", False),
        ("'3.11' in python_version", "python_version == '3.11'", True),
        ("'3.11' in python_version", "python_version == '3.12'", False),
        ("sys_platform in 'linux darwin'", WINDOWS, False),
        ("'linux' == sys_platform", DARWIN, False),
        ("'3.10' <= python_version", "python_version < '3.10'", False),
        (" or ".join([LINUX] * 5_000), DARWIN, True),
        (f"python_version >= '{'9' * 5_000}'", LINUX, True),
    ],
)
def test_markers(one: str | None, other: str | None, expected: bool) -> None:
    assert Forks().together(package("torch", "2.5.1", marker=one), package("peft", "0.15.0", marker=other)) is expected
    assert Forks().together(package("peft", "0.15.0", marker=other), package("torch", "2.5.1", marker=one)) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((), (), True),
        (("default",), (), True),
        (("default",), ("default", "cuda"), True),
        (("cpu",), ("cuda",), False),
    ],
)
def test_named_forks(one: tuple[str, ...], other: tuple[str, ...], expected: bool) -> None:
    assert Forks().together(package("torch", "2.5.1", forks=one), package("peft", "0.15.0", forks=other)) is expected
    assert Forks().together(package("peft", "0.15.0", forks=other), package("torch", "2.5.1", forks=one)) is expected


def test_forks_and_markers_both_have_to_meet() -> None:
    one = package("torch", "2.5.1", forks=("default",), marker=LINUX)
    assert not Forks().together(one, package("peft", "0.15.0", forks=("default",), marker=DARWIN))
    assert not Forks().together(one, package("peft", "0.15.0", forks=("cuda",), marker=LINUX))
    assert Forks().together(one, package("peft", "0.15.0", forks=("default", "cuda"), marker="python_version >= '3.9'"))


@pytest.mark.parametrize(
    ("chosen", "entries", "expected"),
    [
        ([None], [None], True),
        ([LINUX], [None], True),
        ([None], [LINUX], False),
        ([LINUX], [LINUX], True),
        ([LINUX, "python_version >= '3.10'"], ["python_version >= '3.9'"], True),
        ([None], [LINUX, "sys_platform != 'linux'"], True),
        ([None], [LINUX, DARWIN], False),
        ([None], ["no marker"], False),
        (["no marker"], [None], True),
    ],
)
def test_covered_by_markers(chosen: list[str | None], entries: list[str | None], expected: bool) -> None:
    assert (
        Forks().covered(
            [package("torch", "2.5.1", marker=marker) for marker in chosen],
            [package("liger-kernel", "0.5.0", marker=marker) for marker in entries],
        )
        is expected
    )


@pytest.mark.parametrize(
    ("chosen", "entries", "expected"),
    [
        ((), [()], True),
        (("cpu",), [()], True),
        (("cpu",), [("cpu", "cuda")], True),
        (("cpu", "cuda"), [("cpu",)], False),
        (("cpu", "cuda"), [("cpu",), ("cuda",)], True),
        ((), [("cpu",)], False),
    ],
)
def test_covered_by_forks(chosen: tuple[str, ...], entries: list[tuple[str, ...]], expected: bool) -> None:
    assert (
        Forks().covered(
            [package("torch", "2.5.1", forks=chosen)],
            [package("liger-kernel", "0.5.0", forks=forks) for forks in entries],
        )
        is expected
    )


CPU, CUDA, VLLM, SGLANG = (f"extra-1-p-{name}" for name in ("cpu", "cuda", "vllm", "sglang"))
CONFLICTS = (frozenset({CPU, CUDA}), frozenset({VLLM, SGLANG}))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((f"extra == '{CPU}'",), (f"extra == '{CUDA}'",), False),
        ((f"extra == '{CPU}'",), (f"extra == '{VLLM}'",), True),  # of two sets, so both can be chosen
        ((f"extra == '{CPU}'",), (f"extra != '{CPU}'",), False),
        ((f"extra == '{CPU}'", LINUX), (f"extra == '{CUDA}'",), True),  # led to without an extra on Linux
        ((f"{LINUX} and extra == '{CPU}'",), (f"{DARWIN} and extra == '{CPU}'",), False),
        # uv adds pieces that no environment can fulfil; they lead to nothing.
        ((f"extra == '{CPU}' and extra == '{CUDA}'", f"extra == '{CPU}'"), (f"extra == '{CUDA}'",), False),
        ((f"extra == '{CPU}' and extra == '{CUDA}'",), (f"extra == '{CUDA}'",), True),  # nothing is known of it then
    ],
)
def test_what_leads_to_an_entry(one: tuple[str, ...], other: tuple[str, ...], expected: bool) -> None:
    torch, vision = package("torch", "2.5.1", reached=one), package("torchvision", "0.20.1", reached=other)
    assert Forks(CONFLICTS).together(torch, vision) is expected
    assert Forks(CONFLICTS).together(vision, torch) is expected


VALUES = {
    "sys_platform": ("linux", "darwin", "win32"),
    "platform_machine": ("x86_64", "arm64"),
    "os_name": ("posix", "nt"),
    "python_version": ("3.9", "3.10", "3.12", "3.17"),
    "python_full_version": ("3.10", "3.10.4", "3.12.0", "3.12.11", "3.16.2"),
}
OPERATORS = {"python_version": ("==", "!=", "<", "<=", ">", ">="), "python_full_version": ("==", "<", ">=", ">", "~=")}
ATOMS = st.one_of([
    st.builds(
        "{} {} '{}'".format,
        st.just(variable),
        st.sampled_from(OPERATORS.get(variable, ("==", "!="))),
        st.sampled_from([value for value in values if value.count(".") or variable not in OPERATORS]),
    )
    for variable, values in VALUES.items()
])  # fmt: skip
MARKERS = st.recursive(
    ATOMS, lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(("and", "or")), inner), max_leaves=5
)
PLACES = (
    {"sys_platform": "linux", "os_name": "posix", "platform_machine": "x86_64"},
    {"sys_platform": "darwin", "os_name": "posix", "platform_machine": "arm64"},
    {"sys_platform": "darwin", "os_name": "posix", "platform_machine": "x86_64"},
    {"sys_platform": "win32", "os_name": "nt", "platform_machine": "AMD64"},
)
RELEASES = [
    f"3.{minor}.{micro}" for minor in (8, 9, 10, 11, 12, 15, 16, 17, 18) for micro in (0, 1, 3, 4, 5, 10, 11, 12)
]
ENVIRONMENTS = [
    {**place, "python_full_version": release, "python_version": release.rpartition(".")[0]}
    for place in PLACES
    for release in RELEASES
]


@given(MARKERS, MARKERS)
@settings(max_examples=examples(60), deadline=None)
def test_the_answers_are_those_of_packaging(one: str, other: str) -> None:
    first, second = Marker(one), Marker(other)
    at_first = [first.evaluate(environment) for environment in ENVIRONMENTS]
    at_second = [second.evaluate(environment) for environment in ENVIRONMENTS]
    found = Forks().together(package("torch", "2.5.1", marker=one), package("peft", "0.15.0", marker=other))
    if any(map(and_, at_first, at_second)):
        assert found
    elif any(at_first) and any(at_second):
        assert not found


@given(MARKERS, MARKERS, st.lists(MARKERS, max_size=6))
@settings(max_examples=examples(60), deadline=None)
def test_a_grid_that_serves_other_entries_too_gives_the_same_answers(one: str, other: str, more: list[str]) -> None:
    entries = [package("torch", str(number), marker=marker) for number, marker in enumerate((one, other, *more))]
    alone, shared = Forks(), Forks()
    for first, second in product(entries, repeat=2):
        assert shared.together(first, second, releases_of(entries)) == alone.together(first, second)


def test_many_pairs_that_share_a_grid_need_fewer_steps() -> None:
    entries = [replace(one, name=name) for one in _forks(10, 4) for name in ("torch", "peft")]
    alone, shared = Forks(), Forks()
    for one, other in product(entries, repeat=2):
        shared.together(one, other, releases_of(entries))
        alone.together(one, other)
    assert shared.budget.used < alone.budget.used / 2


def _forks(count: int, clauses: int) -> list[Package]:
    """Entries whose markers all differ, with so many clauses each."""
    return [
        package(
            "torch",
            f"2.{number}.0",
            marker=" and ".join(
                f"python_full_version != '3.{8 + one % 6}.{one + 7 * number}'" for one in range(clauses)
            ),
        )
        for number in range(count)
    ]


def test_a_pair_of_marker_sets_is_compared_once() -> None:
    forks = Forks()
    entries = [replace(one, name=name) for one in _forks(10, 4) for name in ("torch", "peft", "trl", "triton")]
    for one, other in product(entries, repeat=2):
        forks.together(one, other)
    spent = forks.budget.most - forks.budget.left
    for one, other in product(entries, repeat=2):
        forks.together(one, other)
    assert forks.budget.most - forks.budget.left == spent
    assert spent < forks.budget.most // 2


def test_a_lockfile_of_fifty_forks_needs_a_small_part_of_the_steps() -> None:
    forks = Forks()
    entries = [
        package("torch", f"2.{number}.0", marker=f"python_full_version >= '3.{number % 8 + 8}' and {one}{two}")
        for number, (one, two) in enumerate(
            product((LINUX, DARWIN, WINDOWS), [f" or extra == 'e{n}'" for n in range(17)])
        )
    ]
    for one, other in product(entries, repeat=2):
        forks.together(one, other)
    assert forks.budget.most - forks.budget.left < forks.budget.most // 10


def test_what_needs_too_many_steps_excludes_nothing() -> None:
    one, other = package("torch", "2.5.1", marker=LINUX), package("peft", "0.15.0", marker=DARWIN)
    forks = Forks(budget=Budget(2))
    assert forks.together(one, other)
    assert forks.budget.spent
    assert not forks.covered([one], [one])


@pytest.mark.parametrize("entries", [_forks(60, 100), _forks(600, 5)], ids=["long markers", "many markers"])
def test_markers_that_all_differ_exceed_the_budget_and_no_more(entries: list[Package]) -> None:
    forks = Forks(budget=Budget(20_000))
    assert all(forks.together(one, other) for one, other in product(entries, repeat=2))
    assert forks.budget.spent


def test_extras_in_many_pairs_exceed_the_budget_before_they_are_listed() -> None:
    extras = [f"extra-1-p-e{number}" for number in range(3_000)]
    conflicts = tuple(frozenset({extra, extras[0]}) for extra in extras[1:])
    named = " or ".join(f"extra == '{extra}'" for extra in extras)
    forks = Forks(conflicts)
    assert forks.together(package("torch", "2.5.1", marker=named), package("peft", "0.15.0", marker=LINUX))
    assert forks.budget.spent


def test_a_marker_is_compiled_once_for_each_text_and_its_comparisons_once_for_each_grid() -> None:
    parse_marker.cache_clear()
    several = " or ".join(f"({LINUX} and python_version == '3.{minor}')" for minor in range(9, 14))
    entries = [package("torch", str(number), marker=(LINUX, DARWIN, several)[number % 3]) for number in range(60)]
    forks = Forks()
    for one in entries:
        for other in entries:
            forks.together(one, other)
    assert parse_marker.cache_info().misses == 3
    marker = parse_marker(several)
    assert marker is not None
    assert (len(marker.steps), len(marker.atoms)) == (19, 6)
    assert len(forks._compared) == 6  # three pairs of markers, in both orders


def test_renewed_forks_remember_and_have_all_their_steps() -> None:
    linux, darwin = package("torch", "2.5.1", marker=LINUX), package("torch", "2.6.0", marker=DARWIN)
    forks = Forks(budget=Budget(1_000))
    assert not forks.together(linux, darwin)
    assert forks.budget.used > 0
    renewed = forks.renewed()
    assert not renewed.together(replace(linux, version="2.7.0"), darwin)
    assert (renewed.budget.used, renewed.budget.most) == (0, MOST_STEPS)


@pytest.mark.parametrize(
    ("markers", "python", "expected"),
    [
        (("python_version < '3.9'",), "3.11", False),
        (("python_version < '3.9'",), "3.8.19", True),
        (("python_version >= '3.9'", LINUX), "3.11.4", True),
        (("python_version >= '3.9'", "python_version < '3.11'"), "3.11", False),
        # The last part of a version decides nothing.
        (("python_full_version < '3.11.4'",), "3.11.9", True),
        # What never goes together, an interpreter that nobody has seen, and what cannot be read exclude nothing.
        (("python_version < '3.9'", "python_version >= '3.9'"), "3.11", True),
        (("python_version < '3.9'",), "4.7", True),
        (("python_version < '3.9' and",), "3.11", True),
    ],
)
def test_on_one_interpreter(markers: tuple[str, ...], python: str, expected: bool) -> None:
    chosen = [package(f"p{index}", "1.0", marker=marker) for index, marker in enumerate(markers)]
    assert Forks().installed_on(chosen, python) is expected
