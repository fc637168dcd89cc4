"""Clipping and mixed precision through packages, really run: what is planted is found, and what has a defect shows it.

``GRADCOMPAT_PROBE_PYTHON`` names an interpreter with torch, and ``GRADCOMPAT_PROBE_LAYERS`` folders of packages that go
before its own; without the package of a recipe its cases are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from gradcompat.model.probe import Measurement, ParameterValue, ProbeSpec
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge, wrong_values
from tests.probes.really import LAYERS, NEEDS_TORCH, ran

pytestmark = NEEDS_TORCH

EVERYWHERE = ">=0"
# What is run, the value that shows the defect, the package that has it, and the releases in which it has to show.
CASES: tuple[tuple[str, Mapping[str, ParameterValue], str, str, str], ...] = (
    ("mixed_precision", {"through": "trainer"}, "bits_share", "transformers", ">=4.30.0,<5.0.0rc0"),
    ("mixed_precision", {"through": "trainer", "plant": "left_behind"}, "bits_share", "transformers", EVERYWHERE),
    ("clipping", {"through": "rloo"}, "clipped_ratio", "trl", "<0.22.0"),
    ("clipping", {"through": "rloo", "plant": True}, "clipped_ratio", "trl", EVERYWHERE),
    ("clipping", {"through": "ppo"}, "clipped_ratio", "trl", ">=0.12.0"),
    ("clipping", {"through": "ppo", "plant": True}, "clipped_ratio", "trl", EVERYWHERE),
    ("deepspeed_clipping", {"limit": "none"}, "default_ratio", "deepspeed", ">=0.19.3"),
    ("deepspeed_clipping", {"limit": "none", "plant": True}, "default_ratio", "deepspeed", EVERYWHERE),
    ("deepspeed_clipping", {"limit": "given", "plant": True}, "clipped_ratio", "deepspeed", EVERYWHERE),
)
SPECS = tuple(ProbeSpec(name=name, parameters=parameters) for name, parameters, _, _, _ in CASES)


@pytest.fixture(scope="module")
def measured() -> Mapping[str, Measurement]:
    return ran(SPECS)


@pytest.mark.parametrize(
    ("spec", "value", "package", "where"),
    [(spec, *case[2:]) for spec, case in zip(SPECS, CASES, strict=True)],
    ids=map(str, SPECS),
)
def test_a_defect_shows_where_it_is_and_nowhere_else(
    spec: ProbeSpec, value: str, package: str, where: str, measured: Mapping[str, Measurement]
) -> None:
    measurement = measured[str(spec)]
    outcome, reason = judge(recipe_of(spec), measurement, (value,))
    if outcome == "skipped":
        pytest.skip(reason)
    if where != EVERYWHERE and measurement.packages.get(package, "unknown") == "unknown":
        pytest.skip(f"{package} does not say which release it is")
    affected = where == EVERYWHERE or SpecifierSet(where).contains(measurement.packages[package], prereleases=True)
    assert outcome == ("reproduced" if affected else "not_reproduced"), (reason, measurement.output)
    assert (value in wrong_values(recipe_of(spec), measurement)) == affected


def test_bitsandbytes_that_needs_a_gpu_is_skipped(tmp_path: Path) -> None:
    """A release like those for CUDA alone: transformers refuses it on a CPU, and no defect can be seen then."""
    spec = ProbeSpec(name="low_precision_flow", parameters={"weights": "nf4"})
    (tmp_path / "bitsandbytes.py").write_text("__version__ = '0.45.5'\n", "utf-8")
    folder = tmp_path / "bitsandbytes-0.45.5.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: bitsandbytes\nVersion: 0.45.5\n", "utf-8")
    measurement = ran((spec,), (tmp_path, *LAYERS))[str(spec)]
    if not SpecifierSet("<5").contains(measurement.packages.get("transformers", "5"), prereleases=True):
        pytest.skip("it was written for a transformers that takes this release of bitsandbytes")
    assert (measurement.state, measurement.reason) == (
        "skipped",
        "this release of bitsandbytes or of transformers puts nothing in 4 bits on a CPU",
    ), measurement.output
