"""Projects of one repository that a lockfile above them resolves."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.audit.targets import File, resolve_targets
from gradcompat.formats.document import read_document
from gradcompat.model.environment import Skipped

MEMBER = '[project]\nname = "train"\nversion = "1"\ndependencies = ["torch>=2.1"]\n'
UV = """\
version = 1
[manifest]
members = ["root", "train"]
[[package]]
name = "train"
version = "1"
source = { editable = "packages/train" }
"""
POETRY = '[[package]]\nname = "train"\nversion = "1"\n[package.source]\ntype = "directory"\nurl = "packages/train"\n'
PDM = '[metadata]\nlock_version = "4.5.0"\n[[package]]\nname = "train"\nversion = "1"\npath = "./packages/train"\n'
PIXI = "version: 6\nenvironments: {}\npackages:\n- pypi: ./packages/train\n  name: train\n"


def written(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found(folder: Path) -> tuple[list[str], list[Skipped]]:
    request = resolve_targets([str(folder)], None, active_without_target=False)
    files = [one for one in request.sources if isinstance(one, File)]
    for one in files:
        read_document(one.path, one.shown, one.root)  # it may be
    return [one.shown.removeprefix(f"{folder}/") for one in files], request.skipped


@pytest.mark.parametrize(
    ("lock", "text"), [("uv.lock", UV), ("poetry.lock", POETRY), ("pdm.lock", PDM), ("pixi.lock", PIXI)]
)
def test_a_member_is_resolved_by_the_lock_of_the_root(tmp_path: Path, lock: str, text: str) -> None:
    written(tmp_path, **{lock: text, "pyproject.toml": MEMBER, "packages/train/pyproject.toml": MEMBER})
    files, skipped = found(tmp_path)
    assert files == [lock]
    assert [(one.what.removeprefix(f"{tmp_path}/"), one.reason, one.gap) for one in skipped] == [
        ("pyproject.toml", f"declares ranges, which {lock} beside it resolves", False),
        ("packages/train/pyproject.toml", f"declares ranges, which {lock} of the workspace resolves", False),
    ]


def test_a_broken_lock_of_the_root_resolves_nothing(tmp_path: Path) -> None:
    written(tmp_path, **{"uv.lock": UV, "pyproject.toml": MEMBER, "packages/train/pyproject.toml": MEMBER})
    request = resolve_targets([str(tmp_path)], None, active_without_target=False)
    (lock,) = request.sources
    assert isinstance(lock, File)
    assert [one.path.relative_to(tmp_path).as_posix() for one in lock.resolves] == [
        "pyproject.toml",
        "packages/train/pyproject.toml",
    ]


def test_a_project_that_is_no_member_is_checked_itself(tmp_path: Path) -> None:
    others = ["packages/other/pyproject.toml", "packages/train/a/pyproject.toml"]
    written(tmp_path, **{"uv.lock": UV, **dict.fromkeys(others, MEMBER)})
    assert found(tmp_path)[0] == ["uv.lock", *others]


def test_a_member_with_a_lock_of_its_own_uses_that(tmp_path: Path) -> None:
    written(tmp_path, **{"uv.lock": UV, "packages/train/uv.lock": UV, "packages/train/pyproject.toml": MEMBER})
    assert found(tmp_path)[0] == ["uv.lock", "packages/train/uv.lock"]


def test_a_member_that_is_the_target_uses_the_lock_of_its_checkout(tmp_path: Path) -> None:
    written(tmp_path, **{".git/HEAD": "", "uv.lock": UV, "packages/train/pyproject.toml": MEMBER})
    files, skipped = found(tmp_path / "packages" / "train")
    assert files == [f"{tmp_path}/uv.lock"]
    assert [one.reason for one in skipped] == ["declares ranges, which uv.lock of the workspace resolves"]


def test_no_lock_outside_of_the_checkout_counts(tmp_path: Path) -> None:
    written(tmp_path, **{"uv.lock": UV, "packages/train/.git/HEAD": "", "packages/train/pyproject.toml": MEMBER})
    assert found(tmp_path / "packages" / "train") == (["pyproject.toml"], [])
