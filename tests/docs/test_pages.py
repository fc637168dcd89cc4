"""Every command that the documentation shows is run, every file on it is written, and every output is compared."""

from __future__ import annotations

import ast
import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.blocks import Block, Unmarked, blocks

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
IDS = [path.relative_to(ROOT).as_posix() for path in PAGES]
READ = {name: path.read_text("utf-8") for name, path in zip(IDS, PAGES, strict=True)}

# Statuses of commands that were understood; 2 is wrong usage, 126 and 127 are the shell's.
UNDERSTOOD = (0, 1, 3)


@pytest.mark.parametrize("page", IDS)
def test_every_block_is_run_or_checked(page: str) -> None:
    found = blocks(READ[page], page)
    assert len(found) == len(re.findall(r"^ *```\S", READ[page], re.MULTILINE)), "a fence is not seen"
    assert [problem for block in found for problem in unchecked(block, page)] == []


def unchecked(block: Block, page: str) -> list[str]:
    """Why what a block names with ``in`` does not check it: that has to be a test, and its code to have the words."""
    if "in" not in block.marks:
        return []
    other, *words = block.marks["in"]
    if other != ".ci/run" and not re.fullmatch(r"tests/(?:\w+/)*test_\w+\.py", other):
        return [f"{page}:{block.line}: `{other}` is neither a test nor .ci/run"]
    words = [word.strip('",') for word in words]
    told = told_by(ROOT / other)
    missing = [word for word in words or [Path(page).name] if not any(word in text for text in told)]
    # Words of the block itself; without them the test could be about anything.
    foreign = [word for word in words if word not in (Path(page).stem, *block.text.split())]
    return [
        *(f"{page}:{block.line}: {other} has no `{word}`" for word in missing),
        *(f"{page}:{block.line}: the block has no `{word}`" for word in foreign),
    ]


def told_by(path: Path) -> list[str]:
    """The texts in the code of a test, or the lines of a script, without docstrings and comments."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    tree = ast.parse(text)
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements
    ]


@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        ("docs/ci.md gradcompat", "`docs/ci.md` is neither a test nor .ci/run"),
        ("tests/docs/test_blocks_of_none.md", "`tests/docs/test_blocks_of_none.md` is neither a test nor .ci/run"),
        ("tests/requirements/test_names.py", "tests/requirements/test_names.py has no `page.md`"),
        ("tests/requirements/test_names.py __future__", "tests/requirements/test_names.py has no `__future__`"),
        (".ci/run 'What has to pass'", ".ci/run has no `What has to pass`"),
        (".ci/run mypy", "the block has no `mypy`"),
    ],
)
def test_a_mark_that_checks_nothing_is_a_problem(mark: str, problem: str) -> None:
    (block,) = blocks(f"<!-- test: in {mark} -->\n```sh\ngradcompat __future__ # What has to pass\n```\n", "page.md")
    assert unchecked(block, "page.md")[0] == f"page.md:2: {problem}"


@pytest.mark.e2e
@pytest.mark.parametrize("page", IDS)
def test_a_page_is_true(page: str, tmp_path: Path) -> None:
    play(page, tmp_path, frozenset())


@pytest.mark.e2e
@pytest.mark.network
@pytest.mark.parametrize("page", [page for page in IDS if re.search(r"<!-- test: [^>]*\bnetwork\b", READ[page])])
def test_a_page_is_true_with_an_index(page: str, tmp_path: Path) -> None:
    play(page, tmp_path, frozenset({"network"}))


@pytest.mark.e2e
@pytest.mark.probe
@pytest.mark.parametrize("page", [page for page in IDS if re.search(r"<!-- test: [^>]*\bprobe\b", READ[page])])
def test_a_page_is_true_with_torch(page: str, tmp_path: Path) -> None:
    play(page, tmp_path, frozenset({"probe"}))


@pytest.mark.e2e
@pytest.mark.network
@pytest.mark.probe
@pytest.mark.parametrize(
    "page", [page for page in IDS if any(len(block.needs) > 1 for block in blocks(READ[page], page))]
)
def test_a_page_is_true_with_both(page: str, tmp_path: Path) -> None:
    play(page, tmp_path, frozenset({"network", "probe"}))


def play(page: str, folder: Path, available: frozenset[str]) -> None:
    """Do what the page says, in an empty folder with an environment in `.venv`, and in `training` if torch is there."""
    (folder / ".venv").symlink_to(sys.prefix, target_is_directory=True)
    if "probe" in available:
        training = Path(os.environ["GRADCOMPAT_PROBE_PYTHON"]).absolute().parents[1]
        (folder / "training").symlink_to(training, target_is_directory=True)
    printed: str | None = None
    for block in blocks(READ[page], page):
        prepare(block, folder)
        if not block.needs <= available:
            printed = None  # and so is not compared
        elif block.role == "file":
            path = folder / block.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        elif block.role in ("commands", "python"):
            printed = run(block, page, folder, available)
        elif block.role == "output" and printed is not None:
            compare(block.text, printed, f"{page}:{block.line}")


def prepare(block: Block, folder: Path) -> None:
    for source in block.marks.get("files", ()):
        shutil.copytree(ROOT / source, folder, dirs_exist_ok=True)
    if "file" in block.marks:
        source, name = block.marks["file"]
        shutil.copy(ROOT / source, folder / name)
    for program, left_out in (one.split("=") for one in block.marks.get("there", ())):
        stand_in = folder / "bin" / program
        stand_in.parent.mkdir(exist_ok=True)
        stand_in.write_text(f'#!/bin/sh\nshift {left_out}\nexec "$@"\n')
        stand_in.chmod(0o755)


def run(block: Block, page: str, folder: Path, available: frozenset[str]) -> str:
    """What the commands of a block print: the data, or where there are none, what is said of them."""
    wanted = int(block.marks["status"][0]) if "status" in block.marks else None
    printed = ""
    for number, command in enumerate(block.commands):
        done = shell(command, folder, available, program=("bash" if block.role == "commands" else sys.executable))
        where = f"{page}:{block.line}: {command.strip()}\nends with {done.returncode}:\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, where
        if wanted is None and block.language == "console":
            assert done.returncode in UNDERSTOOD, where
        else:
            assert done.returncode == (wanted or 0), where
        if block.language == "console" and block.shown[number].strip():
            compare(block.shown[number], done.stdout or done.stderr, f"{page}:{block.line}")
        printed += done.stdout or done.stderr
    return printed


def shell(
    command: str, folder: Path, available: frozenset[str], *, program: str = "bash"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *(("-euo", "pipefail") if program == "bash" else ()), "-c", command],
        cwd=folder,
        env=environment(folder, available),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )


def environment(folder: Path, available: frozenset[str]) -> dict[str, str]:
    """The environment of a user who has just come here; no index is there where none is asked for."""
    private = ("PIP_", "UV_", "GRADCOMPAT_", "VIRTUAL_ENV", "CONDA_PREFIX", "GITHUB_", "CI")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(private)}
    if "network" in available:
        kept |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    else:
        kept["PIP_NO_INDEX"] = "1"
    return {
        **kept,
        "PATH": os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "COLUMNS": "100",
        "PYTHONIOENCODING": "utf-8",
        "GRADCOMPAT_CACHE": str(folder / ".cache"),
    }


def compare(shown: str, printed: str, where: str) -> None:
    if not doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS):
        assert printed == shown, where


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("```yaml\nkey: 1\n```\n", "nothing looks at this block"),
        ("```text\noutput of nothing\n```\n", "nothing looks at this block"),
        ("```\nno language\n```\n", "nothing looks at this block"),
        ("Text\n\n    gradcompat check\n", "code by indentation"),
        ("<!-- test: maybe -->\n```sh\ngradcompat check\n```\n", "`maybe` is no mark"),
        ("<!-- test: network -->\n\n```sh\ntrue\n```\n\n<!-- test: probe -->\n", "is before no block"),
    ],
)
def test_a_block_that_nothing_looks_at_is_found(page: str, said: str) -> None:
    with pytest.raises(Unmarked, match=said):
        blocks(page, "page.md")


@pytest.mark.e2e  # the commands of a page are processes
def test_what_is_wrong_on_a_page_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = '```text title="requirements.txt"\ntransformers==4.49.0\n```\n\n'
    page += "```sh\ngradcompat inspect requirements.txt\n```\n"
    wrong = {
        "output": page + "\n```text\nsomething else\n```\n",
        "status": page.replace("inspect", "inspect --nonsense"),
        "file": page.replace('title="requirements.txt"', 'title="other.txt"'),
    }
    for name, text in wrong.items():
        monkeypatch.setitem(READ, name, text)
        (tmp_path / name).mkdir()
        with pytest.raises(AssertionError):
            play(name, tmp_path / name, frozenset())
    monkeypatch.setitem(READ, "right", page + "\n```text\nrequirements.txt: requirements, 1 package...\n```\n")
    (tmp_path / "right").mkdir()
    play("right", tmp_path / "right", frozenset())
