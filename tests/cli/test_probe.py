"""``gradcompat probe`` with an interpreter whose torch is a fake: what is said, and with which exit status."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradcompat.cli.main import app
from gradcompat.errors import ProbeUnavailable, UsageError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is a shell script")


@pytest.fixture
def fake_python(tmp_path: Path) -> str:
    """An interpreter that has a torch which kills it, and nothing else."""
    fake = Path(__file__).parents[1] / "fixtures" / "probes" / "fake"
    script = tmp_path / "python"
    environment = f"PYTHONPATH='{fake}' GRADCOMPAT_FAKE=segfault"
    script.write_text(f"#!/bin/sh\n{environment} exec '{sys.executable}' -S \"$@\"\n", "utf-8")
    script.chmod(0o755)
    return str(script)


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
