"""Two runs do not write into the same rows."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from gradcompat.curation.folder_lock import alone
from gradcompat.errors import KnowledgeError


def _locked(folder: Path) -> AbstractContextManager[None]:
    return alone(folder, wait=False)


def test_a_second_run_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "rows" / "peft"
    with alone(folder, wait=False):
        with pytest.raises(KnowledgeError, match="another run of `knowledge read` works in it"), _locked(folder):
            pass
        with alone(tmp_path / "rows" / "trl", wait=False):
            pass
    with alone(folder, wait=True):
        pass


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("")
    with pytest.raises(KnowledgeError, match="cannot be used"), alone(tmp_path / "rows" / "peft", wait=False):
        pass
