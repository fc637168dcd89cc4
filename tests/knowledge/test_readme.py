"""What ``knowledge/README.md`` says of the tooling is true: its template, its keys, its commands."""

from __future__ import annotations

import re
from pathlib import Path

from gradcompat.cli.commands.knowledge import COMMANDS
from gradcompat.knowledge.lint import lint
from gradcompat.knowledge.records import read
from gradcompat.knowledge.schema import Record
from tests.conftest import Run
from tests.knowledge.authored import HEAD

README = (Path(__file__).parents[2] / "knowledge" / "README.md").read_text("utf-8")
TEMPLATE = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)[0]


def test_the_template_is_right(tmp_path: Path) -> None:
    path = tmp_path / "issues.yaml"
    path.write_text(HEAD + TEMPLATE, "utf-8")
    authored = read(path)
    assert [str(problem) for problem in lint(authored)] == []
    assert [record.id for record in authored.records] == ["GC-9999"]


def test_every_key_is_explained() -> None:
    table = README.partition("\n## A record\n")[2].partition("\n**Terms.**")[0]
    named = {
        name for row in table.splitlines() if row.startswith("| `") for name in re.findall("`(.+?)`", row.split("|")[1])
    }
    assert named == set(Record.model_fields)


def test_every_command_and_option_exists(run: Run) -> None:
    known = set(COMMANDS)
    text = " ".join(README.split())  # a command may go over the end of a line
    named = set(re.findall(r"`(?:gradcompat )?knowledge ([a-z]+)", text))
    assert named <= known, named - known
    for line in re.findall(r"`gradcompat (knowledge [^`]*--[^`]*)`", text):
        words = line.split()
        asked = [word for word in words if word.startswith("--")]
        shown = run(*words[:2], "--help")
        assert shown.status == 0, line
        assert [option for option in asked if option not in shown.out] == [], line
