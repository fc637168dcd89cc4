"""The recipes of streams and of prepared loaders, really run: in releases with a defect, and in others.

Which releases those are, is up to whoever runs it: ``GRADCOMPAT_PROBE_PYTHON`` names an interpreter with torch, and
``GRADCOMPAT_PROBE_LAYERS`` folders of packages that go before its own. What has to come out follows from the versions.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from packaging.specifiers import SpecifierSet

from gradcompat.model.probe import Measurement, ParameterValue, ProbeSpec
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge
from tests.probes.really import NEEDS_TORCH, ran

pytestmark = NEEDS_TORCH

EVERYWHERE = ""
NOWHERE = "<0"

# What is run, and the releases of the package in which it has to show the defect.
CASES: tuple[tuple[str, Mapping[str, ParameterValue], str, str], ...] = (
    ("streams", {"what": "filter"}, "datasets", ">=3.3.0,<5.0.1"),
    ("streams", {"what": "filter", "format": "numpy"}, "datasets", ">=3.3.0,<5.0.1"),
    ("streams", {"what": "map"}, "datasets", ">=3.3.0,<4.8.5"),
    ("streams", {"what": "map", "format": "numpy"}, "datasets", NOWHERE),
    ("streams", {"what": "shuffle"}, "datasets", ">=2.20.0"),
    ("streams", {"what": "workers"}, "datasets", ">=5.0.0,<5.1.0"),
    ("streams", {"what": "filter", "plant": True}, "datasets", EVERYWHERE),
    ("streams", {"what": "shuffle", "plant": True}, "datasets", EVERYWHERE),
    ("streams", {"what": "workers", "plant": True}, "datasets", EVERYWHERE),
    ("stream_parts", {"what": "ranks"}, "datasets", ">=4.8.0,<4.8.3"),
    ("stream_parts", {"what": "skip"}, "datasets", ">=4.8.0,<5.0.0"),
    ("stream_parts", {"what": "again"}, "datasets", ">=5.0.0,<5.0.1"),
    ("stream_parts", {"what": "epochs"}, "datasets", "<2.21.0"),
    ("stream_parts", {"what": "interleave"}, "datasets", ">=4.2.0,<4.6.0"),
    ("stream_parts", {"what": "ranks", "plant": True}, "datasets", EVERYWHERE),
    ("stream_parts", {"what": "skip", "plant": True}, "datasets", EVERYWHERE),
    ("stream_parts", {"what": "again", "plant": True}, "datasets", EVERYWHERE),
    ("stream_parts", {"what": "epochs", "plant": True}, "datasets", EVERYWHERE),
    ("stream_parts", {"what": "interleave", "plant": True}, "datasets", EVERYWHERE),
    ("prepared_loader", {"what": "seed"}, "accelerate", ">=0.30.0,<1.6.0"),
    ("prepared_loader", {"what": "skip"}, "accelerate", ">=1.7.0,<1.15.0"),
    ("prepared_loader", {"what": "seed", "plant": True}, "accelerate", EVERYWHERE),
    ("prepared_loader", {"what": "skip", "plant": True}, "accelerate", EVERYWHERE),
)
SPECS = tuple(ProbeSpec(name=name, parameters=parameters) for name, parameters, _, _ in CASES)


@pytest.fixture(scope="module")
def measured() -> Mapping[str, Measurement]:
    """All of them in one process."""
    return ran(SPECS)


@pytest.mark.parametrize(
    ("spec", "package", "where"),
    [(spec, package, where) for spec, (_, _, package, where) in zip(SPECS, CASES, strict=True)],
    ids=str,
)
def test_a_defect_shows_where_it_is_and_nowhere_else(
    spec: ProbeSpec, package: str, where: str, measured: Mapping[str, Measurement]
) -> None:
    measurement = measured[str(spec)]
    outcome, reason = judge(recipe_of(spec), measurement)
    if outcome == "skipped":
        pytest.skip(reason)
    affected = SpecifierSet(where).contains(measurement.packages[package], prereleases=True)
    assert outcome == ("reproduced" if affected else "not_reproduced"), (reason, measurement.output)
