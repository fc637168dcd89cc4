"""What is known of killed commands becomes a table of the documentation."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="what is killed is a fork")


def test_the_table_of_kills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fuzz import kills

    page = tmp_path / "page.md"
    page.write_text("<!-- kills: begin -->\n<!-- kills: end -->\n", "utf-8")
    found = {"not killed": 5, "old, then old": 1200, "mixed, then new, a temporary file left": 2, "LOSS: x": 1}
    (tmp_path / "kills-fix.json").write_text(json.dumps(found), "utf-8")
    monkeypatch.setattr(sys, "argv", ["kills.py", "table", "--state", str(tmp_path), "--report", str(page)])
    assert kills.main() == 0
    row = "| `fix` | 1,203 | 1 | 2 | old, then old: 1,200, mixed, then new, a temporary file left: 2, LOSS: x: 1 |"
    assert row in page.read_text("utf-8")
    assert row in capsys.readouterr().out
