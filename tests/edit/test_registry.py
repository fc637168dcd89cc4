from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.edit.atomic_write import FileEdit
from gradcompat.edit.pins import Edited, NotEdited
from gradcompat.errors import EditError
from tests.edit.pinned import TORCH, edit_file, upgrade


def test_a_file_keeps_its_encoding(tmp_path: Path) -> None:
    path, before = tmp_path / "r.txt", "torch==2.4.1  # ü\r\n".encode("utf-16")
    after = "torch==2.6.0  # ü\r\n".encode("utf-16")
    assert edit_file("requirements", path, "r.txt", before, [TORCH]) == (
        FileEdit(path=path, shown="r.txt", before=before, after=after),
        Edited(text="torch==2.6.0  # ü\r\n", settled=("torch",)),
    )


def test_the_lockfile_beside_it_says_whose_project_it_is(tmp_path: Path) -> None:
    path, before = tmp_path / "pyproject.toml", b"[project]\ndependencies = []\n"
    pin = upgrade("tokenizers", "0.20.0", "0.21.0")
    _, alone = edit_file("pyproject.toml", path, "p", before, [pin])
    assert alone.not_edited == (NotEdited("tokenizers", "the project does not ask for it itself"),)
    (tmp_path / "uv.lock").write_bytes(b"")
    file, of_uv = edit_file("pyproject.toml", path, "p", before, [pin])
    assert of_uv.settled == ("tokenizers",)
    assert file.after == before + b'\n[tool.uv]\nconstraint-dependencies = [\n    "tokenizers>=0.21.0",\n]\n'


def test_what_is_not_edited_is_refused() -> None:
    for kind, message in (
        ("uv.lock", "`a`: is uv.lock, which only its tool writes"),
        ("cyclonedx", "`a`: is cyclonedx, which is not edited"),
    ):
        with pytest.raises(EditError) as error:
            edit_file(kind, Path("a"), "a", b"", [TORCH])
        assert str(error.value) == message
