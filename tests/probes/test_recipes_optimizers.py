"""The step of an optimizer beside torch's own, really run: where its path with foreach goes wrong, and where not.

``GRADCOMPAT_PROBE_PYTHON`` names an interpreter with torch, and ``GRADCOMPAT_PROBE_LAYERS`` folders of packages that go
before its own; one of them has pytorch-optimizer, which does not tell its version once it is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import distributions

import pytest
from packaging.specifiers import SpecifierSet

from gradcompat.model.probe import ParameterValue, ProbeSpec
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge, wrong_values
from tests.probes.really import LAYERS, NEEDS_TORCH, ran

pytestmark = NEEDS_TORCH

FIRST_WITH_FOREACH = ">=3.10.0,<3.11.0"
NOWHERE = "<0"


@pytest.mark.parametrize(
    ("parameters", "where"),
    [
        ({}, FIRST_WITH_FOREACH),
        ({"variant": "weight_decay"}, FIRST_WITH_FOREACH),
        ({"implementation": "foreach"}, FIRST_WITH_FOREACH),
        ({"implementation": "for_loop"}, NOWHERE),
    ],
    ids=["default", "decay", "foreach", "for_loop"],
)
def test_stable_adamw_loses_its_first_steps_in_3_10_alone(parameters: Mapping[str, ParameterValue], where: str) -> None:
    folders = list(map(str, LAYERS))
    versions = [one.version for one in distributions(name="pytorch-optimizer", path=folders)] if folders else []
    if not versions:
        pytest.skip("no folder of GRADCOMPAT_PROBE_LAYERS has pytorch-optimizer")
    spec = ProbeSpec(name="optimizer_step", parameters={"optimizer": "stable_adamw", **parameters})
    recipe = recipe_of(spec)
    (measurement,) = ran((spec,)).values()
    outcome, reason = judge(recipe, measurement)
    if outcome == "skipped":
        pytest.skip(reason)
    affected = SpecifierSet(where).contains(versions[0])
    assert outcome == ("reproduced" if affected else "not_reproduced"), (reason, measurement.output)
    expected = ("update_ratio", "update_cosine", "update_error") if affected else ()
    assert wrong_values(recipe, measurement) == expected


@pytest.mark.parametrize(
    ("parameters", "where"),
    [
        ({"optimizer": "adabelief"}, ">=3.10.0,<4.0.0"),
        ({"optimizer": "diffgrad", "weight_decay": True}, "<4.0.0"),
        ({"optimizer": "qhadam"}, "<4.0.0"),
        ({"optimizer": "lars"}, "<3.11.0"),
        ({"optimizer": "sign_sgd"}, ">=3.9.0,<3.11.0"),
        ({"optimizer": "sign_sgd", "weight_decay": True}, "<3.11.0"),
        ({"optimizer": "a2grad"}, "<3.11.0"),
        ({"optimizer": "adasmooth"}, "<4.0.0"),
        ({"optimizer": "schedule_free_radam"}, ">=3.2.0,<4.0.0"),
        ({"optimizer": "shampoo"}, "<4.1.0"),
        ({"optimizer": "spam", "weight_decay": True, "gradients": "zero"}, "<4.0.0"),
        ({"optimizer": "sign_sgd", "plant": True}, ">=0"),
    ],
    ids=[
        "adabelief",
        "diffgrad",
        "qhadam",
        "lars",
        "sign",
        "decay",
        "a2grad",
        "adasmooth",
        "schedule_free",
        "shampoo",
        "spam",
        "planted",
    ],
)
def test_an_optimizer_leaves_its_definition_where_its_record_says(
    parameters: Mapping[str, ParameterValue], where: str
) -> None:
    folders = list(map(str, LAYERS))
    versions = [one.version for one in distributions(name="pytorch-optimizer", path=folders)] if folders else []
    if not versions:
        pytest.skip("no folder of GRADCOMPAT_PROBE_LAYERS has pytorch-optimizer")
    spec = ProbeSpec(name="optimizer_definitions", parameters=parameters)
    (measurement,) = ran((spec,)).values()
    outcome, reason = judge(recipe_of(spec), measurement)
    affected = SpecifierSet(where).contains(versions[0])
    assert outcome == ("reproduced" if affected else "not_reproduced"), (reason, measurement.output)
