"""The address of the public index, and what it must not cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pypi_simple import PYPI_SIMPLE_ENDPOINT

from gradcompat.index import public


def test_it_is_that_of_pypi_simple() -> None:
    assert public.public_index() == PYPI_SIMPLE_ENDPOINT


@pytest.mark.e2e
def test_the_package_is_not_imported_for_it() -> None:
    script = (
        "import sys; from gradcompat.index import public; public.public_index(); print('pypi_simple' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout.split() == [b"False"]


@pytest.mark.parametrize("source", ["", "X = 1", "PYPI_SIMPLE_ENDPOINT = base()", "PYPI_SIMPLE_ENDPOINT = 5", "("])
def test_it_is_imported_where_the_source_does_not_show_it(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_: source)
    assert public.public_index() == PYPI_SIMPLE_ENDPOINT
