"""The training runs in the code blocks of a pasted text, as far as it has any: a list of packages has none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradcompat.errors import SourceError
from gradcompat.formats.document import Document, read_document
from gradcompat.formats.fenced_blocks import has_fences

if TYPE_CHECKING:
    from gradcompat.model.context import Context


def runs_in_text(document: Document) -> list[Context]:
    """What the code blocks of a text say of a training run; a text without any imports no scanner."""
    if not has_fences(document.text):
        return []
    from gradcompat.scanners.launches.pasted_blocks import contexts

    return contexts(document)


def runs_in_file(path: Path, display_path: str) -> list[Context]:
    """What the code blocks of a file say; nothing if it cannot be read, which its reader as an environment reports."""
    try:
        return runs_in_text(read_document(path, display_path))
    except SourceError:
        return []
