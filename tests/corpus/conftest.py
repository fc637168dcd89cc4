"""The corpus of real files: third-party, beside the repository, never in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2].parent / "shared" / "corpus"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of the corpus; tests that need it are skipped where it is absent."""
    path = Path(os.environ.get("GRADCOMPAT_CORPUS", _BESIDE))
    if not (path / "index.csv").is_file():
        pytest.skip("the corpus of real lockfiles is not here (GRADCOMPAT_CORPUS names its folder)")
    return path
