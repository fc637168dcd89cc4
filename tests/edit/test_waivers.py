"""A waiver written into a file: what was there stays, byte for byte."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.edit.waivers import with_waiver
from gradcompat.errors import EditError

WAIVER: dict[str, Any] = {
    "id": "GC-0004",
    "reason": 'we "know" \\ é',
    "until": date(2026, 12, 31),
    "packages": {"transformers": "==4.49.0"},
}
BLOCK = """\
id = "GC-0004"
reason = "we \\"know\\" \\\\ é"
until = 2026-12-31
packages = {transformers = "==4.49.0"}
"""
SHARED = ("tool", "gradcompat")


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("", (), "[[waivers]]\n" + BLOCK),
        ("# ours\n", (), "# ours\n\n[[waivers]]\n" + BLOCK),
        ('fail-on = "error"', (), 'fail-on = "error"\n\n[[waivers]]\n' + BLOCK),
        ("[settings]\ntraining.seed = 1\n", (), "[settings]\ntraining.seed = 1\n\n[[waivers]]\n" + BLOCK),
        ("[project]\nname = 'a'\n", SHARED, "[project]\nname = 'a'\n\n[[tool.gradcompat.waivers]]\n" + BLOCK),
        (
            "[tool.gradcompat]\nstrict = true\n\n[tool.ruff]\nline-length = 3 # c\n",
            SHARED,
            "[tool.gradcompat]\nstrict = true\n\n[tool.ruff]\nline-length = 3 # c\n\n[[tool.gradcompat.waivers]]\n"
            + BLOCK,
        ),
        (
            "[[tool.gradcompat.waivers]]\nid = 'GC-0001'\nreason = 'a'\n[tool.x]\n[[tool.gradcompat.waivers]]\n"
            "id = 'GC-0004'\nreason = 'b'\npath = 'a'\n",
            SHARED,
            "[[tool.gradcompat.waivers]]\nid = 'GC-0001'\nreason = 'a'\n[tool.x]\n[[tool.gradcompat.waivers]]\n"
            "id = 'GC-0004'\nreason = 'b'\npath = 'a'\n\n[[tool.gradcompat.waivers]]\n" + BLOCK,
        ),
        (
            "waivers = [ {id = 'GC-0001', reason = 'a'} ] # c\n",
            (),
            'waivers = [ {id = \'GC-0001\', reason = \'a\'}, {id = "GC-0004", reason = "we \\"know\\" \\\\ é", '
            'until = 2026-12-31, packages = {transformers = "==4.49.0"}} ] # c\n',
        ),
    ],
)
def test_it_is_added(before: str, keys: tuple[str, ...], after: str) -> None:
    assert with_waiver(before, "f.toml", keys, WAIVER) == after
    assert with_waiver(after, "f.toml", keys, WAIVER) == after


def test_one_of_the_same_record_and_path_is_replaced_where_it_stands() -> None:
    before = (
        "[[waivers]]\nid = 'gc-0004'   # the bad one\nreason = 'old' # why\nproof = 'p.json'\n\n"
        "[[waivers]]\nid = 'GC-0009'\nreason = 'b'\n"
    )
    after = with_waiver(before, "f.toml", (), {"id": "GC-0004", "reason": "new"})
    assert tomli.loads(after) == {
        "waivers": [{"id": "GC-0004", "reason": "new"}, {"id": "GC-0009", "reason": "b"}],
    }
    assert "# the bad one\n" in after
    assert after.endswith("[[waivers]]\nid = 'GC-0009'\nreason = 'b'\n")


def test_another_path_is_another_waiver() -> None:
    one = with_waiver("", "f.toml", (), {"id": "GC-0004", "reason": "a", "path": "a/uv.lock"})
    two = with_waiver(one, "f.toml", (), {"id": "GC-0004", "reason": "a", "path": "b/uv.lock"})
    assert two.startswith(one)
    assert len(tomli.loads(two)["waivers"]) == 2


def test_line_ends_stay() -> None:
    after = with_waiver("[tool.gradcompat]\r\nstrict = true\r\n", "f.toml", SHARED, WAIVER)
    assert after.count("\r\n") == after.count("\n") == 8


@pytest.mark.parametrize("text", ["[tool]\ngradcompat = {strict = true}\n", "tool.gradcompat.waivers.a = 1\n"])
def test_what_cannot_take_one_stays_and_is_said(text: str) -> None:
    with pytest.raises(EditError) as raised:
        with_waiver(text, "pyproject.toml", SHARED, WAIVER)
    assert raised.value.hint is not None
    assert raised.value.hint.startswith('write it by hand: under [[tool.gradcompat.waivers]] id = "GC-0004", ')


REASONS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(reasons=st.lists(REASONS, min_size=1, max_size=3), keys=st.sampled_from([(), SHARED]))
def test_any_reason_comes_back(reasons: list[str], keys: tuple[str, ...]) -> None:
    text = "# first\n"
    for number, reason in enumerate(reasons):
        text = with_waiver(text, "f.toml", keys, {"id": f"GC-000{number}", "reason": reason})
    table: Any = tomli.loads(text)
    for key in keys:
        table = table[key]
    assert [one["reason"] for one in table["waivers"]] == reasons
    assert text.startswith("# first\n")
