"""The state of the knowledge as Markdown, for a page or a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from gradcompat.model.knowledge_state import KnowledgeState
from gradcompat.renderers.state_tables import summary, tables


def render(state: KnowledgeState, out: TextIO) -> None:
    """Write all tables."""
    out.write(f"# State of the knowledge\n\n{summary(state)}.\n")
    for table in tables(state):
        if table.rows:
            rule = ["--:" if number in table.numbers else "---" for number in range(len(table.head))]
            out.write(f"\n## {table.title}\n\n{_line(table.head)}{_line(rule)}")
            out.writelines(_line(row) for row in table.rows)


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |\n"
