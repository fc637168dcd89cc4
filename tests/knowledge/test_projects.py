"""Records tried on small ordinary projects: ``projects/GC-0004.yaml`` has one that has the defect, and one for each
condition that it lacks.

A project is the files that somebody with the problem would have, and what a check of the folder has to say::

    - when: TRL's SFTTrainer trains LLaVA with eight micro-batches a step
      told: affected
      files: &sft
        requirements.txt: |
          transformers==4.49.0
          trl==0.15.2
        train.py: |
          ...
    - when: one micro-batch a step
      told: not_affected
      files:
        <<: *sft
        train.py: |
          ...

``told`` is ``affected``, ``conditional`` (a question) or ``not_affected``, which a dormant finding is, too: it is
for those who use something else. Unlike a record's ``examples``, which are facts, a project has to be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradcompat.audit.options import AuditOptions
from gradcompat.knowledge.load import load
from gradcompat.pipeline import CheckRequest, check_targets

# Thousands of checks, in all: with the tests that go over everything that ships.
pytestmark = pytest.mark.e2e

FOLDER = Path(__file__).parent.parent / "projects"
FILES = sorted(FOLDER.glob("*.yaml"))
STATUSES = ("affected", "conditional", "not_affected")


def projects_of(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
    return found


def projects() -> Iterator[Any]:
    for path in FILES:
        for project in projects_of(path):
            yield pytest.param(path.stem, project, id=f"{path.stem}: {project['when']}")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_record_is_tried_where_the_defect_is_and_where_it_is_not(path: Path) -> None:
    issue = load().get(path.stem)
    assert issue is not None
    told = {project["told"] for project in projects_of(path)}
    assert told <= set(STATUSES)
    assert told & {"affected", "conditional"}
    assert "not_affected" in told


@pytest.mark.parametrize(("record", "project"), list(projects()))
def test_a_project_is_told_what_it_has(tmp_path: Path, record: str, project: dict[str, Any]) -> None:
    assert project.keys() == {"when", "told", "files"}
    assert told(tmp_path, record, project["files"]) == project["told"]


def told(folder: Path, record: str, files: Mapping[str, str]) -> str:
    """What a check of a folder with some files says of a record."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    request = CheckRequest(targets=[str(folder)], python=None, contexts=[])
    # What to do about it is not asked: a plan takes far longer than everything else.
    options = AuditOptions(only=frozenset({record}), advise=False)
    report = check_targets(request, load(), options, date.today)
    found = {reported.finding.status for reported in report.findings}
    return next((status for status in STATUSES if status in found), "not_affected")
