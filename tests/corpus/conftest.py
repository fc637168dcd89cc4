"""The corpus of real files: third-party, beside the repository, never in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.corpus.folder import problem

_BESIDE = Path(__file__).parents[2].parent / "shared" / "corpus"


def found() -> Path:
    """The folder, whole; the test fails where it is there in part, and is skipped where nobody has named one."""
    named = os.environ.get("GRADCOMPAT_CORPUS")
    path = Path(named) if named is not None else _BESIDE
    if named is None and not path.exists():
        pytest.skip("the corpus of real lockfiles is not here (GRADCOMPAT_CORPUS names its folder)")
    if (wrong := problem(path)) is not None:
        pytest.fail(wrong if named is None else f"GRADCOMPAT_CORPUS: {wrong}", pytrace=False)
    return path


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of the corpus; tests that need it are skipped where it is absent."""
    return found()
