"""``gradcompat knowledge new``: from options, from answers on a pipe, and on a terminal."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradcompat.cli.app import app
from gradcompat.knowledge.lint import lint
from gradcompat.knowledge.records import read
from gradcompat.knowledge.schema import CodeRemedy, Record, Reference, VersionRemedy
from tests.conftest import Run
from tests.knowledge.authored import HEAD, RECORD, written

OPTIONS = (
    "--package", "transformers >=4.49.0,<4.52.1", "--condition", "training.gradient_accumulation_steps>1",
    "--summary", "The loss grows", "--details", "Nobody divides.", "--category", "loss-scale", "--silent",
    "--basis", "tags", "--level", "error", "--reference", "https://example.org/1",
    "--remedy", "upgrade transformers >=4.52.1", "--evidence", "Wrong in 4.49.0, right in 4.48.3 and 4.52.1.",
)  # fmt: skip

ANSWERS = {
    "Id": "",
    "A package": ["lightning", "transformers >=4.49.0,<4.52.1", ""],
    "A condition": ["training.steps>1", "training.gradient_accumulation_steps>1", ""],
    "The symptom": "The loss grows",
    "The mechanism": "Nobody divides.",
    "A category": ["loss", "loss-scale", ""],
    "Does the run go on": ["perhaps", "yes"],
    "How the bounds are known": "reported",
    "Level": ["error", ""],
    "A pattern": ["loss (", "loss: 1[0-9]", ""],
    "A reference": ["", "FIX https://example.org/1", ""],
    "A remedy": ["", "code divide it", ""],
    "What was run": ["Read in the report.", ""],
}
LINES = [line for one in ANSWERS.values() for line in ([one] if isinstance(one, str) else one)][1:]


def checked(path: Path, before: str) -> Record:
    """The new record, behind everything that was there."""
    assert path.read_text("utf-8").startswith(before)
    authored = read(path)
    assert [str(problem) for problem in lint(authored)] == []
    return authored.records[-1]


def test_all_from_options(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, RECORD)
    before = path.read_text("utf-8")
    outcome = run("knowledge", "new", str(path), *OPTIONS)
    assert (outcome.status, " ".join(outcome.out.split())) == (
        0,
        f"GC-0002 is written behind the last record of {path} no problems; left to do: look at the examples, which "
        f"were made from bounds and conditions; `gradcompat knowledge compile {path}`",
    )
    new = checked(path, before)
    assert (new.id, new.level, new.silent, new.symptoms) == ("GC-0002", "error", True, [])
    assert new.remedies == [VersionRemedy(kind="upgrade", package="transformers", versions=">=4.52.1")]
    steps = "training.gradient_accumulation_steps"
    assert new.examples.affected == [{"transformers": "4.51.3", steps: 2}, {"transformers": "4.49.0", steps: 2}]
    assert new.examples.not_affected == [
        {"transformers": "4.48.3", steps: 2},
        {"transformers": "4.52.1", steps: 2},
        {"transformers": "4.51.3", steps: 1},
    ]
    assert new.examples.conditional == [{"transformers": "4.51.3"}]


def test_answers_on_a_pipe(tmp_path: Path) -> None:
    path = written(tmp_path, RECORD)
    before = path.read_text("utf-8")
    lines = ["", *LINES]
    lines[lines.index("lightning")] = ">=2"
    outcome = CliRunner().invoke(app, ["knowledge", "new", str(path)], input="\n".join(lines) + "\n")
    assert outcome.exit_code == 0, outcome.output
    new = checked(path, before)
    assert (new.id, new.level, new.range_basis) == ("GC-0002", "warning", "reported")
    assert (new.symptoms, new.remedies) == (["loss: 1[0-9]"], [CodeRemedy(kind="code", text="divide it")])
    assert new.references == [Reference(type="FIX", url="https://example.org/1")]
    for said in (
        "`>=2` is not a package with a range",
        "`training.steps` is not a known setting",
        "categories.0: Input should be 'loss-scale'",
        "`perhaps` is neither yes nor no",
        "`reported` alone makes no error",
        "`loss (` is not a regular expression",
        "`--reference` is missing",
        "a defect needs a remedy",
        "`reported` is no error: read the releases",
    ):
        assert said in " ".join(outcome.output.split()), said


def test_a_note_may_be_no_defect(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, RECORD)
    options = ["note" if one == "error" else one for one in OPTIONS]
    at = options.index("--remedy")
    del options[at : at + 2]
    outcome = run("knowledge", "new", str(path), *options, "--informational")
    assert outcome.status == 0
    assert (read(path).records[-1].informational, read(path).records[-1].remedies) == (True, [])


def test_what_lint_finds_in_it_is_said(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, RECORD)
    options = [one.replace("transformers", "no-such-package") for one in OPTIONS]
    outcome = run("knowledge", "new", str(path), *options)
    assert outcome.status == 1
    assert outcome.err.splitlines()[-1].endswith(
        "note: the releases of no-such-package are unknown: examples name its bounds alone"
    )
    first, second, *rest = outcome.out.splitlines()[1:]
    assert first.startswith(f"`{path}`: horizon: has no line for no-such-package: ")
    assert second.endswith(
        "GC-0002: affected.0: no-such-package >=4.49.0,<4.52.1: no not_affected example is before it"
    )
    assert rest[0].startswith("2 problems; left to do: ")


def test_nothing_is_asked_where_options_give_all_that_is_needed(run: Run, tmp_path: Path) -> None:
    outcome = run("knowledge", "new", str(written(tmp_path, RECORD)), *OPTIONS, stdin="GC-9999\n" * 20)
    assert (outcome.status, outcome.err) == (0, "")
    assert read(tmp_path / "issues.yaml").records[-1].id == "GC-0002"


def test_it_finds_what_lint_finds_and_tells_what_the_file_had_before(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, RECORD.replace("basis: tags", "basis: measured"))
    assert run("knowledge", "lint", str(path)).out.splitlines()[-1] == "1 record, 0 measurements, 1 problem"
    outcome = run("knowledge", "new", str(path), *OPTIONS)
    assert (outcome.status, " ".join(outcome.out.split()[9:])) == (
        0,
        f"no new problems; left to do: look at the examples, which were made from bounds and conditions; `gradcompat "
        f"knowledge lint {path}` lists 1 problem that the file had before; `gradcompat knowledge compile {path}`",
    )
    outcome = run("knowledge", "new", str(path), *["measured" if one == "tags" else one for one in OPTIONS])
    assert outcome.status == 1
    assert outcome.out.splitlines()[1:2] == [
        line for line in run("knowledge", "lint", str(path)).out.splitlines() if ": GC-0003: " in line
    ]
    assert outcome.out.splitlines()[2].startswith("1 problem; left to do: ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--package": None}, "`--package` is missing"),
        ({"--summary": ""}, "`--summary` is missing"),
        ({"--summary": "It ends."}, "record: the summary is one sentence without its period"),
        ({"--level": "fatal"}, "level: Input should be 'error', 'warning' or 'note'"),
        ({"--basis": "reported"}, "record: `reported` alone makes no error: measure it, read the releases, or lower"),
        (
            {"--condition": "training.packing>1"},
            "affected.0.settings: `training.packing: >1` can never hold: the key is",
        ),
        ({"--package": "transformers >=5,<4"}, "affected.0.packages: `>=5,<4` holds no version"),
        ({"--remedy": "upgrade transformers <5"}, "remedies.0.upgrade: a remedy that is an upgrade has to begin with"),
        ({"--id": "GC-0001"}, "`GC-0001` is not behind the last id: the next free one is GC-0002"),
    ],
)
def test_an_option_that_is_wrong(run: Run, tmp_path: Path, changes: dict[str, str | None], message: str) -> None:
    path = written(tmp_path, RECORD)
    before = path.read_bytes()
    options = list(OPTIONS)
    for name, value in changes.items():
        at = options.index(name) if name in options else len(options)
        options[at : at + 2] = [] if value is None else [name, value]
    outcome = run("knowledge", "new", str(path), *options)
    assert (outcome.status, outcome.out, path.read_bytes()) == (2, "", before)
    assert f"error: {message}" in outcome.err


def test_nothing_that_would_not_be_affected(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, RECORD)
    options = list(OPTIONS)
    options[1] = "transformers"
    del options[2:4]
    outcome = run("knowledge", "new", str(path), *options)
    assert outcome.status == 2
    assert "nothing was written: examples.not_affected: List should have at least 1 item" in outcome.err


@pytest.mark.parametrize(
    ("text", "message"),
    [(HEAD, "the records do not stand at its end, so none can be put behind them"), (None, "cannot be read: ")],
)
def test_a_file_that_takes_none(run: Run, tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "issues.yaml"
    if text is not None:
        path.write_text(text, "utf-8")
    outcome = run("knowledge", "new", str(path), *OPTIONS)
    assert outcome.status == 2
    assert f"error: `{path}`: {message}" in outcome.err


@pytest.mark.e2e
@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
def test_on_a_terminal(tmp_path: Path) -> None:
    import pty

    path = written(tmp_path, RECORD)
    before = path.read_text("utf-8")
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gradcompat", "knowledge", "new", str(path)],
        stdin=slave, stdout=slave, stderr=slave, cwd=tmp_path, env={**os.environ, "COLUMNS": "300", "TERM": "dumb"},
        start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    try:
        for question, answers in ANSWERS.items():
            for number, answer in enumerate([answers] if isinstance(answers, str) else answers):
                shown = until(master, ":")
                assert number or question in shown, (question, shown)
                os.write(master, f"{answer}\n".encode())
        rest = until(master, None)
        assert process.wait(60) == 0, rest
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert "GC-0002 is written behind the last record of" in rest
    new = checked(path, before)
    assert (new.id, new.level, new.affected[0].packages["transformers"]) == ("GC-0002", "warning", ">=4.49.0,<4.52.1")


def until(master: int, end: str | None) -> str:
    """What the terminal shows until it waits for an answer behind this; None for its end."""
    shown = ""
    for _ in range(600):
        ready, _, _ = select.select([master], [], [], 0.1)
        if ready:
            try:
                data = os.read(master, 65536)
            except OSError:  # Linux: the other side is closed
                data = b""
            if not data:
                return shown
            shown += data.decode("utf-8", "replace")
        elif end is not None and shown.rstrip().endswith(end):
            return shown
        time.sleep(0)
    raise AssertionError(f"nothing more came behind {shown!r}")
