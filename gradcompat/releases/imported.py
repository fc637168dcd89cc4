"""What a module imports in each release of its package: a bit for each release, the oldest lowest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcompat.releases.lines import grouped
from gradcompat.releases.runs import Run, stretches
from gradcompat.startup.lazy_dataclasses import dataclass

# In place of the line of an import.
UNSAID = -1


@dataclass(frozen=True, slots=True)
class ImportGroup:
    """Imports that a module has in the same releases.

    Attributes:
        keys: ``module:`` or ``module:name``.
        executing: the releases in which they execute modules of the same package.
        needing: those in which they need another package.
        runs: the lines of a file that need it, UNSAID where they do not matter; 0 where they execute modules.
    """

    keys: tuple[str, ...]
    executing: int
    needing: int
    runs: list[Run]


def import_groups(content: list[list[Any]], count: int) -> Iterator[ImportGroup]:
    """What a line of a table says of a module.

    Args:
        content: of the line.
        count: how many releases there are.
    """
    for keys, runs in grouped(content):
        executing = needing = 0
        for start, end, line in stretches(runs, count):
            if line:
                needing |= span(start, end)
            else:
                executing |= span(start, end)
        yield ImportGroup(tuple(keys), executing, needing, runs)


def span(start: int, end: int) -> int:
    """The bits from one release to the one before another.

    >>> f"{span(1, 4):b}"
    '1110'
    """
    return (1 << end) - (1 << start)


def symbol_of(key: str) -> tuple[str, str | None]:
    """The module and the name of a key, if it has one.

    >>> symbol_of("torch.nn:Module"), symbol_of("torch:")
    (('torch.nn', 'Module'), ('torch', None))
    """
    module, _, name = key.partition(":")
    return module, name or None
