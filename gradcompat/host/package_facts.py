"""What the packages of an environment say of the host that they are for: CUDA or ROCm, NCCL, and the platform.

torch's local label (``+cu124``), the variant that an index serves (``…/whl/cu124``) and conda's build string
(``py3.10_cuda12.1_cudnn8.9.2_0``) say what torch was built for; the CUDA runtime that comes as a package says it where
none of them does. A build for something else than CUDA runs nothing on it, so CUDA is excluded. Wheels that exist for
one platform only say where the environment is installed, unless a marker stands with them; lockfiles that are for every
platform at once say nothing of that kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gradcompat.files.regular_files import read_regular
from gradcompat.host.torch_builds import TORCH, Build, build_of, build_of_label
from gradcompat.model.environment import Environment, Location, Package, Setting
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

# They are built and released together with torch, for the same devices.
_WITH_TORCH = frozenset({"torchvision", "torchaudio", "pytorch-mutex"})
# The CUDA runtime that comes as a package: NVIDIA's wheels, then what conda calls it.
_RUNTIMES = lazy_pattern(r"nvidia-cuda-runtime(?:-cu\d+)?|cuda-toolkit|pytorch-cuda|cuda-version|cudatoolkit")
_NCCL = lazy_pattern(r"nvidia-nccl-cu\d+|nccl")
_CUDNN = lazy_pattern(r"nvidia-cudnn-cu\d+|cudnn")
# Other libraries bring a CUDA of their own, whatever torch was built for.
_OWN_CUDA = lazy_pattern(r"nvidia-.+-cu\d+|(?:jax|cupy)-cuda.+|jaxlib|tensorflow(?:-.+)?|paddlepaddle-gpu|mxnet-cu\d+")

_BUILT_FOR = lazy_pattern(
    r"^(cuda|hip|xpu)(?:[ \t]*:[^=\n]*)?[ \t]*=[ \t]*(?:None|['\"]([^'\"\n]*)['\"])", re.MULTILINE
)
_MAJOR_MINOR = lazy_pattern(r"\d+\.\d+")
_RELEASE = lazy_pattern(r"\d+(?:\.\d+)+")
_MAX_BYTES = 64 * 1024
_EXACT = lazy_pattern(r"==(\d+(?:\.\d+)+)(?:\.\*)?")

# Their releases have wheels for one platform, and no other distribution. A test holds the list against the releases.
LINUX_WHEELS = frozenset(
    {
        "triton",
        "nvidia-nccl-cu12",
        "nvidia-nccl-cu13",
        "nvidia-nvshmem-cu12",
        "nvidia-nvshmem-cu13",
        "nvidia-cufile-cu12",
    }
)
WINDOWS_WHEELS = frozenset({"triton-windows"})
# The same, of what no record is about.
_OF_WINDOWS = WINDOWS_WHEELS | {"pywin32"}
_CONDA_PLATFORMS = {
    "_libgcc_mutex": "linux",
    "ld_impl_linux-64": "linux",
    "ld_impl_linux-aarch64": "linux",
    "ucrt": "win32",
    "vs2015_runtime": "win32",
}
# By the release of torch and the CUDA that it is built for: the requirements of its wheels on the index of PyTorch.
_BROUGHT_CUDNN = {("2.10.0", "13"): "9.15.1.9"}
_NVIDIA_WHEEL = lazy_pattern(r"nvidia-.+-cu1\d")  # for Linux, and mostly for Windows
# What is written by hand or by a tool for one platform: an entry without a marker is installed.
_OF_ONE_PLATFORM = frozenset(
    {
        *("requirements", "pip-list", "pip-inspect", "report", "installed", "Pipfile.lock", "pylock.toml", "notebook"),
        *("conda-environment", "conda-explicit", "conda-list", "dockerfile", "script"),
    }
)


def with_package_facts(environment: Environment, *, installed: bool = False) -> Environment:
    """The environment with the facts that its packages say, and where they say it; what it states already stays.

    Args:
        environment: as a reader gave it.
        installed: the packages are files of this machine.
    """
    said = _said(environment, installed=installed)
    build = next(iter(said)) if len(said) == 1 else None
    facts = {"__nccl": _nccl(environment.packages, build), "__cudnn": _cudnn(environment.packages, build)}
    if build is not None and build.device in ("cuda", "rocm"):
        facts[f"__{build.device}"] = (build.version, said[build]) if build.version is not None else None
    known = {key: fact for key, fact in facts.items() if fact is not None and key not in environment.virtual}
    origins = {key: location for key, (_, location) in known.items()}
    platform, excluded = environment.platform, set(environment.excluded)
    if platform is None and (found := _platform(environment)) is not None:
        platform, origins["platform"] = found
    if platform is None and (at := _not_macos(environment)) is not None:
        excluded.add("darwin")
        origins.setdefault("darwin", at)
    settings = environment.settings
    if build is not None and build.device != "cuda" and _only_build(environment, installed=installed):
        lacking = {"__cuda", "__cuda_arch"} - environment.virtual.keys()
        excluded |= lacking
        origins |= dict.fromkeys(sorted(lacking), said[build])
        # On a Mac a build for the CPU can use Apple's GPU.
        elsewhere = platform in ("linux", "win32") or "darwin" in excluded
        stated = any(setting.key == "host.device" for setting in settings)
        if build.device == "cpu" and elsewhere and not stated and not installed:
            settings = (*settings, Setting(key="host.device", value="cpu", location=said[build]))
        if build.device == "rocm" and not stated and not installed:
            settings = (*settings, Setting(key="host.device", value="rocm", location=said[build], presumed=True))
    return replace(
        environment,
        settings=settings,
        platform=platform,
        virtual=dict(sorted({**{key: value for key, (value, _) in known.items()}, **environment.virtual}.items())),
        excluded=frozenset(excluded),
        origins={**origins, **environment.origins},
    )


def built_for(environment: Environment, *, installed: bool) -> Build | None:
    """What torch was built for, if everything that says so agrees: a lockfile may hold several builds.

    Args:
        environment: whose packages are looked at.
        installed: the packages are files of this machine: torch's own ``version.py`` is read, as text, and decides.
    """
    said = _said(environment, installed=installed)
    return next(iter(said)) if len(said) == 1 else None


def _said(environment: Environment, *, installed: bool) -> dict[Build, Location]:
    """Each build that something speaks of, with the first place that does."""
    torches = [package for package in environment.packages if package.name in TORCH]
    said: dict[Build, Location] = {}
    for package in torches:
        build = (_of_files(package) if installed else None) or build_of(package)
        if build is not None:
            said.setdefault(build, package.location)
    if said and installed:
        return said
    if not said:
        for package in environment.packages:
            if package.name in _WITH_TORCH and (build := build_of(package)) is not None:
                said.setdefault(build, package.location)
    # A wheel without a label stands beside labelled ones (macOS, extras): its own CUDA has to be the same.
    from_conda = {package.source == "conda" for package in torches}
    for package in environment.packages:
        if not _RUNTIMES.fullmatch(package.name) or (from_conda and (package.source == "conda") not in from_conda):
            continue  # pip's torch does not use the CUDA that conda has installed
        exact = _EXACT.fullmatch(package.specifier or "")
        match = _MAJOR_MINOR.match(package.version or (exact[1] if exact else ""))
        if match:
            said.setdefault(Build("cuda", match[0]), package.location)
    return said


def _of_files(package: Package) -> Build | None:
    """The same from ``torch/version.py`` beside the metadata."""
    metadata = Path(package.location.path)
    folder = next(
        (parent for parent in (metadata, *metadata.parents) if parent.suffix in (".dist-info", ".egg-info")), None
    )
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


def _only_build(environment: Environment, *, installed: bool) -> bool:
    """Does every torch that may be installed say that it was built for something else than CUDA?

    A wheel for macOS has no label, and no CUDA either.
    """
    if any(_OWN_CUDA.fullmatch(package.name) for package in environment.packages):
        return False
    return all(
        build_of(package) is not None or (installed and _of_files(package) is not None) or _only_on_macos(package)
        for package in environment.packages
        if package.name in TORCH
    )


def _only_on_macos(package: Package) -> bool:
    marker = package.marker or ""
    return " or " not in marker and "sys_platform == 'darwin'" in marker


def _platform(environment: Environment) -> tuple[str, Location] | None:
    """The platform that the packages exist for, where all that say so agree."""
    said: dict[str, Location] = {}
    for package in environment.packages if environment.kind in _OF_ONE_PLATFORM else ():
        platform = None
        if package.source == "conda":
            platform = _CONDA_PLATFORMS.get(package.name)
        elif _installed_anyhow(package) and package.version is not None and not package.version.startswith("0."):
            platform = "linux" if package.name in LINUX_WHEELS else "win32" if package.name in _OF_WINDOWS else None
        if platform is not None:
            said.setdefault(platform, package.location)
    return next(iter(said.items())) if len(said) == 1 else None


def _not_macos(environment: Environment) -> Location | None:
    """Where it says that it is for Linux or Windows: by a label of torch, or a wheel of NVIDIA's, that no Mac has."""
    torches = [package for package in environment.packages if package.name in TORCH and package.source != "conda"]
    if torches and all(build_of_label((package.version or "").partition("+")[2].lower()) for package in torches):
        return torches[0].location
    if environment.kind not in _OF_ONE_PLATFORM:
        return None
    return next(
        (
            package.location
            for package in environment.packages
            if package.version is not None and _NVIDIA_WHEEL.fullmatch(package.name) and _installed_anyhow(package)
        ),
        None,
    )


def _installed_anyhow(package: Package) -> bool:
    """Is it from an index, and installed on every platform that the environment is for?"""
    conditional = package.marker or package.reached or package.extras or package.forks
    return package.source == "registry" and not conditional


def _nccl(packages: tuple[Package, ...], build: Build | None) -> tuple[str, Location] | None:
    """The NCCL that comes as a package; of wheels for several CUDAs the one for torch's."""
    if build is not None and build.version is not None and build.device == "cuda":
        own = re.compile(rf"nvidia-nccl-cu{build.version.partition('.')[0]}")
        if found := _versions(packages, own):
            return _one(found)
    return _one(_versions(packages, _NCCL))


def _cudnn(packages: tuple[Package, ...], build: Build | None) -> tuple[str, Location] | None:
    """The cuDNN that comes as a package, or else with a build of torch that has a newer one than its others."""
    listed = _versions(packages, _CUDNN)
    if listed or build is None or build.device != "cuda" or build.version is None:
        return _one(listed)
    major = build.version.partition(".")[0]
    brought = {
        version: package.location
        for package in packages
        if package.name in TORCH and (version := _BROUGHT_CUDNN.get(((package.version or "").partition("+")[0], major)))
    }
    return _one(brought)


def _versions(packages: Iterable[Package], names: re.Pattern[str]) -> dict[str, Location]:
    found: dict[str, Location] = {}
    for package in packages:
        if names.fullmatch(package.name) and (match := _RELEASE.match(package.version or "")):
            found.setdefault(match[0], package.location)
    return found


def _one(found: dict[str, Location]) -> tuple[str, Location] | None:
    return next(iter(found.items())) if len(found) == 1 else None


def _text(path: Path) -> str:
    """The beginning of a small file; nothing if there is none."""
    with suppress(OSError):
        return read_regular(path, _MAX_BYTES).decode("utf-8", "replace")
    return ""
