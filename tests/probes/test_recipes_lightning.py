"""The recipes of Lightning, really run: in releases with a defect, and in others, under either of its names.

Which releases those are, is up to whoever runs it: ``GRADCOMPAT_PROBE_PYTHON`` names an interpreter with torch, and
``GRADCOMPAT_PROBE_LAYERS`` folders of packages that go before its own. What has to come out follows from the versions.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.model.probe import Measurement, ParameterValue, ProbeSpec
from gradcompat.probes.inside import lightnings
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge
from gradcompat.requirements.versions import VersionSet
from tests.probes.really import SKIPPED_WITHOUT, ran

EVERYWHERE = "*"

# What is run, and the releases of Lightning in which it has to show the defect.
CASES: tuple[tuple[str, Mapping[str, ParameterValue], str], ...] = (
    ("lightning_trainer", {"what": "validation"}, "<2.1.0"),
    ("lightning_trainer", {"what": "batch_index"}, ">=1.7.0,<2.1.0"),
    ("lightning_trainer", {"what": "order"}, ">=2.0.0,<2.0.8 || >=2.1.0,<2.5.3"),
    ("lightning_trainer", {"what": "stream"}, ">=2.1.0,<2.5.3"),
    ("lightning_trainer", {"what": "worker_seeds"}, ">=2.4.0,<2.6.1"),
    ("lightning_trainer", {"what": "async_checkpoint"}, ">=1.7.0,<2.5.4"),
    ("lightning_trainer", {"what": "fsdp_weights"}, ">=2.6.0,<2.6.4"),
    ("lightning_trainer", {"what": "validation", "plant": True}, EVERYWHERE),
    ("lightning_trainer", {"what": "batch_index", "plant": True}, EVERYWHERE),
    ("lightning_trainer", {"what": "order", "plant": True}, EVERYWHERE),
    ("lightning_trainer", {"what": "stream", "plant": True}, EVERYWHERE),
    ("lightning_trainer", {"what": "worker_seeds", "plant": True}, EVERYWHERE),
    ("lightning_trainer", {"what": "async_checkpoint", "plant": True}, EVERYWHERE),
    ("lightning_trainer", {"what": "fsdp_weights", "plant": True}, EVERYWHERE),
    ("optimizer_closure", {"optimizer": "adafactor"}, "<2.0.7"),
)
SPECS = tuple(ProbeSpec(name=name, parameters=parameters) for name, parameters, _ in CASES)


@pytest.fixture(scope="module")
def measured() -> Mapping[str, Measurement]:
    """All of them in one process."""
    return ran(SPECS)


@pytest.mark.probe
@SKIPPED_WITHOUT
@pytest.mark.parametrize(
    ("spec", "where"), [(spec, where) for spec, (_, _, where) in zip(SPECS, CASES, strict=True)], ids=str
)
def test_a_defect_shows_where_it_is_and_nowhere_else(
    spec: ProbeSpec, where: str, measured: Mapping[str, Measurement]
) -> None:
    measurement = measured[str(spec)]
    outcome, reason = judge(recipe_of(spec), measurement)
    if outcome == "skipped":
        pytest.skip(reason)
    packages = measurement.packages
    version = packages["lightning"] if "lightning" in packages else packages["pytorch_lightning"]
    affected = Version(version) in VersionSet.parse(where)
    if spec.name == "optimizer_closure":  # a pair of packages has this one
        affected &= Version(packages["transformers"]) in VersionSet.parse(">=4.30.0")
    assert outcome == ("reproduced" if affected else "not_reproduced"), (reason, measurement.output)


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        ({"one": ["lightning"], "two": ["pytorch_lightning"]}, "lightning.pytorch"),
        ({"one": ["pytorch_lightning"], "two": ["lightning"]}, "pytorch_lightning"),
        ({"one": ["lightning", "pytorch_lightning"]}, "pytorch_lightning"),
        ({"one": ["lightning"]}, "lightning.pytorch"),
    ],
    ids=["brought-along", "brings-along", "one-folder", "alone"],
)
def test_the_name_that_stands_first_on_the_path_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: Mapping[str, list[str]], expected: str
) -> None:
    for folder, names in folders.items():
        for name in names:
            (tmp_path / folder / name / "pytorch").mkdir(parents=True)
            (tmp_path / folder / name / "__init__.py").touch()
            (tmp_path / folder / name / "pytorch" / "__init__.py").touch()
    monkeypatch.setattr("sys.path", [str(tmp_path / folder) for folder in folders])
    # What is imported in a test must not stay.
    monkeypatch.setattr("sys.modules", dict(sys.modules))
    found = lightnings.package()  # type: ignore[no-untyped-call]  # what runs inside is for Python 3.8, without types
    assert found.__name__ == expected
