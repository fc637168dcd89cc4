"""What cannot be read is named and never folded into clean, and nothing hides what lies beside it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_contexts import LLAVA, config, lock
from tests.conftest import Run

LAUNCH = "torchrun train.py --model_name_or_path llava-hf/llava-1.5-7b-hf --gradient_accumulation_steps 8\n"
PROGRAM = "from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('out'))\n"


def report(run: Run, *arguments: str) -> dict[str, Any]:
    outcome = run("check", *(arguments or (".",)), "--only", LLAVA, "--format", "json")
    data: dict[str, Any] = json.loads(outcome.out)
    assert data["exit_status"] == outcome.status
    return data


def gaps(data: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    skipped = [one for environment in data["environments"] for one in environment["skipped"]]
    return [(one["what"], one["reason"], one["line"]) for one in skipped if one["gap"]]


def the_gap(run: Run, folder: Path, **versions: str) -> tuple[str, str, int | None]:
    """The one gap of a folder that would be clean without it; ``inspect`` names it, too."""
    lock(folder, **(versions or {"transformers": "4.49.0"}))
    data = report(run)
    assert data["exit_status"] == 3
    (gap,) = gaps(data)
    inspected = json.loads(run("inspect", ".", "--format", "json").out)
    assert [(one["what"], one["reason"], one["line"]) for one in inspected["skipped"] if one["gap"]] == [gap]
    assert "nothing could be checked" not in run("check", ".").out
    return gap


def test_one_byte_takes_no_finding_away_unseen(run: Run, tmp_path: Path) -> None:
    config(tmp_path / "train.yaml", 8)
    lock(tmp_path, transformers="4.49.0")
    assert report(run)["exit_status"] == 1
    with (tmp_path / "train.yaml").open("ab") as file:
        file.write(b"\xe9")
    assert the_gap(run, tmp_path) == ("train.yaml", "is not UTF-8 text", 8)
    assert run("plan", ".").status == 3


def test_yaml_that_is_none(run: Run, tmp_path: Path) -> None:
    config(tmp_path / "train.yaml", 8)
    with (tmp_path / "train.yaml").open("a") as file:
        file.write("stage: [sft\n")
    what, reason, line = the_gap(run, tmp_path)
    assert (what, line) == ("train.yaml", 8)
    assert reason.startswith("not valid YAML: ")


def test_two_documents(run: Run, tmp_path: Path) -> None:
    config(tmp_path / "train.yaml", 8)
    with (tmp_path / "train.yaml").open("a") as file:
        file.write("---\nstage: sft\n")
    assert the_gap(run, tmp_path) == ("train.yaml", "holds 2 YAML documents instead of one", 9)


def test_manifests_of_kubernetes_are_no_training_configs(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    (tmp_path / "job.yaml").write_text("kind: Job\ndatasets: x\n---\nkind: Service\nadapter: y\n")
    assert (report(run)["exit_status"], gaps(report(run))) == (0, [])


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a file that its owner cannot read")
def test_a_file_without_permission(run: Run, tmp_path: Path) -> None:
    config(tmp_path / "train.yaml", 8)
    (tmp_path / "train.yaml").chmod(0)
    assert the_gap(run, tmp_path) == ("train.yaml", "cannot be read: Permission denied", None)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_a_pipe_is_no_file(run: Run, tmp_path: Path) -> None:
    for name in ("train.yaml", "train.py"):
        os.mkfifo(tmp_path / name)
        assert the_gap(run, tmp_path) == (name, "is a pipe, a socket or a device, not a file", None)
        (tmp_path / name).unlink()


def test_a_link_that_leads_nowhere(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.yaml").symlink_to("data/train.yaml")
    assert the_gap(run, tmp_path) == ("train.yaml", "is a link to a file that is not there", None)


def test_a_config_that_is_too_large(run: Run, tmp_path: Path) -> None:
    config(tmp_path / "train.yaml", 8)
    with (tmp_path / "train.yaml").open("a") as file:
        file.writelines(f"# {number:>60}\n" for number in range(5000))
    (tmp_path / "words.yaml").write_text("word: meaning\n" * 40_000)
    (tmp_path / "data.json").write_text(json.dumps([{"train_batch_size": 1}] * 20_000))
    (tmp_path / "chat.json").write_text(json.dumps({"text": 'set "train_batch_size" to 8' * 20_000}))
    reason = "looks like a training config, and is larger than 256 KiB: not scanned"
    assert the_gap(run, tmp_path) == ("train.yaml", reason, None)


def test_a_large_report_of_our_own_is_no_gap(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    config(tmp_path / "train.yaml", 8)
    run("check", ".", "--output", "json=report.json")
    kept = json.loads((tmp_path / "report.json").read_text())
    kept["contexts"] = [{"train_batch_size": 1, "fp16": True, "zero_optimization": {}}] * 20_000
    (tmp_path / "report.json").write_text(json.dumps(kept))
    assert gaps(report(run)) == []


def test_a_script_is_read_whatever_its_comments_are_written_in(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    (tmp_path / "train.py").write_text("")
    (tmp_path / "train.sh").write_bytes(b"# r\xe9gler\n" + LAUNCH.encode())
    data = report(run)
    assert (data["exit_status"], data["environments"][0]["contexts"]) == (1, ["train.sh"])
    assert report(run, "uv.lock", "--context", "train.sh")["exit_status"] == 1


def test_a_script_with_a_zero(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_bytes(LAUNCH.encode() + b"\0")
    assert the_gap(run, tmp_path) == ("train.sh", "is binary, not text", None)


def test_a_program_in_the_encoding_that_it_states(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    program = f"{PROGRAM}transformers.Trainer().train()\n"
    (tmp_path / "train.py").write_bytes(b"# -*- coding: latin-1 -*-\n# \xe9\n" + program.encode())
    data = report(run)
    assert (gaps(data), data["environments"][0]["contexts"]) == ([], ["train.py"])
    (tmp_path / "train.py").write_bytes(b"# \xe9\n" + PROGRAM.encode())
    assert gaps(report(run)) == [("train.py", "is not UTF-8 text", 1)]
    (tmp_path / "train.py").write_bytes(b"# coding: punycode\n" + PROGRAM.encode())
    assert gaps(report(run)) == [("train.py", "is in `punycode`, an encoding that is not read", 1)]


def test_a_program_for_a_newer_python(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{PROGRAM}def f[T](x: T) -> T: return x\ntype A = 1 +\n")
    (tmp_path / "other.py").write_text("# TrainingArguments are explained in the docs\nprint 'old'\n")
    what, reason, line = the_gap(run, tmp_path)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert what == "train.py"
    assert reason.startswith(f"not valid Python {version}: ")
    assert line in (3, 4)


def test_json_that_is_cut_off(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ds.json").write_text('{"train_batch_size": 8,\n "zero_optimization": {')
    what, reason, line = the_gap(run, tmp_path)
    assert (what, line) == ("ds.json", 2)
    assert reason.startswith("not valid JSON: ")


def test_a_folder_of_context_files_has_gaps_too(run: Run, tmp_path: Path) -> None:
    lock(tmp_path / "project", transformers="4.49.0")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "train.sh").write_bytes(LAUNCH.encode() + b"\0")
    data = report(run, "project", "--context", "configs")
    assert (data["exit_status"], gaps(data)) == (3, [("configs/train.sh", "is binary, not text", None)])
    (tmp_path / "configs" / "train.sh").unlink()
    data = report(run, "project", "--context", "configs")
    assert gaps(data) == [("configs", "contains no training config, launch script or program", None)]


def test_a_finding_stays_one_beside_a_gap(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    config(tmp_path / "train.yaml", 8)
    (tmp_path / "other.sh").write_bytes(LAUNCH.encode() + b"\0")
    assert report(run)["exit_status"] == 1


def test_training_configs_alone_are_not_checked(run: Run, tmp_path: Path) -> None:
    config(tmp_path / "train.yaml", 8)
    for command in ("check", "plan"):
        assert run(command, ".").status == 2
    outcome = run("check", ".")
    assert outcome.out.startswith(
        ".: there are training configs, but no environment to check them with\n"
        "  name a lockfile, an environment's folder, or an interpreter with `--python`\n"
    )
    assert run("inspect", ".").status == 0
    (tmp_path / "train.yaml").write_bytes(b"\xe9" + (tmp_path / "train.yaml").read_bytes())
    assert (report(run)["exit_status"], gaps(report(run))[-1]) == (2, ("train.yaml", "is not UTF-8 text", 1))
    assert run("inspect", ".").status == 2


def test_programs_that_train_nothing_are_told_together_where_no_environment_is(run: Run, tmp_path: Path) -> None:
    config(tmp_path / "train.yaml", 8)
    for name in "abcde":
        (tmp_path / f"{name}.py").write_text("import torch\nprint(torch.load('m'))\n", "utf-8")
    assert run("check", ".").out.count("read, and no training run") == 1


@pytest.mark.parametrize("marker", ["pyvenv.cfg", "conda-meta", "site-packages", "node_modules", ".tox", "__pycache__"])
@pytest.mark.parametrize("below", ["", "project"])
def test_an_empty_marker_hides_no_lockfile(run: Run, tmp_path: Path, marker: str, below: str) -> None:
    folder = tmp_path / below
    if marker == "pyvenv.cfg":
        lock(folder, transformers="4.49.0")
        (folder / marker).touch()
    elif marker == "conda-meta":
        lock(folder, transformers="4.49.0")
        (folder / marker).mkdir()
    else:
        folder /= marker
        lock(folder, transformers="4.49.0")
    config(folder / "train.yaml", 8)
    expected = (folder / "uv.lock").relative_to(tmp_path).as_posix()
    data = report(run)
    assert ([one["source"] for one in data["environments"]], data["exit_status"]) == ([expected], 1)


def installed(prefix: Path) -> None:
    site = prefix / "lib" / "python3.11" / "site-packages"
    (site / "numpy-2.0.0.dist-info").mkdir(parents=True)
    (site / "numpy-2.0.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 2.0.0\n")
    (site / "requirements.txt").write_text("torch==1.0\n")
    (prefix / "bin").mkdir()
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")


def test_a_project_that_is_an_environment_as_well(run: Run, tmp_path: Path) -> None:
    installed(tmp_path)
    lock(tmp_path / "sub", transformers="4.49.0")
    lock(tmp_path, transformers="4.49.0")
    assert [one["source"] for one in report(run)["environments"]] == [".", "uv.lock", "sub/uv.lock"]


def test_an_environment_in_a_project_is_named_and_not_searched(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0")
    installed(tmp_path / ".venv")
    (environment,) = report(run)["environments"]
    reason = "is an installed environment: name it to check it"
    assert [(one["what"], one["reason"], one["gap"]) for one in environment["skipped"]] == [(".venv", reason, False)]


def test_a_lockfile_that_cannot_be_read_hides_no_project_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["transformers==4.49.0"]\n')
    config(tmp_path / "train.yaml", 8)
    assert report(run)["exit_status"] == 1
    (tmp_path / "uv.lock").write_text("version = [")
    data = report(run)
    assert ([one["source"] for one in data["environments"]], data["exit_status"]) == (["uv.lock", "pyproject.toml"], 1)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\v", "\f", "\x1c", "\x1d", "\x1e", "\r"])
def test_no_line_separator_hides_a_requirement(run: Run, tmp_path: Path, separator: str) -> None:
    text = f"# a comment{separator}transformers==4.49.0\n"
    (tmp_path / "requirements.txt").write_bytes(text.encode())
    config(tmp_path / "train.yaml", 8)
    assert report(run)["exit_status"] == 1


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize {}\n"


@pytest.mark.parametrize(
    "name",
    ["requirements.txt", "uv.lock", "environment.yml", "train.yaml", "ds.json", "train.py", "train.sh", "train.ipynb"],
)
def test_a_file_that_git_lfs_has_not_fetched_is_a_gap(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "pip-list.txt").write_text("Package Version\n------- -------\nnumpy 1.26.0\n")
    (tmp_path / name).write_text(POINTER.format(1234))
    outcome = run("check", ".")
    assert outcome.status == 3
    assert f"{name}: is a pointer of Git LFS, not the file" in outcome.out


def test_data_that_git_lfs_has_not_fetched_is_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("numpy==1.26.0\n")
    (tmp_path / "data.json").write_text(POINTER.format(300_000))
    (tmp_path / "model.safetensors").write_text(POINTER.format(1234))
    outcome = run("check", ".")
    assert (outcome.status, "LFS" in outcome.out) == (0, False)
