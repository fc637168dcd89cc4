"""Augmentations that are made before the workers of a data loader copy them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from gradcompat.scanners.code.detectors import worker_copies


def calls(tree: ast.Module) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_a_program_without_compositions_is_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """A project has many modules, and each would be gone through for each."""
    tree = ast.parse("import albumentations as A\nA.HorizontalFlip()\n")
    found = calls(tree)

    def walk(node: ast.AST) -> Iterator[ast.AST]:
        raise AssertionError("is gone through")

    monkeypatch.setattr("gradcompat.scanners.code.detectors.worker_copies.ast.walk", walk)
    assert list(worker_copies.copied_compositions([tree.body], found)) == []


def test_the_calls_of_all_modules_are_told_at_once() -> None:
    made = ast.parse("import albumentations as A\nflips = A.Compose([])\n")
    inside = ast.parse("import albumentations as A\nclass D:\n    def __getitem__(self, i):\n        A.Compose([])\n")
    every = [*calls(made), *calls(inside)]
    assert list(worker_copies.copied_compositions([made.body, inside.body], every)) == calls(made)


@pytest.mark.parametrize(
    ("lines", "copied"),
    [
        ("data = load_dataset('beans').map(augment)", False),
        ("data = load_dataset('beans', streaming=True).map(augment)", True),  # in the workers, sample by sample
        ("data = load_dataset('beans').with_transform(augment)", True),
        ("data = load_dataset('beans').map(augment)\nother = Data(flips)", True),
        ("data = wds.WebDataset(url).map(augment)", True),
    ],
)
def test_what_is_mapped_once_is_copied_by_no_worker(lines: str, copied: bool) -> None:
    tree = ast.parse(f"flips = A.Compose([])\ndef augment(x):\n    return flips(image=x)\n{lines}\n")
    found = calls(tree)
    assert bool(list(worker_copies.copied_compositions([tree.body], found))) is copied
