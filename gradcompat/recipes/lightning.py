"""Recipes of Lightning."""

from __future__ import annotations

from gradcompat.recipes.recipe import INFINITE, Expectation, Recipe

RECIPES = (
    Recipe(
        name="optimizer_closure",
        module="optimizer_closure",
        summary="Whether the loss keeps its gradient in the closure that Lightning hands to transformers' optimizers.",
        parameters={"optimizer": ("adafactor", "adamw")},
        expectations=(
            Expectation("requires_grad_share", 1.0, 1.0, "the loss requires a gradient in {} of the steps"),
            Expectation("moved", 1e-6, INFINITE, "the weights move by {}"),
        ),
        controls=(
            Expectation("control_requires_grad_share", 1.0, 1.0, "with one of torch it does in {} of the steps"),
            Expectation("control_moved", 1e-6, INFINITE, "with an optimizer of torch the weights move by {}"),
        ),
        variants=({"optimizer": "adafactor"}, {"optimizer": "adamw"}),
        # Releases before 2.4 import pkg_resources, and their metadata do not say what it comes with.
        needs=("torch", "transformers", "pytorch_lightning", "setuptools"),
    ),
    Recipe(
        name="lightning_trainer",
        module="lightning_trainer",
        summary="Whether Lightning accumulates, resumes, seeds its workers and saves as it is asked to.",
        parameters={
            "what": (
                "validation", "batch_index", "order", "stream", "worker_seeds", "async_checkpoint", "fsdp_weights",
            ),
            "plant": (False, True),
        },
        expectations=(
            Expectation("moved", 0.99, 1.01, "an accumulated step moves the weight by {} times what it should"),
            Expectation("same_order_share", 1.0, 1.0, "a resumed run sees {} of the samples that it should, in order"),
            Expectation("torch_distinct_share", 1.0, 1.0, "in a worker {} of the epochs draw new numbers from torch"),
            Expectation("numpy_distinct_share", 1.0, 1.0, "{} of them from NumPy"),
            Expectation("random_distinct_share", 1.0, 1.0, "{} of them from random"),
            Expectation("late_change", 0.0, 0.0, "{} of a change made after the order to save is in the checkpoint"),
            Expectation("bits_share", 1.0, 1.0, "weights for mixed precision have {} of 32 bits"),
        ),
        controls=(Expectation("control", 0.99, 1.01, "the same without what is in doubt gives {} of what it should"),),
        variants=(
            {"what": "validation"},
            {"what": "batch_index"},
            {"what": "order"},
            {"what": "stream"},
            {"what": "worker_seeds"},
            {"what": "async_checkpoint"},
            {"what": "fsdp_weights"},
        ),
        needs=("torch", "pytorch_lightning", "setuptools"),
    ),
    Recipe(
        name="lightning_callbacks",
        module="lightning_callbacks",
        summary="Whether Lightning's callbacks, its clipping and a resume inside an epoch do what they are asked to.",
        parameters={
            "what": ("finder", "checkpoint_metric", "inside_epoch", "fused_clipping"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("rate_ratio", 0.99, 1.01, "training uses {} times the learning rate that was found"),
            Expectation("current_share", 1.0, 1.0, "{} of the checkpoints are ranked by the validation of their step"),
            Expectation("left_share", 1.0, 1.0, "a resumed run sees {} of the samples that were left of the epoch"),
            Expectation("repeated_share", 0.0, 0.0, "it sees {} times as many of those that it had seen"),
            Expectation("starts", 1, 1, "a run that clips starts with a fused optimizer: {}"),
        ),
        controls=(Expectation("control", 0.99, 1.01, "the same without what is in doubt gives {} of what it should"),),
        variants=(
            {"what": "finder"},
            {"what": "checkpoint_metric"},
            {"what": "inside_epoch"},
            {"what": "fused_clipping"},
        ),
        needs=("torch", "pytorch_lightning", "setuptools"),
    ),
)  # fmt: skip
