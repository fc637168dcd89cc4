"""Every dependency file that can be edited, in one table, and every lockfile that a tool has to write.

A module is imported when a file of its kind is edited.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from gradcompat.edit.encoding import decoded
from gradcompat.edit.pins import Edited, PinEdit
from gradcompat.edit.writing import FileEdit
from gradcompat.errors import EditError


@dataclass(frozen=True, slots=True)
class Editor:
    """One format.

    Attributes:
        kind: the word for the format, as the readers have it.
        module: the module of this package whose ``edit`` edits it; None for a lockfile, which only its tool writes.
    """

    kind: str
    module: str | None = None


EDITORS = (
    Editor("pyproject.toml", "pyproject"),
    Editor("requirements", "requirements"),
    Editor("conda-environment", "conda_environment"),
    Editor("uv.lock"),
    Editor("poetry.lock"),
    Editor("pdm.lock"),
    Editor("Pipfile.lock"),
    Editor("pylock.toml"),
    Editor("pixi.lock"),
    Editor("conda-lock"),
)

BY_KIND = {editor.kind: editor for editor in EDITORS}

# Whose the project is, by the lockfile beside its pyproject.toml.
_MANAGERS = (("uv.lock", "uv"), ("poetry.lock", "poetry"), ("pdm.lock", "pdm"))


def edit_file(kind: str, path: Path, shown: str, before: bytes, pins: Sequence[PinEdit]) -> tuple[FileEdit, Edited]:
    """Move pins in a file; nothing is written.

    Args:
        kind: the format, as a reader calls it.
        path: where the file is.
        shown: how it is called to the user.
        before: what it holds.
        pins: what shall move.

    Raises:
        EditError: if the format is none that can be edited, or the file cannot be.
    """
    text = decoded(before, shown)
    result = edit_text(kind, path, shown, text.text, pins)
    return FileEdit(path=path, shown=shown, before=before, after=text.encoded(result.text)), result


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
    editor = BY_KIND.get(kind)
    if editor is None:
        raise EditError(f"is {kind}, which is not edited", path=shown)
    if editor.module is None:
        raise EditError(f"is {kind}, which only its tool writes", path=shown)
    options: dict[str, Any] = {}
    if kind == "pyproject.toml":
        options["manager"] = next((name for lock, name in _MANAGERS if os.path.isfile(path.parent / lock)), None)
    result: Edited = import_module(f"gradcompat.edit.{editor.module}").edit(text, shown, pins, **options)
    return result
