"""``gradcompat knowledge``: for those who write records."""

from __future__ import annotations

import sys
from pathlib import Path

from gradcompat.errors import InvalidIssue
from gradcompat.knowledge.compile import compile_records, dumps
from gradcompat.knowledge.lint import lint
from gradcompat.knowledge.load import COMPILED
from gradcompat.knowledge.records import read
from gradcompat.phrases import counted


def run_lint(path: str) -> int:
    """Print every problem; 1 if there is one.

    Raises:
        KnowledgeError: if the file cannot be read.
    """
    authored = read(Path(path))
    problems = lint(authored)
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    found = counted(len(problems), "problem") if problems else "no problems"
    sys.stdout.write(f"{counted(len(authored.records), 'record')}, {found}\n")
    return 1 if problems else 0


def run_compile(path: str) -> int:
    """Write the compiled knowledge into the package.

    Raises:
        KnowledgeError: if the file cannot be read or a record is wrong.
    """
    authored = read(Path(path))
    problems = lint(authored)
    if problems:
        raise InvalidIssue(
            counted(len(problems), "problem"), path=path, hint=f"`gradcompat knowledge lint {path}` lists them"
        )
    COMPILED.write_text(dumps(compile_records(authored)), "utf-8")
    sys.stdout.write(f"{counted(len(authored.records), 'record')} written\n")
    return 0
