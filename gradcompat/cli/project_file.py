"""Changes the file that keeps a project's options."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from gradcompat.config.project_file import as_seen_from_here
from gradcompat.edit.atomic_write import OUTSIDE, diff, edited, leads_outside, write, write_new
from gradcompat.edit.journal import recover
from gradcompat.errors import EditError, UsageError
from gradcompat.files.regular_files import read_regular
from gradcompat.renderers.terminal import safe


def write_project_file(place: Path, change: Callable[[str, str], str], *, unchanged: str, dry_run: bool) -> None:
    """Change the file that keeps a project's options, or make it; what was done is said on standard error.

    Args:
        place: the file.
        change: its text and how it is shown → its new text.
        unchanged: what is said of it where nothing has to change.
        dry_run: print a unified diff, and write nothing.

    Raises:
        EditError: if it cannot be changed.
        UsageError: if it cannot be read.
    """
    shown = as_seen_from_here(place)
    if not dry_run:
        for sentence in recover([place]):
            sys.stderr.write(f"note: {safe(sentence)}\n")
    if leads_outside(place, place.parent):
        raise EditError(OUTSIDE, path=shown, hint="put a file of its own there")
    there = os.path.lexists(place)
    try:
        before = read_regular(place) if there else b""
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=shown) from None
    edit = edited(place, shown, before, lambda text: change(text, shown), place.parent)
    if edit.before == edit.after:
        sys.stderr.write(f"nothing has to change: {safe(shown)} {unchanged}\n")
        return
    if dry_run:
        text = diff(edit) if there else re.sub(r"\A--- .*", "--- /dev/null", diff(edit))
        # What a terminal would obey stays in a file alone.
        sys.stdout.write("\n".join(map(safe, text.split("\n"))) if sys.stdout.isatty() else text)
        return
    if there:
        write([edit])
    else:
        write_new(edit)
    sys.stderr.write(f"{'changed' if there else 'written'}: {safe(shown)}\n")
