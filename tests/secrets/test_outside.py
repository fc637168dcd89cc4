"""No file of a project makes gradcompat read outside of the project's root, or quote what lies there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.secrets.running import CANARY, FORMATS, leaked, run, write

KEY = f"""-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAABlwAAAAdzc2gtcn
{CANARY}AAAAwEAAQAAAYEAxV
torch/{CANARY}
-----END OPENSSH PRIVATE KEY-----
"""
SECRETS = {
    ".ssh/id_rsa": KEY,
    ".netrc": f"machine index.example login me password {CANARY}\n",
    ".env": f"API_KEY={CANARY}\nexport OTHER='{CANARY}'\n",
    ".bash_history": f"ls\ncurl -H 'Authorization: {CANARY}' https://index.example\n{CANARY}\ngit status\ncd /\n",
    "passwd": f"root:x:0:0:{CANARY}:/root:/bin/bash\n{CANARY}:x:1:1::/:/bin/sh\n",
    "pins.txt": f"torch==2.1.0\n{CANARY}==1.0\n",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with what people keep in one, and a project in it, which is the current folder."""
    for name, text in SECRETS.items():
        write(tmp_path / "home" / name, text)
    write(tmp_path / "home" / "models" / "config.json", json.dumps({"architectures": [CANARY]}))
    project = tmp_path / "home" / "work" / "project"
    project.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(project)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def referring(path: str) -> dict[str, str]:
    """A project file of each kind that names another file, with that file's path."""
    cell = {"cell_type": "code", "source": [f"!pip install -r {path}\n", "!pip install torch==2.1.0\n"]}
    return {
        "requirements.txt": f"torch==2.1.0\n-r {path}\n",
        "constrained.txt": f"torch\n-c {path}\n",
        "glued.txt": f"torch==2.1.0\n-r{path}\n",
        "url.txt": f"torch==2.1.0\n-r file://{path}\n",
        "requirement.txt": f"torch==2.1.0\n--requirement={path}\n",
        "Dockerfile": f"FROM python:3.11\nCOPY {path} /app/\nRUN pip install torch==2.1.0 -r {path}\n",
        "copied.Dockerfile": f"FROM python:3.11\nCOPY {path} /app/x.txt\nRUN pip install -r /app/{Path(path).name}\n",
        "install.ipynb": json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}),
        "environment.yml": f"dependencies:\n- python=3.11\n- pip:\n  - torch==2.1.0\n  - -r {path}\n",
        "pyproject.toml": "[project]\nname='a'\ndynamic=['dependencies']\n"
        f"[tool.setuptools.dynamic]\ndependencies = {{file = ['{path}']}}\n",
        "setup.cfg": f"[options]\ninstall_requires = file: {path}\n",
    }


KINDS = tuple(referring("x"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("way", ["up", "absolute"])
def test_nothing_outside_is_read_through_a_file(
    home: Path, capsys: pytest.CaptureFixture[str], kind: str, name: str, way: str
) -> None:
    path = str(home / name) if way == "absolute" else os.path.relpath(home / name)
    write(Path(kind), referring(path)[kind])
    for command in ("check", "inspect"):
        for target in (kind, "."):
            output = run(command, target, capsys=capsys)
            assert leaked(output) is None, output


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_shows_what_lies_outside(home: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    for name, text in referring("../../.bash_history").items():
        write(Path(name), text)
    output = run("check", ".", "--format", form, capsys=capsys)
    assert leaked(output) is None, output


@pytest.mark.parametrize("name", SECRETS)
def test_what_leads_outside_is_a_gap_that_tells_nothing_of_it(
    home: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    write(Path("requirements.txt"), f"torch==2.1.0\n-r ../../{name}\n")
    there = run("check", "requirements.txt", capsys=capsys)
    (home / name).unlink()
    assert run("check", "requirements.txt", capsys=capsys) == there
    assert f"-r ../../{name}: leads outside" in " ".join(there.split())


@pytest.mark.parametrize("kind", ["requirements.txt", "Dockerfile", "environment.yml", "uv.lock", "train.yaml"])
@pytest.mark.parametrize("name", SECRETS)
def test_a_link_in_a_folder_is_not_followed_outside(
    home: Path, capsys: pytest.CaptureFixture[str], kind: str, name: str
) -> None:
    Path(kind).symlink_to(home / name)
    write(Path("other/requirements.txt"), "torch==2.1.0\n")
    for command in ("check", "inspect", "plan"):
        output = run(command, ".", capsys=capsys)
        assert leaked(output) is None, output
    if kind != "train.yaml":
        assert f"{kind}: leads outside" in " ".join(run("check", ".", capsys=capsys).split())


@pytest.mark.parametrize(
    "kind", ["requirements.txt", "environment.yml", "uv.lock", "train.yaml", "train.sh", "train.py"]
)
@pytest.mark.parametrize("name", [name for name in SECRETS if name != "pins.txt"])
@pytest.mark.parametrize("command", ["check", "inspect", "plan", "fix", "diagnose"])
def test_of_a_named_link_to_a_secret_nothing_is_quoted(
    home: Path, capsys: pytest.CaptureFixture[str], kind: str, name: str, command: str
) -> None:
    Path(kind).symlink_to(home / name)
    options = {"fix": ("--dry-run", "--no-index"), "plan": ("--no-index",)}.get(command, ())
    output = run(command, kind, *options, capsys=capsys)
    assert leaked(output) is None, output


def test_links_on_the_way_and_below_a_linked_folder(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("inner").symlink_to(home)
    Path("alias.txt").symlink_to("inner/pins.txt")
    write(Path("a/requirements.txt"), "torch==2.1.0\n-r ../alias.txt\n-r ../inner/pins.txt\n-r nested.txt\n")
    write(Path("a/nested.txt"), "-c ../inner/.netrc\n-r ../inner/missing.txt\n")
    output = run("check", ".", "--format", "json", capsys=capsys)
    assert leaked(output) is None, output
    assert output.count("leads outside") == 4


def test_a_link_inside_of_the_root_is_followed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(Path("base/common.txt"), "transformers==4.49.0\n")
    Path("a").mkdir()
    Path("a/common.txt").symlink_to("../base/common.txt")
    write(Path("a/requirements.txt"), "-r common.txt\n-r ../base/common.txt\n")
    output = run("inspect", ".", capsys=capsys)
    assert "outside" not in output
    assert "transformers  4.49.0" in output


def test_a_file_may_read_in_its_checkout_and_no_further(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(".git").mkdir()
    write(Path("base.txt"), "transformers==4.49.0\n")
    write(Path("deep/er/requirements.txt"), "-r ../../base.txt\n-r ../../../../pins.txt\n")
    output = run("inspect", "deep/er/requirements.txt", capsys=capsys)
    assert "transformers  4.49.0" in output
    assert leaked(output) is None, output
    assert "-r ../../../../pins.txt: leads outside" in " ".join(output.split())


def test_a_home_folder_under_version_control_is_no_project(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".git").mkdir()
    write(Path("requirements.txt"), "-r ../../pins.txt\n")
    assert leaked(run("inspect", "requirements.txt", capsys=capsys)) is None


def test_what_is_named_on_the_command_line_may_be_included(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(Path("../base.txt"), "transformers==4.49.0\n")
    write(Path("requirements.txt"), "-r ../base.txt\n")
    assert "outside" in run("inspect", "requirements.txt", capsys=capsys)
    named = run("inspect", "requirements.txt", "../base.txt", capsys=capsys)
    assert "outside" not in named
    assert named.count("transformers  4.49.0") == 2


def test_a_config_composes_nothing_from_outside(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(home / "group" / "optimizer.yaml", f"name: {CANARY}\nmodel_name_or_path: {CANARY}\n")
    write(Path("conf/config.yaml"), "defaults:\n- linked: optimizer\n- other\n- _self_\ntrainer:\n  precision: 16\n")
    Path("conf/linked").symlink_to(home / "group")
    Path("conf/other.yaml").symlink_to(home / "group" / "optimizer.yaml")
    write(Path("requirements.txt"), "torch==2.1.0\n")
    for arguments in (("check", "."), ("inspect", "conf/config.yaml"), ("inspect", ".")):
        output = run(*arguments, capsys=capsys)
        assert leaked(output) is None, output


def test_no_config_of_a_model_outside_is_read(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("weights").symlink_to(home / "models")
    code = (
        "from transformers import AutoModelForCausalLM, Trainer\n"
        "AutoModelForCausalLM.from_pretrained('{}')\nTrainer().train()\n"
    )
    for path in ("../../models", "weights"):
        write(Path("train.py"), code.format(path))
        for target in ("train.py", "."):
            output = run("inspect", target, capsys=capsys)
            assert leaked(output) is None, output


def test_no_file_outside_is_the_proof_of_a_waiver(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(Path("requirements.txt"), "torch==2.1.0\n")
    waiver = "[[waivers]]\nid = 'GC-2024-0001'\nreason = 'measured'\nproof = '../../.env'\n"
    write(Path("gradcompat.toml"), waiver)
    there = run("check", "requirements.txt", capsys=capsys)
    (home / ".env").unlink()
    assert run("check", "requirements.txt", capsys=capsys) == there
    assert "outside" in there


@pytest.mark.parametrize("name", ["gradcompat.toml", "pyproject.toml"])
def test_no_project_file_is_a_link_to_outside(home: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    options = write(home / "options.toml", f"{CANARY} = 1\n[tool.gradcompat]\n{CANARY} = 2\n")
    write(Path("requirements.txt"), "torch==2.1.0\n")
    Path(name).symlink_to(options)
    output = run("check", "requirements.txt", capsys=capsys)
    assert leaked(output) is None, output
    assert "leads outside" in output
