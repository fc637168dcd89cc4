"""The records and what was measured, as the files that `check` loads."""

from __future__ import annotations

from pathlib import Path

from gradcompat.curation.lint import LintResult, lint_records
from gradcompat.errors import InvalidIssue, UsageError
from gradcompat.knowledge import matrix
from gradcompat.knowledge.compile import compile_records, dumps
from gradcompat.knowledge.load import COMPILED
from gradcompat.knowledge.records import read
from gradcompat.messages import counted


def compile_into_package(path: str) -> LintResult:
    """Write the compiled records and rows into the package.

    Returns:
        What was written, without problems.

    Raises:
        KnowledgeError: if the file cannot be read or a record is wrong.
        UsageError: if the package cannot be written.
    """
    found = lint_records(read(Path(path)), None)
    if found.problems:
        hint = f"`gradcompat knowledge lint {path}` lists them"
        raise InvalidIssue(counted(len(found.problems), "problem"), path=path, hint=hint)
    for file, text in (
        (COMPILED, dumps(compile_records(found.authored))),
        (matrix.SHIPPED, matrix.dumps(matrix.compile_rows(found.rows))),
    ):
        try:
            file.write_text(text, "utf-8", newline="\n")
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", path=str(file)) from None
    return found
