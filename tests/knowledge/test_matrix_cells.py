"""Every cell of the measured matrix against the matcher: what ran wrong is found, and what ran right is not.

The environment of a cell is what its row ran with, and the run is what its recipe does, in the words of the settings.
Nothing else is said, and presumptions count as in any check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from gradcompat.audit.environment_findings import match_runs
from gradcompat.audit.options import AuditOptions
from gradcompat.host.gpu_names import compute_capability
from gradcompat.knowledge.load import KnowledgeBase, load
from gradcompat.knowledge.measured import read_rows
from gradcompat.model.context import Context
from gradcompat.model.environment import Environment, Location, Package, Setting, SettingValue
from gradcompat.model.finding import Status
from gradcompat.model.issue import IssueProbe
from gradcompat.model.probe import Outcome, ProbeSpec, Row
from gradcompat.recipes.run_settings import Unmapped, run_settings
from gradcompat.recipes.table import BY_NAME, RECIPES
from gradcompat.recipes.verdict import judge
from gradcompat.requirements.names import normalise
from gradcompat.vocabulary import KEYS

pytestmark = pytest.mark.e2e  # goes over every measured cell that ships

MEASURED = Path(__file__).parents[2] / "knowledge" / "measured"
HERE = Location(path="row")

# Cells whose run the vocabulary cannot say, with the reason that the mapping gives.
UNMAPPED = {
    ("adapters", "no record is about what the recipe looks at"): 6,
    ("deepspeed_step", "the loop stands for the Trainer of transformers, which is not in the row"): 7,
    ("loss_masking", "no record is about what the recipe looks at"): 1,
    ("optimizer_definitions", "up to 3.4.1 it steps as schedulefree 1.2 does, later as 1.3 and the recipe"): 20,
    ("keras_accumulation", "no setting says that the optimizer keeps a moving average of the weights"): 6,
}

# Cells that ran right and whose record is affected all the same: what they are compared with has the defect as well.
FALSE = {
    ("GC-0083", "checkpointed_model(model=gemma3n, reentrant=false)"): 5,
    # The recipe validates twice an epoch: only a validation between the first and the last is stale since 2.5.5.
    ("GC-0379", "lightning_callbacks(what=checkpoint_metric)"): 8,
}

# Cells that ran wrong without an affected record: the toy keeps its experts in a list beside transformers 5 as well,
# whose own classes no longer do.
TOY = {"adapters(what=layers)": 2}


@dataclass(frozen=True)
class Cell:
    """A row that came to a verdict, and how the records of its recipe stand in its environment with its run."""

    row: Row
    outcome: Outcome
    statuses: Mapping[str, Status]

    @property
    def spec(self) -> ProbeSpec:
        return self.row.measurement.spec

    def __str__(self) -> str:
        return f"{self.spec} in {self.row.package} {self.row.version} is {self.outcome}: {dict(self.statuses)}"


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    return load()


@pytest.fixture(scope="module")
def rows() -> list[tuple[Row, Outcome]]:
    judged = [(row, judge(BY_NAME[row.measurement.spec.name], row.measurement)[0]) for row in read_rows(MEASURED)]
    return [(row, outcome) for row, outcome in judged if outcome in ("reproduced", "not_reproduced")]


@pytest.fixture(scope="module")
def probes(base: KnowledgeBase) -> dict[str, list[tuple[str, IssueProbe]]]:
    """Recipe → the records that name it, with what they say of it."""
    found: dict[str, list[tuple[str, IssueProbe]]] = {}
    for issue in base.in_force():
        for probe in issue.probes:
            found.setdefault(probe.spec.name, []).append((issue.id, probe))
    return found


@pytest.fixture(scope="module")
def cells(
    base: KnowledgeBase, rows: list[tuple[Row, Outcome]], probes: dict[str, list[tuple[str, IssueProbe]]]
) -> list[Cell]:
    known: dict[object, Mapping[str, Status]] = {}
    found = []
    for row, outcome in rows:
        spec = row.measurement.spec
        try:
            run_settings(spec, dict(packages(row)))
        except Unmapped:
            continue
        key = (str(spec), packages(row), row.measurement.python, row.measurement.device)
        if key not in known:
            only = frozenset(identifier for identifier, _ in probes.get(spec.name, ()))
            known[key] = statuses(row, base, only) if only else {}
        found.append(Cell(row, outcome, known[key]))
    return found


def packages(row: Row) -> tuple[tuple[str, str], ...]:
    """What the row ran with; what was asked for and could not be imported was there as well."""
    imported = {normalise(name): version for name, version in row.measurement.packages.items()}
    return tuple(sorted({**imported, **row.beside, row.package: row.version}.items()))


def statuses(row: Row, base: KnowledgeBase, only: frozenset[str]) -> Mapping[str, Status]:
    environment = Environment(
        source="row",
        kind="row",
        packages=tuple(Package(name=name, version=version, location=HERE) for name, version in packages(row)),
        closed=True,
        python=row.measurement.python or None,
        platform="linux",
    )
    stated = {**run_settings(row.measurement.spec, dict(packages(row))), **_gpu(row)}
    settings = tuple(Setting(key=key, value=value, location=HERE) for key, value in stated.items())
    run = Context(source="run", kind="recipe", settings=settings, run=True)
    matched = match_runs(environment, (run,), base, AuditOptions(only=only))
    return {finding.issue.id: finding.status for finding in matched.findings}


def _gpu(row: Row) -> Mapping[str, SettingValue]:
    """What a row on a GPU says of it: ``cuda NVIDIA H100 80GB HBM3``."""
    kind, _, name = row.measurement.device.partition(" ")
    if kind.partition(":")[0] != "cuda":
        return {}
    arch = compute_capability(name)
    return {"host.device": "cuda", **({"host.cuda_arch": arch} if arch else {})}


def named(cell: Cell, probes: dict[str, list[tuple[str, IssueProbe]]]) -> dict[str, Outcome]:
    """The records whose probes name the cell, and what each of them is measured to be there."""
    recipe = BY_NAME[cell.spec.name]
    return {
        identifier: judge(recipe, cell.row.measurement, probe.quantities)[0]
        for identifier, probe in probes.get(cell.spec.name, ())
        if str(probe.spec) == str(cell.spec)
    }


def about(cell: Cell, probes: dict[str, list[tuple[str, IssueProbe]]]) -> Iterator[str]:
    """The records of the recipe whose quantities the cell measures."""
    every = tuple(one.value for one in BY_NAME[cell.spec.name].expectations)
    for identifier, probe in probes.get(cell.spec.name, ()):
        if all(value in cell.row.measurement.values for value in probe.quantities or every):
            yield identifier


def test_what_ran_wrong_is_affected(cells: list[Cell], probes: dict[str, list[tuple[str, IssueProbe]]]) -> None:
    missed = []
    for cell in cells:
        outcomes = named(cell, probes)
        wrong = {identifier for identifier, outcome in outcomes.items() if outcome == "reproduced"}
        if not outcomes and cell.outcome == "reproduced":
            wrong = set(about(cell, probes))
        if wrong and not any(cell.statuses.get(identifier) == "affected" for identifier in wrong):
            missed.append(cell)
    assert Counter(str(cell.spec) for cell in missed) == TOY, "\n".join(map(str, missed))


def test_what_ran_right_is_not_affected(cells: list[Cell], probes: dict[str, list[tuple[str, IssueProbe]]]) -> None:
    found: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        outcomes = named(cell, probes)
        right = {identifier for identifier, outcome in outcomes.items() if outcome == "not_reproduced"}
        if cell.outcome == "not_reproduced":
            right |= set(about(cell, probes)) - outcomes.keys()
        for identifier in right:
            if cell.statuses.get(identifier) in ("affected", "conditional"):
                found[identifier, str(cell.spec)] += 1
    assert dict(found) == FALSE


def test_what_cannot_be_said_is_counted(rows: list[tuple[Row, Outcome]], cells: list[Cell]) -> None:
    found: Counter[tuple[str, str]] = Counter()
    for row, _ in rows:
        try:
            run_settings(row.measurement.spec)
        except Unmapped as reason:
            found[row.measurement.spec.name, str(reason)] += 1
    assert dict(found) == UNMAPPED
    assert len(cells) == len(rows) - sum(UNMAPPED.values())


@pytest.mark.parametrize("recipe", [recipe.name for recipe in RECIPES if recipe.variants])
def test_every_picture_of_a_recipe_is_a_run_or_says_why_not(recipe: str) -> None:
    for parameters in BY_NAME[recipe].variants:
        try:
            settings = run_settings(ProbeSpec(name=recipe, parameters=parameters))
        except Unmapped:
            continue
        assert settings.keys() <= KEYS.keys()
