"""Moves pins in a dependency file with the editor of its format, which is imported when such a file is edited."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from gradcompat.dependency_formats import BY_KIND, FORMATS
from gradcompat.edit.pins import Edited, PinEdit
from gradcompat.errors import EditError

# Whose the project is, by the lockfile beside its pyproject.toml.
_MANAGERS = {
    entry.kind: entry.relock.words[0]
    for entry in FORMATS
    if entry.relock is not None and "pyproject.toml" in entry.requested_in
}


def edit_text(kind: str, path: Path, shown: str, text: str, pins: Sequence[PinEdit]) -> Edited:
    """Move pins in a text, line ends as in the file.

    Args:
        kind: the format, as a reader calls it.
        path: where the file is; what lies beside it says whose project it is.
        shown: how it is called to the user.
        text: what it holds.
        pins: what shall move.

    Raises:
        EditError: if the format is none that can be edited, or the text cannot be.
    """
    entry = BY_KIND[kind]
    if entry.editor is None:
        why = "which only its tool writes" if entry.lock else "which is not edited"
        raise EditError(f"is {kind}, {why}", path=shown)
    options: dict[str, Any] = {}
    if kind == "pyproject.toml":
        options["manager"] = next(
            (name for lock, name in _MANAGERS.items() if os.path.isfile(path.parent / lock)), None
        )
    result: Edited = import_module(f"gradcompat.edit.{entry.editor}").edit(text, shown, pins, **options)
    return result
