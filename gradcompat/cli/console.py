"""What every command prints in the same way."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradcompat.audit.planning import Work
    from gradcompat.index.catalog import Lookup
    from gradcompat.model.release import Catalogue


def print_note(sentence: str) -> None:
    """Tell something beside the report."""
    from gradcompat.renderers.terminal import safe

    sys.stderr.write(f"note: {safe(sentence)}\n")


def print_unread(done: Sequence[Work]) -> None:
    """On standard error, a line for everything that could not be read."""
    from gradcompat.renderers.terminal import safe, skipped_text

    for work in done:
        for skipped in work.planned.skipped:
            sys.stderr.write(safe(skipped_text(skipped)) + "\n")


@contextmanager
def package_index(lookup: Lookup) -> Iterator[Catalogue]:
    """Where releases are looked up; progress and notes are printed.

    Raises:
        UsageError: if the configuration of pip or uv is broken.
    """
    from gradcompat.index.catalog import catalogue_of

    with catalogue_of(lookup, print_note, _print_progress if sys.stderr.isatty() else None) as catalogue:
        yield catalogue


def _print_progress(done: int, total: int, what: str) -> None:
    """One line that is written over, and gone in the end."""
    from gradcompat.renderers.terminal import safe

    sys.stderr.write(f"\r\x1b[K{done} of {total} looked up: {safe(what)}" if done < total else "\r\x1b[K")
    sys.stderr.flush()
