"""The real tools accept what was edited, and their commands move these packages and no other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradcompat.edit.atomic_write import write
from gradcompat.edit.lock_commands import lock_command
from gradcompat.edit.lock_run import Indexes, locked
from gradcompat.edit.pins import PinEdit
from gradcompat.errors import EditError
from tests.edit.pinned import edit_file

pytestmark = [pytest.mark.e2e, pytest.mark.network]

JINJA = PinEdit(package="jinja2", version_from="3.1.2", version_to="3.1.4", direct=True)
# What jinja2 needs; the project does not ask for it.
MARKUPSAFE = PinEdit(package="markupsafe", version_from="2.1.3", version_to="2.1.2", kind="downgrade", direct=False)
PROJECT = (
    '[project]\nname = "toy"\nversion = "0.1"\nrequires-python = ">=3.10"\ndependencies = ["jinja2>=3.1,<3.1.3"]\n'
)


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return name


def start(arguments: list[str], where: Path) -> None:
    done = subprocess.run(arguments, cwd=where, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def edit(kind: str, path: Path, *pins: PinEdit) -> None:
    file, result = edit_file(kind, path, path.name, path.read_bytes(), pins)
    assert set(result.settled) | {one.package for one in result.not_edited} == {pin.package for pin in pins}
    write([file])


def lock(kind: str, path: Path, *pins: PinEdit) -> None:
    text = path.read_text("utf-8") if kind == "requirements" else ""
    found = lock_command(kind, path, path.name, pins, text=text)
    assert found is not None
    write([locked(found, Indexes(), 300)])


def versions(path: Path) -> dict[str, str]:
    text = path.read_text("utf-8")
    if path.suffix == ".txt":
        return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE))
    return dict(re.findall(r'^name = "([a-z0-9-]+)"\nversion = "([^"]+)"', text, re.MULTILINE))


def test_uv_lock(tmp_path: Path) -> None:
    tool("uv")
    project, target = tmp_path / "pyproject.toml", tmp_path / "uv.lock"
    project.write_text(PROJECT + '\n[tool.uv]\nconstraint-dependencies = ["markupsafe==2.1.3"]\n', "utf-8")
    start(["uv", "lock"], tmp_path)
    assert versions(target) == {"jinja2": "3.1.2", "markupsafe": "2.1.3", "toy": "0.1"}
    edit("pyproject.toml", project, JINJA, MARKUPSAFE)
    lock("uv.lock", target, JINJA, MARKUPSAFE)
    assert versions(target) == {"jinja2": "3.1.4", "markupsafe": "2.1.2", "toy": "0.1"}
    start(["uv", "lock", "--check"], tmp_path)


def test_uv_lock_takes_a_new_constraint_and_says_why_not(tmp_path: Path) -> None:
    tool("uv")
    project, target = tmp_path / "pyproject.toml", tmp_path / "uv.lock"
    project.write_text(PROJECT, "utf-8")
    start(["uv", "lock"], tmp_path)
    edit("pyproject.toml", project, MARKUPSAFE)
    start(["uv", "lock"], tmp_path)
    assert versions(target)["markupsafe"] == "2.1.2"
    before = target.read_bytes()
    impossible = PinEdit(package="markupsafe", version_to="1.0")
    with pytest.raises(EditError, match=r"^`uv lock`, which was to build nothing, failed: \S"):
        lock("uv.lock", target, impossible)
    assert target.read_bytes() == before


@pytest.mark.parametrize("compiler", ["pip-compile", "uv"])
def test_compiled_requirements(tmp_path: Path, compiler: str) -> None:
    tool(compiler)
    source, target = tmp_path / "requirements.in", tmp_path / "requirements.txt"
    source.write_text("jinja2>=3.1,<3.1.3\nmarkupsafe==2.1.3\n", "utf-8")
    prefix = ["pip-compile", "--strip-extras"] if compiler == "pip-compile" else ["uv", "pip", "compile"]
    start([*prefix, "requirements.in", "--output-file", "requirements.txt"], tmp_path)
    source.write_text("jinja2>=3.1,<3.1.3\n", "utf-8")
    edit("requirements", source, JINJA)
    untouched = target.read_bytes()
    edit("requirements", target, JINJA, MARKUPSAFE)
    assert target.read_bytes() == untouched
    lock("requirements", target, JINJA, MARKUPSAFE)
    assert versions(target) == {"jinja2": "3.1.4", "markupsafe": "2.1.2"}


@pytest.mark.skipif(os.name == "nt", reason="a script is no program there")
@pytest.mark.parametrize("kind", ["uv.lock", "requirements"])
def test_no_interpreter_of_the_project_is_run(tmp_path: Path, kind: str) -> None:
    tool("uv")
    (tmp_path / "pyproject.toml").write_text(PROJECT, "utf-8")
    target = tmp_path / ("uv.lock" if kind == "uv.lock" else "requirements.txt")
    if kind == "uv.lock":
        start(["uv", "lock"], tmp_path)
    else:
        start(["uv", "pip", "compile", "pyproject.toml", "-o", "requirements.txt"], tmp_path)
    python, ran = tmp_path / ".venv" / "bin" / "python", tmp_path / "ran"
    python.parent.mkdir(parents=True)
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\nversion_info = 3.11.7\n", "utf-8")
    python.write_text(f'#!/bin/sh\ntouch {ran}\nexec {sys.executable} "$@"\n', "utf-8")
    python.chmod(0o755)
    (tmp_path / ".python-version").write_text(f"{python}\n", "utf-8")
    edit("pyproject.toml", tmp_path / "pyproject.toml", JINJA)
    lock(kind, target, JINJA)
    assert versions(target)["jinja2"] == "3.1.4"
    assert not ran.exists()
    start(["uv", "lock"], tmp_path)  # this is what uv does where the project lies
    assert ran.exists()
