"""``gradcompat check`` in a process of its own: statuses, streams and messages."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from tests.conftest import ROOT, Run

EXAMPLE = ROOT / "examples" / "llava-finetune"
FACTS = (
    "--set",
    "training.gradient_accumulation_steps=8",
    "--set",
    "model.architecture=LlavaForConditionalGeneration",
)


def test_findings_make_the_status_1(run: Run) -> None:
    outcome = run("check", str(EXAMPLE / "uv.lock"), *FACTS)
    assert outcome.status == 1
    assert outcome.err == ""
    assert "uv.lock:791 transformers 4.49.0" in outcome.out


def test_what_is_unseen_is_said_and_is_no_alarm(run: Run) -> None:
    outcome = run("check", str(EXAMPLE / "uv.lock"))
    assert outcome.status == 0
    assert "no known defect is sure to apply, " in outcome.out
    assert " could apply, " in outcome.out


def test_strict_counts_what_is_unseen(run: Run) -> None:
    assert run("check", str(EXAMPLE / "uv.lock"), "--strict").status == 1


def test_fail_on_never(run: Run) -> None:
    assert run("check", str(EXAMPLE / "uv.lock"), "--strict", "--fail-on", "never").status == 0


def test_a_folder_is_its_lockfiles_and_says_what_it_passes_over(run: Run) -> None:
    outcome = run("check", ".", cwd=EXAMPLE)
    assert outcome.status == 1
    head = outcome.out.splitlines()[0]
    assert head.startswith("uv.lock: uv.lock, 74 packages, ")
    assert head.endswith(" of them with records; with train.yaml")
    assert "note: pyproject.toml: declares ranges, which uv.lock beside it resolves\n" in outcome.out


def test_json_is_the_contract(run: Run) -> None:
    outcome = run("check", "uv.lock", *FACTS, "--format", "json", cwd=EXAMPLE)
    report = json.loads(outcome.out)
    assert outcome.status == report["exit_status"] == 1
    assert report["schema_version"] == 1
    assert set(report["knowledge"]) >= {"records", "digest", "date"}
    (here,) = report["environments"]
    newer = here.pop("newer")  # of the knowledge that ships
    assert all(set(one) == {"key", "ids"} for one in here.pop("questions"))
    assert here == {"source": "uv.lock", "kind": "uv.lock", "packages": 74, "contexts": [], "skipped": []}
    assert all(set(one) == {"name", "version", "horizon", "date", "assumed"} for one in newer)
    finding = next(one for one in report["findings"] if one["status"] == "affected")
    assert (
        finding["packages"][0] | {"name": "transformers", "version": "4.49.0", "path": "uv.lock", "line": 791}
        == (finding["packages"][0])
    )
    assert finding["unknown"] == []
    assert finding["probe"] is finding["suppressed"] is None
    conditional = next(one for one in report["findings"] if one["status"] == "conditional")
    assert conditional["unknown"]


def test_standard_input_is_recognised(run: Run) -> None:
    table = "Package      Version\n------------ -------\ntransformers 4.49.0\ntorch        2.5.1\n"
    outcome = run("check", "-", *FACTS, stdin=table)
    assert outcome.status == 1
    assert "-:3 transformers 4.49.0" in outcome.out


def test_only_and_ignore(run: Run) -> None:
    everything = json.loads(run("check", "uv.lock", *FACTS, "--format", "json", cwd=EXAMPLE).out)["findings"]
    first = everything[0]["id"]
    only = json.loads(run("check", "uv.lock", *FACTS, "--only", first, "--format", "json", cwd=EXAMPLE).out)
    assert {one["id"] for one in only["findings"]} == {first}
    ignored = json.loads(run("check", "uv.lock", *FACTS, "--ignore", first, "--format", "json", cwd=EXAMPLE).out)
    assert {one["id"] for one in ignored["findings"]} == {one["id"] for one in everything} - {first}


def test_the_project_keeps_its_options(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.gradcompat]\nfail-on = "never"\n[tool.gradcompat.settings]\n'
        'training.gradient_accumulation_steps = 8\nmodel.architecture = ["LlavaForConditionalGeneration"]\n'
    )
    outcome = run("check", str(EXAMPLE / "uv.lock"), "--format", "json")
    report = json.loads(outcome.out)
    assert outcome.status == 0
    assert any(one["status"] == "affected" for one in report["findings"])
    assert run("check", str(EXAMPLE / "uv.lock"), "--fail-on", "error").status == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("fail_on = 1", "`pyproject.toml:2`: `tool.gradcompat.fail_on` is not known"),
        ("strict = 1", "`pyproject.toml:2`: `tool.gradcompat.strict` is not a bool"),
        ("ignore = [1]", "`pyproject.toml:2`: `tool.gradcompat.ignore` holds something that is not text"),
        ('fail-on = "fatal"', "`fatal` is an invalid level"),
        ("settings.training.seeds = 1", "`pyproject.toml:2`: `training.seeds` is not a known setting"),
        ("strict = ", "`pyproject.toml:2`: not valid TOML: Invalid value"),
    ],
)
def test_a_wrong_table_is_a_usage_error(run: Run, tmp_path: Path, table: str, message: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.gradcompat]\n{table}\n")
    outcome = run("check", str(EXAMPLE / "uv.lock"))
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.splitlines()[0].replace(f"{tmp_path.as_posix()}/", "") == f"error: {message}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "training.gradient_accumulation=8"), "`training.gradient_accumulation` is not a known setting"),
        (("--set", "training.seed"), "`--set training.seed` is not of the form KEY=VALUE"),
        (("--set", "training.seed=many"), "`many` is not a value for `training.seed`, which takes a whole number"),
        (
            ("--set", "model.architecture=,"),
            "`,` is not a value for `model.architecture`, which takes words joined by commas",
        ),
        (
            ("--set", "training.packing=maybe"),
            "`maybe` is not a value for `training.packing`, which takes true or false",
        ),
        (("--only", "GC-9999"), "there is no record `GC-9999`"),
        (("--format", "yaml"), "`--format yaml` is not known"),
        (("--fail-on", "fatal"), "`fatal` is an invalid level"),
    ],
)
def test_wrong_options_are_one_line_and_a_hint(run: Run, arguments: tuple[str, ...], message: str) -> None:
    outcome = run("check", str(EXAMPLE / "uv.lock"), *arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.startswith(f"error: {message}")


def test_nothing_readable_is_2_and_something_readable_is_3(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    good = str(EXAMPLE / "uv.lock")
    outcome = run("check", "missing.lock", "empty.txt")
    assert outcome.status == 2
    assert outcome.out == (
        "missing.lock: there is no such file or folder\n\nempty.txt: is empty\n\nnothing could be read\n"
    )
    assert run("check", "missing.lock", good).status == 3
    assert run("check", "missing.lock", good, *FACTS).status == 1


def test_a_missing_version_is_a_gap_where_nothing_is_presumed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers>=4.30\nsome-name-that-no-record-mentions>=1\n")
    only = ("check", "requirements.txt", "--only", "GC-0001", "--format", "json")
    (judged,) = json.loads(run(*only).out)["environments"][0]["skipped"]
    assert (judged["what"], judged["gap"], judged["range"]) == ("transformers", False, True)
    outcome = run(*only, "--assume", "none")
    report = json.loads(outcome.out)
    assert outcome.status == 3
    assert [one["what"] for one in report["environments"][0]["skipped"] if one["gap"]] == ["transformers"]


def test_no_packages_is_not_clean(run: Run, tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text('version = 1\nrequires-python = ">=3.11"\n')
    outcome = run("check", "uv.lock")
    assert outcome.status == 3
    assert "not checked: uv.lock: locks no packages at all\n\nnothing was checked\n" in outcome.out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no named pipes")
def test_pipes_devices_sockets_and_loops_are_refused_and_not_waited_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.lock")
    (tmp_path / "loop.lock").symlink_to("loop.lock")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)  # the address of a socket has to be short
        server.bind("socket.lock")
    outcome = run("check", "pipe.lock", "loop.lock", "socket.lock", "/dev/zero")
    assert outcome.status == 2
    assert "pipe.lock: is a pipe, a socket or a device, not a file\n  to read from a pipe, use `-`\n" in outcome.out
    assert "loop.lock: cannot be read: Too many levels of symbolic links\n" in outcome.out
    assert "/dev/zero: is a pipe, a socket or a device, not a file\n" in outcome.out


def test_a_file_over_the_limit_is_refused(run: Run, tmp_path: Path) -> None:
    with (tmp_path / "uv.lock").open("wb") as file:
        file.truncate(100 * 2**20)
    outcome = run("check", "uv.lock")
    assert outcome.status == 2
    assert "uv.lock: is larger than 64 MiB, which is too large for a lockfile\n" in outcome.out


def test_an_empty_folder_is_not_clean(run: Run, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    outcome = run("check", "project")
    assert outcome.status == 2
    assert "project: contains nothing that gradcompat reads\n" in outcome.out


@pytest.mark.e2e  # starts the processes that read
def test_many_lockfiles_are_read_by_all_processors_in_a_stable_order(run: Run, tmp_path: Path) -> None:
    large = "# a comment\n" * 5_000  # 2.4 MB in all
    for number in range(40):
        folder = tmp_path / f"project-{number:02}"
        folder.mkdir()
        version = "4.49.0" if number % 2 else "4.48.3"
        (folder / "uv.lock").write_text(
            f"{large}version = 1\n"
            f'[[package]]\nname = "transformers"\nversion = "{version}"\nsource = {{ registry = "x" }}\n'
        )
    (tmp_path / "project-07" / "uv.lock").write_text("version = 3\n")
    outcome = run("check", ".", *FACTS, "--only", "GC-0004", "--format", "json")
    report = json.loads(outcome.out)
    assert outcome.status == 1
    assert [one["source"] for one in report["environments"]] == [f"project-{n:02}/uv.lock" for n in range(40)]
    assert report["environments"][7]["skipped"][0]["reason"] == "lockfile version 3 is not supported"
    affected = {one["source"] for one in report["findings"] if one["status"] == "affected" and "4.49.0" in str(one)}
    assert affected == {f"project-{n:02}/uv.lock" for n in range(1, 40, 2) if n != 7}


def test_names_cannot_speak_to_the_terminal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(
        'version = 1\n[[package]]\nname = "torch"\nversion = "2.5.1\\u001b[31m\\u202e"\nsource = { registry = "x" }\n'
    )
    outcome = run("check", "uv.lock")
    assert outcome.status == 3
    assert "\x1b" not in outcome.out
    assert "\u202e" not in outcome.out
    assert "torch: its version is not one" in outcome.out


def test_help_and_version(run: Run) -> None:
    assert run("--version").out == "gradcompat 0.1.0\n"
    assert "List the known training defects that an environment or a" in run("--help").out
    assert "--set KEY=VALUE" in run("check", "--help").out
    assert run("chekc").status == 2


def test_what_is_newer_than_the_knowledge_is_said_and_changes_no_status(run: Run) -> None:
    outcome = run("check", "-", "--fail-on", "never", stdin="transformers==99.0\n")
    assert outcome.status == 0
    assert "\ntransformers 99.0 is newer than this knowledge (" in outcome.out
    words = " ".join(outcome.out.split()).partition("newer than")[2]
    assert words.find("known unfixed defects are assumed to remain") > 0
