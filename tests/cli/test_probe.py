"""``gradcompat probe`` with an interpreter whose torch is a fake: what is said, and with which exit status."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradcompat.audit import verification
from gradcompat.cli.app import app
from gradcompat.errors import ProbeUnavailable, UsageError
from gradcompat.knowledge.load import load
from gradcompat.model.issue import Issue, IssueProbe
from gradcompat.model.probe import Measurement, ProbeSpec
from gradcompat.probes.runner import Interpreter
from gradcompat.recipes.table import BY_NAME

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is a shell script")]


@pytest.fixture
def fake_python(tmp_path: Path) -> str:
    """An interpreter that has a torch which kills it, and nothing else."""
    fake = Path(__file__).parents[1] / "fixtures" / "probes" / "fake"
    script = tmp_path / "python"
    environment = f"PYTHONPATH='{fake}' GRADCOMPAT_FAKE=segfault"
    script.write_text(f"#!/bin/sh\n{environment} exec '{sys.executable}' -S \"$@\"\n", "utf-8")
    script.chmod(0o755)
    return str(script)


def known(identifier: str) -> Issue:
    issue = load().get(identifier)
    assert issue is not None
    return issue


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["probe", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def test_a_torch_that_dies_is_inconclusive_and_no_traceback(fake_python: str) -> None:
    status, printed = run("GC-0004", "--python", fake_python, "--device", "cpu")
    assert status == 3
    assert printed.splitlines()[:2] == [
        "? inconclusive: GC-0004 accumulation_equivalence(model=llava)",
        "    the process was killed by SIGSEGV",
    ]
    assert printed.endswith("1 verdict: 1 inconclusive\n")


def test_a_recipe_runs_by_its_name_with_its_default_parameters(fake_python: str) -> None:
    status, printed = run("No_op_training", "--python", fake_python, "--device", "cpu")
    assert status == 3
    assert printed.splitlines()[:2] == ["? inconclusive: no_op_training", "    the process was killed by SIGSEGV"]
    _, printed = run("no_op_training", "GC-0004", "--python", fake_python, "--device", "cpu", "--format", "json")
    results = [(one["probe"], one["parameters"], one["issues"]) for one in json.loads(printed)["results"]]
    assert results == [("accumulation_equivalence", {"model": "llava"}, ["GC-0004"]), ("no_op_training", {}, [])]


def test_a_record_and_its_recipe_have_a_verdict_each() -> None:
    spec = ProbeSpec(name="no_op_training")
    issue = replace(known("GC-0004"), probes=(IssueProbe(spec=spec, quantities=("frozen_moved",)),))
    wrong = Measurement(
        spec=spec, state="measured", values={"moved_share": 0.5, "frozen_moved": 0.0, "control_share": 1.0}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verification, "run_jobs", lambda jobs, interpreter, tell: [wrong])
        results = verification.measure(
            {"no_op_training": (spec, [issue])},
            Interpreter(path=Path(sys.executable)),
            recipes=["no_op_training"],
            device="cpu",
        )
    assert [(one.issues, one.outcome) for one in results] == [(("GC-0004",), "not_reproduced"), ((), "reproduced")]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("no_op_trainin", "did you mean `no_op_training` or `low_bit_training`?"),
        ("xyz", f"recipes are {', '.join(BY_NAME)}"),
        ("GC-9999", "ids look like GC-0002; --knowledge names records of your own"),
    ],
)
def test_an_unknown_name_comes_with_what_could_be_meant(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(name)
    assert caught.value.hint == hint


def test_json_has_the_keys_of_the_contract(fake_python: str) -> None:
    status, printed = run("gc-0004", "--python", fake_python, "--device", "cpu", "--format", "json")
    (result,) = json.loads(printed)["results"]
    assert json.loads(printed)["exit_status"] == status == 3
    assert (result["probe"], result["parameters"]) == ("accumulation_equivalence", {"model": "llava"})
    assert (result["issues"], result["outcome"]) == (["GC-0004"], "inconclusive")
    assert result["references"][0].startswith("https://")
    expected = {"reason", "measurements", "packages", "device", "seed", "seconds", "python", "state", "output"}
    assert expected <= result.keys()


def test_a_recipe_that_needs_a_device_that_is_not_there_is_skipped(tmp_path: Path) -> None:
    torch = tmp_path / "torch.py"
    torch.write_text("__version__ = '0'\nclass cuda:\n    is_available = staticmethod(lambda: False)\n", "utf-8")
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\nPYTHONPATH='{tmp_path}' exec '{sys.executable}' -S \"$@\"\n", "utf-8")
    script.chmod(0o755)
    status, printed = run("GC-0004", "--python", str(script), "--device", "cuda:1")
    assert status == 3
    assert "skipped: GC-0004" in printed
    assert "there is no device `cuda:1`" in printed


def test_the_raw_measurements_are_kept(fake_python: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    run("GC-0004", "--python", fake_python, "--device", "cpu", "--record", str(kept))
    assert json.loads(kept.read_text("utf-8"))["results"][0]["state"] == "crashed"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["GC-9999"], "there is no record `GC-9999`"),
        (["GC-0062"], "`GC-0062` has no probe"),
        (["no_op_trainin"], "`no_op_trainin` is neither a record nor a recipe"),
        (["GC-0004", "--device", "tpu"], "`--device tpu` is not known"),
        (["GC-0004", "--format", "sarif"], "`--format sarif` is not known"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(*arguments)
    assert caught.value.message == message


def test_a_folder_without_an_interpreter_is_said(tmp_path: Path) -> None:
    with pytest.raises(ProbeUnavailable) as caught:
        run("GC-0004", "--python", str(tmp_path))
    assert str(caught.value) == f"`{tmp_path}`: is a folder without an interpreter"


def test_a_lockfile_cannot_be_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("transformers==4.49.0\n", "utf-8")
    result = CliRunner().invoke(app, ["check", "requirements.txt", "--probe"])
    assert isinstance(result.exception, UsageError)
    assert result.exception.message == "`requirements.txt` is not installed here, so nothing can be measured in it"
