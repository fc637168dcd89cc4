"""What is wrong in the newest release of each package, out of measured rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradcompat.knowledge.load import load
from gradcompat.knowledge.matrix import load_rows
from gradcompat.knowledge.newest import newest_releases
from gradcompat.recipes.table import BY_NAME
from tests.conftest import Run

LLAVA = "accumulation_equivalence(model=llava)"
ROWS = [
    row
    for row in load_rows()
    if (row.package, str(row.measurement.spec), row.measurement.device) == ("transformers", LLAVA, "cpu")
]
ISSUES = load().in_force()
FAMILIES = load().names.families


def test_only_the_newest_release_counts() -> None:
    wrong = [row for row in ROWS if row.version == "4.49.0"]
    right = [row for row in ROWS if row.version == "4.48.3"]
    (found,) = newest_releases([*right, *wrong], ISSUES, FAMILIES)
    assert (found.version, found.right, found.undecided, len(found.wrong)) == ("4.49.0", 0, 0, 1)
    assert (found.wrong[0].recipe, found.wrong[0].variant) == ("accumulation_equivalence", "llava")
    assert "GC-0004" in found.wrong[0].records
    (found,) = newest_releases(right, ISSUES, FAMILIES)
    assert (found.version, found.right, found.wrong) == ("4.48.3", 1, ())


def test_a_record_that_has_ended_is_not_named() -> None:
    (row,) = [row for row in ROWS if row.version == "4.49.0"]
    (found,) = newest_releases([replace(row, version="99.0.0")], ISSUES, FAMILIES)
    assert "GC-0004" not in found.wrong[0].records


def test_what_failed_there_has_no_verdict() -> None:
    (row,) = [row for row in ROWS if row.version == "4.49.0"]
    failed = replace(row, measurement=replace(row.measurement, state="skipped", reason="no GPU"))
    (found,) = newest_releases([failed], ISSUES, FAMILIES)
    assert (found.right, found.undecided, found.wrong) == (0, 1, ())
    (both,) = newest_releases([failed, row], ISSUES, FAMILIES)
    assert (both.undecided, len(both.wrong)) == (0, 1)


def test_what_was_measured_beside_a_chosen_release_gives_way_to_what_an_install_brings() -> None:
    (wrong,) = [row for row in ROWS if row.version == "4.49.0"]
    (right,) = [row for row in ROWS if row.version == "4.48.3"]
    wrong = replace(wrong, version="4.48.3", beside={"accelerate": "0.30.0"})
    (found,) = newest_releases([wrong, right], ISSUES, FAMILIES)
    assert (found.right, found.wrong) == (1, ())
    (found,) = newest_releases([wrong], ISSUES, FAMILIES)
    assert len(found.wrong) == 1


def test_a_planted_defect_says_nothing() -> None:
    for row in load_rows():
        recipe = BY_NAME[row.measurement.spec.name]
        if len(recipe.parameters.get("plant", ())) > 1:
            spec = replace(row.measurement.spec, parameters={"plant": recipe.parameters["plant"][1]})
            assert (
                newest_releases([replace(row, measurement=replace(row.measurement, spec=spec))], ISSUES, FAMILIES) == ()
            )
            return
    pytest.fail("no measured recipe can plant its defect")


def test_the_command(run: Run) -> None:
    outcome = run("knowledge", "matrix", "Transformers", "--newest")
    assert outcome.status == 0
    assert outcome.out.startswith("transformers ")
    for arguments, message in (
        (("transformers", "--newest", "--format", "svg"), "`--newest` is text"),
        (("transformers", "gradient_flow", "--newest"), "`--newest` is about all recipes"),
        (("nothing", "--newest"), "nothing was measured of that"),
    ):
        outcome = run("knowledge", "matrix", *arguments)
        assert (outcome.status, outcome.out) == (2, "")
        assert message in outcome.err


def test_another_name_of_a_package_has_the_same_records() -> None:
    (row,) = [
        row
        for row in load_rows()
        if (row.package, row.version, str(row.measurement.spec))
        == ("pytorch-lightning", "2.6.6", "lightning_callbacks(what=fused_clipping)")
    ]
    for package in ("pytorch-lightning", "lightning"):
        (found,) = newest_releases([replace(row, package=package)], ISSUES, FAMILIES)
        assert found.wrong[0].records == ("GC-0381",)


def test_the_defect_of_another_package_is_not_told_of_one_that_the_probe_does_without() -> None:
    """GC-0209 is about windows in a loop with accelerate, which a row of transformers had beside it."""
    rows = [row for row in load_rows() if str(row.measurement.spec) == "accumulation_beyond_trainer(tail=True)"]
    of = {package: [row for row in rows if row.package == package] for package in ("accelerate", "transformers")}
    (found,) = newest_releases(of["accelerate"], ISSUES, FAMILIES)
    assert [cell.records for cell in found.wrong] == [("GC-0209",)]
    (last,) = [row for row in of["transformers"] if row.version == "5.24.0"]
    (found,) = newest_releases([last], ISSUES, FAMILIES)
    assert (found.wrong, found.right, found.undecided) == ((), 0, 0)


def test_a_further_parameter_has_the_records_of_what_is_wrong_without_it() -> None:
    base = next(
        row
        for row in load_rows()
        if (row.package, row.version, str(row.measurement.spec)) == ("peft", "0.21.2", "gradient_flow(setup=lora)")
        and row.beside == {"transformers": "4.57.6"}
    )
    spec = replace(base.measurement.spec, parameters={"setup": "lora", "through": "trainer"})
    further = replace(base, measurement=replace(base.measurement, spec=spec))
    (found,) = newest_releases([base, further], ISSUES, FAMILIES)
    assert {cell.records for cell in found.wrong} == {("GC-0002",)}
    (alone,) = newest_releases([further], ISSUES, FAMILIES)
    assert alone.wrong[0].records == ()  # it may be wrong for another reason


def test_a_record_of_another_quantity_is_not_named() -> None:
    """GC-0102 stops there beside PEFT 0.19; beside 0.21 the adapter is made, and the experts have none (GC-0097)."""
    spec = "expert_adapters(model=qwen2_moe, names=all-linear)"
    rows = {
        row.version: row for row in load_rows() if (row.package, str(row.measurement.spec)) == ("transformers", spec)
    }
    (found,) = newest_releases([rows["5.24.0"]], ISSUES, FAMILIES)
    assert found.wrong[0].records == ()
    plain = next(
        row
        for row in load_rows()
        if (row.package, row.version, str(row.measurement.spec))
        == ("transformers", "5.24.0", "expert_adapters(model=qwen2_moe)")
    )
    (found,) = newest_releases([rows["5.24.0"], plain], ISSUES, FAMILIES)
    assert {cell.records for cell in found.wrong} == {("GC-0097",)}
