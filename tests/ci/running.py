"""A runner of composite actions, as far as ours needs one: expressions, steps in bash, outputs.

What other actions would do is told by the test; our own steps are run as they stand in action.yml.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")
_NAME = re.compile(r"'[^']*'|[a-z_][\w.-]*")


@dataclass
class Job:
    """What a run of the action left behind."""

    status: int = 0
    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    used: dict[str, dict[str, str]] = field(default_factory=dict)


def run_action(
    workspace: Path,
    temporary: Path,
    *,
    inputs: Mapping[str, str],
    environment: Mapping[str, str],
    others: Mapping[str, Mapping[str, str]],
) -> Job:
    """Run the steps until one fails.

    Args:
        workspace: where the repository is checked out.
        temporary: the folder of the runner.
        inputs: what differs from the defaults.
        environment: variables that the runner sets.
        others: the outputs of steps that are not run, by their ids or names.
    """
    known = {name: about.get("default", "") for name, about in ACTION["inputs"].items()}
    assert set(inputs) <= set(known)
    context: dict[str, Any] = {
        "inputs": {**known, **inputs},
        "steps": {},
        "github": {"token": "secret-token"},
        "runner": {"os": "Linux", "arch": "X64"},
    }
    context["inputs"] = {name: expanded(text, context) for name, text in context["inputs"].items()}
    job = Job()
    summary = temporary / "summary.md"
    for number, step in enumerate(STEPS):
        if "if" in step and not evaluated(step["if"], context):
            continue
        name = step.get("id", step["name"])
        outputs = dict(others.get(name, {}))
        if "uses" in step:
            job.used[step["name"]] = {key: expanded(text, context) for key, text in step.get("with", {}).items()}
        elif name not in others:
            file = temporary / f"output-{number}"
            file.touch()
            script = temporary / f"step-{number}.sh"
            script.write_text(step["run"])
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
                cwd=workspace / expanded(step.get("working-directory", "."), context),
                env={
                    **{key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "GIT_"))},
                    **environment,
                    "GITHUB_ACTION_PATH": str(ROOT),
                    "GITHUB_WORKSPACE": str(workspace),
                    "GITHUB_OUTPUT": str(file),
                    "GITHUB_STEP_SUMMARY": str(summary),
                    "RUNNER_TEMP": str(temporary),
                    **{key: expanded(text, context) for key, text in step.get("env", {}).items()},
                },
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=300,
                check=False,
            )
            job.log += done.stdout.decode("utf-8")
            outputs = _outputs(file.read_text("utf-8"))
            if done.returncode and not step.get("continue-on-error"):
                job.status = done.returncode
                break
        context["steps"][name] = {"outputs": outputs}
    job.outputs = {name: expanded(about["value"], context) for name, about in ACTION["outputs"].items()}
    return job


def expanded(text: Any, context: Mapping[str, Any]) -> str:
    """A value with its expressions replaced."""
    return _EXPRESSION.sub(lambda match: str(evaluated(match[1], context)), str(text))


def evaluated(expression: str, context: Mapping[str, Any]) -> Any:
    """The value of an expression that compares and joins names and strings."""

    def value(match: re.Match[str]) -> str:
        if match[0].startswith("'"):
            return match[0]
        found: Any = context
        for part in match[0].split("."):
            found = found.get(part, {})
        return repr(found if found != {} else "")

    return eval(_NAME.sub(value, expression).replace("&&", " and ").replace("||", " or "))  # noqa: S307 - our own text


def _outputs(text: str) -> dict[str, str]:
    found = {}
    rest = text.splitlines()
    while rest:
        name, end = rest.pop(0).split("<<", 1)
        until = rest.index(end)
        found[name] = "\n".join(rest[:until])
        del rest[: until + 1]
    return found
