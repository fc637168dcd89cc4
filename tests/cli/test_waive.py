"""``gradcompat waive``: what it writes, where, and what it refuses."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import tomli

from tests.conftest import Run
from tests.suppression.waived import FACTS, ID, LOCK


@pytest.fixture(autouse=True)
def here(tmp_path: Path) -> Path:
    (tmp_path / "uv.lock").write_text(LOCK, "utf-8")
    return tmp_path


def test_a_finding_is_waived_until_its_package_changes(run: Run, here: Path) -> None:
    assert run("check", "uv.lock", *FACTS).status == 1
    arguments = ("waive", "gc-0004", "uv.lock", "--reason", "known", "--until-change", "Transformers")
    done = run(*arguments)
    assert (done.status, done.out, done.err) == (0, "", "written: gradcompat.toml\n")
    text = (here / "gradcompat.toml").read_text("utf-8")
    assert text == '[[waivers]]\nid = "GC-0004"\nreason = "known"\npackages = {transformers = "==4.49.0"}\n'
    assert run("check", "uv.lock", *FACTS).status == 0
    again = run(*arguments)
    assert (again.status, again.err) == (0, "nothing has to change: gradcompat.toml has this waiver\n")
    assert (here / "gradcompat.toml").read_text("utf-8") == text
    (here / "uv.lock").write_text(LOCK.replace("4.49.0", "4.50.0"), "utf-8")
    assert run("check", "uv.lock", *FACTS).status == 1


def test_everything_it_takes_is_written(run: Run, here: Path) -> None:
    done = run(
        "waive", ID, "--reason", " r ", "--until", "2099-01-31", "--until-change", "torch", "--until-change",
        "transformers", "--path", "/uv.lock", cwd=here,
    )  # fmt: skip
    assert done.status == 2  # no target, and the pattern is no file
    done = run(
        "waive", ID, "--reason", " r ", "--until", "2099-01-31", "--until-change", "torch", "--until-change",
        "transformers", "--path", "uv.lock", cwd=here,
    )  # fmt: skip
    assert done.status == 0
    (one,) = tomli.loads((here / "gradcompat.toml").read_text("utf-8"))["waivers"]
    assert {key: str(value) for key, value in one.items()} == {
        "id": ID,
        "reason": "r",
        "until": "2099-01-31",
        "packages": "{'torch': '==2.5.1', 'transformers': '==4.49.0'}",
        "path": "uv.lock",
    }


@pytest.mark.parametrize(
    ("files", "written"),
    [
        ((), "gradcompat.toml"),
        (("pyproject.toml",), "pyproject.toml"),
        (("gradcompat.toml", "pyproject.toml"), "gradcompat.toml"),
        (("../gradcompat.toml", "pyproject.toml"), "../gradcompat.toml"),
        (("../pyproject.toml",), "../pyproject.toml"),
    ],
)
def test_it_goes_where_a_check_looks(run: Run, here: Path, files: tuple[str, ...], written: str) -> None:
    below = here / "below"
    below.mkdir()
    (below / "uv.lock").write_text(LOCK, "utf-8")
    for name in files:
        (below / name).write_text("# ours\n", "utf-8")
    done = run("waive", ID, "--reason", "known", cwd=below)
    assert (done.status, done.err) == (0, f"{'changed' if files else 'written'}: {written}\n")
    assert ID in (below / written).read_text("utf-8")
    assert run("check", "uv.lock", *FACTS, cwd=below).status == 0


@pytest.mark.parametrize("pattern", ["uv.lock", "/uv.lock", "./uv.lock"])
def test_a_pattern_that_is_written_in_a_folder_below_is_about_the_files_there(
    run: Run, here: Path, pattern: str
) -> None:
    (here / "gradcompat.toml").write_text("", "utf-8")
    for name in ("a [1]", "b"):
        (here / name).mkdir()
        (here / name / "uv.lock").write_text(LOCK, "utf-8")
    assert run("waive", ID, "--reason", "known", "--path", pattern, cwd=here / "a [1]").status == 0
    assert run("check", "uv.lock", *FACTS, cwd=here / "a [1]").status == 0
    assert run("check", "uv.lock", *FACTS, cwd=here / "b").status == 1
    assert run("check", "uv.lock", *FACTS, cwd=here).status == 1


def test_a_dry_run_is_a_patch_and_writes_nothing(run: Run, here: Path) -> None:
    (here / "pyproject.toml").write_text("[project]\nname = 'a'\n", "utf-8")
    done = run("waive", ID, "--reason", "known", "--dry-run")
    assert (done.status, done.err) == (0, "")
    assert (here / "pyproject.toml").read_text("utf-8") == "[project]\nname = 'a'\n"
    applied = subprocess.run(["git", "apply"], input=done.out.encode(), cwd=here, check=False)
    assert applied.returncode == 0
    assert "[[tool.gradcompat.waivers]]" in (here / "pyproject.toml").read_text("utf-8")


def test_a_patch_may_make_the_file(run: Run, here: Path) -> None:
    done = run("waive", ID, "--reason", "known", "--dry-run")
    assert done.out.startswith("--- /dev/null\n+++ b/gradcompat.toml\n")
    assert not (here / "gradcompat.toml").exists()
    assert subprocess.run(["git", "apply"], input=done.out.encode(), cwd=here, check=False).returncode == 0
    assert run("waive", ID, "--reason", "known").err.startswith("nothing has to change")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("GC-9999", "--reason", "x"), "there is no record `GC-9999`"),
        ((ID,), "a waiver needs a reason"),
        ((ID, "--reason", " "), "a waiver needs a reason"),
        ((ID, "--reason", "x", "--until", "soon"), "`--until soon` is not a date"),
        ((ID, "--reason", "x", "--until", "2020-01-01"), "`--until 2020-01-01` has passed"),
        ((ID, "--reason", "x", "--path", "!a"), "`--path`: `!a` names no file"),
        ((ID, "--reason", "x", "--path", "../uv.lock"), "`--path`: `../uv.lock` names no file"),
        ((ID, "uv.lock", "--reason", "x", "--until-change", "peft"), "`--until-change peft`: uv.lock has no peft"),
        ((ID, "none.lock", "--reason", "x", "--until-change", "torch"), "`none.lock`: there is no such file or folder"),
        (
            (ID, "open.txt", "--reason", "x", "--until-change", "torch"),
            "`--until-change torch`: open.txt gives no version of torch",
        ),
        (
            (ID, "--reason", "x", "--proof", "none.json"),
            "`none.json`: cannot be the proof of a waiver: there is no such file or folder",
        ),
        (
            (ID, "--reason", "x", "--proof", "uv.lock"),
            "`uv.lock:1`: cannot be the proof of a waiver: not valid JSON: Expecting value",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    run: Run, here: Path, arguments: tuple[str, ...], message: str
) -> None:
    (here / "open.txt").write_text("torch>=2\n", "utf-8")
    done = run("waive", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines()[0] == f"error: {message}"
    assert not (here / "gradcompat.toml").exists()


def test_a_broken_file_is_not_made_worse(run: Run, here: Path) -> None:
    text = '[[waivers]]\nid = "GC-0001"\n'
    (here / "gradcompat.toml").write_text(text, "utf-8")
    done = run("waive", ID, "--reason", "x")
    assert (done.status, done.err) == (2, "error: `gradcompat.toml:1`: a waiver has no `reason`\n")
    assert (here / "gradcompat.toml").read_text("utf-8") == text


def test_a_file_that_cannot_be_written_stays(run: Run, here: Path) -> None:
    path = here / "gradcompat.toml"
    path.write_text("# ours\n", "utf-8")
    path.chmod(0o444)
    done = run("waive", ID, "--reason", "x")
    assert (done.status, done.err) == (2, "error: `gradcompat.toml`: is read-only; nothing was written\n")
    assert sorted(one.name for one in here.iterdir()) == ["gradcompat.toml", "uv.lock"]


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
def test_a_link_out_of_the_project_is_left_alone(run: Run, tmp_path: Path, here: Path, there: bool) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-victim.toml"
    if there:
        outside.write_text("", "utf-8")
    (here / "gradcompat.toml").symlink_to(outside)
    done = run("waive", ID, "--reason", "known")
    assert done.status == 2
    assert done.err.splitlines()[0] == "error: `gradcompat.toml`: leads outside `.`, and is not read"
    assert outside.exists() == there
    assert not there or outside.read_text("utf-8") == ""
