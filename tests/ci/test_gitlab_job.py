"""The job for GitLab: its script in the shells that runners have, in a real merge request."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.ci.projects import EXAMPLE, Remote, write
from tests.conftest import ROOT

TEMPLATE: dict[str, Any] = yaml.safe_load((ROOT / "templates" / "gradcompat.yml").read_text("utf-8"))
JOB: dict[str, Any] = TEMPLATE["gradcompat"]
SHELLS = ["bash", "sh"]
BESIDE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.name != "posix" or shutil.which("git") is None, reason="needs a shell and git"),
]


def run(folder: Path, *, shell: str = "sh", install: bool = False, **variables: str) -> tuple[int, str]:
    """What a runner does: the commands in one shell that ends at the first failure."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    commands = [*(JOB["before_script"] if install else []), *JOB["script"]]
    own = {name: str(value).replace("$CI_PROJECT_DIR", str(folder)) for name, value in JOB["variables"].items()}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "GIT"))}
    done = subprocess.run(
        [shell, "-e", "-c", "\n".join(commands)],
        cwd=folder,
        env={**kept, "PATH": BESIDE, "CI_PROJECT_DIR": str(folder), **own, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8")


def quality(folder: Path) -> list[str]:
    return [one["check_name"] for one in json.loads((folder / "gl-code-quality-report.json").read_text("utf-8"))]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_branch_answers_for_everything(tmp_path: Path, shell: str) -> None:
    write(tmp_path, affected=True)
    status, out = run(tmp_path, shell=shell)
    assert status == 1, out
    assert "error GC-0004, silent: " in out
    assert quality(tmp_path) == ["GC-0004", "GC-0005"]
    assert ElementTree.parse(tmp_path / "gradcompat.xml").getroot().tag == "testsuites"  # noqa: S314 - our own
    assert "[GC\\-0004]" in (tmp_path / "gradcompat.md").read_text("utf-8")


@pytest.mark.parametrize(("before", "diff", "status"), [(True, "true", 0), (False, "true", 1), (True, "false", 1)])
def test_a_merge_request_answers_for_what_it_brings(tmp_path: Path, before: bool, diff: str, status: int) -> None:
    remote = Remote(tmp_path / "remote", affected=before)
    remote.request(affected=True)
    remote.checkout(tmp_path / "here", "refs/heads/change", depth=50)
    found, out = run(tmp_path / "here", CI_MERGE_REQUEST_DIFF_BASE_SHA=remote.base, GRADCOMPAT_DIFF=diff)
    assert found == status, out
    assert ("error GC-0004, silent: " in out) == bool(status)
    assert quality(tmp_path / "here") == ["GC-0004", "GC-0005"]


@pytest.mark.parametrize("diff", ["true", "false"])
def test_a_merge_request_does_not_choose_its_options(tmp_path: Path, diff: str) -> None:
    remote = Remote(tmp_path / "remote", affected=False)
    remote.request(affected=True, files={"gradcompat.toml": 'ignore = ["GC-0004"]\nfail-on = "never"\n'})
    remote.checkout(tmp_path / "here", "refs/heads/change", depth=50)
    found, out = run(tmp_path / "here", CI_MERGE_REQUEST_DIFF_BASE_SHA=remote.base, GRADCOMPAT_DIFF=diff)
    assert found == 1, out
    assert "error GC-0004, silent: " in out
    assert "take effect after the merge: `fail-on` and `ignore`" in " ".join(out.split())
    assert "take effect after the merge" in (tmp_path / "here" / "gradcompat.md").read_text("utf-8")


def test_lists_are_data(tmp_path: Path) -> None:
    here = "$(touch pwned); `touch pwned`\"' \\n"
    write(tmp_path, affected=True, name=f"{here}/uv.lock")
    options = (
        "\n  --set=model.architecture=LlavaForConditionalGeneration \r\n--set=training.gradient_accumulation_steps=8\n"
    )
    status, out = run(tmp_path, GRADCOMPAT_TARGETS=f"\n{here}/uv.lock\n\n", GRADCOMPAT_OPTIONS=options)
    assert status == 1, out
    assert "error GC-0004, silent: " in out
    assert not any(path.name == "pwned" for path in tmp_path.rglob("*"))
    assert run(tmp_path, GRADCOMPAT_OPTIONS="--only=GC-0005")[0] == 0


def test_its_statuses_are_those_of_the_check(tmp_path: Path) -> None:
    assert run(tmp_path, GRADCOMPAT_TARGETS="gone.lock")[0] == 2
    (tmp_path / "uv.lock").write_text("version = 99\n")
    write(tmp_path, affected=False, name="a/uv.lock")
    assert run(tmp_path)[0] == 3
    assert run(tmp_path, CI_MERGE_REQUEST_DIFF_BASE_SHA="0" * 40)[0] == 2


@pytest.mark.network
def test_it_installs_itself_apart_from_the_project(tmp_path: Path) -> None:
    here = tmp_path / "here"
    shutil.copytree(EXAMPLE, here)
    for name in ("venv.py", "pip.py", "json.py", "gradcompat.py"):
        (here / name).write_text("raise SystemExit('a module of the project was run')\n")
    status, out = run(here, install=True, GRADCOMPAT_PACKAGE=str(ROOT))
    assert status == 1, out
    assert "error GC-0004, silent: " in out


def test_its_shell_is_sound() -> None:
    shellcheck = shutil.which("shellcheck", path=BESIDE)
    if shellcheck is None:
        pytest.skip("shellcheck is not installed")
    given = "".join(f"export {name}=x\n" for name in JOB["variables"])
    script = "\n".join(["#!/bin/sh -e", given, *JOB["before_script"], *JOB["script"], ""])
    done = subprocess.run([shellcheck, "-"], input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_what_it_reads_is_a_variable_of_it_or_of_gitlab() -> None:
    read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", "\n".join([*JOB["before_script"], *JOB["script"]])))
    assert read - {"CI_MERGE_REQUEST_DIFF_BASE_SHA", "CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "PATH"} == {
        name for name in JOB["variables"] if name.startswith("GRADCOMPAT_")
    }


def test_it_is_valid() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schemas = pytest.importorskip("check_jsonschema")
    path = Path(schemas.__file__).parent / "builtin_schemas" / "vendor" / "gitlab-ci.json"
    jsonschema.Draft7Validator(json.loads(path.read_text("utf-8"))).validate(TEMPLATE)
