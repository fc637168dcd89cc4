"""The fixtures are written by hand: no tool writes Dockerfiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import Malformed
from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document, read_document
from gradcompat.host.package_facts import with_package_facts
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.sources.dockerfile import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "dockerfile"
BEST_EFFORT = Skipped(
    what="Dockerfile",
    reason="a best effort: the contents of base images are unknown, and build arguments have their defaults",
    gap=False,
    location=Location(path="Dockerfile"),
)


def read_text(text: str) -> Environment:
    return read(Document("Dockerfile", text))


def pins(text: str) -> list[tuple[str, str | None, tuple[str, ...], str]]:
    """Each package with its version or range, its stages and its place."""
    found = []
    for package in read_text(text).packages:
        place = f"{package.location.line}:{package.location.column}"
        found.append((package.name, package.version or package.specifier, package.forks, place))
    return found


def notes(text: str) -> list[tuple[str, str, bool]]:
    first, *others = read_text(text).skipped
    assert first == BEST_EFFORT
    return [(skipped.what, skipped.reason, skipped.gap) for skipped in others]


def test_stages() -> None:
    environment = read(read_document(FIXTURES / "stages.Dockerfile", "Dockerfile"))
    assert [
        (package.name, package.version or package.specifier, package.source, package.forks, str(package.location))
        for package in environment.packages
    ] == [
        ("torch", "2.5.1", "registry", ("base", "train"), "Dockerfile:4"),
        ("transformers", "4.49.0", "registry", ("base", "train"), "Dockerfile:13"),
        ("accelerate", ">=1.0,<2", "registry", ("base", "train"), "Dockerfile:15"),
        ("pip", "*", "registry", ("base", "train"), "Dockerfile:16"),
        ("trl", "0.14.0", "registry", ("base", "train"), "Dockerfile:16"),
        ("peft", "*", "registry", ("base", "train"), "Dockerfile:17"),
        ("flash-attn", "*", "registry", ("train",), "Dockerfile:24"),
        ("liger-kernel", "0.5.2", "registry", ("train",), "Dockerfile:26"),
        ("deepspeed", "0.16.4", "registry", ("train",), "Dockerfile:26"),
        ("bitsandbytes", "0.45.0", "registry", ("train",), "Dockerfile:28"),
        ("xgrammar", "*", "registry", ("tools",), "Dockerfile:31"),
        ("timm", "!=1.0.23", "registry", ("tools",), "Dockerfile:31"),
        ("pytorch", "==2.5.*", "conda", ("tools",), "Dockerfile:32"),
        ("numpy", "1.26.4", "conda", ("tools",), "Dockerfile:32"),
        ("scipy", "*", "conda", ("tools",), "Dockerfile:32"),
        ("torchvision", "0.20.1", "registry", ("tools",), "requirements.txt:1"),
        ("datasets", "*", "registry", ("tools",), "requirements.txt:2"),
    ]
    assert [(skipped.what, skipped.gap, str(skipped.location)) for skipped in environment.skipped] == [
        ("Dockerfile", False, "Dockerfile"),
        ("pytorch/pytorch:${TAG}", False, "Dockerfile:4"),
        ("peft", True, "Dockerfile:17"),
        ("flash-attn", True, "Dockerfile:24"),
        ("xgrammar", False, "Dockerfile:31"),
        ("missing.txt", True, "Dockerfile:33"),
        ("constraints.txt", False, "Dockerfile:33"),
    ]
    assert (environment.kind, environment.closed) == ("dockerfile", False)


@pytest.mark.parametrize(
    "line", ["4:22", "13:31", "15:20", "16:54", "26:54", "26:72", "28:39", "31:38", "32:59", "32:71"]
)
def test_columns_of_the_fixture(line: str) -> None:
    """At each place of a version stands that version, or the variable that gives it."""
    document = read_document(FIXTURES / "stages.Dockerfile")
    places = {
        f"{package.location.line}:{package.location.column}": package.version or package.specifier or ""
        for package in read(document).packages
    }
    number, column = map(int, line.split(":"))
    rest = document.text.split("\n")[number - 1][column - 1 :]
    written = {"==2.5.*": "=2.5 "}.get(places[line], places[line])
    assert rest.startswith((written, "$"))


@pytest.mark.parametrize(
    ("image", "version", "gap"),
    [
        ("pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", "2.5.1", False),
        ("docker.io/pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel@sha256:0", "2.5.1", False),
        ("ghcr.io/pytorch/pytorch-nightly:2.7.0.dev20250101-cuda12.4-cudnn9-devel", "2.7.0.dev20250101", False),
        ("rocm/pytorch:rocm6.3_ubuntu22.04_py3.10_pytorch_release_2.4.0", "2.4.0", False),
        ("pytorch/pytorch:latest", "*", True),
        ("pytorch/pytorch", "*", True),
        ("nvcr.io/nvidia/pytorch:24.10-py3", "2.5.0a0+e000cf0ad9.nv24.10", True),
        ("nvcr.io/nvidia/pytorch:19.05-py3", "<2.4.0", True),
        ("nvcr.io/nvidia/pytorch:25.02-py3", ">=2.6.0a0,<2.7.0", True),
        ("nvcr.io/nvidia/pytorch:26.03-py3", ">=2.9.0a0", True),
    ],
)
def test_images_with_torch(image: str, version: str, gap: bool) -> None:
    text = f"FROM --platform=linux/amd64 {image} AS x\n"
    [package] = read_text(text).packages
    assert (package.name, package.version or package.specifier) == ("torch", version)
    column = package.location.column or 0
    assert text[column - 1 :].startswith(version if version in image else image)
    assert notes(text) == [(image, "the packages of the base image are unknown", gap)]


@pytest.mark.parametrize(
    "image", ["scratch", "python:3.11", "nvidia/cuda:12.4.1-devel-ubuntu22.04", "ubuntu", "host:5000/debian:12"]
)
def test_images_without_packages(image: str) -> None:
    assert notes(f"FROM {image}") == []


def test_images_that_nobody_knows() -> None:
    assert notes("FROM host/team/train:7") == [
        ("host/team/train:7", "the packages of the base image are unknown", True)
    ]
    assert notes("ARG IMAGE\nFROM $IMAGE") == [
        ("$IMAGE", "the image cannot be determined: it depends on `$IMAGE`", True)
    ]


def test_python_is_stated_only_once() -> None:
    assert read_text("FROM python:3.11-slim AS a\nFROM python:3.11-slim AS b").python == "3.11"
    assert read_text("FROM python:3.11-slim AS a\nFROM python:3.12-slim AS b").python is None
    assert read_text("FROM python:3.11 AS a\nFROM a").python == "3.11"
    assert read_text("FROM python:3.11 AS a\nFROM ubuntu").python is None


def test_blank_behind_the_backslash() -> None:
    text = "FROM ubuntu\nRUN pip install \\ \n    torch==2.5.1 \\\t\r\n    trl\n"
    assert pins(text) == [("torch", "2.5.1", (), "3:12"), ("trl", "*", (), "4:5")]
    reason = "a space follows the `\\` that continues the line; it is read as continued, as Docker does"
    assert notes(text) == [("line 2", reason, False), ("line 3", reason, False)]


def test_other_escape_character() -> None:
    text = "# escape=`\nFROM ubuntu\nRUN pip install `\n torch==2.5.1\n"
    assert pins(text) == [("torch", "2.5.1", (), "4:9")]


def test_scopes_of_arguments() -> None:
    text = (
        "ARG A=1.0\nARG B=2.0\nFROM ubuntu AS one\nARG A\nENV C=3.0\nENV OLD 4.0\nRUN C=9; pip install a==$A b==$B\n"
        "FROM one AS two\nRUN pip install c==$C a==$A d==$OLD\nFROM ubuntu\nRUN pip install e==$C\n"
    )
    assert pins(text) == [
        ("a", "1.0", ("one", "two"), "7:25"),
        ("b", "*", ("one", "two"), "7:28"),
        ("c", "3.0", ("two",), "9:20"),
        ("a", "1.0", ("two",), "9:26"),
        ("d", "4.0", ("two",), "9:32"),
        ("e", "*", ("2",), "11:17"),
    ]


def test_environment_that_is_copied_from_another_stage() -> None:
    text = (
        "FROM ubuntu AS build\nRUN pip install torch==2.5.1\nFROM ubuntu AS other\nRUN pip install trl==1.0\n"
        "FROM ubuntu AS final\nCOPY --from=build /opt/venv /opt/venv\nCOPY --from=other /out/a.txt .\n"
    )
    assert pins(text) == [("torch", "2.5.1", ("build", "final"), "2:24"), ("trl", "1.0", ("other",), "4:22")]


def test_heredocs() -> None:
    text = (
        "FROM ubuntu\nRUN <<-A bash -e\n\tpip install a==1\n\tA\nRUN python3 <<B\npip install b==1\nB\n"
        "COPY <<'C' /x\nRUN pip install c==1\nC\nRUN <<D\n#!/usr/bin/env python3\npip install d==1\nD\n"
        "RUN <<E\n#!/bin/bash\npip install e==1\nE\nRUN pip install f==1"
    )
    assert pins(text) == [("a", "1", (), "3:17"), ("e", "1", (), "17:16"), ("f", "1", (), "19:20")]


def test_requirements_that_were_copied(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "train.txt").write_text("torch==2.5.1\n")
    (tmp_path / "setup.py").write_text("raise SystemExit\n")
    text = (
        "FROM ubuntu\nCOPY requirements/train.txt setup.py /tmp/\nRUN pip install -r /tmp/train.txt\n"
        "RUN pip install -r /tmp/train.txt -r /etc/passwd -r ../x.txt -r pyproject.toml .\n"
    )
    (tmp_path / "Dockerfile").write_text(text)
    environment = read(read_document(tmp_path / "Dockerfile", "Dockerfile"))
    assert environment.packages == (
        Package(name="torch", version="2.5.1", location=Location(path="requirements/train.txt", line=1, column=8)),
    )
    outside = f"leads outside `{tmp_path.name}`; name it on the command line to read it"
    assert [(skipped.what, skipped.reason, skipped.gap) for skipped in environment.skipped[1:]] == [
        ("/etc/passwd", "is a file of the image, and nothing here says what is in it", True),
        ("../x.txt", outside, True),
        ("pyproject.toml", "is a file by itself", False),
        ("a requirement", "a project in a folder: neither its name nor its version stand here", False),
    ]


@pytest.mark.parametrize(
    ("steps", "versions"),
    [
        ("COPY setup/requirements.txt .\nRUN pip install -r requirements.txt", ["2.5.1"]),
        ("COPY setup/requirements.txt ./\nRUN pip install -r ./requirements.txt", ["2.5.1"]),
        ("COPY setup/gpu.txt requirements.txt\nRUN pip install -r requirements.txt", ["2.6.0"]),
        ("COPY setup/gpu.txt deps/\nRUN pip install -r deps/gpu.txt", ["2.6.0"]),
        ("WORKDIR /app\nCOPY setup/gpu.txt /app/\nRUN pip install -r gpu.txt", ["2.6.0"]),
        # The file of the whole folder, which is copied later, takes its place.
        ("COPY setup/requirements.txt .\nCOPY . .\nRUN pip install -r requirements.txt", ["2.4.1"]),
        ("COPY setup/gpu.txt .\nCOPY . .\nRUN pip install -r gpu.txt", ["2.6.0"]),
        (
            "COPY setup/requirements.txt .\nRUN pip install -r requirements.txt\n"
            "FROM ubuntu AS gpu\nCOPY setup/gpu.txt requirements.txt\nRUN pip install -r requirements.txt",
            ["2.5.1", "2.6.0"],
        ),
    ],
)
def test_the_file_that_was_copied_to_where_commands_run(tmp_path: Path, steps: str, versions: list[str]) -> None:
    (tmp_path / "setup").mkdir()
    (tmp_path / "setup" / "requirements.txt").write_text("torch==2.5.1\n")
    (tmp_path / "setup" / "gpu.txt").write_text("torch==2.6.0\n")
    (tmp_path / "requirements.txt").write_text("torch==2.4.1\n")
    (tmp_path / "Dockerfile").write_text(f"FROM ubuntu\n{steps}\n")
    environment = read(read_document(tmp_path / "Dockerfile", "Dockerfile"))
    assert [one.version for one in environment.packages] == versions
    assert not [one for one in environment.skipped if one.gap]


def test_requirements_that_are_copied_by_another_name(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("torch==2.5.1\n")
    text = "FROM ubuntu\nCOPY train.txt /tmp/requirements.txt\nRUN pip install -r /tmp/requirements.txt\n"
    (tmp_path / "Dockerfile").write_text(text)
    environment = read(read_document(tmp_path / "Dockerfile", "Dockerfile"))
    assert [(one.name, one.location and one.location.path) for one in environment.packages] == [("torch", "train.txt")]
    assert not [one for one in environment.skipped if one.gap]


def test_what_is_no_dockerfile() -> None:
    for text in ("RUN pip install torch\n", "\n", "{}", "torch==2.5.1\n", "FROMAGE\n"):
        with pytest.raises(Malformed) as error:
            read_text(text)
        assert str(error.value) == "`Dockerfile`: has no `FROM` as a Dockerfile has"


def test_endless_files_come_to_an_end() -> None:
    reason = "is too long for a Dockerfile: the rest is not read"
    text = "FROM ubuntu\n" + "RUN true\n" * 3000
    assert notes(text) == [("Dockerfile", reason, True)]
    assert notes(f"FROM ubuntu\nENV A={'x' * 300_000}") == [("Dockerfile", reason, True)]


def test_truncated_files_are_read_as_far_as_they_go() -> None:
    text = (FIXTURES / "stages.Dockerfile").read_text(encoding="utf-8")
    names = [package.name for package in read_text(text).packages]
    cut = text.index("'accelerate")
    assert [package.name for package in read_text(text[:cut]).packages] == names[:2]
    for end in range(text.index("FROM") + 6, len(text), 11):
        assert read_text(text[:end]).kind == "dockerfile"


def test_what_is_built_on_top_is_not_in_the_image() -> None:
    assert notes("FROM ubuntu\nONBUILD RUN pip install torch==2.5.1") == [
        ("ONBUILD", "applies to images built from this one", False)
    ]


@pytest.mark.parametrize(
    ("lines", "platform", "cuda", "python"),
    [
        ("FROM nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04", "linux", None, None),
        ("FROM pytorch/pytorch:2.4.0-cuda12.4-cudnn9-devel", "linux", "12.4", None),
        ("FROM pytorch/pytorch:2.4.0-cuda12.4-cudnn9-devel AS a\nFROM a", "linux", "12.4", None),
        ("FROM nvcr.io/nvidia/pytorch:24.05-py3", "linux", "12.4", None),
        ("FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0", "linux", None, "3.10"),
        ("FROM python:3.11-slim", "linux", None, "3.11"),
        ("FROM python:3.11-windowsservercore-ltsc2022", "win32", None, "3.11"),
        ("FROM mcr.microsoft.com/windows/nanoserver:ltsc2022", "win32", None, None),
        ("ARG BASE\nFROM ${BASE}", None, None, None),
        ("ARG BASE=ubuntu:22.04\nFROM ${BASE}", "linux", None, None),
        ("ARG BASE\nFROM ubuntu:22.04 AS a\nFROM ${BASE}", None, None, None),
        (
            "FROM ubuntu:22.04\nRUN pip install torch==2.4.0 --index-url https://a.example/whl/cu121",
            "linux",
            "12.1",
            None,
        ),
        # What the image has beside is not what a wheel of torch was built for.
        ("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install torch==2.4.0", "linux", None, None),
    ],
)
def test_what_the_base_image_says_of_the_host(
    lines: str, platform: str | None, cuda: str | None, python: str | None
) -> None:
    environment = with_package_facts(read_text(lines))

    assert (environment.platform, environment.virtual.get("__cuda"), environment.python) == (platform, cuda, python)
    if platform is not None:
        line = lines.split("\n").index(next(line for line in lines.split("\n") if line.startswith("FROM"))) + 1
        assert environment.origins["platform"].line == line


def test_an_image_for_rocm_has_no_cuda() -> None:
    environment = with_package_facts(read_text("FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0"))
    assert environment.virtual == {"__rocm": "6.2"}
    assert "__cuda" in environment.excluded


def test_what_is_uninstalled_is_not_there() -> None:
    """In a stage that is built from another one, too."""
    text = (
        "FROM nvcr.io/nvidia/pytorch:24.05-py3 AS base\nRUN pip uninstall -y torch flash-attn\n"
        "RUN pip install torch==2.4.0 peft==0.14.0\nFROM base AS late\nRUN pip uninstall -y peft\n"
    )
    assert [(name, version, forks) for name, version, forks, _ in pins(text)] == [
        ("torch", "2.4.0", ()),
        ("peft", "0.14.0", ("base",)),
    ]


def test_a_version_takes_the_place_of_what_was_installed_before() -> None:
    text = "FROM pytorch/pytorch:2.4.0-cuda12.4-cudnn9-devel\nRUN pip install torch==2.5.1\nRUN pip install -U torch\n"
    assert [(name, version) for name, version, *_ in pins(text)] == [("torch", "2.5.1"), ("torch", "*")]


@pytest.mark.parametrize("copied", ["requirements/* ./", "requirements/*.txt .", "requirements ./", "requirements/ ."])
def test_files_of_a_folder_that_were_copied_to_where_commands_run(tmp_path: Path, copied: str) -> None:
    (tmp_path / "docker").mkdir()
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "train.txt").write_text("transformers==4.49.0\n")
    (tmp_path / "pyproject.toml").write_text("")
    dockerfile = tmp_path / "docker" / "Dockerfile"
    dockerfile.write_text(f"FROM python:3.11\nCOPY {copied}\nRUN pip install -r train.txt -r other.txt\n")
    environment = read(read_document(dockerfile, "docker/Dockerfile", root_of_folder(tmp_path, str(tmp_path))))
    assert [(one.name, one.version) for one in environment.packages] == [("transformers", "4.49.0")]
    assert [one.what for one in environment.skipped if one.gap] == ["other.txt"]
