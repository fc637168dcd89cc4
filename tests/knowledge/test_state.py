"""The state of the knowledge: what is counted, and how it is printed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import date
from importlib import import_module
from pathlib import Path

import pytest

from gradcompat.cli.commands.knowledge.report import _RENDERERS
from gradcompat.knowledge.load import load
from gradcompat.knowledge.matrix import load_rows
from gradcompat.knowledge.records import read
from gradcompat.knowledge.state import state_of
from gradcompat.model.knowledge_state import KnowledgeState, PackageState, Unchecked
from gradcompat.model.probe import Measurement, ProbeSpec, Row
from tests.conftest import Run
from tests.knowledge.authored import RECORD, record, written

PROBES = "    probes: [{name: imports, parameters: {module: transformers}}]\n"
OPEN = record(
    ("GC-0001", "GC-0002"),
    ('{transformers: ">=4.49.0,<4.52.1"}', '{transformers: ">=4.49.0", peft: "*"}'),
    ("level: error", "level: warning"),
    ("range_basis: tags", "range_basis: reported"),
    ("silent: true", "silent: false"),
    ("[loss-scale]", "[loss-scale, nan]"),
    ("    remedies:", "    symptoms: ['is NaN']\n    remedies:"),
)
MEASURED = record(("range_basis: tags", "range_basis: measured"))
TAGS = record(("GC-0001", "GC-0003"), ("    evidence:", f"{PROBES}    evidence:"))
GONE = record(("GC-0001", "GC-0004"), ("level: error", "level: error\n    withdrawn: wrong"))


def row(version: str, imported: bool) -> Row:
    measurement = Measurement(
        spec=ProbeSpec(name="imports", parameters={"module": "transformers"}),
        state="measured",
        values={"imported": imported, "control_imported": True},
    )
    return Row(
        package="transformers", version=version, measurement=measurement, platform="", digest="", date="2026-11-20"
    )


@pytest.fixture
def state(tmp_path: Path) -> KnowledgeState:
    authored = read(written(tmp_path, MEASURED, OPEN, TAGS, GONE))
    return state_of(authored, [row("4.49.0", imported=False), row("4.52.1", imported=True)], date(2026, 11, 30))


def test_what_is_counted(state: KnowledgeState) -> None:
    assert state == KnowledgeState(
        date="2026-11-20",
        records=3,
        withdrawn=1,
        silent=2,
        levels={"error": 2, "warning": 1},
        bases={"measured": 1, "tags": 1, "reported": 1},
        categories={"loss-scale": 3, "nan": 1},
        probed=1,
        measured=1,
        checked=0,
        rows=2,
        packages=(
            PackageState(
                name="transformers",
                records=3,
                silent=2,
                bases={"measured": 1, "tags": 1, "reported": 1},
                probed=1,
                horizon="5.23.0",
                date="2026-11-19",
                age=11,
                unfixed=("GC-0002",),
                unseen=("GC-0002",),
            ),
            PackageState(
                name="peft",
                records=1,
                silent=0,
                bases={"reported": 1},
                probed=0,
                horizon="0.21.2",
                date="2026-11-20",
                age=10,
                unfixed=("GC-0002",),
                unseen=("GC-0002",),
            ),
        ),
        unchecked=(
            Unchecked(record="GC-0001", basis="measured", bounds=("says `measured` and has no probe",)),
            Unchecked(record="GC-0002", basis="reported", bounds=("transformers >=4.49.0",)),
        ),
    )


def test_only_what_nobody_has_checked_is_listed(tmp_path: Path) -> None:
    one_end = '    bounds: [{package: transformers, bound: "<4.52.1", basis: BASIS}]\n    evidence:'
    notes = TAGS.replace("    evidence:", one_end.replace("BASIS", "release-notes"))
    read_once = RECORD.replace("level: error", "level: note").replace("basis: tags", "basis: reported")
    read_once = read_once.replace("    evidence:", one_end.replace("BASIS", "wheels"))
    state = state_of(read(written(tmp_path, read_once, notes)), [], date(2026, 11, 30))
    assert [(one.record, one.bounds) for one in state.unchecked] == [
        ("GC-0001", ("transformers >=4.49.0",)),
        ("GC-0003", ("transformers <4.52.1",)),
    ]


def test_a_package_without_a_horizon(tmp_path: Path) -> None:
    authored = read(written(tmp_path, MEASURED.replace("transformers", "numpy")))
    (one,) = state_of(authored, [], date(2026, 11, 30)).packages
    assert (one.name, one.horizon, one.date, one.age) == ("numpy", None, None, None)


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("markdown", "md"), ("json", "json")])
def test_how_it_is_printed(
    state: KnowledgeState,
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    suffix: str,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    out = io.StringIO()
    import_module(_RENDERERS[form]).render(state, out)
    golden(f"knowledge.{suffix}", out.getvalue())


def test_the_command(run: Run, tmp_path: Path) -> None:
    path = str(written(tmp_path, MEASURED))
    outcome = run("knowledge", "report", path, "--format", "json")
    assert (outcome.status, json.loads(outcome.out)["records"]) == (0, 1)
    assert run("knowledge", "report", path).out.startswith(
        "1 record of 2026-11-20: 1 error; 1 silent; 0 checked independently; 0 with a probe, "
    )
    wrong = run("knowledge", "report", path, "--format", "html")
    assert (wrong.status, wrong.err.splitlines()[0]) == (2, "error: `--format html` is not known")
    broken = str(written(tmp_path, MEASURED.replace("level: error", "level: fatal")))
    assert run("knowledge", "report", broken).err.startswith(f"error: `{broken}`: 1 problem")


@pytest.mark.e2e  # the report of everything that ships
def test_without_a_checkout_the_report_is_of_the_installed_records(run: Run, tmp_path: Path) -> None:
    outcome = run("knowledge", "report", "--format", "json")
    told = json.loads(outcome.out)
    shipped = load()
    assert (outcome.status, told["date"], told["records"]) == (0, shipped.date, len(shipped.in_force()))
    assert told["rows"] == len(load_rows())
    assert {type(one["unseen"]) for one in told["packages"]} == {list}
    (tmp_path / "knowledge").mkdir()
    written(tmp_path / "knowledge", MEASURED)
    assert run("knowledge", "report").out.startswith("1 record of 2026-11-20: ")


@pytest.mark.parametrize("command", [["lint"], ["new"], ["compile"], ["horizon", "--update"]])
def test_what_works_on_the_file_of_records_says_that_it_is_not_here(run: Run, command: list[str]) -> None:
    outcome = run("knowledge", *command)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("error: `knowledge/issues.yaml`: is not here, so there are no records to work on\n")


@pytest.mark.parametrize(
    "command",
    [
        ["matrix", "transformers"],
        ["ranges", "transformers", "GC-0004"],
        ["horizon", "--offline", "transformers"],
        ["export", "--format", "renovate"],
    ],
)
def test_what_works_on_the_installed_records_needs_no_checkout(run: Run, command: list[str]) -> None:
    outcome = run("knowledge", *command)
    assert outcome.status != 2
    assert "transformers" in outcome.out
    assert outcome.err == ""
