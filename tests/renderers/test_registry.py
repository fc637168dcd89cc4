"""Every format of a report has its module, golden files and place in the help; a failure says what is missing."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from gradcompat.renderers.registry import RENDERERS
from tests.conftest import ROOT, Run

GOLDEN = ("stated", "unseen", "suppressed", "parts", "parts-all")


@pytest.mark.parametrize("form", RENDERERS)
def test_a_format_is_whole(form: str) -> None:
    entry = RENDERERS[form]
    files = [f"{name}.{'txt' if form == 'text' else form}" for name in GOLDEN]
    absent = [file for file in files if not (ROOT / "tests/golden" / file).is_file()]
    forgotten = [
        *(["its module does not exist"] if find_spec(f"gradcompat.renderers.{entry.module}") is None else []),
        *([f"tests/golden has no {', '.join(absent)}"] if absent else []),
        *(["nobody says what it is for"] if not entry.purpose else []),
    ]
    assert forgotten == [], f"{form} in gradcompat/renderers/registry.py: {'; '.join(forgotten)}"


def test_the_help_names_every_format(run: Run) -> None:
    # Words are broken over lines at their hyphens.
    text = run("check", "--help").out.replace("-\n", "-")
    text = " ".join(text.split())
    assert [form for form in RENDERERS if form not in text and form not in text.replace("- ", "-")] == []
