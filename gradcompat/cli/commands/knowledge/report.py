"""``gradcompat knowledge report``: the state of the records."""

from __future__ import annotations

import os
import sys
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from gradcompat.curation.authored_file import ISSUES
from gradcompat.errors import InvalidIssue, UsageError
from gradcompat.knowledge.matrix import load_rows
from gradcompat.knowledge.measured import FOLDER, read_rows
from gradcompat.knowledge.records import read, records_file
from gradcompat.knowledge.state import state_of
from gradcompat.messages import counted
from gradcompat.model.knowledge_state import KnowledgeState

_RENDERERS = {
    "text": "gradcompat.renderers.state_text",
    "markdown": "gradcompat.renderers.state_markdown",
    "json": "gradcompat.renderers.state_json",
}


def command(
    *,
    path: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help=f"A file of records; without one, {ISSUES}, or else the installed ones."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="text|markdown|json", help="How to print the report.")
    ] = "text",
) -> int:
    """Show the state of the records: by package, category and basis, the age of each horizon, and what is unchecked.

    Examples:
      gradcompat knowledge report
      gradcompat knowledge report --format markdown
    """
    if form not in _RENDERERS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(_RENDERERS)}")
    file = Path(path) if path is not None else Path(ISSUES) if os.path.exists(ISSUES) else records_file()
    import_module(_RENDERERS[form]).render(_state(file), sys.stdout)
    return 0


def _state(file: Path) -> KnowledgeState:
    authored = read(file)
    if authored.problems:
        hint = f"`gradcompat knowledge lint {file}` lists them"
        raise InvalidIssue(counted(len(authored.problems), "problem"), path=str(file), hint=hint)
    beside = read_rows(file.parent / FOLDER)
    return state_of(authored, beside or load_rows(), date.today())
