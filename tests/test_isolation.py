"""No module of the current folder is imported, by no command, however it is started, and by none of its processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.indexed import CONFIG, REQUIREMENTS
from tests.cli.test_diff import LOCK
from tests.conftest import ROOT

PACKAGE = ROOT / "gradcompat"
SCRIPT = Path(sys.executable).with_name("gradcompat.exe" if os.name == "nt" else "gradcompat")
PACKAGES = (
    *("gradcompat", "typer", "click", "yaml", "_yaml", "pydantic", "pydantic_core", "packaging", "tomli", "tomlkit"),
    *("httpx", "resolvelib", "pathspec", "filelock", "cryptography", "ahocorasick_rs", "pypi_simple", "pynvml"),
    *("distributed", "dask", "pip", "torch", "numpy", "sitecustomize", "usercustomize"),
)
AS_PACKAGES = frozenset({"multiprocessing", "gradcompat", "yaml", "encodings", "pip", "json", "torch"})
PLANTED = (*sys.stdlib_module_names, *PACKAGES)
LOG = "step 1 loss 1.0\nstep 2 loss nan\n"
MEASURE = ("knowledge", "measure", "transformers", "gradient_flow", "--versions", "==4.49.0", "--offline", "--jobs=1")
COMMANDS = {
    "check": ("check", "."),
    "check-python": ("check", "--python", sys.executable),
    "plan": ("plan", "requirements.txt", "--context", "train.yaml", "--offline"),
    "fix": ("fix", "requirements.txt", "--context", "train.yaml", "--offline", "--dry-run"),
    "constraints": ("constraints", "requirements.txt", "--offline"),
    "inspect": ("inspect", "requirements.txt"),
    "explain": ("explain", "GC-0004"),
    "diagnose": ("diagnose", "train.log", "requirements.txt"),
    "probe": ("probe", "GC-0004", "--python", sys.executable),
    "waive": ("waive", "GC-0004", "requirements.txt", "--reason", "known", "--dry-run"),
    "baseline": ("check", "requirements.txt", "--baseline", "baseline.json"),
    "diff": ("check", ".", "--diff", "HEAD"),
    "lint": ("knowledge", "lint", str(ROOT / "tests" / "data" / "records.yaml")),
    "report": ("knowledge", "report", str(ROOT / "tests" / "data" / "records.yaml")),
    "export": ("knowledge", "export", "--format", "renovate"),
    "measure": (*MEASURE, "--python", sys.executable, "--layers", "layers", "--output", "rows"),
    "update": ("update", "--url", "https://index.example:1/", "--key", "x"),
}
DRIVER = """\
import multiprocessing, sys

from gradcompat.audit import auditor as auditing
from gradcompat.cli.main import main

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv.pop(1))
    auditing._processors = lambda: 2
    auditing._BYTES_FOR_A_PROCESS = 1
    main()
"""
pytestmark = pytest.mark.e2e


def planted(folder: Path, left_out: frozenset[str] = frozenset()) -> Path:
    """A project in which each module that Python or we import exists, and says when it runs."""
    folder.mkdir()
    for name in PLANTED:
        if name not in left_out and name != "__main__":
            place = folder / f"{name}.py"
            if name in AS_PACKAGES:
                (folder / name).mkdir()
                place = folder / name / "__init__.py"
            place.write_text(f"open({str(folder.parent / 'ran')!r}, 'a').write({name!r} + ' ')\n", "utf-8")
    (folder / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
    (folder / "train.yaml").write_text(CONFIG, "utf-8")
    (folder / "train.log").write_text(LOG, "utf-8")
    (folder / "baseline.json").write_text("{}", "utf-8")
    return folder


def ran(folder: Path, *command: str, **variables: str) -> tuple[str, subprocess.CompletedProcess[str]]:
    """What of the project has run."""
    kept = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    private = {"GRADCOMPAT_CACHE": str(folder.parent / "cache"), "HOME": str(folder.parent)}
    # No installer but pip, which would come from the current folder.
    alone = {"PATH": os.pathsep.join(one for one in ("/usr/bin", "/bin") if os.path.isdir(one))}
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**kept, **private, **(alone if os.name == "posix" else {}), **variables},
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    mark = folder.parent / "ran"
    return mark.read_text("utf-8") if mark.exists() else "", done


@pytest.fixture(scope="module")
def of_python(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """What `python -m` has imported before it comes to us, from wherever, and the package that it looks for.

    Nothing that we do could prevent that: `python -P -m gradcompat` does, and so does the script.
    """
    folder = tmp_path_factory.mktemp("empty")
    (folder / "empty").mkdir()
    (folder / "empty" / "__init__.py").touch()
    (folder / "empty" / "__main__.py").write_text("import sys\nprint(*sys.modules)\n", "utf-8")
    done = subprocess.run([sys.executable, "-m", "empty"], cwd=folder, capture_output=True, text=True, check=True)
    return frozenset({"gradcompat", *(name.partition(".")[0] for name in done.stdout.split())})


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("way", ["script", "module"])
def test_no_command_imports_from_the_current_folder(
    tmp_path: Path, of_python: frozenset[str], way: str, name: str
) -> None:
    project = planted(tmp_path / "project", frozenset() if way == "script" else of_python)
    start = [str(SCRIPT)] if way == "script" else [sys.executable, "-m", "gradcompat"]
    mark, done = ran(project, *start, *COMMANDS[name])
    assert mark == ""
    assert done.returncode in (0, 1, 2, 3), done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("name", ["check", "measure"])
def test_no_process_imports_from_the_current_folder(tmp_path: Path, method: str, name: str) -> None:
    """Whatever start method somebody has set for `multiprocessing`; and with a relative path to what is audited."""
    if os.name == "nt" and method != "spawn":
        pytest.skip("there is no such start method")
    project = planted(tmp_path / "project")
    for number in range(40):
        (project / f"p{number}").mkdir()
        (project / f"p{number}" / "uv.lock").write_text(LOCK, "utf-8")
    driver = tmp_path / "driver" / "driver.py"
    driver.parent.mkdir()
    driver.write_text(DRIVER, "utf-8")
    mark, done = ran(project, sys.executable, str(driver), method, *COMMANDS[name])
    assert mark == ""
    if name == "check":
        assert "no defect is sure in 40 environments" in done.stdout
        assert "not checked" not in done.stdout
        assert "in 41 environments" in done.stdout
    else:
        assert "1 release of transformers" in done.stderr
        assert "transformers 4.49.0 not measured: " in done.stderr
    assert done.returncode in (1, 3)


def test_the_option_of_pytest_imports_nothing_from_the_current_folder(tmp_path: Path) -> None:
    project = planted(tmp_path / "project")
    mark, done = ran(project, str(SCRIPT.with_name(SCRIPT.name.replace("gradcompat", "pytest"))), "--gradcompat")
    assert mark == ""
    assert "gradcompat: the environment of these tests" in done.stdout or "1 passed" in done.stdout, done.stdout


def test_an_interpreter_is_no_file_of_the_current_folder(tmp_path: Path) -> None:
    """A bare name is looked up on the PATH, as a shell does it."""
    project = planted(tmp_path / "project")
    for name in ("python3", "git", "uv"):
        (project / name).write_text(f"#!/bin/sh\necho {name} >> '{tmp_path / 'ran'}'\n", "utf-8")
        (project / name).chmod(0o755)
    for command in (("probe", "GC-0004", "--python", "python3"), ("check", ".", "--diff", "HEAD"), COMMANDS["measure"]):
        mark, _ = ran(project, str(SCRIPT), *command, PATH=f"{os.pathsep}.{os.pathsep}/usr/bin{os.pathsep}/bin")
        assert mark == "", command


def test_only_what_is_isolated_starts_processes() -> None:
    """A new way to start a process is read here before it is used."""
    starting = re.compile(r"\bsubprocess\.|\bmultiprocessing\b|ProcessPoolExecutor|os\.(?:fork|exec|spawn|posix_spawn)")
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if not path.is_relative_to(PACKAGE / "probes" / "inside")
        and any(starting.search(line) for line in path.read_text("utf-8").splitlines() if "``" not in line)
    }
    only_naming = {"sources/notebook.py", "files/observations.py", "scanners/run_assembly.py"}
    assert found - only_naming == {
        "cli/commands/run.py",  # the user's own training
        "edit/lock_run.py",
        "guard/matched_records.py",  # `gradcompat check` of versions and settings, from the process that trains
        "index/credentials.py",
        "probes/overlay_environments.py",
        "probes/runner.py",
        "processes/worker_process.py",
        "sources/interpreter.py",
        "suppression/git.py",
    }
