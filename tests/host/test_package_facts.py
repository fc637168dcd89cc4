"""Facts of the host that packages state: what torch was built for, and where an environment can be installed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradcompat.audit.environment_findings import match_runs, with_facts
from gradcompat.audit.options import AuditOptions
from gradcompat.host.package_facts import LINUX_WHEELS, WINDOWS_WHEELS, built_for, with_package_facts
from gradcompat.host.torch_builds import Build
from gradcompat.index.snapshot import Snapshot
from gradcompat.knowledge.load import load
from gradcompat.model.environment import Environment, Package
from tests.building import environment, package


def listed(*packages: Package, kind: str = "requirements") -> Environment:
    return replace(environment(*packages), kind=kind)


def conda(name: str, version: str | None, build: str | None = None, specifier: str | None = None) -> Package:
    return replace(package(name, version, specifier=specifier, source="conda"), build=build)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        ("py3.10_cuda12.1_cudnn8.9.2_0", Build("cuda", "12.1")),
        ("py3.9_cuda11.3_cudnn8.2.0_0", Build("cuda", "11.3")),
        ("cuda118_py310h1234567_300", Build("cuda", "11.8")),
        ("cuda126_mkl_py312_hd3aa4a8_300", Build("cuda", "12.6")),
        ("gpu_cuda124_py312h73f5b00_302", Build("cuda", "12.4")),
        ("cuda92py37h1", Build("cuda", "9.2")),
        ("cuda130_mkl_py313_h1", Build("cuda", "13.0")),
        ("py3.10_cpu_0", Build("cpu")),
        ("cpu_generic_py311_h1", Build("cpu")),
        ("cpu_mkl_py310h1_103", Build("cpu")),
        ("*cuda*", None),
        ("cuda", None),
        ("py311_0", None),
        (None, None),
    ],
)
def test_the_build_string_of_conda(build: str | None, expected: Build | None) -> None:
    assert built_for(environment(conda("pytorch", "2.4.1", build)), installed=False) == expected


@pytest.mark.parametrize(
    ("packages", "cuda"),
    [
        ((conda("pytorch", "2.4.1"), conda("pytorch-cuda", None, specifier="==12.1.*")), "12.1"),
        ((conda("pytorch", "2.4.1"), conda("cudatoolkit", "11.3.1")), "11.3"),
        ((conda("pytorch", None), conda("pytorch-cuda", None, specifier=">=11.8")), None),
        # pip's torch brings its own CUDA, and does not look at the one of conda.
        ((package("torch", "2.0.1"), conda("cudatoolkit", "11.8.0")), None),
        ((conda("cudatoolkit", "11.8.0"),), "11.8"),
        ((package("torch", "2.4.1"), package("torchvision", "0.19.1+cu121")), "12.1"),
        ((package("torch", "2.4.1+cu124"), package("torchvision", "0.19.1+cu121")), "12.4"),
        ((replace(package("torch", "2.4.1"), build="cu118"),), "11.8"),
        ((replace(package("torch", "2.4.1+cu124"), build="cu118"),), "12.4"),
    ],
)
def test_what_says_which_cuda(packages: tuple[Package, ...], cuda: str | None) -> None:
    assert with_package_facts(listed(*packages)).virtual.get("__cuda") == cuda


def test_where_a_fact_stands() -> None:
    found = with_package_facts(
        listed(
            package("numpy", "1.26.4", line=1),
            package("torch", "2.4.1+cu121", line=2),
            package("triton", "3.0.0", line=3),
        )
    )
    assert {name: location.line for name, location in found.origins.items()} == {"__cuda": 2, "platform": 3}


@pytest.mark.parametrize("label", ["cpu", "rocm6.2", "rocm7.2", "xpu"])
def test_a_build_for_something_else_excludes_cuda(label: str) -> None:
    found = with_package_facts(listed(package("torch", f"2.11.0+{label}")))
    assert found.excluded == frozenset({"__cuda", "__cuda_arch", "darwin"})


@pytest.mark.parametrize(
    "packages",
    [
        (package("torch", "2.11.0+cpu"), package("torch", "2.11.0+cu130")),
        (package("torch", "2.11.0+cpu"), package("torch", "2.11.0")),
        (package("torch", "2.11.0+cpu"), package("jax-cuda12-plugin", "0.4.35")),
        (package("torch", "2.11.0+cpu"), package("nvidia-cublas-cu12", "12.4.5.8")),
        (package("torch", "2.11.0"),),
        (package("torch", "2.11.0+cu130"),),
    ],
)
def test_what_does_not_exclude_cuda(packages: tuple[Package, ...]) -> None:
    assert "__cuda" not in with_package_facts(listed(*packages)).excluded


def test_a_wheel_for_macos_has_no_cuda_either() -> None:
    lock = environment(
        package("torch", "2.9.1", marker="sys_platform == 'darwin'"),
        package("torch", "2.9.1+cpu", marker="sys_platform != 'darwin'"),
    )
    found = with_package_facts(lock)
    assert found.excluded == frozenset({"__cuda", "__cuda_arch"})
    assert found.settings == ()  # on a Mac it may train on Apple's GPU


def test_a_build_of_conda_for_the_cpu_may_be_of_a_mac() -> None:
    found = with_package_facts(listed(conda("pytorch", "2.5.1", "cpu_generic_py311_h1"), kind="conda-list"))
    assert (found.platform, found.excluded, found.settings) == (None, frozenset({"__cuda", "__cuda_arch"}), ())


@pytest.mark.parametrize(
    ("kind", "packages", "platform"),
    [
        ("requirements", (package("triton", "3.1.0"),), "linux"),
        ("pip-list", (package("nvidia-nccl-cu12", "2.21.5"),), "linux"),
        ("requirements", (package("triton-windows", "3.1.0"),), "win32"),
        ("pip-list", (package("pywin32", "308"),), "win32"),
        ("conda-environment", (conda("_libgcc_mutex", "0.1"),), "linux"),
        ("conda-list", (conda("ucrt", "10.0.22621.0"),), "win32"),
        ("requirements", (package("triton", "3.1.0", marker="sys_platform == 'linux'"),), None),
        ("pylock.toml", (package("triton", "3.1.0", reached=("sys_platform == 'linux'",)),), None),
        ("requirements", (package("triton", "3.1.0"), package("triton-windows", "3.1.0")), None),
        ("requirements", (package("triton", specifier=">=2"),), None),
        ("requirements", (package("triton", "3.1.0", source="git"),), None),
        ("conda-list", (conda("triton", "3.1.0"),), None),
        # They are for every platform at once, and the markers stand elsewhere.
        ("poetry.lock", (package("triton", "3.1.0"),), None),
        ("uv.lock", (package("triton", "3.1.0"),), None),
    ],
)
def test_the_platform(kind: str, packages: tuple[Package, ...], platform: str | None) -> None:
    assert with_package_facts(listed(*packages, kind=kind)).platform == platform


def test_what_has_wheels_for_linux_and_windows_is_not_for_a_mac() -> None:
    found = with_package_facts(listed(package("torch", "2.4.1"), package("nvidia-cublas-cu12", "12.1.3.1")))
    assert (found.platform, found.excluded) == (None, frozenset({"darwin"}))


def test_what_is_stated_stays() -> None:
    stated = replace(
        listed(package("torch", "2.4.1+cu121"), package("triton", "3.0.0")),
        platform="win32",
        virtual={"__cuda": "12.4"},
    )
    found = with_package_facts(stated)
    assert (found.platform, found.virtual) == ("win32", {"__cuda": "12.4"})


def test_the_lists_of_wheels_are_those_of_the_releases() -> None:
    snapshot = Snapshot()
    for names, tag in ((LINUX_WHEELS, "linux"), (WINDOWS_WHEELS, "win")):
        for name in names:
            releases = [release for release in snapshot.releases(name) if release.version.major > 0]
            assert releases, name
            for release in releases:
                assert not release.sdist, f"{name} {release.version}"
                assert all(tag in wheel.rpartition("-")[2] for wheel in release.wheels), f"{name} {release.version}"


# What it decides


def statuses(lock: Environment, *stated: tuple[str, str]) -> dict[str, str]:
    matched = match_runs(lock, (), load(), AuditOptions(settings=stated, presume=False))
    return {finding.issue.id: finding.status for finding in matched.findings}


def test_a_lock_for_rocm_needs_no_driver_of_nvidia() -> None:
    found = statuses(listed(package("torch", "2.11.0+rocm7.2")))
    assert {found[identifier] for identifier in ("GC-0121", "GC-0122", "GC-0202")} == {"not_affected"}
    # What the user says counts more than what the file does.
    assert statuses(listed(package("torch", "2.11.0+rocm7.2")), ("host.cuda_arch", "9.0"))["GC-0121"] == "conditional"
    assert statuses(listed(package("torch", "2.11.0")))["GC-0121"] == "conditional"


def test_linux_wheels_decide_what_is_about_other_platforms() -> None:
    bare, pinned = listed(package("torch", "2.4.1")), listed(package("torch", "2.4.1"), package("triton", "3.0.0"))
    assert statuses(bare)["GC-0064"] == "conditional"
    assert statuses(pinned)["GC-0064"] == "not_affected"
    assert statuses(listed(package("torch", "2.4.1+cu121")))["GC-0064"] == "not_affected"
    assert statuses(pinned, ("host.platform", "darwin"))["GC-0064"] == "conditional"


def test_a_fact_that_is_set_comes_from_there() -> None:
    lock = with_package_facts(listed(package("torch", "2.11.0+cpu")))
    found = with_facts(lock, [("host.cuda", "13.0"), ("host.platform", "darwin")])
    assert found.excluded == frozenset({"__cuda_arch", "darwin"})
    assert (found.platform, found.virtual) == ("darwin", {"__cuda": "13.0"})
    assert [str(found.origins[name]) for name in ("__cuda", "platform")] == ["--set", "--set"]


def test_a_cudnn_that_is_listed() -> None:
    newer = listed(package("torch", "2.9.1"), package("nvidia-cudnn-cu12", "9.15.1.9"))
    assert with_package_facts(newer).virtual["__cudnn"] == "9.15.1.9"
    two = listed(package("nvidia-cudnn-cu12", "9.10.2.21"), package("nvidia-cudnn-cu13", "9.13.0.50"))
    assert "__cudnn" not in with_package_facts(two).virtual


@pytest.mark.parametrize(
    ("version", "cudnn"),
    [("2.10.0+cu130", "9.15.1.9"), ("2.10.0+cu128", None), ("2.9.1+cu130", None), ("2.10.0", None)],
)
def test_a_build_for_cuda_13_brings_a_newer_cudnn(version: str, cudnn: str | None) -> None:
    found = with_package_facts(listed(package("torch", version)))
    assert found.virtual.get("__cudnn") == cudnn
