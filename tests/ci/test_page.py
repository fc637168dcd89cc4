"""docs/ci.md: its workflows are valid, use inputs that there are, and its commands do what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ci.projects import Remote
from tests.ci.running import ACTION
from tests.ci.test_gitlab_job import JOB
from tests.ci.test_pre_commit import HOOK
from tests.conftest import ROOT

pytestmark = pytest.mark.e2e

PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
BESIDE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
FILES: dict[str, str] = dict(re.findall(r'^```yaml title="([^"]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL))
WORKFLOWS = {name: text for name, text in FILES.items() if name.startswith(".github/")}


def rows(title: str) -> list[list[str]]:
    """The table with this in its head; each row as the cells of its line."""
    table = re.search(rf"^\| {title} .*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


def valid(data: object, schema: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schemas = pytest.importorskip("check_jsonschema")
    path = Path(schemas.__file__).parent / "builtin_schemas" / "vendor" / f"{schema}.json"
    jsonschema.Draft7Validator(json.loads(path.read_text("utf-8"))).validate(data)


def test_its_tables_are_those_of_the_action() -> None:
    inputs = {name.strip("`"): default.strip("`") for name, default, _ in rows("Input")}
    defaults = {name: about["default"] for name, about in ACTION["inputs"].items()}
    assert inputs == {**defaults, "token": "the job's"}
    assert {name.strip("` ") for cells in rows("Output") for name in cells[0].split(",")} == set(ACTION["outputs"])


def test_its_workflows_use_what_the_action_has() -> None:
    assert len(WORKFLOWS) == 2
    for text in WORKFLOWS.values():
        (job,) = yaml.safe_load(text)["jobs"].values()
        (step,) = [one for one in job["steps"] if one.get("uses") == "OWNER/gradcompat@COMMIT"]
        assert set(step.get("with", {})) <= set(ACTION["inputs"])
        assert set(re.findall(r"outputs\.([a-z-]+)", text)) <= set(ACTION["outputs"])
        assert all(re.search(r"@([0-9a-f]{40} # v|COMMIT)", line) for line in re.findall(r"uses: (.*)", text))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_its_workflows_are_valid(name: str) -> None:
    data = yaml.safe_load(WORKFLOWS[name])
    data["on"] = data.pop(True)  # YAML 1.1 reads `on` so
    valid(data, "github-workflows")


@pytest.mark.parametrize("name", WORKFLOWS)
def test_its_workflows_are_sound(name: str, tmp_path: Path) -> None:
    """With the action beside them, so that its inputs and outputs are looked at, too."""
    actionlint = shutil.which("actionlint", path=BESIDE)
    if actionlint is None:
        pytest.skip("actionlint is not installed")
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(WORKFLOWS[name].replace("OWNER/gradcompat@COMMIT", "./action"), "utf-8")
    (tmp_path / "action").mkdir()
    shutil.copy(ROOT / "action.yml", tmp_path / "action")
    (tmp_path / ".git").mkdir()
    done = subprocess.run([actionlint, "-no-color"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_job_of_gitlab_is_set_as_it_can_be() -> None:
    data: dict[str, Any] = yaml.safe_load(FILES[".gitlab-ci.yml"])
    assert set(data) == {"include", "gradcompat"}
    assert set(data["gradcompat"]["variables"]) <= set(JOB["variables"])
    assert data["include"][0]["remote"].endswith("/templates/gradcompat.yml")
    valid(data, "gitlab-ci")


def test_the_hook_is_the_one_that_there_is() -> None:
    (repository,) = yaml.safe_load(FILES[".pre-commit-config.yaml"])["repos"]
    assert repository["hooks"] == [{"id": HOOK["id"]}]


def commands(word: str) -> str:
    """The block of the page that begins with this."""
    found = re.search(rf"^```sh\n({word}.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.skipif(os.name != "posix" or shutil.which("git") is None, reason="needs a shell and git")
@pytest.mark.parametrize(("before", "status"), [(True, 0), (False, 1)])
def test_only_what_a_change_brings(tmp_path: Path, before: bool, status: int) -> None:
    remote = Remote(tmp_path / "remote", affected=before)
    remote.request(affected=True)
    remote.checkout(tmp_path / "here", "refs/heads/change", depth=50)
    env = {**os.environ, "PATH": BESIDE}
    text = commands("git fetch").replace("git fetch origin main", "git fetch origin main:refs/remotes/origin/main")
    done = subprocess.run(
        ["sh", "-ec", text], cwd=tmp_path / "here", env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr


@pytest.mark.network
@pytest.mark.parametrize("tool", ["uvx", "pipx"])
def test_the_one_line_runs(tmp_path: Path, tool: str) -> None:
    if shutil.which(tool, path=BESIDE) is None:
        pytest.skip(f"{tool} is not installed")
    shutil.copytree(ROOT / "examples" / "llava-finetune", tmp_path / "here")
    env = {**os.environ, "PATH": BESIDE, "PIPX_HOME": str(tmp_path / "pipx")}
    text = commands(tool).replace("git+URL@COMMIT", f"'{ROOT}'")
    done = subprocess.run(
        ["sh", "-ec", text], cwd=tmp_path / "here", env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "error GC-0004, silent: " in done.stdout
