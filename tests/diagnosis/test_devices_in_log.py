"""What lines of a log say of the device of the run."""

from __future__ import annotations

import pytest

from gradcompat.diagnosis.devices_in_log import Devices


def told(*lines: str) -> tuple[list[tuple[str, int | None]], dict[str, str]]:
    devices = Devices()
    for number, line in enumerate(lines, 1):
        devices.see(number, line)
    return [(str(one.value), one.location.line) for one in devices.settings("x.log")], devices.virtual()


@pytest.mark.parametrize(
    ("line", "device", "capability"),
    [
        ("Process rank: 0, device: cuda:0, n_gpu: 1, distributed training: True", "cuda", None),
        ("GPU available: True (mps), used: True", "mps", None),
        ("GPU available: True (cuda), used: True", "cuda", None),
        ("GPU available: False, used: False", "cpu", None),
        ("Device: cpu", "cpu", None),
        ("Using device: mps", "mps", None),
        ("GPU 0: NVIDIA A100-SXM4-80GB", "cuda", "8.0"),
        ("- GPU type: NVIDIA H100 80GB HBM3", "cuda", "9.0"),
        ("|   0  NVIDIA GeForce RTX 5090        On  | 00000000:01:00.0 Off |", "cuda", "12.0"),
        ("NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with", "cuda", "12.0"),
        ("   \\\\   /|    Tesla T4. Num GPUs = 1. Max memory: 14.741 GB.", "cuda", "7.5"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "cuda", None),
        ('    "device": "cpu",', None, None),  # of DeepSpeed's offloading
        ("this was tested on NVIDIA A100 and H100", None, None),
        ("GPU available: True (cuda), used: False", None, None),
    ],
)
def test_a_line(line: str, device: str | None, capability: str | None) -> None:
    settings, virtual = told(line)
    assert settings == ([] if device is None else [(device, 1)])
    assert virtual == ({} if capability is None else {"__cuda_arch": capability})


def test_gpus_of_two_kinds_settle_no_capability() -> None:
    assert told("GPU 0: NVIDIA A100-SXM4-80GB", "GPU 1: NVIDIA H100 PCIe") == ([("cuda", 1)], {})


def test_torch_calls_an_amd_gpu_cuda_too() -> None:
    assert told("Device: cuda", "GPU 0: AMD Instinct MI300X") == ([("rocm", 2)], {})
