"""The recipes of adapters on a mixture of experts and of a second adapter, really run, with the defect planted too.

``GRADCOMPAT_PROBE_PYTHON`` names an interpreter with torch, and ``GRADCOMPAT_PROBE_LAYERS`` folders of packages that go
before its own. What has to come out follows from the versions.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from packaging.specifiers import SpecifierSet

from gradcompat.model.probe import Measurement, ParameterValue, ProbeSpec
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge, wrong_values
from tests.probes.really import NEEDS_TORCH, ran

pytestmark = NEEDS_TORCH

EVERYWHERE: Mapping[str, str] = {}
NOWHERE = {"torch": "<0"}
NOT_TRANSLATED = {"transformers": ">=5.0.0rc0", "peft": "<0.19.0"}
IN_LETTERS = {"transformers": ">=5.0.0", "peft": ">=0.19.0,<0.20.0"}

# What is run, the value that shows the defect, and the releases in which it has to: all that are named, together.
CASES: tuple[tuple[str, Mapping[str, ParameterValue], str, Mapping[str, str]], ...] = (
    ("low_precision_flow", {"weights": "bfloat16"}, "reached_share", {"transformers": "<5.0.0rc0"}),
    ("low_precision_flow", {"weights": "bfloat16", "reentrant": "false"}, "reached_share", NOWHERE),
    ("low_precision_flow", {"weights": "nf4"}, "reached_share", {"transformers": "<5.0.0rc0"}),
    ("low_precision_flow", {"weights": "nf4", "prepared": True}, "reached_share", NOWHERE),
    ("adapters", {"what": "second"}, "kept_share", {"peft": ">=0.18.0,<0.21.0"}),
    ("adapters", {"what": "second", "plant": True}, "kept_share", EVERYWHERE),
    ("no_op_training", {"adapter": "alone"}, "moved_share", NOWHERE),
    ("no_op_training", {"adapter": "reference"}, "moved_share", {"peft": ">=0.18.0,<0.21.0"}),
    ("no_op_training", {"adapter": "alone", "plant": "stale_optimizer"}, "moved_share", EVERYWHERE),
    ("expert_adapters", {"model": "mixtral"}, "expert_share", NOT_TRANSLATED),
    ("expert_adapters", {"model": "qwen3_moe"}, "expert_share", NOT_TRANSLATED),
    ("expert_adapters", {"model": "olmoe"}, "expert_share", NOT_TRANSLATED),
    ("expert_adapters", {"model": "mixtral", "plant": True}, "expert_share", EVERYWHERE),
    ("expert_adapters", {"model": "mixtral", "names": "all-linear"}, "accepted", IN_LETTERS),
    ("expert_adapters", {"model": "qwen2_moe", "names": "all-linear"}, "accepted", IN_LETTERS),
    ("expert_adapters", {"model": "mixtral", "names": "all-linear", "plant": True}, "accepted", EVERYWHERE),
    ("adapter_arithmetic", {"what": "subtracted"}, "off", {"peft": ">=0.18.0,<0.19.0"}),
    ("adapter_arithmetic", {"what": "unmerged"}, "off", {"peft": ">=0.11.0,<0.21.0"}),
    ("adapter_arithmetic", {"what": "mixed"}, "off", {"peft": ">=0.12.0,<0.18.0"}),
    ("adapter_arithmetic", {"what": "oft"}, "off", {"peft": ">=0.16.0"}),
    ("adapter_arithmetic", {"what": "boft"}, "off", {"peft": ">=0.11.0"}),
    ("adapter_arithmetic", {"what": "hra"}, "off", {"peft": ">=0.12.0"}),
    ("adapter_arithmetic", {"what": "unmerged", "plant": True}, "off", EVERYWHERE),
)
SPECS = tuple(ProbeSpec(name=name, parameters=parameters) for name, parameters, _, _ in CASES)


@pytest.fixture(scope="module")
def measured() -> Mapping[str, Measurement]:
    """All of them, in one process as far as it lives."""
    return ran(SPECS)


@pytest.mark.parametrize(
    ("spec", "value", "where"),
    [(spec, value, where) for spec, (_, _, value, where) in zip(SPECS, CASES, strict=True)],
    ids=map(str, SPECS),
)
def test_a_defect_shows_where_it_is_and_nowhere_else(
    spec: ProbeSpec, value: str, where: Mapping[str, str], measured: Mapping[str, Measurement]
) -> None:
    recipe, measurement = recipe_of(spec), measured[str(spec)]
    outcome, reason = judge(recipe, measurement, (value,))
    if outcome == "skipped":
        pytest.skip(reason)
    affected = all(
        SpecifierSet(wanted).contains(measurement.packages[package], prereleases=True)
        for package, wanted in where.items()
    )
    assert outcome == ("reproduced" if affected else "not_reproduced"), (reason, measurement.output)
    assert (value in wrong_values(recipe, measurement)) == affected
