"""The recipes of torchao, Liger, Keras and optax, really run: what is planted is found, and what has a defect shows it.

``GRADCOMPAT_PROBE_PYTHON`` names an interpreter with torch, and ``GRADCOMPAT_PROBE_LAYERS`` folders of packages that go
before its own; without the package of a recipe its cases are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from packaging.specifiers import SpecifierSet

from gradcompat.model.probe import Measurement, ParameterValue, ProbeSpec
from gradcompat.recipes.table import needed, recipe_of
from gradcompat.recipes.verdict import judge
from tests.probes.really import NEEDS_TORCH, ran

pytestmark = NEEDS_TORCH

EVERYWHERE = ">=0"
# What is run, and the releases of the recipe's package in which it has to show the defect.
CASES: tuple[tuple[str, Mapping[str, ParameterValue], str], ...] = (
    ("low_bit_training", {"what": "dtype"}, EVERYWHERE),
    ("low_bit_training", {"what": "dtype", "optimizer": "adamw4bit"}, EVERYWHERE),
    ("low_bit_training", {"what": "rates"}, "<0.13.0"),
    ("low_bit_training", {"what": "rates", "plant": True}, EVERYWHERE),
    ("low_bit_training", {"what": "frozen"}, "<0.10.0"),
    ("low_bit_training", {"what": "frozen", "plant": True}, EVERYWHERE),
    ("distillation_loss", {"what": "ignored"}, "<0.6.5"),
    ("distillation_loss", {"what": "ignored", "plant": True}, EVERYWHERE),
    ("distillation_loss", {"what": "confident"}, "<0.6.3"),
    ("distillation_loss", {"what": "confident", "plant": True}, EVERYWHERE),
    ("keras_training", {"what": "apply"}, ">=3.10.0,<3.12.0"),
    ("keras_training", {"what": "apply", "plant": True}, EVERYWHERE),
    ("keras_training", {"what": "clipping"}, "<3.12.0"),
    ("keras_training", {"what": "clipping", "plant": True}, EVERYWHERE),
    ("keras_training", {"what": "mask"}, ">=3.0.2,<3.9.0"),
    ("keras_training", {"what": "mask", "plant": True}, EVERYWHERE),
    ("optax_updates", {"what": "distance"}, "<0.2.7"),
    ("optax_updates", {"what": "distance", "plant": True}, EVERYWHERE),
    ("optax_updates", {"what": "focal"}, "<0.2.6"),
    ("optax_updates", {"what": "focal", "plant": True}, EVERYWHERE),
)
SPECS = tuple(ProbeSpec(name=name, parameters=parameters) for name, parameters, _ in CASES)


@pytest.fixture(scope="module")
def measured() -> Mapping[str, Measurement]:
    """All of them, in one process as far as it lives."""
    return ran(SPECS)


@pytest.mark.parametrize(
    ("spec", "where"), [(spec, where) for spec, (_, _, where) in zip(SPECS, CASES, strict=True)], ids=map(str, SPECS)
)
def test_a_defect_shows_where_it_is_and_nowhere_else(
    spec: ProbeSpec, where: str, measured: Mapping[str, Measurement]
) -> None:
    measurement = measured[str(spec)]
    outcome, reason = judge(recipe_of(spec), measurement)
    if outcome == "skipped":
        pytest.skip(reason)
    package = needed(spec)[-1]
    if where != EVERYWHERE and package not in measurement.packages:
        pytest.skip(f"{package} does not say which release it is")
    affected = where == EVERYWHERE or SpecifierSet(where).contains(measurement.packages[package], prereleases=True)
    assert outcome == ("reproduced" if affected else "not_reproduced"), (reason, measurement.output)
