"""Which probes a campaign of measurements runs."""

from __future__ import annotations

import pytest

from gradcompat.curation.campaign_scope import specs_of
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import load


def test_probes_by_id_by_recipe_and_by_package() -> None:
    base = load()
    (one,) = specs_of("transformers", ["gc-0004"], base)
    assert str(one) == "accumulation_equivalence(model=llava)"
    assert len(specs_of("transformers", ["gradient_flow", "GC-0004"], base)) > 10
    assert str(one) in map(str, specs_of("transformers", [], base))
    with pytest.raises(UsageError, match="no record that mentions `nothing` has a probe"):
        specs_of("nothing", [], base)
    with pytest.raises(UsageError, match="`GC-0062` has no probe"):
        specs_of("transformers", ["GC-0062"], base)
