"""What can be written is what is documented."""

from __future__ import annotations

from gradcompat.renderers.registry import RENDERERS, WITH_EDITS
from tests.conftest import ROOT, Run


def test_the_page_of_formats_names_every_one() -> None:
    page = (ROOT / "docs" / "reports.md").read_text("utf-8")
    assert [form for form in RENDERERS if f"`{form}`" not in page] == []


def test_the_help_names_every_format(run: Run) -> None:
    # Words are broken over lines at their hyphens.
    text = run("check", "--help").out.replace("-\n", "-")
    text = " ".join(text.split())
    assert [form for form in RENDERERS if form not in text and form not in text.replace("- ", "-")] == []


def test_those_that_tell_edits_are_formats() -> None:
    assert RENDERERS.keys() >= WITH_EDITS
