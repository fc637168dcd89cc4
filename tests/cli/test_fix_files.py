"""``fix`` over the files of a project as people have them: encodings, hashes, tools, several runs, bad moments."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from gradcompat.cli.commands import fix
from gradcompat.edit.atomic_write import FileEdit, write
from gradcompat.errors import EditError
from tests.cli.indexed import CONFIG, REQUIREMENTS, invoke, serve, wheel_name
from tests.index.serving import Server

FIXED = REQUIREMENTS.replace("4.49.0", "4.52.4")


def fixed(*arguments: str) -> tuple[int, str, str]:
    result = invoke("fix", *arguments, "--offline")
    return result.exit_code, result.stdout, result.stderr


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_other_byte_stays(trained: Path, encoding: str, end: str) -> None:
    mark = "\ufeff" if encoding.endswith(("-le", "-be")) else ""

    def as_bytes(text: str) -> bytes:
        return (mark + f"# größer\n{text}".replace("\n", end)).encode(encoding)

    (trained / "requirements.txt").write_bytes(as_bytes(REQUIREMENTS))
    fixed("requirements.txt", "--context", "train.yaml")
    assert (trained / "requirements.txt").read_bytes() == as_bytes(FIXED)


def test_pdm_gets_its_pin_and_is_told_what_to_run(trained: Path) -> None:
    project = '[project]\nname = "mine"\nversion = "1"\ndependencies = ["transformers==4.49.0"]  # in spring\n'
    project += '\n[tool.pdm.dev-dependencies]\nold = ["tokenizers==0.21.0"]\n'
    lock = '[metadata]\ngroups = ["default"]\nlock_version = "4.5.0"\n'
    for name, version in (("tokenizers", "0.21.0"), ("transformers", "4.49.0")):
        lock += f'\n[[package]]\nname = "{name}"\nversion = "{version}"\ngroups = ["default"]\nfiles = []\n'
    (trained / "pyproject.toml").write_text(project, "utf-8")
    (trained / "pdm.lock").write_text(lock, "utf-8")
    _, _, said = fixed("pdm.lock", "--context", "train.yaml")
    assert (trained / "pyproject.toml").read_text("utf-8") == project.replace("4.49.0", "4.52.4")
    assert (trained / "pdm.lock").read_text("utf-8") == lock
    assert "then run: pdm update --no-sync --update-reuse transformers\n" in said


def test_new_hashes_are_those_of_the_index(trained: Path, server: Server) -> None:
    serve(server)
    old, kept = "0" * 64, "1" * 64
    text = f"transformers==4.49.0 \\\n    --hash=sha256:{old}  # by hand\ntokenizers==0.21.0 --hash=sha256:{kept}\n"
    (trained / "requirements.txt").write_text(text, "utf-8")
    invoke("fix", "requirements.txt", "--context", "train.yaml", "--index-url", f"{server.base}/simple")
    new = hashlib.sha256(wheel_name("transformers", "4.52.1").encode()).hexdigest()
    assert (trained / "requirements.txt").read_text("utf-8").split() == text.replace("4.49.0", "4.52.1").replace(
        old, new
    ).split()


def test_a_hashed_pin_whose_hashes_nobody_knows_stays(trained: Path) -> None:
    text = f"transformers==4.49.0 --hash=sha256:{'0' * 64}\ntokenizers==0.21.0 --hash=sha256:{'1' * 64}\n"
    (trained / "requirements.txt").write_text(text, "utf-8")
    _, _, said = fixed("requirements.txt", "--context", "train.yaml")
    assert (trained / "requirements.txt").read_text("utf-8") == text
    assert "by hand: upgrade transformers 4.49.0 to 4.52.4: requirements.txt " in said
    assert "hashes" in said


def test_a_file_that_changes_meanwhile_stays(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = REQUIREMENTS + "peft==0.14.0\n"

    def slow(edits: list[FileEdit]) -> None:
        (trained / "requirements.txt").write_text(later, "utf-8")
        write(edits)

    monkeypatch.setattr(fix, "write", slow)
    with pytest.raises(EditError) as caught:
        fixed("requirements.txt", "--context", "train.yaml")
    assert str(caught.value) == "`requirements.txt`: changed while the plan was made; nothing was written"
    assert (trained / "requirements.txt").read_text("utf-8") == later
    assert sorted(files(trained)) == ["requirements.txt", "train.yaml"]


def test_a_full_disk_leaves_everything_as_it_was(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(trained)

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("gradcompat.edit.atomic_write.os.fsync", full)
    with pytest.raises(EditError) as caught:
        fixed("requirements.txt", "--context", "train.yaml")
    assert str(caught.value) == f"`requirements.txt`: cannot be written: {os.strerror(28)}; nothing was written"
    assert files(trained) == before


def test_an_interruption_waits_until_all_is_written(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(edits: list[FileEdit]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        write(edits)

    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(fix, "write", interrupted)
    fixed("requirements.txt", "--context", "train.yaml")
    assert (trained / "requirements.txt").read_text("utf-8") == FIXED
    assert signal.getsignal(signal.SIGINT) == handler


def test_an_interrupted_search_writes_nothing(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(trained)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fix, "plan_all", interrupted)
    with suppress(KeyboardInterrupt):
        assert invoke("fix", "requirements.txt", "--context", "train.yaml", "--offline").exit_code != 0
    assert files(trained) == before


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("out", "shown"), [(Terminal(), "\\x1b[31m red"), (io.StringIO(), "\x1b[31m red")])
def test_a_terminal_obeys_nothing_in_a_diff(
    trained: Path, monkeypatch: pytest.MonkeyPatch, out: io.StringIO, shown: str
) -> None:
    monkeypatch.setattr("sys.stdout", out)
    fix._show("--- a/x\n+++ b/x\n-\x1b[31m red\n")
    assert out.getvalue() == f"--- a/x\n+++ b/x\n-{shown}\n"


def test_two_targets_and_their_configs_are_written_at_once(trained: Path) -> None:
    for name in ("one", "two"):
        (trained / name).mkdir()
        (trained / name / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
        (trained / name / "train.yaml").write_text(CONFIG, "utf-8")
    fixed("one", "two")
    for name in ("one", "two"):
        assert (trained / name / "requirements.txt").read_text("utf-8") == FIXED
        assert (trained / name / "train.yaml").read_text("utf-8") == CONFIG
    assert (trained / "requirements.txt").read_text("utf-8") == REQUIREMENTS


def test_a_folder_with_two_runs_gets_one_plan(trained: Path) -> None:
    (trained / "other.yaml").write_text(CONFIG.replace("steps: 8", "steps: 2"), "utf-8")
    status, out, _ = fixed(".", "--dry-run")
    assert out.count("+transformers==4.52.4") == 1
    assert status == 3


def test_a_setting_in_json_keeps_its_indentation(trained: Path) -> None:
    config = {
        "model_name_or_path": "llava-hf/llava-1.5-7b-hf",
        "output_dir": "out",
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": 8,
    }
    text = json.dumps(config, indent=3)
    (trained / "args.json").write_text(text, "utf-8")
    fixed("requirements.txt", "--context", "args.json", "--keep", "transformers")
    assert (trained / "args.json").read_text("utf-8") == text.replace('steps": 8', 'steps": 1')


def test_a_setting_in_a_launch_script(trained: Path) -> None:
    text = (
        "#!/bin/bash\n# eight fit\npython train.py --model_name_or_path llava-hf/llava-1.5-7b-hf \\\n"
        "  --output_dir out --per_device_train_batch_size 1 \\\n  --gradient_accumulation_steps 8\n"
    )
    (trained / "train.sh").write_text(text, "utf-8")
    fixed("requirements.txt", "--context", "train.sh", "--keep", "transformers")
    assert (trained / "train.sh").read_text("utf-8") == text.replace("steps 8", "steps 1")


def test_a_conda_environment(trained: Path) -> None:
    text = (
        "name: train\nchannels: [conda-forge]\ndependencies:\n  - python=3.11\n  - pip  # below\n"
        "  - pip:\n      - transformers==4.49.0  # spring\n"
    )
    (trained / "environment.yml").write_text(text, "utf-8")
    fixed("environment.yml", "--context", "train.yaml")
    assert (trained / "environment.yml").read_text("utf-8") == text.replace("4.49.0", "4.52.4")


@pytest.mark.parametrize(
    ("lock", "project", "command"),
    [
        (
            'version = 1\nrequires-python = ">=3.11"\n\n[[package]]\nname = "transformers"\nversion = "4.49.0"\n'
            'source = { registry = "https://index.example/simple" }\n',
            '[project]\nname = "x"\nversion = "1"\ndependencies = [\n  "transformers==4.49.0",  # spring\n]\n',
            "uv lock --upgrade-package transformers==4.52.4",
        ),
    ],
)
def test_a_lockfile_is_left_to_its_tool(trained: Path, lock: str, project: str, command: str) -> None:
    (trained / "uv.lock").write_text(lock, "utf-8")
    (trained / "pyproject.toml").write_text(project, "utf-8")
    _, _, said = fixed("uv.lock", "--context", "train.yaml")
    assert (trained / "uv.lock").read_text("utf-8") == lock
    assert (trained / "pyproject.toml").read_text("utf-8") == project.replace("4.49.0", "4.52.4")
    assert f"then run: {command}\n" in said


def test_what_comes_from_a_checkout_is_left_to_its_owner(trained: Path) -> None:
    text = "transformers @ git+https://git.example/transformers@v4.49.0\ntokenizers==0.21.0\n"
    (trained / "requirements.txt").write_text(text, "utf-8")
    status, _, _ = fixed("requirements.txt", "--context", "train.yaml")
    assert (trained / "requirements.txt").read_text("utf-8") == text
    assert status != 2


needs_links = pytest.mark.skipif(os.name == "nt", reason="links need a right there")


@needs_links
@pytest.mark.parametrize("name", ["requirements.txt", "train.yaml"])
def test_a_link_out_of_the_folder_is_reported_and_left_alone(trained: Path, name: str) -> None:
    project = trained / "project"
    project.mkdir()
    for file in ("requirements.txt", "train.yaml"):
        (trained / file).rename((trained if file == name else project) / file)
    (project / name).symlink_to(trained / name)
    before = (trained / name).read_bytes()
    keep = ("--keep", "transformers") if name == "train.yaml" else ()
    status, _, said = fixed("project", *keep)
    assert (trained / name).read_bytes() == before
    assert f"project/{name}: leads outside `project`; name it on the command line to read it" in said
    assert status in (2, 3)


@needs_links
def test_a_link_within_the_folder_stays_one(trained: Path) -> None:
    (trained / "shared").mkdir()
    (trained / "requirements.txt").rename(trained / "shared" / "base.txt")
    (trained / "requirements.txt").symlink_to(Path("shared", "base.txt"))
    fixed(".", "--context", "train.yaml")
    assert (trained / "requirements.txt").is_symlink()
    assert (trained / "shared" / "base.txt").read_text("utf-8") == FIXED


class Killed(BaseException):
    """The process is no more."""


def test_the_next_run_finishes_what_a_kill_has_cut_off(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (trained / name).mkdir()
        (trained / name / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
        (trained / name / "train.yaml").write_text(CONFIG, "utf-8")
    real = os.replace
    moved: list[Path] = []

    def replace(source: Path, target: Path) -> None:
        if moved:
            raise Killed
        moved.extend([target] if target.name == "requirements.txt" else [])
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(Killed):
            fixed("one", "two")
    texts = {(trained / name / "requirements.txt").read_text("utf-8") for name in ("one", "two")}
    assert texts == {REQUIREMENTS, FIXED}
    _, _, said = fixed("two", "--dry-run")
    assert "cut off" not in said  # a dry run writes nothing
    _, _, said = fixed("two")
    assert (
        "note: an earlier run was interrupted: its change to `one/requirements.txt`, `two/requirements.txt` in " in said
    )
    assert {(trained / name / "requirements.txt").read_text("utf-8") for name in ("one", "two")} == {FIXED}
    assert list(trained.rglob(".gradcompat*")) == []


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("uv pip compile requirements.in -pevil/python -o requirements.txt", "asks for `-pevil/python`"),
        ("uv pip compile requirements.in -o../victim.txt", "asks for `-o../victim.txt`"),
        ("uv pip compile setup.py -o requirements.txt", "compiles `setup.py`, which has to be built"),
    ],
)
def test_a_command_of_a_file_is_printed_and_not_run(
    trained: Path, monkeypatch: pytest.MonkeyPatch, header: str, reason: str
) -> None:
    tools = trained / "tools"
    tools.mkdir()
    (tools / "uv").write_text(f"#!/bin/sh\ntouch {trained / 'ran'}\n", "utf-8")
    (tools / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    text = f"# This file was autogenerated by uv via the following command:\n#    {header}\n{REQUIREMENTS}"
    (trained / "requirements.txt").write_text(text, "utf-8")
    (trained / "requirements.in").write_text("transformers==4.49.0\n", "utf-8")
    status, _, said = fixed("requirements.txt", "--context", "train.yaml", "--lock")
    assert not (trained / "ran").exists()
    assert f"by hand: `requirements.txt`: the command in its header {reason}" in said
    assert f": look at it before you run it: `{header} --upgrade-package transformers==4.52.4`\n" in said
    assert "then run" not in said
    assert status in (1, 3)


@pytest.mark.skipif(os.name == "nt", reason="a script is no program there")
def test_a_lockfile_is_written_by_its_tool_when_asked(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = trained / "tools"
    tools.mkdir()
    (tools / "uv").write_text("#!/bin/sh\nsed -i.old s/4.49.0/4.52.4/ requirements.txt\n", "utf-8")
    (tools / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    head = "# This file was autogenerated by uv via the following command:\n#    uv pip compile requirements.in\n"
    (trained / "requirements.txt").write_text(head + REQUIREMENTS, "utf-8")
    (trained / "requirements.in").write_text("transformers==4.49.0\n", "utf-8")
    _, _, said = fixed("requirements.txt", "--context", "train.yaml", "--lock")
    command = "uv pip compile requirements.in --output-file requirements.txt --upgrade-package transformers==4.52.4"
    assert f"done: {command}\n" in said
    assert "transformers==4.52.4\n" in (trained / "requirements.txt").read_text("utf-8")
    assert (trained / "requirements.in").read_text("utf-8") == "transformers==4.52.4\n"


def test_what_is_not_run_is_left_to_the_user(trained: Path) -> None:
    (trained / "poetry.lock").write_text(POETRY_LOCK, "utf-8")
    (trained / "pyproject.toml").write_text(POETRY, "utf-8")
    status, _, said = fixed("poetry.lock", "--context", "train.yaml", "--lock")
    assert "by hand: Poetry is left to you: it builds packages" in said
    assert "(run it yourself: `poetry update --lock transformers`)\n" in said
    assert status in (1, 3)


POETRY = """\
[tool.poetry]
name = "x"
version = "1"

[tool.poetry.dependencies]
python = "^3.11"
transformers = "4.49.0"  # spring
"""
POETRY_LOCK = """\
[[package]]
name = "transformers"
version = "4.49.0"
optional = false
python-versions = ">=3.9"
files = []

[metadata]
lock-version = "2.0"
python-versions = "^3.11"
content-hash = "0"
"""


def test_what_poetry_may_take_instead_is_said(trained: Path) -> None:
    for name in ("one", "two"):
        (trained / name).mkdir()
        (trained / name / "poetry.lock").write_text(POETRY_LOCK, "utf-8")
        (trained / name / "pyproject.toml").write_text(POETRY, "utf-8")
    _, _, said = fixed("one/poetry.lock", "two/poetry.lock", "--context", "train.yaml")
    for name in ("one", "two"):
        assert (trained / name / "pyproject.toml").read_text("utf-8") == POETRY.replace("4.49.0", "4.52.4")
        # One command for each of them, with the place to run it in.
        assert f"then run: poetry update --lock transformers (in {name})\n" in said
    assert (
        "note: Poetry takes the newest releases that pyproject.toml allows, which may be newer than the plan's\n"
        in said
    )


def test_the_plan_names_the_command_of_the_lockfile(trained: Path) -> None:
    (trained / "poetry.lock").write_text(POETRY_LOCK, "utf-8")
    printed = invoke("plan", "poetry.lock", "--context", "train.yaml", "--offline").stdout
    assert "    lock       poetry update --lock transformers\n" in printed


def test_a_notebook_that_installs(trained: Path) -> None:
    notebook = {
        "cells": [
            {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [],
             "source": ["!pip install transformers==4.49.0\n", "import transformers"]},
        ],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip
    text = json.dumps(notebook, indent=1)
    (trained / "train.ipynb").write_text(text, "utf-8")
    status, _, said = fixed("train.ipynb", "--context", "train.yaml")
    assert (trained / "train.ipynb").read_text("utf-8") == text
    assert "by hand: upgrade transformers 4.49.0 to 4.52.4" in said
    assert status in (1, 3)
