"""The advice of a finding as edits of the lines that people wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gradcompat.audit.pin_edits import with_edits
from gradcompat.model.environment import Location, Package
from gradcompat.model.finding import Advice, Finding
from gradcompat.model.issue import VersionRemedy
from gradcompat.model.plan import Change
from gradcompat.model.report import Audit, LineEdit, ReportedFinding
from gradcompat.requirements.versions import VersionSet
from tests.building import issue, versions

REMEDY = VersionRemedy(kind="upgrade", package="transformers", versions=VersionSet.parse(">=4.52.1"))
ADVICE = Advice(remedy=REMEDY, clears=True, current="4.49.0", target="4.52.1", package="transformers", introduces=())
CHANGE = Change(
    package="transformers", version_from="4.49.0", version_to="4.52.1", kind="upgrade", direct=True, cures=("GC-0001",)
)
NAMES = {"requirements": "requirements.txt", "pyproject.toml": "pyproject.toml", "conda-environment": "env.yml"}


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def edits(
    kind: str, text: str, *, advice: Advice | None = ADVICE, pinned: tuple[str, ...] = ("4.49.0",)
) -> list[LineEdit]:
    name = NAMES.get(kind, kind)
    if text:
        Path(name).write_bytes(text.encode())
    finding = Finding(
        issue=issue((versions("transformers"),)),
        status="affected",
        source=name,
        packages=tuple(
            Package(name="transformers", version=version, location=Location(path=name, line=1)) for version in pinned
        ),
        because=(),
        unknown=(),
        terms=(),
    )
    found = ReportedFinding(finding=finding, advice=advice)
    audit = Audit(source=name, kind=kind, packages=1, recognised=1, findings=(found,), skipped=())
    return list(with_edits(audit).findings[0].edits)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("requirements", "numpy\r\ntransformers[torch] == 4.49.0 ; python_version > '3.9' # why\r\n"),
        ("pyproject.toml", '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch", "transformers==4.49.0"]\n'),
        ("conda-environment", "name: x\ndependencies:\n  - transformers==4.49.0\n"),
    ],
)
def test_a_pin_is_replaced_where_it_stands(kind: str, text: str) -> None:
    (edit,) = edits(kind, text)
    lines = text.split("\n")
    line = lines[(edit.location.line or 0) - 1]
    assert line[(edit.location.column or 0) - 1 : edit.end_column - 1] == "4.49.0"
    assert edit.text == "4.52.1"


@pytest.mark.parametrize(
    "advice",
    [
        None,
        replace(ADVICE, clears=False),
        replace(ADVICE, introduces=("GC-0009",)),
        replace(ADVICE, changes=(CHANGE, replace(CHANGE, package="peft"))),
        replace(ADVICE, target=None),
    ],
)
def test_what_is_no_cure_by_itself_is_none(advice: Advice | None) -> None:
    assert edits("requirements", "transformers==4.49.0\n", advice=advice) == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("uv.lock", 'version = "4.49.0"\n'),
        ("installed", ""),
        ("requirements", ""),  # the file has gone
        ("requirements", "transformers @ https://example.org/transformers-4.49.0.tar.gz\n"),
        ("requirements", "torch==2.5.1\n"),
        ("requirements", f"transformers==4.49.0 --hash=sha256:{'0' * 64}\n"),
    ],
)
def test_what_nobody_can_edit_is_none(kind: str, text: str) -> None:
    assert edits(kind, text) == []


def test_a_name_in_two_versions_is_left_to_people() -> None:
    assert edits("requirements", "transformers==4.49.0\n", pinned=("4.49.0", "4.50.0")) == []
