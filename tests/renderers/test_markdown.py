from __future__ import annotations

from dataclasses import replace

from gradcompat.model.issue import Reference
from tests.renderers.reports import advised, audit, entry, everything, record, rendered, report


def test_what_is_affected_is_a_table_and_the_rest_is_folded() -> None:
    lines = rendered(everything(), "markdown").splitlines()
    assert (
        lines[0]
        == "**gradcompat**: 2 errors, 1 warning, 1 note, 1 could apply, 2 not checked \\(4 records of 2026\\-01\\-02\\)"
    )
    assert [line for line in lines if line.startswith("###")] == ["### uv.lock", "### b/uv.lock", "### new.lock"]
    assert (
        "| error | [GC\\-0001](https://example.org/1) The loss is wrong | uv.lock\\:3 transformers 4.49.0: because "
        "training.seed is 1 \\(train.yaml\\:7\\) | upgrade transformers 4.49.0 to 4.52.1 |" in lines
    )
    assert [line for line in lines if "<summary>" in line] == [
        "<details><summary>Worth knowing: 1</summary>",
        "<details><summary>No defect is sure in</summary>",
        "<details><summary>Refuted here: 1</summary>",
        "<details><summary>Does not apply: 1</summary>",
    ]


def test_names_are_no_markup() -> None:
    name = "a|b`c`<img src=x>[d](e)@octocat #12 *x*"
    text = rendered(report(audit(advised(record(), entry(name, "1", path=name)), source=name)), "markdown")
    row = next(line for line in text.splitlines() if line.startswith("| error"))
    assert len([part for part in row.replace("\\|", "").split("|") if part.strip()]) == 4
    assert "\\<img src=x\\>" in row
    assert "<img" not in text.replace("\\<img", "")
    assert "@octocat" not in text
    assert "#12" not in text


def test_a_reference_is_a_link_only_where_it_can_be_one() -> None:
    references = (Reference(type="REPORT", url="javascript:alert(1)"),)
    text = rendered(report(audit(advised(replace(record(), references=references)))), "markdown")
    assert "](" not in text
