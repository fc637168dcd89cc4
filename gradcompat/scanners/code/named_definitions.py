"""Classes that nothing in a project names: copied with the file that they stand in, and never made.

Programs, notebooks, configs and scripts may name one, by whatever path; a comment does not.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

from gradcompat.files.root import Root
from gradcompat.formats.document import Document
from gradcompat.formats.project_walk import files
from gradcompat.scanners.code.local_modules import project_of
from gradcompat.startup.lazy_patterns import lazy_pattern

_NAMING = (
    ".py",
    ".ipynb",
    ".yaml",
    ".yml",
    ".json",
    ".toml",
    ".cfg",
    ".ini",
    ".sh",
    ".bash",
    ".sbatch",
    ".slurm",
    ".gin",
)
_MOST_FILES, _LARGEST, _MOST_BYTES = 4000, 1024 * 1024, 24 * 1024 * 1024
_COMMENT = lazy_pattern(r"^[ \t]*#.*$", re.MULTILINE)
_WORD = lazy_pattern(r"[A-Za-z_]\w*")
_OWN = "named definitions"


def is_named(name: str, document: Document) -> bool:
    """Does a file of the project name what is defined once in this one? It may where not all can be read."""
    placed = project_of(document)
    if placed is None or document.shared is None:
        return True
    words = document.shared.get(_OWN)
    if not isinstance(words, _Words):
        words = document.shared[_OWN] = _Words(placed[0].root)
    return words.known is None or words.known[name] > 1


class _Words:
    """The words in the files of a project that may name something, and how often each is there.

    Attributes:
        known: None where the files are too many, or one of them cannot be read.
    """

    def __init__(self, root: Root) -> None:
        self.known: Counter[str] | None = None
        failed: list[OSError] = []
        found: Counter[str] = Counter()
        left, bytes_left = _MOST_FILES, _MOST_BYTES
        for folder, names in files(Path(root.folder), failed.append):
            for file in names:
                if not file.endswith(_NAMING):
                    continue
                text = _text(os.path.join(folder, file), root)
                left, bytes_left = left - 1, bytes_left - len(text or "")
                if text is None or left < 0 or bytes_left < 0:
                    return
                found.update(_WORD.findall(_COMMENT.sub("", text)))
        if not failed:
            self.known = found


def _text(path: str, root: Root) -> str | None:
    if root.leads_outside(path):
        return None
    if not os.path.isfile(path):  # a pipe, or a link to nothing
        return ""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError:
        return None
    return None if len(data) > _LARGEST else data.decode("utf-8", "replace")
