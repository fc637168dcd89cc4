"""The real tools accept what was edited, and their commands move these packages and no other."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gradcompat.edit.lock_commands import command, folder, run
from gradcompat.edit.pins import PinEdit
from gradcompat.edit.registry import edit_file
from gradcompat.edit.writing import write
from gradcompat.errors import EditError

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


def locked(path: Path) -> dict[str, str]:
    text = path.read_text("utf-8")
    if path.suffix == ".txt":
        return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE))
    return dict(re.findall(r'^name = "([a-z0-9-]+)"\nversion = "([^"]+)"', text, re.MULTILINE))


def test_uv_lock(tmp_path: Path) -> None:
    tool("uv")
    project, lock = tmp_path / "pyproject.toml", tmp_path / "uv.lock"
    project.write_text(PROJECT + '\n[tool.uv]\nconstraint-dependencies = ["markupsafe==2.1.3"]\n', "utf-8")
    start(["uv", "lock"], tmp_path)
    assert locked(lock) == {"jinja2": "3.1.2", "markupsafe": "2.1.3", "toy": "0.1"}
    edit("pyproject.toml", project, JINJA, MARKUPSAFE)
    arguments = command("uv.lock", lock, (JINJA, MARKUPSAFE))
    assert arguments is not None
    run(arguments, folder(lock), 300)
    assert locked(lock) == {"jinja2": "3.1.4", "markupsafe": "2.1.2", "toy": "0.1"}
    start(["uv", "lock", "--check"], tmp_path)


def test_uv_lock_takes_a_new_constraint_and_says_why_not(tmp_path: Path) -> None:
    tool("uv")
    project, lock = tmp_path / "pyproject.toml", tmp_path / "uv.lock"
    project.write_text(PROJECT, "utf-8")
    start(["uv", "lock"], tmp_path)
    edit("pyproject.toml", project, MARKUPSAFE)
    start(["uv", "lock"], tmp_path)
    assert locked(lock)["markupsafe"] == "2.1.2"
    before = lock.read_bytes()
    impossible = PinEdit(package="markupsafe", version_to="1.0")
    arguments = command("uv.lock", lock, (impossible,))
    assert arguments is not None
    with pytest.raises(EditError, match=r"^`uv lock` failed: \S"):
        run(arguments, folder(lock), 300)
    assert lock.read_bytes() == before


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
    arguments = command("requirements", target, (JINJA, MARKUPSAFE), text=target.read_text("utf-8"))
    assert arguments is not None
    run(arguments, folder(target, text=target.read_text("utf-8")), 300)
    assert locked(target) == {"jinja2": "3.1.4", "markupsafe": "2.1.2"}


def test_pdm(tmp_path: Path) -> None:
    tool("pdm")
    project, lock = tmp_path / "pyproject.toml", tmp_path / "pdm.lock"
    both = PROJECT.replace('"]', '", "markupsafe==2.1.3"]')
    project.write_text(both, "utf-8")
    start(["pdm", "lock"], tmp_path)
    project.write_text(both.replace("markupsafe==2.1.3", "markupsafe<3"), "utf-8")
    newer = PinEdit(package="markupsafe", version_from="2.1.3", version_to="2.1.5", direct=True)
    edit("pyproject.toml", project, JINJA, newer)
    arguments = command("pdm.lock", lock, (JINJA, newer))
    assert arguments is not None
    run(arguments, folder(lock), 300)
    assert locked(lock) == {"jinja2": "3.1.4", "markupsafe": "2.1.5"}
