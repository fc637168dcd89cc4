"""How far releases were looked at: what is newer, what is derived, and the lines that are written of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.errors import KnowledgeError
from gradcompat.knowledge.compile import compile_records
from gradcompat.knowledge.horizon import newer, unfixed_by_package
from gradcompat.knowledge.lint import lint
from gradcompat.knowledge.load import KnowledgeBase, knowledge_from
from gradcompat.knowledge.records import read
from gradcompat.knowledge.review_horizon import advance_horizon, seen, with_horizon
from gradcompat.knowledge.schema import Horizon
from gradcompat.model.probe import Measurement, ProbeSpec, Row
from gradcompat.model.report import Newer
from tests.building import environment, package
from tests.knowledge.authored import HEAD, RECORD, record, written

# No release of any of its packages is known to end it.
OPEN = record(
    ("GC-0001", "GC-0002"),
    ('{transformers: ">=4.49.0,<4.52.1"}', '{transformers: ">=4.49.0", peft: "*"}'),
)


def base(folder: Path, *records: str) -> KnowledgeBase:
    return knowledge_from(compile_records(read(written(folder, *records))), "issues.yaml")


def beyond(known: KnowledgeBase, *packages: tuple[str, str]) -> list[tuple[str, str, tuple[str, ...]]]:
    here = environment(*(package(*one) for one in packages))
    return [(one.name, one.version, one.assumed) for one in newer(here, (), known)]


def test_what_is_newer_and_what_is_assumed_of_it(tmp_path: Path) -> None:
    known = base(tmp_path, RECORD, OPEN)
    here = environment(package("transformers", "5.24.0"), package("peft", "0.18.0"))
    assert newer(here, (), known) == (
        Newer(name="transformers", version="5.24.0", horizon="5.23.0", date="2026-11-19", assumed=("GC-0002",)),
    )
    # The other package of the defect is not there.
    assert beyond(known, ("transformers", "5.24.0")) == [("transformers", "5.24.0", ())]
    # Both are newer, and a version that stands twice counts once.
    twice = (("transformers", "5.24.0"), ("transformers", "5.24.0+cpu"), ("peft", "1.0"))
    assert beyond(known, *twice) == [("transformers", "5.24.0", ("GC-0002",)), ("peft", "1.0", ("GC-0002",))]


@pytest.mark.parametrize("version", ["5.23.0", "5.23.0+cu130", "5.22.9", "5.23.0rc1", "no version"])
def test_what_is_not_newer(tmp_path: Path, version: str) -> None:
    assert beyond(base(tmp_path, RECORD, OPEN), ("transformers", version)) == []


def test_another_name_and_a_package_without_a_horizon(tmp_path: Path) -> None:
    known = base(tmp_path, RECORD.replace("transformers", "pytorch-lightning"))
    assert beyond(known, ("lightning", "2.7"), ("numpy", "9")) == [("lightning", "2.7", ())]


def test_what_no_release_ends(tmp_path: Path) -> None:
    told = OPEN.replace("GC-0002", "GC-0003").replace("level: error", "level: note\n    informational: true")
    known = base(tmp_path, RECORD, OPEN, told)
    found = {name: [one.id for one in group] for name, group in unfixed_by_package(known.in_force()).items()}
    assert found == {"peft": ["GC-0002"], "transformers": ["GC-0002"]}


def row(version: str, day: str, state: str = "measured", package: str = "transformers") -> Row:
    measurement = Measurement(spec=SPEC, state=state)  # type: ignore[arg-type]  # of a parametrisation
    return Row(package=package, version=version, measurement=measurement, platform="", digest="", date=day)


SPEC = ProbeSpec(name="imports", parameters={"module": "transformers"})
PROBED = record(("    evidence:", "    probes: [{name: imports, parameters: {module: transformers}}]\n    evidence:"))
DAYS = {Version("4.52.0"): "2025-01-01", Version("4.52.1"): "2025-01-01", Version("5.24.0"): "2026-12-01"}


def looked_at(folder: Path, records: Sequence[str], *rows: Row) -> dict[str, str]:
    authored = read(written(folder, *records))
    names = knowledge_from(compile_records(authored), "issues.yaml").names
    return {name: f"{one.version} {one.date}" for name, one in seen(authored, rows, names, lambda _: DAYS).items()}


def test_what_rows_and_examples_show(tmp_path: Path) -> None:
    # 4.52.1 is the newest that an example names, and the day is that of the records.
    example = {"transformers": "4.52.1 2026-11-20"}
    assert looked_at(tmp_path, [PROBED]) == example
    rows = row("5.1.0", "2026-11-01"), row("5.1.0", "2026-11-02"), row("5.0.0", "2026-11-03")
    assert looked_at(tmp_path, [PROBED], *rows) == {"transformers": "5.1.0 2026-11-02"}
    # What could not be run, what no record names, and packages of which no record speaks count for nothing.
    assert looked_at(tmp_path, [PROBED], row("6.0", "2026-11-01", "skipped")) == example
    assert looked_at(tmp_path, [PROBED], row("6.0", "2026-11-01", package="peft")) == example
    assert looked_at(tmp_path, [RECORD], row("6.0", "2026-11-01")) == example


def test_a_defect_that_stands_is_what_has_to_be_followed(tmp_path: Path) -> None:
    # The rows are of the other record, which ends with 4.52.1; this one was met in 4.52.0 at last.
    unfixed = record(
        ("GC-0001", "GC-0002"),
        ('">=4.49.0,<4.52.1"', '">=4.49.0"'),
        ("        - {transformers: 4.52.1, training.gradient_accumulation_steps: 8}\n", ""),
    )
    assert looked_at(tmp_path, [PROBED, unfixed], row("5.1.0", "2026-11-01")) == {"transformers": "4.52.0 2026-11-20"}


def test_an_example_of_a_release_that_came_later_and_of_none(tmp_path: Path) -> None:
    late = RECORD.replace("transformers: 4.52.1, ", "transformers: 5.24.0, ")
    assert looked_at(tmp_path, [late]) == {"transformers": "5.24.0 2026-12-01"}
    none = RECORD.replace("transformers: 4.52.", "transformers: 9.9.")
    assert looked_at(tmp_path, [none]) == {}


def test_a_horizon_is_raised_and_never_lowered() -> None:
    now = {"a": Horizon(version="1.10", date="2026-11-20")}
    to = {"a": Horizon(version="1.9", date="2026-11-21"), "b": Horizon(version="2", date="2026-11-21")}
    assert advance_horizon(now, to) == {"b": to["b"]}


def test_a_line_is_written_and_the_rest_stays(tmp_path: Path) -> None:
    text = HEAD + RECORD
    changes = {
        "torch": Horizon(version="2.16.0", date="2026-12-01"),
        "numpy": Horizon(version="2.5", date="2026-12-01"),
    }
    after = with_horizon(text, changes, "issues.yaml")
    assert sorted(set(after.split("\n")) - set(text.split("\n"))) == [
        '  numpy: {version: "2.5", date: "2026-12-01"}',
        '  torch: {version: "2.16.0", date: "2026-12-01"}',
    ]
    assert set(text.split("\n")) - set(after.split("\n")) == {'  torch: {version: "2.15.0", date: "2026-11-20"}'}
    (tmp_path / "issues.yaml").write_text(after, "utf-8")
    assert list(read(tmp_path / "issues.yaml").horizon) == [
        "accelerate", "numpy", "peft", "pytorch-lightning", "torch", "transformers", "trl",
    ]  # fmt: skip
    windows = with_horizon(text.replace("\n", "\r\n"), changes, "issues.yaml")
    assert windows == after.replace("\n", "\r\n")


def test_a_section_is_made_where_there_is_none(tmp_path: Path) -> None:
    head, _, _ = HEAD.partition("horizon:")
    after = with_horizon(f"{head}issues:\n{RECORD}", {"transformers": Horizon(version="5", date="2026-12-01")}, "x")
    (tmp_path / "issues.yaml").write_text(after, "utf-8")
    assert read(tmp_path / "issues.yaml").horizon == {"transformers": Horizon(version="5", date="2026-12-01")}
    assert lint(read(tmp_path / "issues.yaml")) == ()


@pytest.mark.parametrize("section", ["horizon: {}", 'horizon:\n  torch:\n    version: "2"\n    date: "2026-11-20"'])
def test_a_section_of_another_form_is_left_alone(section: str) -> None:
    with pytest.raises(KnowledgeError, match="the section `horizon`"):
        with_horizon(f"{section}\nissues:\n", {"numpy": Horizon(version="2", date="2026-12-01")}, "issues.yaml")


def test_lint_wants_a_line_for_each_package_under_its_own_name(tmp_path: Path) -> None:
    head = HEAD.replace("  transformers: {version", "  lightning: {version").replace("  peft:", "  Peft:")
    found = [(one.line, one.record, one.message) for one in lint(read(written(tmp_path, RECORD, head=head)))]
    assert found == [
        (None, None, "horizon: `Peft` is not normalised: write `peft`"),
        (None, None, "horizon: `lightning` is another name of `pytorch-lightning`: write that one"),
        (None, None, "horizon: has no line for transformers: `gradcompat knowledge horizon --update` writes it"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{version: "2", date: "2026-13-01"}', "horizon.torch.date: month must be in 1..12"),
        ('{version: new, date: "2026-12-01"}', "horizon.torch.version: `…` is not a version"),
    ],
)
def test_a_line_that_is_wrong(tmp_path: Path, line: str, message: str) -> None:
    head = HEAD.replace('torch: {version: "2.15.0", date: "2026-11-20"}', f"torch: {line}")
    assert message in [one.message for one in read(written(tmp_path, RECORD, head=head)).problems]
