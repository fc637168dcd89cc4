"""What an entry of torch was built for, as its label, its index or conda's build string says."""

from __future__ import annotations

from typing import Literal

from gradcompat.model.environment import Package
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

TORCH = frozenset({"torch", "pytorch"})
_CUDA_LABEL = lazy_pattern(r"cu([789]|1\d)(\d)(?!\d)")
_ROCM_LABEL = lazy_pattern(r"rocm(\d+\.\d+(?:\.\d+)?)")
_PLAIN_LABEL = lazy_pattern(r"(cpu|xpu)(?![a-z0-9])")
_CUDA_BUILD = lazy_pattern(r"(?:^|_)cuda_?(?:(\d{1,2})\.(\d)|([789]|1\d)(\d)(?!\d))")
_CPU_BUILD = lazy_pattern(r"(?:^|_)cpu(?:_|$)")


@dataclass(frozen=True, slots=True)
class Build:
    """What torch was built for: the kind of device, and the version of CUDA or ROCm where it has one."""

    device: Literal["cuda", "rocm", "xpu", "cpu"]
    version: str | None = None


def build_of(package: Package) -> Build | None:
    """What the version's local label, the index or conda's build string says; a wheel of PyPI has none of them."""
    label = (package.version or "").partition("+")[2].lower()
    if package.source == "conda":
        return _of_conda_build(package.build or "")
    return build_of_label(label) or build_of_label(package.build or "")


def build_of_label(label: str) -> Build | None:
    """``cu124`` of ``2.5.1+cu124``, ``rocm6.2.4``, ``cpu``."""
    if not label:  # most wheels; no pattern is compiled for them
        return None
    if match := _CUDA_LABEL.match(label):
        return Build("cuda", f"{match[1]}.{match[2]}")
    if match := _ROCM_LABEL.match(label):
        return Build("rocm", match[1])
    if match := _PLAIN_LABEL.match(label):
        return Build("cpu") if match[1] == "cpu" else Build("xpu")
    return None


def _of_conda_build(build: str) -> Build | None:
    """``py3.10_cuda12.1_cudnn8.9.2_0``, ``cuda126_mkl_py312_hd3aa4a8_300``, ``cpu_generic_py311_h1``."""
    if match := _CUDA_BUILD.search(build):
        return Build("cuda", f"{match[1] or match[3]}.{match[2] or match[4]}")
    return Build("cpu") if _CPU_BUILD.search(build) else None
