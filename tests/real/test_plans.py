"""What plans and constraints say, put before the real resolvers: the current uv and pip, and a real environment."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Outcome, Run

pytestmark = [pytest.mark.e2e, pytest.mark.network]

CONFIG = """\
model_name_or_path: llava-hf/llava-1.5-7b-hf
stage: sft
finetuning_type: lora
template: llava
dataset: mine
gradient_accumulation_steps: 8
output_dir: out
"""
# Nothing of this needs torch, which is too large to be downloaded by a test.
REQUIREMENTS = "transformers==4.49.0\ntokenizers==0.21.0\naccelerate==1.4.0\n"
LINUX = ("--set", "host.python=3.11", "--set", "host.platform=linux")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
    (tmp_path / "train.yaml").write_text(CONFIG, "utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the current pip."""
    folder = tmp_path_factory.mktemp("tools") / "venv"
    accepted(uv(), "venv", "--quiet", "--python", "3.11", str(folder))
    interpreter = folder / "bin" / "python"
    accepted(uv(), "pip", "install", "--quiet", "--python", str(interpreter), "--upgrade", "pip")
    return interpreter


def uv() -> str:
    path = shutil.which("uv")
    if path is None:
        pytest.skip("uv is not installed")
    return path


def accepted(*command: str, cwd: Path | None = None) -> str:
    """What the command prints; it has to succeed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def plan_of(outcome: Outcome) -> dict[str, Any]:
    plan = json.loads(outcome.out)
    assert isinstance(plan, dict)
    assert (plan["complete"], plan["verified"]["requirements"]) == (True, True)
    return plan


def test_uv_and_pip_accept_the_planned_pins(run: Run, project: Path, python: Path) -> None:
    arguments = ("plan", "requirements.txt", "--context", "train.yaml", "--format", "json", *LINUX)
    moved = {one["package"]: one["version_to"] for one in plan_of(run(*arguments, cwd=project))["changes"]}
    assert moved == {"transformers": "4.52.1"}
    text = REQUIREMENTS.replace("transformers==4.49.0", f"transformers=={moved['transformers']}")
    # accelerate requires torch; the other two are what the plan is about.
    (project / "planned.txt").write_text(text.replace("accelerate==1.4.0\n", ""), "utf-8")
    resolved = accepted(uv(), "pip", "compile", "--quiet", "--python-version", "3.11", "planned.txt", cwd=project)
    assert "transformers==4.52.1" in resolved
    (project / "whole.txt").write_text(text, "utf-8")
    accepted(uv(), "pip", "compile", "--quiet", "--python-version", "3.11", "whole.txt", cwd=project)
    dry = (str(python), "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed")
    accepted(*dry, "-r", "planned.txt", cwd=project)


@pytest.mark.parametrize(
    "arguments",
    [
        ("requirements.txt", "--context", "train.yaml"),
        ("--for", "transformers,peft,trl", "--python-version", "3.11"),
        ("--all",),
        ("--all", "--fail-on", "note"),
    ],
)
def test_uv_and_pip_accept_the_constraints(run: Run, project: Path, python: Path, arguments: tuple[str, ...]) -> None:
    outcome = run("constraints", *arguments, *LINUX, cwd=project)
    assert outcome.status in (0, 3), outcome.err
    again = run("constraints", *arguments, *LINUX, cwd=project)
    assert again.out == outcome.out
    (project / "constraints.txt").write_text(outcome.out, "utf-8")
    (project / "wanted.in").write_text("transformers\n", "utf-8")
    resolved = accepted(
        uv(), "pip", "compile", "--quiet", "--python-version", "3.11", "--constraint", "constraints.txt", "wanted.in",
        cwd=project,
    )  # fmt: skip
    pinned = [line for line in outcome.out.splitlines() if line.startswith("transformers==")]
    assert all(line in resolved for line in pinned)
    accepted(
        str(python), "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "-c", "constraints.txt",
        "transformers", cwd=project,
    )  # fmt: skip


def test_a_known_good_set_resolves_as_a_whole(run: Run, project: Path) -> None:
    outcome = run("constraints", "--for", "transformers,peft,trl", "--python-version", "3.11", *LINUX, cwd=project)
    (project / "set.txt").write_text(outcome.out, "utf-8")
    resolved = accepted(uv(), "pip", "compile", "--quiet", "--python-version", "3.11", "set.txt", cwd=project)
    pins = {line for line in outcome.out.splitlines() if line and not line.startswith("#")}
    assert pins <= set(resolved.splitlines())


def test_an_environment_that_is_built_from_a_plan(run: Run, project: Path, python: Path) -> None:
    environment = project / "environment"
    accepted(uv(), "venv", "--quiet", "--python", "3.11", str(environment))
    install = (uv(), "pip", "install", "--quiet", "--python", str(environment))
    accepted(*install, "--exclude-newer", "2025-03-01", "transformers==4.49.0", cwd=project)
    before = run("check", "environment", "--context", "train.yaml", cwd=project)
    assert before.status == 1
    found = plan_of(run("plan", "environment", "--context", "train.yaml", "--format", "json", cwd=project))
    (change,) = found["changes"]
    moved = f"{change['kind']} {change['package']} {change['version_from']} to {change['version_to']}"
    assert f"fix       {moved}\n" in before.out
    assert found["verified"]["unverified"] == []
    # No more than the plan: nothing else may have to move with it.
    accepted(
        *install, "--no-deps", *(f"{one['package']}=={one['version_to']}" for one in found["changes"]), cwd=project
    )
    accepted(uv(), "pip", "check", "--python", str(environment))
    accepted(str(python), "-m", "pip", "--python", str(environment), "check")
    assert run("check", "environment", "--context", "train.yaml", cwd=project).status == 0
