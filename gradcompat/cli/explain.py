"""``gradcompat explain``: one record in full, or the vocabulary of settings."""

from __future__ import annotations

import sys
from typing import TextIO

from gradcompat.errors import UsageError
from gradcompat.knowledge.load import load
from gradcompat.model.issue import Issue
from gradcompat.phrases import condition
from gradcompat.renderers.terminal import width, wrapped
from gradcompat.renderers.text import remedy_text
from gradcompat.vocabulary import KEYS


def run(identifier: str) -> int:
    """Print the record.

    Raises:
        UsageError: if there is no such record.
        KnowledgeError: if the knowledge base cannot be loaded.
    """
    if identifier == "settings":
        _settings(sys.stdout)
        return 0
    issue = load().get(identifier)
    if issue is None:
        raise UsageError(f"there is no record `{identifier}`", hint="ids look like GC-0002; `check` prints them")
    _issue(issue, sys.stdout)
    return 0


def _settings(out: TextIO) -> None:
    columns = width()
    for name, key in KEYS.items():
        out.write(wrapped(f"{key.meaning} ({key.type})", columns, f"{name:<42} ", " " * 43) + "\n")


def _issue(issue: Issue, out: TextIO) -> None:
    columns = width()
    out.write(wrapped(issue.summary, columns, f"{issue.id} ", "  ") + "\n")
    kind = "informational" if issue.informational else issue.level
    out.write(f"{kind}, {'silent' if issue.silent else 'loud'}, {', '.join(issue.categories)}\n")
    if issue.withdrawn is not None:
        out.write(wrapped(f"withdrawn: {issue.withdrawn}", columns, "", "  ") + "\n")
    out.write("\n" + wrapped(issue.details, columns, "", "") + "\n")
    out.write("\nAffected when\n")
    for index, combination in enumerate(issue.affected):
        text = " and ".join(condition(term) for term in combination.terms)
        out.write(wrapped(text, columns, "  or " if index else "  ", "    ") + "\n")
    _section("Shows as", list(issue.symptoms), columns, out)
    _section("What to do, in order", [remedy_text(remedy) for remedy in issue.remedies], columns, out)
    _section(f"Evidence (ranges: {issue.range_basis})", list(issue.evidence), columns, out)
    references = [f"{reference.type.lower()}: {reference.url}" for reference in issue.references]
    _section("References", references, columns, out)


def _section(title: str, lines: list[str], columns: int, out: TextIO) -> None:
    if lines:
        out.write(f"\n{title}\n")
        for line in lines:
            out.write(wrapped(line, columns, "  ", "    ") + "\n")
