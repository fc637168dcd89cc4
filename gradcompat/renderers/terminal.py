"""Text for a terminal: what comes from files is made harmless, long sentences are wrapped."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from gradcompat.model.environment import Skipped
from gradcompat.redaction import redact
from gradcompat.startup.lazy_patterns import lazy_pattern

_MAX_WIDTH = 110
_MIN_WIDTH = 50
# `##[…]`, `##vso[…]`, `##teamcity[…]` anywhere in a line, and `::` at its start, behind blanks, too: a long line may be
# wrapped before any word. https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs
_COMMAND = lazy_pattern(r"##(?=\w*\[)|(?<!\S)::+")


def safe(text: str) -> str:
    r"""The text without anything that a terminal or the log of a CI job would obey, and without credentials.

    Escapes, control and right-to-left marks are spelled out, and what begins a command of a runner is taken apart.

    >>> safe("a\x1b[31mb ##[error]c")
    'a\\x1b[31mb # #[error]c'
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
    text = redact(text)
    return _COMMAND.sub(lambda match: " ".join(match[0]), text) if "::" in text or "##" in text else text


def width() -> int:
    """Columns to write in; 100 where there is no terminal, so that logs and tests read the same everywhere."""
    return max(_MIN_WIDTH, min(_columns() or 100, _MAX_WIDTH))


def _columns() -> int:
    """As :func:`shutil.get_terminal_size` finds them, whose module imports three compressions; 0 if nobody says."""
    with suppress(KeyError, ValueError):
        if (columns := int(os.environ["COLUMNS"])) > 0:
            return columns
    with suppress(AttributeError, ValueError, OSError):  # closed, taken away or no terminal
        return os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
    return 0


def wrapped(text: str, columns: int, first: str, following: str) -> str:
    """The words of a sentence over as many lines as it takes; a word longer than a line stays whole."""
    text = safe(text)
    words = text.split(" ")  # after `safe`, no other sign is blank
    if "" in words:
        import textwrap  # as long to import as it takes to render a report; it keeps blanks that stand together

        lines = textwrap.wrap(
            text,
            columns,
            initial_indent=first,
            subsequent_indent=following,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return "\n".join(lines) or first
    lines = [f"{first}{words[0]}"]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{following}{word}")
    return "\n".join(lines)


def skipped_text(skipped: Skipped) -> str:
    """One sentence for something that was not read: where it stands, what it is, why."""
    place = str(skipped.location) if skipped.location is not None else skipped.what
    subject = place if skipped.what in place else f"{place}: {skipped.what}"
    return f"{'not checked' if skipped.gap else 'note'}: {subject}: {skipped.reason}"
