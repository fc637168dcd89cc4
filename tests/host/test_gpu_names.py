"""Names of GPUs as nvidia-smi, torch and people write them."""

from __future__ import annotations

import pytest

from gradcompat.host.gpu_names import Gpu, compute_capability, gpus_in
from tests.examples import length


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA GeForce RTX 5090", "12.0"),
        ("NVIDIA GeForce RTX 5090 Laptop GPU", "12.0"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0"),
        ("NVIDIA GB10", "12.1"),
        ("NVIDIA B300 SXM6 AC", "10.3"),
        ("NVIDIA B200", "10.0"),
        ("NVIDIA GB200", "10.0"),
        ("NVIDIA H100 80GB HBM3", "9.0"),
        ("NVIDIA H100 PCIe", "9.0"),
        ("H200", "9.0"),
        ("NVIDIA GH200 480GB", "9.0"),
        ("NVIDIA H20", "9.0"),
        ("NVIDIA GeForce RTX 4090", "8.9"),
        ("RTX 4060 Ti", "8.9"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "8.9"),
        ("NVIDIA L4", "8.9"),
        ("NVIDIA L40S", "8.9"),
        ("NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("NVIDIA RTX 4000 SFF Ada Generation", "8.9"),
        ("Orin (nvgpu)", "8.7"),
        ("NVIDIA GeForce RTX 3090", "8.6"),
        ("NVIDIA RTX A6000", "8.6"),
        ("NVIDIA A10G", "8.6"),
        ("NVIDIA A40-48Q", "8.6"),
        ("NVIDIA A100-SXM4-80GB", "8.0"),
        ("A100-PCIE-40GB", "8.0"),
        ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", "8.0"),
        ("NVIDIA A800-SXM4-80GB", "8.0"),
        ("NVIDIA A30", "8.0"),
        ("Tesla T4", "7.5"),
        ("Quadro RTX 6000", "7.5"),
        ("NVIDIA TITAN RTX", "7.5"),
        ("NVIDIA GeForce RTX 2080 Ti", "7.5"),
        ("NVIDIA GeForce GTX 1660 SUPER", "7.5"),
        ("Tesla V100-SXM2-32GB", "7.0"),
        ("NVIDIA TITAN V", "7.0"),
        ("Tesla P100-PCIE-16GB", "6.0"),
        ("NVIDIA GeForce GTX 1080 Ti", "6.1"),
        ("NVIDIA TITAN Xp", "6.1"),
        ("Tesla K80", "3.7"),
        ("  nvidia   geforce rtx 3080\t", "8.6"),
    ],
)
def test_compute_capability(name: str, expected: str) -> None:
    assert compute_capability(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "",
        "NVIDIA",
        "NVIDIA RTX 6000",  # Turing, Ada or Blackwell, by what is left out
        "NVIDIA RTX 5000",
        "NVIDIA H1000",
        "NVIDIA A1000000",
        "RTX 9090",
        "AMD Instinct MI300X",
        "Apple M2 Max",
        "NVIDIA Graphics Device",
        "GeForce RTX",
        "NVIDIA TITAN X",  # Maxwell or Pascal
        "A100 or H100",
        "x" * 10_000,
    ],
)
def test_a_name_that_settles_nothing(name: str) -> None:
    assert compute_capability(name) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)", [("NVIDIA A100-SXM4-80GB", "cuda", "8.0")]),
        ("- GPU type: NVIDIA H100 80GB HBM3", [("NVIDIA H100", "cuda", "9.0")]),
        (
            "|   0  NVIDIA GeForce RTX 4090        Off |   00000000:01:00.0 Off |",
            [("NVIDIA GeForce RTX 4090", "cuda", "8.9")],
        ),
        ("I train on 8xH100 and 2 x RTX 3090.", [("H100", "cuda", "9.0"), ("RTX 3090", "cuda", "8.6")]),
        ("8*A100-80GB", [("A100", "cuda", "8.0")]),
        ("on an RTX5090", [("RTX5090", "cuda", "12.0")]),
        ("a NVIDIA T4 here", [("NVIDIA T4", "cuda", "7.5")]),
        ("AMD Instinct MI300X, gfx942", [("AMD Instinct MI300X", "rocm", None)]),
        ("MacBook Pro, Apple M3 Max", [("Apple M3 Max", "mps", None)]),
        ("NVIDIA A100-SXM4-40GB\nNVIDIA A100-SXM4-40GB", [("NVIDIA A100-SXM4-40GB", "cuda", "8.0")] * 2),
        # Short names are GPUs beside a maker's name only: these are a section, a step and a model of a phone.
        ("see A10, T4 and L4 of table P4", []),
        ("model-A100x, sh100, H100k", []),
        ("NVIDIA driver 535, CUDA 12.1", []),
        ("the A100000 dataset", []),
        ("release v100, batch b200, EfficientNet-B200, 1.H100", []),
        ("Xavier initialisation, by Thor", []),
    ],
)
def test_gpus_in_a_text(text: str, expected: list[tuple[str, str, str | None]]) -> None:
    found = gpus_in(text)

    assert [(gpu.name, gpu.device, gpu.compute_capability) for gpu in found] == expected
    assert all(text[gpu.offset :].startswith(gpu.name) for gpu in found)


def test_a_gpu_says_where_its_name_stands() -> None:
    assert gpus_in("on a Tesla V100-SXM2-16GB") == (
        Gpu(name="Tesla V100-SXM2-16GB", device="cuda", compute_capability="7.0", offset=5),
    )


def test_a_long_text_costs_little() -> None:
    assert gpus_in("NVIDIA " * length(100_000)) == ()
    assert gpus_in("RTX 3" * length(100_000)) == ()
    assert gpus_in("apple m" * length(100_000)) == ()
