"""Which probes a campaign of measurements runs."""

from __future__ import annotations

import pytest

from gradcompat.curation.campaign_scope import of_newest, specs_of
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


def test_another_name_of_a_package_has_its_probes() -> None:
    base = load()
    assert specs_of("lightning", [], base) == specs_of("pytorch-lightning", [], base)


def test_all_variants_of_recipes_that_use_a_package() -> None:
    base = load()
    named = specs_of("transformers", ["GC-0004"], base)
    every = of_newest("transformers", named, base)
    assert every[:1] == named
    assert {spec.name for spec in every} == {"accumulation_equivalence"}
    assert len(every) == len(set(map(str, every))) >= 20


def test_probes_that_do_without_a_package_say_nothing_of_its_newest_release() -> None:
    base = load()
    imported = list(map(str, of_newest("diffusers", specs_of("diffusers", ["imports"], base), base)))
    assert imported == ["imports(module=diffusers.DiffusionPipeline)"]
    of_trl = of_newest("trl", specs_of("trl", [], base), base)
    assert {"clipping", "grpo_temperature"} <= {spec.name for spec in of_trl}
    assert "accumulation_equivalence" not in {spec.name for spec in of_trl}  # of the Trainer, without TRL
    of_lightning = of_newest("lightning", specs_of("lightning", [], base), base)
    assert "lightning_callbacks(what=fused_clipping)" in map(str, of_lightning)
    with pytest.raises(UsageError, match="none of these probes uses `trl`"):
        of_newest("trl", specs_of("trl", ["GC-0004"], base), base)


def test_what_a_record_of_others_has_shown_is_measured_with_those() -> None:
    """GC-0184 is about models of transformers, all of which the Trainer hands to accelerate."""
    base = load()
    t5 = "accumulation_equivalence(model=t5)"
    assert t5 in map(str, of_newest("transformers", specs_of("transformers", [], base), base))
    assert t5 not in map(str, of_newest("accelerate", specs_of("accelerate", [], base), base))
    assert t5 in map(str, of_newest("accelerate", specs_of("accelerate", ["GC-0184"], base), base))
    own = "accumulation_equivalence(compute_loss=own, labels=unequal, model=llama)"
    assert own in map(str, of_newest("transformers", specs_of("transformers", [], base), base))
    assert own not in map(str, of_newest("accelerate", specs_of("accelerate", [], base), base))
