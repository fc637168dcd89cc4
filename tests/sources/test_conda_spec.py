"""Match specifications and archives of conda."""

from __future__ import annotations

import time

import pytest

from gradcompat.sources.conda_spec import Archive, Spec, parse_archive, parse_spec, platform_of


@pytest.mark.parametrize(
    ("text", "version", "specifier"),
    [
        ("pytorch", None, "*"),
        ("pytorch=2.5", None, "==2.5.*"),
        ("pytorch=2.5.*", None, "==2.5.*"),
        ("pytorch==2.5.*", None, "==2.5.*"),
        ("pytorch=2.5*", None, "==2.5.*"),
        ("pytorch==2.5.1", "2.5.1", None),
        ("pytorch=2.5.1", "2.5.1", None),
        ("pytorch=2.5.1.*", None, "==2.5.1.*"),
        ("pytorch 2.5.1", "2.5.1", None),
        ("pytorch 2.5.1 py311_0", "2.5.1", None),
        ("pytorch=2.5.1=py3.11_cuda12.4_cudnn9.1.0_0", "2.5.1", None),
        ("pytorch=2.5.1=*cuda*", "2.5.1", None),
        ("pytorch=2.5.*=*cuda*", None, "==2.5.*"),
        ("pytorch=*=*cuda*", None, "*"),
        ("pytorch>=2.5=*cuda*", None, ">=2.5"),
        ("conda-forge/linux-64::pytorch = 2.5", None, "==2.5.*"),
        ("https://conda.example/main::pytorch==2.5.1", "2.5.1", None),
        ("pytorch >= 1.13", None, ">=1.13"),
        ("pytorch >=2.1 , <2.3|2.5.*", None, ">=2.1,<2.3 || ==2.5.*"),
        ("pytorch=2.1|2.3", None, "==2.1.* || ==2.3"),
        ("pytorch>=2.1.*", None, ">=2.1"),
        ("pytorch!=2.1.*", None, "!=2.1.*"),
        ("pytorch~=2.1", None, "~=2.1"),
        ("pytorch>=2.1,*", None, ">=2.1"),
        ("x264=1!164.3095=h166bdaf_2", "1!164.3095", None),
        ("x264=1!164", None, "==1!164.*"),
        ("jpeg=9e=h166bdaf_2", "9e", None),
        ("pytorch[version='>=2,<3',build=*cuda*]", None, ">=2,<3"),
        ('pytorch[version="2.5.1"]', "2.5.1", None),
        ("pytorch ==2.5.1  # [linux]", "2.5.1", None),
    ],
)
def test_versions(text: str, version: str | None, specifier: str | None) -> None:
    spec = parse_spec(text)
    assert spec is not None
    assert (spec.name, spec.version, spec.specifier, spec.problem) == (spec.name, version, specifier, None)
    assert spec.name in ("pytorch", "x264", "jpeg")


def test_a_specification() -> None:
    assert parse_spec("pytorch::PyTorch=2.5.1=py3.11_0") == Spec("pytorch", "2.5.1", None, 17, "py3.11_0", None)


@pytest.mark.parametrize("text", ["jpeg=9e", "pytorch=2.*.1", "pytorch (>=2|<1)", "pytorch~=2", "pytorch==1=2=3"])
def test_a_version_that_cannot_be_compared(text: str) -> None:
    spec = parse_spec(text)
    assert spec is not None
    assert (spec.version, spec.specifier) == (None, None)
    assert spec.problem is not None
    assert spec.problem.endswith(" version cannot be compared")


@pytest.mark.parametrize(
    "text", ["", "=1.2", "-e .", "https://a.example/b", "torch @ https://a.example/b", "a[", "a[b]", "a" * 1001]
)
def test_no_specification(text: str) -> None:
    assert parse_spec(text) is None


def test_hostile_specifications_take_no_time() -> None:
    before = time.process_time()
    for text in ("a " * 500, "a=" + " =" * 499, "a" + "::" * 499, "a[" + "a=b," * 200, "a=" + "1|" * 499, "a" * 999):
        parse_spec(text)
    assert time.process_time() - before < 1


@pytest.mark.parametrize(
    ("url", "archive"),
    [
        (
            "https://conda.example/main/linux-64/ld_impl_linux-64-2.38-h1181459_1.conda#md5",
            Archive("ld_impl_linux-64", "2.38", 53, "linux-64", "h1181459_1"),
        ),
        ("file:///c/noarch/x264-1%21164-h_1.tar.bz2", Archive("x264", "1!164", 22, "noarch", "h_1")),
        (r"C:\pkgs\win-64\a-1-0.conda", Archive("a", "1", 17, "win-64", "0")),
        ("a-1-0.conda", Archive("a", "1", 2, None, "0")),
        ("https://conda.example/a-1.conda", None),
        ("https://conda.example/a-1-0.whl", None),
        ("", None),
    ],
)
def test_archives(url: str, archive: Archive | None) -> None:
    assert parse_archive(url) == archive


def test_platforms() -> None:
    assert platform_of({"linux-64", "linux-aarch64", "noarch"}) == "linux"
    assert platform_of({"osx-arm64"}) == "darwin"
    assert platform_of({"win-64", "osx-64"}) is None
    assert platform_of({"emscripten-wasm32"}) is None
    assert platform_of(set()) is None
