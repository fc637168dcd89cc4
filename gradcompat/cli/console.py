"""What every command prints in the same way."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcompat.audit.plans import PlanningResult
    from gradcompat.index.catalog import Lookup
    from gradcompat.knowledge.load import KnowledgeBase
    from gradcompat.model.release import Catalogue


def known_records(named: Sequence[str] = (), *, kept: Mapping[str, Any] | None = None) -> KnowledgeBase:
    """The records of this run; what there is to say of them is printed.

    Args:
        named: files and folders of somebody's own records.
        kept: the project's own options, where they are known already.

    Raises:
        UsageError: if something that is named makes no sense.
        KnowledgeError: if records cannot be read, or are not right.
    """
    from gradcompat.database.open import open_database

    return open_database(named, note=print_note, kept=kept)


def print_version() -> None:
    """The name of the program and its version."""
    from gradcompat._version import __version__

    sys.stdout.write(f"gradcompat {__version__}\n")


def print_note(sentence: str) -> None:
    """Tell something beside the report."""
    from gradcompat.renderers.terminal import safe

    sys.stderr.write(f"note: {safe(sentence)}\n")


def print_unread(done: Sequence[PlanningResult]) -> None:
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
