"""``--help`` is a manual: it says what every option is, fits into 80 columns, and its examples can be run."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from typer import Context
from typer.testing import CliRunner

from gradcompat.cli.app import app
from gradcompat.cli.manual import Command, Section, first_sentence, parse_sections
from tests.conftest import ROOT
from tests.docs.blocks import blocks
from tests.docs.test_pages import UNDERSTOOD, shell
from website.commands import commands

ALL = {context.command_path: (command, context) for command, context in commands()}
EXAMPLES = sorted(
    {line for command, _ in ALL.values() for one in command.sections if one.title == "Examples" for line in one.lines}
)

# What is not run here, and the test that does: it needs torch, a repository or an index, answers until it is
# stopped, or writes into the package. The words behind the colon stand in that test.
ELSEWHERE = {
    "env -u": "tests/cli/test_knowledge.py: snapshot",
    "gradcompat check . --baseline": "tests/cli/test_baseline.py: --baseline",
    "gradcompat check . --diff": "tests/cli/test_diff.py: --diff",
    "gradcompat constraints --for": "tests/cli/test_plan.py: --for --python-version",
    "gradcompat knowledge compile": "tests/knowledge/test_issues.py: compile",
    "gradcompat knowledge horizon": "tests/cli/test_refresh.py: horizon --looked-at",
    "gradcompat knowledge measure": "tests/cli/test_measure.py: measure --python",
    "gradcompat knowledge new": "tests/cli/test_new_record.py: new",
    "gradcompat knowledge read": "tests/cli/test_read.py: read",
    "gradcompat knowledge refresh": "tests/cli/test_refresh.py: refresh --python",
    "gradcompat knowledge serve": "tests/real/test_auditors.py: --service-url",
    "gradcompat knowledge snapshot": "tests/cli/test_knowledge.py: snapshot",
    "gradcompat knowledge watch": "tests/cli/test_watch.py: watch --verdict",
    "git log --format=%s": "tests/cli/test_watch.py: --notes stdin",
    "gradcompat run": "tests/guard/test_way_in.py: run --on-defect",
    "pip-audit": "tests/real/test_auditors.py: pip-audit --osv-url",
    "uv audit": "tests/real/test_auditors.py: audit --service-url --no-cache",
}


@pytest.mark.parametrize("path", ALL)
def test_a_command_is_explained_in_full(path: str) -> None:
    command, context = ALL[path]
    assert command.help
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        assert record is not None, parameter.name
        assert len(record[1]) > 5, parameter.name
    titles = [section.title for section in command.sections]
    assert "Examples" in titles
    assert titles == sorted(titles, key=["Exit status", "Files", "Environment", "Examples"].index)


@pytest.mark.parametrize("path", ALL)
def test_it_fits_into_80_columns(path: str) -> None:
    outcome = CliRunner().invoke(app, [*path.split()[1:], "--help"], env={"COLUMNS": "80"})
    assert outcome.exit_code == 0
    assert [line for line in outcome.stdout.splitlines() if len(line) > 80] == []
    command, _ = ALL[path]
    for section in command.sections:
        assert f"\n\n{section.title}:\n" in outcome.stdout


@pytest.mark.e2e  # a shell runs each line, and it the program
@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_can_be_run(line: str, tmp_path: Path) -> None:
    for start, where in ELSEWHERE.items():
        if line.startswith(start):
            file, _, words = where.partition(": ")
            text = (ROOT / file).read_text("utf-8")
            assert [word for word in words.split() if word not in text] == []
            return
    assert shutil.which("bash")
    furnished(tmp_path)
    done = shell(line, tmp_path, frozenset())
    assert done.returncode in UNDERSTOOD, f"{line}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr


def furnished(folder: Path) -> None:
    """A project with everything that examples name."""
    shutil.copytree(ROOT / "examples/llava-finetune", folder, dirs_exist_ok=True)
    (folder / ".venv").symlink_to(sys.prefix, target_is_directory=True)
    (folder / "requirements.txt").write_text("transformers==4.49.0\n", "utf-8")
    shutil.copy(ROOT / "tests/fixtures/logs/trainer-5.23.0-masked-nan.log", folder / "train.log")
    (folder / "trainer_state.json").write_text('{"log_history": [{"loss": 1.0, "step": 1}], "global_step": 1}', "utf-8")
    # A file of few records is checked in no time.
    page = "docs/writing-a-record.md"
    (file,) = [block for block in blocks((ROOT / page).read_text("utf-8"), page) if block.role == "file"]
    (folder / "knowledge/measured").mkdir(parents=True)
    (folder / file.name).write_text(file.text, "utf-8")


def test_a_docstring_is_parted() -> None:
    text = """Say it.

    More of it: a sentence
    over two lines.

    Exit status:
      0  clean
      1  found, and that
         goes on

    Examples:
      gradcompat check
      gradcompat check --format json
    """
    assert parse_sections(text) == (
        "Say it.\n\nMore of it: a sentence\nover two lines.",
        (
            Section("Exit status", terms=(("0", "clean"), ("1", "found, and that goes on"))),
            Section("Examples", lines=("gradcompat check", "gradcompat check --format json")),
        ),
    )
    assert parse_sections("Only this.") == ("Only this.", ())


def test_a_list_of_commands_has_whole_sentences() -> None:
    assert first_sentence("Show a record: what breaks.\n\nMore.") == "Show a record"
    assert first_sentence("Write it; comments stay. And so on.") == "Write it; comments stay"


def test_a_long_example_stays_one_command() -> None:
    command = Command("one", help="Do it.\n\nExamples:\n  gradcompat one --first " + "x" * 60 + " --second y\n")
    lines = command.get_help(Context(command, info_name="one")).partition("Examples:\n")[2].splitlines()
    assert lines == ["  gradcompat one \\", "    --first " + "x" * 60 + " \\", "    --second y"]
    assert re.sub(r" \\\n +", " ", "\n".join(lines)).strip() == command.sections[0].lines[0]
