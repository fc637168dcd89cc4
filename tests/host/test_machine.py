"""Facts of the host, from packages, from a file tree that looks like a machine, and from a stand-in for NVML."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from gradcompat.host.machine import Machine, binding, completed, machine, with_host
from gradcompat.host.package_facts import built_for
from gradcompat.host.torch_builds import Build
from gradcompat.model.environment import Environment, Location, Setting
from gradcompat.sources.installed import read_folder
from tests.building import environment, package

LINUX = Machine(platform="linux", processor="x86_64")
GPU = replace(LINUX, nvidia=True, driver="550.54.15", driver_cuda="12.4", arch="9.0", toolkit_cuda="12.2", glibc="2.35")
AMD = replace(LINUX, amd=True, rocm="6.1.0")
MAC = Machine(platform="darwin", processor="arm64")

DEVICE = Location(path="this machine")

PROPRIETARY = """\
NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023
GCC version:  gcc version 11.4.0
"""
OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (builder@host)  Wed Feb 26 2025
"""
TOOLKIT = """\
{
   "cuda_cudart" : {
      "name" : "CUDA Runtime (cudart)",
      "version" : "12.1.105"
   },
   "cuda" : {
      "name" : "CUDA SDK",
      "version" : "12.1.1"
   }
}
"""


def device(value: str) -> tuple[Setting, ...]:
    return (Setting(key="host.device", value=value, location=DEVICE),)


def tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def gpus(*capabilities: tuple[int, int], **changed: Any) -> SimpleNamespace:
    """What NVML's binding looks like, with GPUs of these compute capabilities."""
    answers = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: "550.54.15",
        "nvmlSystemGetCudaDriverVersion_v2": lambda: 12040,
        "nvmlDeviceGetCount": lambda: len(capabilities),
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetCudaComputeCapability": lambda handle: capabilities[handle],
    }
    return SimpleNamespace(**(answers | changed))


def refuses(*_: object) -> Any:
    raise RuntimeError("Insufficient Permissions")


# What the packages say


@pytest.mark.parametrize(
    ("version", "build"),
    [
        ("2.5.1+cu124", Build("cuda", "12.4")),
        ("2.9.0+cu130", Build("cuda", "13.0")),
        ("1.7.1+cu92", Build("cuda", "9.2")),
        ("1.7.1+cu101", Build("cuda", "10.1")),
        ("2.1.0+cu121.with.pypi.cudnn", Build("cuda", "12.1")),
        ("2.6.0+rocm6.2.4", Build("rocm", "6.2.4")),
        ("2.6.0+rocm6.4.1.git1ded221d", Build("rocm", "6.4.1")),
        ("2.0.1+rocm5.4", Build("rocm", "5.4")),
        ("2.5.1+cpu", Build("cpu")),
        ("2.5.1+cpu.cxx11.abi", Build("cpu")),
        ("2.5.1+xpu", Build("xpu")),
        ("2.5.1", None),
        ("2.6.0a0+ecf3bae40a.nv25.1", None),
        ("2.5.0a0+git1234abc", None),
        ("2.5.1+cu12", None),
        ("2.5.1+cu1244", None),
        ("2.5.1+cpuless", None),
        ("2.5.1+", None),
        (None, None),
    ],
)
def test_the_local_label_of_torch(version: str | None, build: Build | None) -> None:
    assert built_for(environment(package("torch", version)), installed=False) == build


@pytest.mark.parametrize(
    ("name", "version", "cuda"),
    [
        ("nvidia-cuda-runtime-cu12", "12.4.127", "12.4"),
        ("nvidia-cuda-runtime-cu11", "11.8.89", "11.8"),
        ("nvidia-cuda-runtime", "13.0.96", "13.0"),
        ("cuda-toolkit", "13.0.2", "13.0"),
        ("pytorch-cuda", "12.1", "12.1"),
        ("cuda-version", "12.6", "12.6"),
        ("cudatoolkit", "11.3.1", "11.3"),
        ("cuda-version", "12", None),
    ],
)
def test_the_runtime_that_comes_as_a_package(name: str, version: str, cuda: str | None) -> None:
    found = completed(environment(package("torch", "2.5.1"), package(name, version)), None)
    assert found.virtual == ({} if cuda is None else {"__cuda": cuda})


def test_nccl_is_a_package() -> None:
    assert completed(environment(package("nvidia-nccl-cu12", "2.21.5")), None).virtual == {"__nccl": "2.21.5"}
    assert completed(environment(package("nccl", "2.23.4.1")), None).virtual == {"__nccl": "2.23.4.1"}
    two = environment(package("nvidia-nccl-cu12", "2.21.5"), package("nvidia-nccl-cu13", "2.28.9"))
    assert completed(two, None).virtual == {}
    for label, nccl in (("cu126", "2.21.5"), ("cu130", "2.28.9")):
        built = replace(two, packages=(*two.packages, package("torch", f"2.9.0+{label}")))
        assert completed(built, None).virtual["__nccl"] == nccl


def test_a_lockfile_with_one_build_beside_the_wheel_of_macos() -> None:
    lock = environment(package("torch", "2.5.1"), package("torch", "2.5.1+cu124"))
    assert completed(lock, None).virtual == {"__cuda": "12.4"}


@pytest.mark.parametrize(
    "others",
    [("torch", "2.5.1+cpu"), ("torch", "2.5.1+cu121"), ("nvidia-cuda-runtime-cu12", "12.1.105")],
)
def test_a_lockfile_whose_builds_differ_says_nothing(others: tuple[str, str]) -> None:
    lock = environment(package("torch", "2.5.1+cu124"), package(*others))
    assert completed(lock, None).virtual == {}


def test_a_lockfile_for_the_cpu_has_no_cuda() -> None:
    lock = environment(package("torch", "2.5.1+cpu"))
    found = completed(lock, None)
    assert dict(found.virtual) == {}
    assert found.excluded == frozenset({"__cuda", "__cuda_arch", "darwin"})
    assert [(one.key, one.value, str(one.location)) for one in found.settings] == [("host.device", "cpu", "uv.lock:1")]


# What the machine adds


def test_the_build_counts_more_than_the_driver() -> None:
    found = completed(environment(package("torch", "2.5.1+cu121"), package("nvidia-nccl-cu12", "2.21.5")), GPU)
    assert found.virtual == {
        "__cuda": "12.1",
        "__cuda_arch": "9.0",
        "__glibc": "2.35",
        "__nccl": "2.21.5",
        "__nvidia_driver": "550.54.15",
    }
    assert found.settings == device("cuda")


@pytest.mark.parametrize(
    ("here", "cuda"),
    [
        (GPU, "12.4"),
        (replace(GPU, driver_cuda=None), "12.2"),
        (replace(GPU, driver_cuda=None, toolkit_cuda=None), None),
    ],
)
def test_without_a_build_the_driver_and_then_the_toolkit_say_which_cuda(here: Machine, cuda: str | None) -> None:
    assert completed(environment(package("torch", "2.5.1")), here).virtual.get("__cuda") == cuda


@pytest.mark.parametrize(
    ("torch", "here", "expected"),
    [
        ("2.5.1+cu124", GPU, "cuda"),
        ("2.5.1", GPU, "cuda"),
        ("2.5.1+cu124", LINUX, None),  # a login node, or CI
        ("2.5.1", LINUX, None),
        ("2.5.1+cpu", GPU, "cpu"),
        ("2.5.1+cpu", LINUX, "cpu"),
        ("2.6.0+rocm6.1", AMD, "rocm"),
        ("2.6.0+rocm6.1", LINUX, None),
        ("2.6.0+rocm6.1", GPU, None),
        ("2.5.1", AMD, None),  # an integrated GPU shows the same
        ("2.5.1+xpu", LINUX, None),
        ("2.5.1", MAC, "mps"),
        ("2.5.1+cpu", MAC, "mps"),
        ("2.5.1", replace(MAC, processor="x86_64"), None),
    ],
)
def test_the_device(torch: str, here: Machine, expected: str | None) -> None:
    found = completed(environment(package("torch", torch)), here)
    assert found.settings == (() if expected is None else device(expected))


def test_rocm_is_that_of_the_build_else_that_of_the_machine() -> None:
    assert completed(environment(package("torch", "2.6.0+rocm6.2.4")), AMD).virtual == {"__rocm": "6.2.4"}
    assert completed(environment(package("torch", "2.6.0")), AMD).virtual == {"__rocm": "6.1.0"}
    assert completed(environment(package("torch", "2.6.0+cu124")), AMD).virtual == {"__cuda": "12.4"}


def test_a_build_for_the_cpu_has_no_cuda_whatever_the_driver_runs() -> None:
    assert "__cuda" not in completed(environment(package("torch", "2.6.0+cpu")), GPU).virtual


def test_what_is_stated_stays() -> None:
    stated = environment(
        package("torch", "2.5.1+cu124"), settings={"host.device": "cpu"}, virtual={"__cuda": "11.8", "__glibc": "2.17"}
    )
    found = completed(stated, GPU)
    assert found.settings == stated.settings
    assert (found.virtual["__cuda"], found.virtual["__glibc"]) == ("11.8", "2.17")


# An installed environment


def venv(root: Path, torch: str, version_py: str | None) -> Environment:
    site = "lib/python3.11/site-packages"
    files = {
        "pyvenv.cfg": "version = 3.11.4\n",
        f"{site}/torch-{torch}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {torch}\n",
    }
    if version_py is not None:
        files[f"{site}/torch/version.py"] = version_py
    return read_folder(tree(root, files), str(root))


VERSION_PY = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']
__version__ = '2.5.1+cu124'
debug = False
cuda: Optional[str] = {cuda}
git_version = 'a8d6afb511a69687bbb2b7e88a3cf67917e1697e'
hip: Optional[str] = {hip}
xpu: Optional[str] = {xpu}
"""


@pytest.mark.parametrize(
    ("said", "build"),
    [
        ({"cuda": "'12.4'"}, Build("cuda", "12.4")),
        ({"hip": "'6.2.41133-dd7f95766'"}, Build("rocm", "6.2")),
        ({"xpu": "'20250000'"}, Build("xpu")),
        ({}, Build("cpu")),
    ],
)
def test_torch_s_own_file_decides(tmp_path: Path, said: dict[str, str], build: Build) -> None:
    text = VERSION_PY.format(**{"cuda": "None", "hip": "None", "xpu": "None"} | said)
    assert built_for(venv(tmp_path, "2.5.1", text), installed=True) == build


def test_an_old_file_without_annotations(tmp_path: Path) -> None:
    text = "__version__ = '1.7.1'\ndebug = False\ncuda = '10.2'\ngit_version = '57bffc3'\nhip = None\n"
    assert built_for(venv(tmp_path, "1.7.1", text), installed=True) == Build("cuda", "10.2")


@pytest.mark.parametrize("text", [None, "", "cuda = 12.4\n", "cuda: Optional[str] = __import__('os')\n", "\0" * 9])
def test_a_file_that_does_not_say_leaves_it_to_the_label(tmp_path: Path, text: str | None) -> None:
    assert built_for(venv(tmp_path, "2.5.1+cu121", text), installed=True) == Build("cuda", "12.1")


def test_the_file_is_never_run(tmp_path: Path) -> None:
    text = f"open({str(tmp_path / 'ran')!r}, 'w')\n" + VERSION_PY.format(cuda="'12.4'", hip="None", xpu="None")
    assert built_for(venv(tmp_path, "2.5.1", text), installed=True) == Build("cuda", "12.4")
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_the_file_does_not_block(tmp_path: Path) -> None:
    installed = venv(tmp_path, "2.5.1+cu121", "")
    path = tmp_path / "lib/python3.11/site-packages/torch/version.py"
    path.unlink()
    os.mkfifo(path)
    assert built_for(installed, installed=True) == Build("cuda", "12.1")


def test_only_an_installed_environment_is_joined_with_this_machine(tmp_path: Path) -> None:
    root = tree(tmp_path / "root", {"proc/driver/nvidia/version": OPEN, "opt/rocm/.info/version": "6.1.0-82\n"})
    installed = venv(tmp_path / "venv", "2.5.1+cu124", None)
    assert with_host(installed, root).virtual["__nvidia_driver"] == "570.124.06"
    lock = environment(package("torch", "2.5.1+cu124"))
    assert with_host(lock, root).virtual == {"__cuda": "12.4"}
    elsewhere = replace(installed, platform="win32" if sys.platform != "win32" else "linux")
    assert with_host(elsewhere, root).virtual == {"__cuda": "12.4"}


# The machine


@pytest.mark.parametrize(
    ("files", "driver"),
    [
        ({"proc/driver/nvidia/version": PROPRIETARY}, "535.104.05"),
        ({"proc/driver/nvidia/version": OPEN}, "570.124.06"),
        ({"dev/nvidiactl": "", "sys/module/nvidia/version": "470.223.02\n"}, "470.223.02"),
        ({"proc/driver/nvidia/version": "what?", "sys/module/nvidia/version": "none"}, None),
        ({}, None),
    ],
)
def test_the_driver_from_its_files(tmp_path: Path, files: dict[str, str], driver: str | None) -> None:
    assert machine(tree(tmp_path, files), lambda: None).driver == driver


@pytest.mark.parametrize(
    ("sizes", "short"), [((0, 0), None), ((0, 32), True), ((0, 64, 64), False), ((0, 32, 64), None)]
)
def test_the_wavefronts_of_amd(tmp_path: Path, sizes: tuple[int, ...], short: bool | None) -> None:
    root = "sys/class/kfd/kfd/topology/nodes"
    nodes = {f"{root}/{n}/properties": f"cpu_cores_count 8\nwave_front_size {size}\n" for n, size in enumerate(sizes)}
    found = machine(tree(tmp_path, {"dev/kfd": "", **nodes}), lambda: None)
    assert found.short_wavefronts is short


def test_everything_from_files(tmp_path: Path) -> None:
    files = {
        "proc/driver/nvidia/version": PROPRIETARY,
        "proc/driver/nvidia/gpus/0000:01:00.0/information" if os.name == "posix" else "dev/nvidia0": "Model: GPU\n",
        "usr/local/cuda/version.json": TOOLKIT,
        "opt/rocm/.info/version": "6.1.0-82\n",
        "dev/kfd": "",
    }
    found = machine(tree(tmp_path, files), lambda: None)
    assert replace(found, processor="", glibc=None) == Machine(
        nvidia=True, driver="535.104.05", toolkit_cuda="12.1", amd=True, rocm="6.1.0"
    )


NVML = {"nvidia": True, "driver": "550.54.15", "driver_cuda": "12.4", "arch": "9.0"}


def test_nvml_says_the_rest(tmp_path: Path) -> None:
    root = tree(tmp_path, {"proc/driver/nvidia/version": PROPRIETARY})
    found = machine(root, lambda: gpus((9, 0), (9, 0)))
    assert replace(found, processor="", glibc=None) == Machine(
        nvidia=True, driver="550.54.15", driver_cuda="12.4", arch="9.0"
    )


@pytest.mark.parametrize(
    ("nvml", "expected"),
    [
        (gpus((8, 6), (12, 0)), NVML | {"arch": None}),
        (gpus(), NVML | {"arch": None, "nvidia": False}),
        (gpus((9, 0), nvmlInit=refuses), {"driver": "535.104.05"}),
        (gpus((9, 0), nvmlDeviceGetHandleByIndex=refuses), NVML | {"arch": None, "nvidia": False}),
        (gpus((9, 0), nvmlDeviceGetCudaComputeCapability=refuses), NVML | {"arch": None}),
        (gpus((9, 0), nvmlSystemGetCudaDriverVersion_v2=refuses), NVML | {"driver_cuda": None}),
        (gpus((9, 0), nvmlSystemGetCudaDriverVersion_v2=lambda: 11020), NVML | {"driver_cuda": "11.2"}),
        (gpus((9, 0), nvmlSystemGetDriverVersion=lambda: b"460.32.03"), NVML | {"driver": "460.32.03"}),
        (gpus((9, 0), nvmlSystemGetDriverVersion=lambda: "\x1b[31m"), NVML | {"driver": "535.104.05"}),
        (gpus((9, 0), nvmlShutdown=refuses), NVML),
        (SimpleNamespace(), {"driver": "535.104.05"}),
    ],
)  # fmt: skip
def test_what_nvml_does_not_answer_is_unknown(tmp_path: Path, nvml: object, expected: dict[str, Any]) -> None:
    root = tree(tmp_path, {"proc/driver/nvidia/version": PROPRIETARY})
    found = machine(root, lambda: nvml)
    assert replace(found, processor="", glibc=None) == Machine(**expected)


def test_nvml_is_not_loaded_where_no_driver_shows(tmp_path: Path) -> None:
    assert machine(tmp_path, refuses).driver is None


def test_a_machine_without_a_driver_costs_next_to_nothing(tmp_path: Path) -> None:
    seconds = []
    for name in "abc":
        start = time.process_time()
        machine(tmp_path / name)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.005


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read everything")
def test_what_may_not_be_read_is_not_there(tmp_path: Path) -> None:
    root = tree(tmp_path, {"proc/driver/nvidia/version": OPEN})
    (root / "proc").chmod(0)
    try:
        assert machine(root, refuses).driver is None
    finally:
        (root / "proc").chmod(0o700)


@pytest.mark.parametrize("text", ["", "{", '{"cuda": 3}', '{"cuda": {"version": "\\u0031"}}', '{"cuda": ' * 9999])
def test_a_broken_toolkit_file(tmp_path: Path, text: str) -> None:
    assert machine(tree(tmp_path, {"usr/local/cuda/version.json": text}), refuses).toolkit_cuda is None


@pytest.fixture
def not_imported() -> Iterator[None]:
    """Without pynvml, which is put back as it was: what a test imports as that is none to the other tests."""
    with patch.dict(sys.modules):
        sys.modules.pop("pynvml", None)
        yield


@pytest.mark.usefixtures("not_imported")
def test_a_file_of_the_project_is_not_nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, {"pynvml.py": "raise SystemExit('run')\n"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert binding() is None


@pytest.mark.usefixtures("not_imported")
def test_the_binding_is_that_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, {"site/pynvml.py": "x = 1\n"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert binding().__file__ == str(tmp_path / "site/pynvml.py")


@pytest.mark.usefixtures("not_imported")
def test_a_binding_that_cannot_be_imported_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, {"site/pynvml.py": "raise OSError('no library')\n"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert binding() is None
