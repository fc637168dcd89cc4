"""The state of the knowledge for a terminal: aligned columns, the last of which may go on below."""

from __future__ import annotations

from typing import TextIO

from gradcompat.model.knowledge_state import KnowledgeState
from gradcompat.renderers.state_tables import Table, summary, tables
from gradcompat.renderers.terminal import width, wrapped


def render(state: KnowledgeState, out: TextIO) -> None:
    """Write all tables."""
    out.write(wrapped(summary(state), width(), "", "") + "\n")
    for table in tables(state):
        if table.rows:
            out.write(f"\n{table.title}\n\n")
            _table(table, out)


def _table(table: Table, out: TextIO) -> None:
    widths = [max(len(row[column]) for row in (table.head, *table.rows)) for column in range(len(table.head))]
    indent = "  " + " " * sum(one + 2 for one in widths[:-1])
    for row in (table.head, *table.rows):
        cells = [
            text.rjust(one) if number in table.numbers else text.ljust(one)
            for number, (text, one) in enumerate(zip(row, widths, strict=True))
        ]
        first = "  " + "".join(f"{cell}  " for cell in cells[:-1])
        columns = max(width(), len(indent) + 40)
        last = row[-1] if len(table.head) - 1 not in table.numbers else cells[-1]
        out.write("\n".join(line.rstrip() for line in wrapped(last, columns, first, indent).split("\n")) + "\n")
