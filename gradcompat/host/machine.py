"""Facts of the host: CUDA, the GPU, the driver, NCCL, ROCm and glibc, without importing torch or starting a program.

They come from two sides. The packages say what torch was built for and which NCCL it brings; that holds for a lockfile
as for an installed environment. The machine says what is plugged in, and is asked only about an installed environment:
a lockfile is trained with elsewhere. What neither side says stays unknown; that a machine has no GPU is no fact about
the training, since environments are looked at on login nodes and in CI.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from gradcompat.host.package_facts import built_for, with_package_facts
from gradcompat.host.torch_builds import Build
from gradcompat.model.environment import Environment, Location, Setting
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_RELEASE = lazy_pattern(r"\d+(?:\.\d+)+")

_HERE = Location(path="this machine")
_KERNEL_MODULE = lazy_pattern(r"Kernel Module(?:[ \t]+for[ \t]+\S+)?[ \t]+(\d+(?:\.\d+)+)")
_WAVEFRONT = lazy_pattern(r"(?m)^wave_front_size (\d+)")
_TOOLKIT = lazy_pattern(r'"cuda"\s*:\s*\{[^{}]*"version"\s*:\s*"(\d+\.\d+)')
_MAX_BYTES = 64 * 1024

# Where a driver shows: only then is NVML worth its 50 milliseconds.
_DRIVER = (
    "proc/driver/nvidia",
    "dev/nvidiactl",
    "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    "usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
    "usr/lib64/libnvidia-ml.so.1",
    "usr/lib/wsl/lib/libnvidia-ml.so.1",
    "Windows/System32/nvml.dll",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What one machine has.

    Attributes:
        platform: ``sys.platform``.
        processor: as the kernel calls it: ``x86_64``, ``arm64``.
        glibc: version of the C library.
        nvidia: an NVIDIA GPU is there.
        driver: version of the NVIDIA driver.
        driver_cuda: the newest CUDA that the driver runs.
        arch: compute capability of the GPUs; None if they differ, since it is unknown which of them trains.
        toolkit_cuda: the CUDA toolkit below ``/usr/local``.
        amd: the kernel offers AMD GPUs for computing.
        short_wavefronts: the AMD GPUs have wavefronts of 32 threads; None if they differ, or nothing says it.
        rocm: the ROCm that is installed.
    """

    platform: str = sys.platform
    processor: str = ""
    glibc: str | None = None
    nvidia: bool = False
    driver: str | None = None
    driver_cuda: str | None = None
    arch: str | None = None
    toolkit_cuda: str | None = None
    amd: bool = False
    short_wavefronts: bool | None = None
    rocm: str | None = None


def with_host(environment: Environment, root: Path = Path("/")) -> Environment:
    """The environment with the facts of the host that it does not state itself.

    Only an installed environment of this platform is joined with this machine. Never raises.
    """
    here = environment.kind == "installed" and environment.platform in (None, sys.platform)
    return completed(environment, machine(root) if here else None)


def completed(environment: Environment, here: Machine | None) -> Environment:
    """The environment with what its packages, and the machine that it is installed on, say of the host.

    ``__cuda`` is what torch was built for, or the runtime that is packaged beside it, since that is the code that
    runs; the same for ``__rocm``. Where neither is known, it is the newest CUDA that the driver runs, or else the
    installed toolkit. What the environment states already stays.
    """
    said = with_package_facts(environment, installed=here is not None)
    if here is None:
        return said
    build = built_for(environment, installed=True)
    facts = {"__nvidia_driver": here.driver, "__cuda_arch": here.arch, "__glibc": here.glibc}
    if build is None:
        facts |= {"__cuda": here.driver_cuda or here.toolkit_cuda, "__rocm": here.rocm}
    settings = said.settings
    device = _device(build, here)
    if device is not None and all(setting.key != "host.device" for setting in settings):
        settings = (*settings, Setting(key="host.device", value=device, location=_HERE))
    if device == "rocm" and here.short_wavefronts is not None:
        settings = (*settings, Setting(key="host.short_wavefronts", value=here.short_wavefronts, location=_HERE))
    known = {
        name: version
        for name, version in facts.items()
        if version is not None and name not in (*said.virtual, *said.excluded)
    }
    return replace(
        said,
        settings=settings,
        virtual=dict(sorted({**known, **said.virtual}.items())),
        origins={**dict.fromkeys(known, _HERE), **said.origins},
    )


def _device(build: Build | None, here: Machine) -> str | None:
    """What the training runs on, as the trainers choose it."""
    if here.platform == "darwin" and here.processor == "arm64":
        return "mps"
    match build:
        case Build(device="cpu"):
            return "cpu"
        case None | Build(device="cuda") if here.nvidia:
            return "cuda"
        case Build(device="rocm") if here.amd:
            return "rocm"
    return None


# What the machine says


def binding() -> Any:
    """NVML's own Python binding (the package ``nvidia-ml-py``), or None if it is not installed.

    A file of that name in the working folder is not it: whoever looks at a project does not run its code.
    """
    with suppress(Exception):
        spec = PathFinder.find_spec("pynvml")
        if spec is not None and spec.origin is not None and not os.path.samefile(Path(spec.origin).parent, Path.cwd()):
            import pynvml

            return pynvml
    return None


@cache
def machine(root: Path = Path("/"), load: Callable[[], Any] = binding) -> Machine:
    """What this machine has, asked once.

    Args:
        root: the root of the file system.
        load: gives NVML's binding; called only where a driver shows.
    """
    devices: Mapping[str, Any] = {}
    if any(os.path.exists(root / path) for path in _DRIVER):
        module = _text(root / "proc/driver/nvidia/version")
        match = _KERNEL_MODULE.search(module) or _RELEASE.match(_text(root / "sys/module/nvidia/version"))
        devices = {
            "nvidia": _has_entries(root / "proc/driver/nvidia/gpus") or os.path.exists(root / "dev/nvidia0"),
            "driver": None if match is None else match[match.lastindex or 0],
            **_asked(load()),
        }
    toolkit = _TOOLKIT.search(_text(root / "usr/local/cuda/version.json"))
    rocm = _RELEASE.match(_text(root / "opt/rocm/.info/version"))
    return Machine(
        processor=os.uname().machine if hasattr(os, "uname") else "",
        glibc=_glibc(),
        toolkit_cuda=None if toolkit is None else toolkit[1],
        amd=os.path.exists(root / "dev/kfd"),
        short_wavefronts=_short_wavefronts(root),
        rocm=None if rocm is None else rocm[0],
        **devices,
    )


def _asked(nvml: Any) -> dict[str, Any]:
    """What NVML answers: each question on its own, since an older library lacks some and a container forbids others."""
    answers: dict[str, Any] = {}
    if nvml is None:
        return answers
    # Its errors are of its own class, and a binding that does not fit the library raises yet others.
    with suppress(Exception):
        nvml.nvmlInit()
        try:
            with suppress(Exception):
                driver = nvml.nvmlSystemGetDriverVersion()
                text = driver.decode("ascii", "replace") if isinstance(driver, bytes) else str(driver)
                if match := _RELEASE.match(text):
                    answers["driver"] = match[0]
            with suppress(Exception):
                cuda = int(nvml.nvmlSystemGetCudaDriverVersion_v2())
                answers["driver_cuda"] = f"{cuda // 1000}.{cuda % 1000 // 10}"
            with suppress(Exception):
                handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
                answers["nvidia"] = bool(handles)
                kinds = {nvml.nvmlDeviceGetCudaComputeCapability(handle) for handle in handles}
                # Which of several kinds trains is unknown.
                answers["arch"] = "{:d}.{:d}".format(*kinds.pop()) if len(kinds) == 1 else None
        finally:
            nvml.nvmlShutdown()
    return answers


def _glibc() -> str | None:
    """The C library of the interpreter that runs us, which is that of the machine."""
    with suppress(OSError, ValueError):
        if "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", {}):
            match = _RELEASE.search(os.confstr("CS_GNU_LIBC_VERSION") or "")
            return None if match is None else match[0]
    return None


def _short_wavefronts(root: Path) -> bool | None:
    """Have all AMD GPUs wavefronts of 32 threads? Those of a processor are 0."""
    nodes = root / "sys/class/kfd/kfd/topology/nodes"
    with suppress(OSError):
        said = (_WAVEFRONT.search(_text(nodes / name / "properties")) for name in os.listdir(nodes))
        sizes = {match[1] for match in said if match is not None} - {"0"}
        return sizes == {"32"} if sizes in ({"32"}, {"64"}) else None
    return None


def _has_entries(folder: Path) -> bool:
    with suppress(OSError):
        return bool(os.listdir(folder))
    return False


def _text(path: Path) -> str:
    """The beginning of a small file; nothing if there is none."""
    with suppress(OSError, ValueError):
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            return os.read(descriptor, _MAX_BYTES).decode("utf-8", "replace")
        finally:
            os.close(descriptor)
    return ""
