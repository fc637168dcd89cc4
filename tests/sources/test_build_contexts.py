"""Where the files that a Dockerfile copies come from: the root of the build, which need not be its own folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import read_document
from gradcompat.model.environment import Environment
from gradcompat.sources.dockerfile import read

COPIED = "FROM ubuntu\nCOPY requirements.txt /tmp/\nRUN pip install -r /tmp/requirements.txt\n"


def built(folder: Path, dockerfile: str = "docker/train/Dockerfile") -> Environment:
    return read(read_document(folder / dockerfile, dockerfile, root_of_folder(folder, ".")))


def written(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("place", ["requirements.txt", "docker/requirements.txt", "docker/train/requirements.txt"])
@pytest.mark.parametrize(
    "text",
    [
        COPIED,
        "FROM ubuntu\nWORKDIR /app\nCOPY . .\nRUN pip install -r requirements.txt\n",
        "FROM ubuntu\nCOPY . /app\nRUN pip install -r /app/requirements.txt\n",
    ],
)
def test_the_folders_above_are_tried(tmp_path: Path, place: str, text: str) -> None:
    written(tmp_path, **{"docker/train/Dockerfile": text, place: "torch==2.5.1\n"})
    environment = built(tmp_path)
    assert [(one.name, one.version, one.location.path) for one in environment.packages] == [("torch", "2.5.1", place)]
    assert not [one for one in environment.skipped if one.gap]


@pytest.mark.parametrize(
    "service",
    [
        "build: {context: .., dockerfile: train/Dockerfile}",
        "build:\n      context: ../\n      dockerfile: train/Dockerfile\n",
    ],
)
def test_the_context_that_compose_names_comes_first(tmp_path: Path, service: str) -> None:
    written(
        tmp_path,
        **{
            "docker/train/Dockerfile": COPIED,
            "docker/train/requirements.txt": "torch==1.0\n",
            "docker/requirements.txt": "torch==2.5.1\n",
            "docker/train/compose.yaml": f"services:\n  train:\n    {service}\n",
        },
    )
    assert [(one.name, one.version) for one in built(tmp_path).packages] == [("torch", "2.5.1")]


def test_a_context_elsewhere_in_the_project(tmp_path: Path) -> None:
    written(
        tmp_path,
        **{
            "docker/Dockerfile": COPIED,
            "services/train/requirements.txt": "torch==2.5.1\n",
            "docker-compose.yml": "services:\n  a:\n    image: b\n  train:\n"
            "    build:\n      context: services/train\n      dockerfile: ../../docker/Dockerfile\n",
        },
    )
    assert [one.location.path for one in built(tmp_path, "docker/Dockerfile").packages] == [
        "services/train/requirements.txt"
    ]


@pytest.mark.parametrize(
    "compose",
    [
        "services: [\n",
        "services: 3\n",
        "services: {a: {build: {context: [x]}}}\n",
        "services: {a: {build: ../../..}}\n",
    ],
)
def test_a_broken_compose_file_says_nothing(tmp_path: Path, compose: str) -> None:
    written(tmp_path, **{"Dockerfile": COPIED, "requirements.txt": "torch==2.5.1\n", "compose.yml": compose})
    assert [one.version for one in built(tmp_path, "Dockerfile").packages] == ["2.5.1"]


def test_nothing_above_the_root_is_tried(tmp_path: Path) -> None:
    written(tmp_path, **{"requirements.txt": "torch==2.5.1\n", "project/docker/Dockerfile": COPIED})
    environment = built(tmp_path / "project", "docker/Dockerfile")
    assert environment.packages == ()
    reason = "its requirements are installed, and neither this folder nor one above it in the project has such a file"
    assert [(one.what, one.reason) for one in environment.skipped if one.gap] == [("requirements.txt", reason)]
