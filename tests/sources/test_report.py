"""Pasted environment reports: what they state, and what they do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.errors import Malformed, SourceError
from gradcompat.formats import pasted_text
from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.sources.any_format import read as read_any
from gradcompat.sources.report import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "report"

Row = tuple[int | None, int | None, str, str | None, str]


def of(text: str) -> Environment:
    return read(Document("a.txt", text))


def rows(environment: Environment) -> list[Row]:
    return [
        (package.location.line, package.location.column, package.name, package.version, package.source)
        for package in environment.packages
    ]


REPORTS: dict[str, tuple[list[Row], str, str | None, dict[str, str]]] = {
    "collect_env.txt": (
        [
            (2, 18, "torch", "2.5.1+cu121", "registry"),
            (23, 15, "numpy", "1.26.4", "registry"),
            (25, 16, "triton", "3.1.0", "registry"),
            (26, 35, "blas", "1.0", "conda"),
            (27, 35, "pytorch", "2.5.1", "conda"),
        ],
        "3.10.12",
        "linux",
        {"__cuda": "12.1", "__cuda_arch": "8.0", "__glibc": "2.35", "__nvidia_driver": "535.183.01"},
    ),
    "transformers_env.txt": (
        [
            (3, 27, "transformers", "4.50.0.dev0", "registry"),
            (6, 28, "huggingface-hub", "0.29.1", "registry"),
            (7, 23, "accelerate", "1.4.0", "registry"),
            (10, 27, "torch", "2.6.0", "registry"),
            (12, 34, "flax", "0.8.3", "registry"),
        ],
        "3.11.9",
        "darwin",
        {},
    ),
    "ds_report.txt": (
        [(11, 36, "torch", "2.3.0+cu121", "registry"), (13, 36, "deepspeed", "0.15.5+46d7d0d1", "registry")],
        "",
        None,
        {"__cuda": "12.1"},
    ),
    "lightning.txt": (
        [
            (7, 23, "lightning", "2.4.0", "registry"),
            (8, 23, "torch", "2.4.1", "registry"),
            (10, 23, "numpy", "1.26.4", "registry"),
        ],
        "3.10.14",
        "linux",
        {"__cuda": "12.1", "__cuda_arch": "8.0"},
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_reports(name: str) -> None:
    packages, python, platform, virtual = REPORTS[name]
    environment = read(read_document(FIXTURES / name, name))
    assert rows(environment) == packages
    assert (environment.kind, environment.closed, environment.skipped) == ("report", False, ())
    assert (environment.python or "", environment.platform, environment.virtual) == (python, platform, virtual)


def test_a_version_that_is_none_is_a_gap() -> None:
    environment = read(read_document(FIXTURES / "llamafactory_env.txt", "l.txt"))
    names = ("llamafactory", "torch", "transformers", "peft", "trl", "bitsandbytes")
    assert tuple(package.name for package in environment.packages) == names
    assert environment.skipped == (
        Skipped(
            what="a line", reason="has no version that is one", location=Location(path="l.txt", line=11, column=17)
        ),
    )
    assert (environment.python, environment.platform, environment.virtual) == (
        "3.10.16",
        "win32",
        {"__cuda_arch": "8.9"},
    )


def test_a_thread_with_quotes_colours_and_a_list_of_pip() -> None:
    environment = read(read_document(FIXTURES / "thread.md", "t.md"))
    assert environment == Environment(
        source="t.md",
        kind="report",
        closed=False,
        packages=tuple(
            Package(name=name, version=version, location=Location(path="t.md", line=line, column=column))
            for line, column, name, version in (
                (2, 27, "accelerate", "1.4.0"),
                (4, None, "torch", "2.6.0+cu124"),
                (5, 27, "diffusers", "0.28.0"),
                (7, 18, "numpy", "1.26.4"),
                (17, 15, "transformers", "4.49.0"),
                (12, 9, "trl", "0.9.6"),
            )
        ),
        skipped=(
            Skipped(what="a line", reason="has no version", location=Location(path="t.md", line=14, column=1)),
            Skipped(
                what="a requirement",
                reason="is no requirement: expected semicolon (after name with no version specifier) or end",
                location=Location(path="t.md", line=16, column=8),
            ),
        ),
        platform="linux",
        virtual={"__glibc": "2.39"},
        origins=dict.fromkeys(("platform", "__glibc"), Location(path="t.md", line=3, column=5)),
    )


@pytest.mark.parametrize(
    "value",
    ["not installed", "not installed (NA)", "N/A", "NA", "None", "Could not collect", "<fill in>", "", "unknown"],
)
def test_absence_is_no_package(value: str) -> None:
    environment = of(f"PyTorch version (GPU?): {value}\n- `trl` version: 0.9.6\n[pip3] {value}\n[conda] {value}\n")
    assert rows(environment) == [(2, 18, "trl", "0.9.6", "registry")]
    assert environment.skipped == ()


def test_versions_of_other_things_are_no_packages() -> None:
    environment = of(
        "CMake version: 3.22.1\nGCC version: 11.4.0\nCUDA version: 12.4\nDriver version: 535.1\ntrl version: 1"
    )
    assert rows(environment) == [(5, 14, "trl", "1", "registry")]
    assert environment.virtual == {}


def test_statements_that_differ_are_both_kept_and_facts_that_differ_are_none() -> None:
    environment = of(
        "PyTorch version: 2.5.1\nTorch version: 2.6.0\nPython version: 3.10\nPython version: 3.10.4\n"
        "Nvidia driver version: 535.1\n| Driver Version: 550.2 |\nPlatform: Linux-1\nOS: Windows 11\n"
    )
    assert rows(environment) == [(1, 18, "torch", "2.5.1", "registry"), (2, 16, "torch", "2.6.0", "registry")]
    assert (environment.python, environment.platform, environment.virtual) == ("3.10.4", None, {})


def test_rocm() -> None:
    assert of("ROCM used to build PyTorch: 6.2.41133-dd7f95766\nHIP runtime version: 6.2.41133").virtual == {
        "__rocm": "6.2.41133"
    }


@pytest.mark.parametrize(("text", "line"), [("\nIt does not work,\nversion or not", 2), ('{"a": 1}', 1)])
def test_what_is_no_report(text: str, line: int) -> None:
    with pytest.raises(Malformed) as caught:
        of(text)
    assert str(caught.value) == f"`a.txt:{line}`: has no line that an environment report has"


def test_an_empty_text() -> None:
    with pytest.raises(Malformed) as caught:
        of("")
    assert str(caught.value) == "`a.txt`: has no line that an environment report has"


@pytest.mark.parametrize("name", [*REPORTS, "llamafactory_env.txt", "thread.md"])
def test_the_content_alone_says_what_it_is(name: str) -> None:
    assert read_any(Document("-", (FIXTURES / name).read_text(encoding="utf-8"))).kind == "report"


def test_a_very_long_log_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pasted_text.MAX_LINES == 500_000
    monkeypatch.setattr(pasted_text, "MAX_LINES", 5_000)
    environment = of("PyTorch version: 2.5.1\n" + "\n" * 5_000)
    assert len(environment.packages) == 1
    assert [(one.reason, one.gap) for one in environment.skipped] == [
        ("is longer than 5,000 lines: the rest is not read", True)
    ]


@given(
    st.text(max_size=200)
    | st.lists(
        st.sampled_from(["- ", "`a` version: ", "1.0", "[pip3] ", "[conda] ", "a==1", "\n", "> ", "* Packages:\n"])
    ).map("".join)
)
def test_any_text_gives_an_environment_or_an_error(text: str) -> None:
    try:
        environment = of(text)
    except SourceError:
        return
    assert all(package.location.line and package.version for package in environment.packages)


SMI = """\
| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |
| GPU  Name                 Persistence-M | Bus-Id          Disp.A |
|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |
| N/A   34C    P0    61W / 400W | 0MiB / 81920MiB | 0% Default |
|   1  NVIDIA A100-SXM4-80GB          On  | 00000000:0F:00.0 Off |
|    0   N/A  N/A      4242      C   /opt/nvidia/python   1234MiB |
"""
WINDOWS_SMI = SMI.replace("Persistence-M", "Driver-Model")


@pytest.mark.parametrize(
    ("text", "platform", "virtual", "device"),
    [
        ("GPU 0: AMD Radeon RX 7900XTX\n", None, {}, "rocm"),
        (SMI, "linux", {"__cuda_arch": "8.0", "__nvidia_driver": "550.54.15"}, "cuda"),
        (WINDOWS_SMI, "win32", {"__cuda_arch": "8.0", "__nvidia_driver": "550.54.15"}, "cuda"),
        ("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n", None, {"__cuda_arch": "9.0"}, "cuda"),
        ("- GPU type: NVIDIA GeForce RTX 5090\n", None, {"__cuda_arch": "12.0"}, "cuda"),
        ("GPU models and configuration: \nGPU 0: Tesla T4\nGPU 1: Tesla T4\n", None, {"__cuda_arch": "7.5"}, "cuda"),
        ("GPU 0: AMD Instinct MI300X\n", None, {}, "rocm"),
        ("CPU:\nApple M2 Max\n", "darwin", {}, "mps"),
        # Which of them trains is not known; nor what a GPU is whose name says nothing.
        ("GPU 0: Tesla T4\nGPU 1: Tesla V100-SXM2-32GB\n", None, {}, "cuda"),
        ("GPU 0: Tesla T4\nGPU 1: NVIDIA Graphics Device\n", None, {}, None),
        # A line of prose, and one of a log, list no GPUs.
        ("It works on an A100, but not on my H100.\n", None, {}, None),
        ("- GPU number: 4\n- GPU memory: 47.53GB\n", None, {}, None),
    ],
)
def test_gpus(text: str, platform: str | None, virtual: dict[str, str], device: str | None) -> None:
    environment = of(f"[pip3] numpy==1.26.4\n{text}")

    assert (environment.platform, environment.virtual) == (platform, virtual)
    stated = {one.key: one.value for one in environment.settings}
    assert stated.pop("host.device", None) == device
    assert stated == ({"host.short_wavefronts": "Radeon" in text} if device == "rocm" else {})


def test_a_gpu_is_not_the_device_of_a_build_for_the_cpu() -> None:
    assert of("[pip3] torch==2.5.1+cpu\nGPU 0: Tesla T4\n").settings == ()


def test_where_a_fact_of_the_host_stands() -> None:
    origins = of(f"[pip3] numpy==1.26.4\n{SMI}").origins
    assert {key: location.line for key, location in origins.items()} == {
        "__cuda_arch": 4,
        "__nvidia_driver": 2,
        "platform": 3,
    }
