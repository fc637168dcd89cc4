"""What the tables of two releases say otherwise."""

from __future__ import annotations

from pathlib import Path

from packaging.version import Version

from gradcompat.curation.watch.candidate import grouped, ranked
from gradcompat.curation.watch.table_changes import table_changes
from tests.releases.packages import table

ARGUMENTS = """\
from dataclasses import dataclass
@dataclass
class TrainArguments:
    label_smoothing: float = {smoothing}
    output_name: str = {name}
    {field}: int = 1
class Helper:
    def __init__(self, grad={smoothing}): ...
"""
MODEL = """\
from torch.nn import CrossEntropyLoss
class {name}:
    def forward(self, x, labels=None{kwargs}):
        return CrossEntropyLoss()(x, labels)
"""


def found(
    folder: Path, before: dict[str, str], after: dict[str, str]
) -> list[tuple[str, str, tuple[str, ...], tuple[str, ...], int]]:
    read = table(folder, {"1.0": before, "1.1": after})
    changes = ranked(grouped(table_changes(read, Version("1.0"), Version("1.1"))))
    return [(one.rule, one.place, one.removed, one.added, one.elsewhere) for one in changes]


def test_defaults_and_parameters_of_what_configures_training(tmp_path: Path) -> None:
    before = ARGUMENTS.format(smoothing="0.0", name="'a'", field="max_steps")
    after = ARGUMENTS.format(smoothing="0.1", name="'b'", field="steps")
    place = "one.arguments: TrainArguments"
    init = {"one/__init__.py": ""}
    assert found(tmp_path, {**init, "one/arguments.py": before}, {**init, "one/arguments.py": after}) == [
        ("default", f"{place}(label_smoothing)", ("0.0",), ("0.1",), 0),
        ("default", f"{place}(output_name)", ("'a'",), ("'b'",), 0),
        ("renamed", f"{place}(max_steps)", ("max_steps",), ("steps",), 0),
    ]


def test_a_parameter_that_is_gone(tmp_path: Path) -> None:
    before, after = (
        "class ATrainer:\n    def __init__(self, a, b): ...\n",
        "class ATrainer:\n    def __init__(self, a): ...\n",
    )
    assert found(tmp_path, {"one/__init__.py": before}, {"one/__init__.py": after}) == [
        ("removed", "one: ATrainer(b)", ("b",), (), 0)
    ]


def test_the_same_change_of_many_models_is_one_candidate(tmp_path: Path) -> None:
    def release(kwargs: str) -> dict[str, str]:
        models = {f"one/{name.lower()}.py": MODEL.format(name=name, kwargs=kwargs) for name in ("A", "B")}
        return {"one/__init__.py": "from .a import A\nfrom .b import B\n", **models}

    assert found(tmp_path, release(""), release(", **kwargs")) == [("loss-facts", "A", ("plain",), ("kwargs",), 1)]


def test_releases_that_were_not_read_have_no_changes(tmp_path: Path) -> None:
    read = table(tmp_path, {"1.0": {"one/__init__.py": "a = 1"}})
    assert list(table_changes(read, Version("1.0"), Version("9.0"))) == []
