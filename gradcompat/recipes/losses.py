"""Recipes of libraries of losses and metrics."""

from __future__ import annotations

from gradcompat.recipes.recipe import Expectation, Recipe

RECIPES = (
    Recipe(
        name="loss_definitions",
        module="loss_definitions",
        summary="Losses of MONAI and pytorch-metric-learning against their definitions in float64.",
        parameters={
            "loss": ("generalized_dice", "dice_ce", "lncc", "ssim", "sincos", "pnp", "miner"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("loss_difference", 0.0, 0.02, "the loss is {} away from its definition"),
            Expectation("gradient_ratio", 0.95, 1.05, "the gradients are {} times those of the definition"),
            Expectation("gradient_cosine", 0.99, 1.01, "their direction agrees to {}"),
            Expectation("runs", 1, 1, "a batch of three can be computed: {}"),
            Expectation("finite", 1, 1, "loss and gradients are finite with a class of one sample: {}"),
            Expectation("fixed", 1, 1, "the embedding of sines and cosines is not trained: {}"),
            Expectation("nearest_share", 1.0, 1.0, "the nearest positive is found for {} of the anchors"),
        ),
        controls=(Expectation("control", 0.95, 1.05, "where nothing is in doubt it is {} of what it should be"),),
        variants=(
            {"loss": "generalized_dice"},
            {"loss": "dice_ce"},
            {"loss": "lncc"},
            {"loss": "ssim"},
            {"loss": "sincos"},
            {"loss": "pnp"},
            {"loss": "miner"},
        ),
        needs_for={
            "generalized_dice": ("monai",),
            "dice_ce": ("monai",),
            "lncc": ("monai",),
            "ssim": ("monai",),
            "sincos": ("monai", "einops"),
            "pnp": ("pytorch_metric_learning",),
            "miner": ("pytorch_metric_learning",),
        },
    ),
    Recipe(
        name="metric_values",
        module="metric_values",
        summary="Metrics of torchmetrics against their definitions, computed sample by sample.",
        parameters={"metric": ("macro", "exact_match", "pearson"), "plant": (False, True)},
        expectations=(Expectation("metric_ratio", 0.999, 1.001, "the metric is {} times its definition"),),
        controls=(Expectation("control", 0.999, 1.001, "where nothing is in doubt it is {} times its definition"),),
        variants=({"metric": "macro"}, {"metric": "exact_match"}, {"metric": "pearson"}),
        needs=("torch", "torchmetrics"),
    ),
    Recipe(
        name="replayed_dropout",
        module="replayed_dropout",
        summary="Whether a cached loss of rerankers predicts with the same dropout in its second pass.",
        parameters={"plant": (False, True)},
        expectations=(Expectation("replay_error", 0.0, 1e-5, "what both passes say is {} of its length apart"),),
        controls=(Expectation("control_replay_error", 0.0, 1e-5, "without dropout {} of its length"),),
        variants=({},),
        devices=("cuda",),  # on the CPU every release is right
        needs=("torch", "sentence_transformers", "transformers"),
    ),
)
