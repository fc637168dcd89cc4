"""Short ways to say what shall move."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gradcompat.edit.atomic_write import FileEdit, edited
from gradcompat.edit.pins import Edited, PinEdit
from gradcompat.edit.registry import edit_text

OLD = ("sha256:" + "a" * 64, "sha256:" + "b" * 64)
NEW = ("sha256:" + "1" * 64, "sha256:" + "2" * 64, "sha256:" + "3" * 64)


def upgrade(package: str, old: str | None, new: str, *hashes: str) -> PinEdit:
    return PinEdit(package=package, version_from=old, version_to=new, kind="upgrade", hashes=hashes)


def downgrade(package: str, old: str | None, new: str) -> PinEdit:
    return PinEdit(package=package, version_from=old, version_to=new, kind="downgrade")


def added(package: str, new: str, *hashes: str) -> PinEdit:
    return PinEdit(package=package, version_to=new, kind="add", hashes=hashes)


TRANSFORMERS = upgrade("transformers", "4.49.0", "4.52.0")
TORCH = upgrade("torch", "2.4.1", "2.6.0")


def edit_file(kind: str, path: Path, shown: str, before: bytes, pins: Sequence[PinEdit]) -> tuple[FileEdit, Edited]:
    """Move pins in the content of a file as a plan does; nothing is written."""
    results: list[Edited] = []

    def change(text: str) -> str:
        results.append(edit_text(kind, path, shown, text, pins))
        return results[-1].text

    return edited(path, shown, before, change), results[-1]
