"""Which entries of a lockfile can be installed together, and which are there wherever others are."""

from __future__ import annotations

import pytest

from gradcompat.forks import covered, together
from tests.building import package

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
        ("(" * 5_000 + LINUX + ")" * 5_000, DARWIN, True),
        (" or ".join([LINUX] * 5_000), DARWIN, True),
        (f"python_version >= '{'9' * 5_000}'", LINUX, True),
    ],
)
def test_markers(one: str | None, other: str | None, expected: bool) -> None:
    assert together(package("torch", "2.5.1", marker=one), package("peft", "0.15.0", marker=other)) is expected
    assert together(package("peft", "0.15.0", marker=other), package("torch", "2.5.1", marker=one)) is expected


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
    assert together(package("torch", "2.5.1", forks=one), package("peft", "0.15.0", forks=other)) is expected
    assert together(package("peft", "0.15.0", forks=other), package("torch", "2.5.1", forks=one)) is expected


def test_forks_and_markers_both_have_to_meet() -> None:
    one = package("torch", "2.5.1", forks=("default",), marker=LINUX)
    assert not together(one, package("peft", "0.15.0", forks=("default",), marker=DARWIN))
    assert not together(one, package("peft", "0.15.0", forks=("cuda",), marker=LINUX))
    assert together(one, package("peft", "0.15.0", forks=("default", "cuda"), marker="python_version >= '3.9'"))


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
        covered(
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
        covered(
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
    assert together(torch, vision, CONFLICTS) is expected
    assert together(vision, torch, CONFLICTS) is expected
