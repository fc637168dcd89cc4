"""Losses, metrics, loaders and Lightning's callbacks, really run: where they go wrong, and where not.

``GRADCOMPAT_PROBE_PYTHON`` names an interpreter with torch, and ``GRADCOMPAT_PROBE_LAYERS`` folders of packages that go
before its own; what none of them has is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import distributions

import pytest
from packaging.specifiers import SpecifierSet

from gradcompat.model.probe import ParameterValue, ProbeSpec
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge
from tests.probes.really import LAYERS, NEEDS_TORCH, ran

pytestmark = NEEDS_TORCH

MONAI, METRIC_LEARNING, LIGHTNING = "monai", "pytorch-metric-learning", "pytorch-lightning"
PYG = "torch-geometric"
CASES: tuple[tuple[str, Mapping[str, ParameterValue], str, str], ...] = (
    ("loss_definitions", {"loss": "generalized_dice"}, MONAI, ">=1.1.0,<1.3.0"),
    ("loss_definitions", {"loss": "dice_ce"}, MONAI, "<1.0.1"),
    ("loss_definitions", {"loss": "lncc"}, MONAI, "<1.1.0"),
    ("loss_definitions", {"loss": "ssim"}, MONAI, "==1.1.0"),
    ("loss_definitions", {"loss": "sincos"}, MONAI, "==1.3.0"),
    ("loss_definitions", {"loss": "pnp"}, METRIC_LEARNING, "<2.4.0"),
    ("loss_definitions", {"loss": "miner"}, METRIC_LEARNING, "<1.3.2"),
    ("metric_values", {"metric": "macro"}, "torchmetrics", "<1.0.0"),
    ("metric_values", {"metric": "exact_match"}, "torchmetrics", "<1.0.0"),
    ("metric_values", {"metric": "pearson"}, "torchmetrics", ">=1.0.0,<1.1.1"),
    ("metric_options", {"metric": "top_k"}, "torchmetrics", "<1.6.1"),
    ("metric_options", {"metric": "ergas"}, "torchmetrics", "<1.4.0"),
    ("metric_options", {"metric": "multilabel"}, "torchmetrics", "<1.7.2"),
    ("metric_options", {"metric": "bootstrap"}, "torchmetrics", "<1.4.1"),
    ("metric_options", {"metric": "transformer"}, "torchmetrics", "<1.7.3"),
    ("metric_options", {"metric": "mean_iou"}, "torchmetrics", "<1.7.1"),
    ("metric_options", {"metric": "iou_updates"}, "torchmetrics", "<1.4.2"),
    ("metric_options", {"metric": "dice"}, "torchmetrics", "<1.8.0"),
    ("metric_options", {"metric": "psnr"}, "torchmetrics", "<1.5.0"),
    ("metric_options", {"metric": "retrieval"}, "torchmetrics", ">=1.7.4"),
    ("metric_options", {"metric": "bert_score"}, "torchmetrics", ">=0"),
    ("metric_states", {"metric": "precision"}, "torchmetrics", "<0.11.0"),
    ("metric_states", {"metric": "f1"}, "torchmetrics", "<0.11.0"),
    ("metric_states", {"metric": "distance"}, "torchmetrics", "<0.9.0"),
    ("metric_states", {"metric": "bleu"}, "torchmetrics", ">=0.8.0,<1.6.2"),
    ("metric_states", {"metric": "words"}, "torchmetrics", ">=0.8.0"),
    ("running_metrics", {"metric": "precision"}, "torchmetrics", ">=0.4.0,<0.9.0"),
    ("running_metrics", {"metric": "recall"}, "torchmetrics", ">=0.4.0,<0.9.0"),
    ("hard_negatives", {}, METRIC_LEARNING, "<1.3.2"),
    ("focal_weights", {}, "kornia", "<0.7.0"),
    ("guided_margin", {}, "sentence-transformers", "<5.6.0"),
    ("warmed_decay", {}, "pytorch-optimizer", "==2.9.0"),
    ("keras_averages", {}, "keras", "<3.0.2"),
    ("worker_draws", {}, "accelerate", "<0.14.0"),
    ("engine_resume", {"stage": 0}, "deepspeed", "<0.18.5"),
    ("answer_labels", {}, "transformers", "<4.30.0"),
    ("label_ends", {}, "transformers", "<4.29.0"),
    ("distilled_padding", {}, "trl", ">=0"),
    ("graph_layers", {"what": "spectral"}, PYG, "<2.5.0"),
    ("graph_layers", {"what": "cluster"}, PYG, "<2.5.0"),
    ("graph_layers", {"what": "sizes"}, PYG, ">=0"),
    ("graph_layers", {"what": "hops"}, PYG, "<2.7.0"),
    ("integer_images", {}, MONAI, "<1.5.0"),
    ("no_duplicates", {}, "sentence-transformers", "<3.4.0"),
    ("stateful_loader", {"what": "end"}, "torchdata", "<0.11.0"),
    ("stateful_loader", {"what": "seeds"}, "torchdata", "<0.11.0"),
    ("linear_attention_losses", {"loss": "grpo"}, "fla-core", "<0.6.0"),
    ("linear_attention_losses", {"loss": "l2_warp"}, "fla-core", "<0.5.2"),
    ("replayed_dropout", {}, "sentence-transformers", "<0"),  # of no release on the CPU
    ("dataset_streams", {"what": "later"}, "datasets", "<3.4.0"),
    ("dataset_streams", {"what": "draws"}, "datasets", "<4.4.0"),
    ("lightning_callbacks", {"what": "finder"}, LIGHTNING, "<2.5.4"),
    ("lightning_callbacks", {"what": "checkpoint_metric"}, LIGHTNING, "<2.5.5"),
    ("lightning_callbacks", {"what": "inside_epoch"}, LIGHTNING, ">=2.0.0"),
    ("lightning_callbacks", {"what": "fused_clipping"}, LIGHTNING, ">=2.0.0"),
)


@pytest.mark.parametrize("plant", [False, True], ids=["as it is", "planted"])
@pytest.mark.parametrize(("name", "parameters", "package", "where"), CASES, ids=str)
def test_a_defect_shows_where_it_is_and_nowhere_else(
    name: str, parameters: Mapping[str, ParameterValue], package: str, where: str, plant: bool
) -> None:
    folders = list(map(str, LAYERS))
    versions = [one.version for one in distributions(name=package, path=folders)] if folders else []
    if not versions:
        pytest.skip(f"no folder of GRADCOMPAT_PROBE_LAYERS has {package}")
    spec = ProbeSpec(name=name, parameters={**parameters, **({"plant": True} if plant else {})})
    (measurement,) = ran((spec,)).values()
    outcome, reason = judge(recipe_of(spec), measurement)
    if outcome == "skipped":
        pytest.skip(reason)
    affected = plant or SpecifierSet(where).contains(versions[0])
    assert outcome == ("reproduced" if affected else "not_reproduced"), (reason, measurement.output)
