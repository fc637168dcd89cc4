"""Somebody's own records, beside those that ship, as their authors write them.

They hold to the schema and the linter of the shipped ones, and cannot change those. What is wrong with one record makes
the whole file an error: nothing is matched against what is left of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradcompat.errors import InvalidIssue
from gradcompat.knowledge.compile import compile_records
from gradcompat.knowledge.lint import lint, unproved_bounds
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.knowledge.records import Problem, read_text
from gradcompat.model.probe import Row


def compiled_own(content: bytes, name: str, rows: Iterable[Row], shipped: KnowledgeBase) -> dict[str, Any]:
    """The compiled form of a file of records.

    Raises:
        KnowledgeError: if it cannot be read, or a record is not right.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidIssue("is not UTF-8 text", path=name) from None
    authored = read_text(text, name)
    measured = tuple(rows)
    _refuse((*lint(authored, measured, shipped), *unproved_bounds(authored, measured)), name)
    return compile_records(authored)


def _refuse(problems: tuple[Problem, ...], name: str) -> None:
    if not problems:
        return
    first = problems[0]
    message = first.message if first.record is None else f"{first.record}: {first.message}"
    more = f"; {len(problems) - 1} more" if len(problems) > 1 else ""
    hint = f"`gradcompat knowledge lint --knowledge {name}` lists {'them' if more else 'what is wrong'}"
    raise InvalidIssue(f"{message}{more}", path=name, line=first.line, hint=hint)
