"""Facts of the host: CUDA, the GPU, the driver, NCCL, ROCm and glibc, without importing torch or starting a program.

They come from two sides. The packages say what torch was built for and which NCCL it brings; that holds for a lockfile
as for an installed environment. The machine says what is plugged in, and is asked only about an installed environment:
a lockfile is trained with elsewhere. What neither side says stays unknown; that a machine has no GPU is no fact about
the training, since environments are looked at on login nodes and in CI.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Literal

from gradcompat.model.environment import Environment, Location, Package, Setting

_TORCH = frozenset({"torch", "pytorch"})
# The CUDA runtime that comes as a package: NVIDIA's wheels, then what conda calls it.
_RUNTIMES = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?|cuda-toolkit|pytorch-cuda|cuda-version|cudatoolkit")
_NCCL = re.compile(r"nvidia-nccl-cu\d+|nccl")

_CUDA_LABEL = re.compile(r"cu([789]|1\d)(\d)(?!\d)")
_ROCM_LABEL = re.compile(r"rocm(\d+\.\d+(?:\.\d+)?)")
_PLAIN_LABEL = re.compile(r"(cpu|xpu)(?![a-z0-9])")
_BUILT_FOR = re.compile(r"^(cuda|hip|xpu)(?:[ \t]*:[^=\n]*)?[ \t]*=[ \t]*(?:None|['\"]([^'\"\n]*)['\"])", re.MULTILINE)
_MAJOR_MINOR = re.compile(r"\d+\.\d+")
_RELEASE = re.compile(r"\d+(?:\.\d+)+")

_KERNEL_MODULE = re.compile(r"Kernel Module(?:[ \t]+for[ \t]+\S+)?[ \t]+(\d+(?:\.\d+)+)")
_TOOLKIT = re.compile(r'"cuda"\s*:\s*\{[^{}]*"version"\s*:\s*"(\d+\.\d+)')
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


@dataclass(frozen=True, slots=True)
class Build:
    """What torch was built for: the kind of device, and the version of CUDA or ROCm where it has one."""

    device: Literal["cuda", "rocm", "xpu", "cpu"]
    version: str | None = None


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
    rocm: str | None = None


def with_host(environment: Environment, root: Path = Path("/")) -> Environment:
    """The environment with the facts of the host that it does not state itself.

    Only an installed environment of this platform is joined with this machine. Never raises.

    Args:
        environment: as a reader gave it.
        root: the root of the file system.
    """
    here = environment.kind == "installed" and environment.platform in (None, sys.platform)
    return completed(environment, machine(root) if here else None)


def completed(environment: Environment, here: Machine | None) -> Environment:
    """The environment with what its packages, and the machine that it is installed on, say of the host.

    ``__cuda`` is what torch was built for, or the runtime that is packaged beside it, since that is the code that
    runs; the same for ``__rocm``. Where neither is known, it is the newest CUDA that the driver runs, or else the
    installed toolkit. What the environment states already stays.
    """
    build = built_for(environment, installed=here is not None)
    facts: dict[str, str | None] = {"__nccl": _nccl(environment.packages, build)}
    if build is not None and build.device in ("cuda", "rocm"):
        facts[f"__{build.device}"] = build.version
    settings = environment.settings
    if here is not None:
        facts |= {"__nvidia_driver": here.driver, "__cuda_arch": here.arch, "__glibc": here.glibc}
        if build is None:
            facts |= {"__cuda": here.driver_cuda or here.toolkit_cuda, "__rocm": here.rocm}
        device = _device(build, here)
        if device is not None and all(setting.key != "host.device" for setting in settings):
            settings = (*settings, Setting(key="host.device", value=device, location=Location(path="this machine")))
    known = {name: version for name, version in facts.items() if version is not None}
    return replace(environment, settings=settings, virtual=dict(sorted({**known, **environment.virtual}.items())))


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


# What the packages say


def built_for(environment: Environment, *, installed: bool) -> Build | None:
    """What torch was built for, if everything that says so agrees: a lockfile may hold several builds.

    Args:
        environment: whose packages are looked at.
        installed: the packages are files of this machine: torch's own ``version.py`` is read, as text, and decides.
    """
    torches = [package for package in environment.packages if package.name in _TORCH]
    said = {_of_files(package) or _of_label(package) if installed else _of_label(package) for package in torches}
    said.discard(None)
    if not said:
        said = {Build("cuda", version) for version in _versions(environment.packages, _RUNTIMES, _MAJOR_MINOR)}
    elif not installed:
        # A wheel without a label stands beside labelled ones (macOS, extras): its own CUDA has to be the same.
        said |= {Build("cuda", version) for version in _versions(environment.packages, _RUNTIMES, _MAJOR_MINOR)}
    return said.pop() if len(said) == 1 else None


def _of_label(package: Package) -> Build | None:
    """``2.5.1+cu124``, ``2.6.0+rocm6.2.4``, ``2.5.1+cpu``; a wheel of PyPI has no label and says nothing."""
    label = (package.version or "").partition("+")[2].lower()
    if match := _CUDA_LABEL.match(label):
        return Build("cuda", f"{match[1]}.{match[2]}")
    if match := _ROCM_LABEL.match(label):
        return Build("rocm", match[1])
    if match := _PLAIN_LABEL.match(label):
        return Build("cpu") if match[1] == "cpu" else Build("xpu")
    return None


def _of_files(package: Package) -> Build | None:
    """The same from ``torch/version.py`` beside the metadata."""
    metadata = Path(package.location.path)
    folder = next((one for one in (metadata, *metadata.parents) if one.suffix in (".dist-info", ".egg-info")), None)
    if folder is None:
        return None
    said = dict(_BUILT_FOR.findall(_text(folder.parent / "torch" / "version.py")))
    if "cuda" not in said:
        return None
    if match := _MAJOR_MINOR.match(said["cuda"]):
        return Build("cuda", match[0])
    if match := _MAJOR_MINOR.match(said.get("hip", "")):
        return Build("rocm", match[0])
    return Build("xpu") if said.get("xpu") else Build("cpu")


def _nccl(packages: tuple[Package, ...], build: Build | None) -> str | None:
    """The NCCL that comes as a package; of wheels for several CUDAs the one for torch's."""
    if build is not None and build.version is not None and build.device == "cuda":
        own = re.compile(rf"nvidia-nccl-cu{build.version.partition('.')[0]}")
        if versions := _versions(packages, own):
            return _one(versions)
    return _one(_versions(packages, _NCCL))


def _versions(packages: Iterable[Package], names: re.Pattern[str], form: re.Pattern[str] = _RELEASE) -> set[str]:
    return {
        match[0]
        for package in packages
        if names.fullmatch(package.name) and (match := form.match(package.version or ""))
    }


def _one(versions: set[str]) -> str | None:
    return next(iter(versions)) if len(versions) == 1 else None


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
                answers["arch"] = _one({f"{major:d}.{minor:d}" for major, minor in kinds})
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
