"""Recipes of Keras and of optax, which trains beside it."""

from __future__ import annotations

from gradcompat.recipes.recipe import Expectation, Recipe

RECIPES = (
    Recipe(
        name="keras_training",
        module="keras_training",
        summary="Whether Keras's LossScaleOptimizer steps and clips, and a masked BatchNormalization normalises.",
        parameters={"what": ("apply", "clipping", "mask"), "plant": (False, True)},
        expectations=(
            Expectation("moved", 0.98, 1.02, "the weights move {} times as far as with the optimizer inside"),
            Expectation("ignored", 0, 0, "clipnorm is taken and ignored: {}"),
            Expectation("mean", -0.2, 0.2, "the mean of what the mask keeps is {}"),
            Expectation("deviation", 0.8, 1.2, "the standard deviation of what the mask keeps is {}"),
        ),
        controls=(Expectation("control_ratio", 0.95, 1.05, "without wrapper or broadcasting it is {} of that"),),
        variants=({"what": "apply"}, {"what": "clipping"}, {"what": "mask"}),
        devices=("cpu",),
        needs=("torch", "keras"),
        environment={"KERAS_BACKEND": "torch"},
    ),
    Recipe(
        name="keras_accumulation",
        module="keras_accumulation",
        summary="The step of a Keras optimizer that accumulates gradients against that of one given their mean.",
        parameters={
            "optimizer": ("adam", "adamw", "adamax", "nadam", "sgd"),
            "average": (False, True),
            "plant": (False, True),
        },
        expectations=(
            Expectation("update_ratio", 0.98, 1.02, "the weights move by {} times what the mean gradient does"),
            Expectation("update_cosine", 0.999, 1.001, "the direction agrees to {}"),
        ),
        controls=(Expectation("control_ratio", 0.98, 1.02, "with plain SGD they move by {} times that"),),
        variants=(
            {"optimizer": "adam"},
            {"optimizer": "adamw"},
            {"optimizer": "adamax"},
            {"optimizer": "nadam"},
            {"optimizer": "sgd"},
            {"optimizer": "sgd", "average": True},
        ),
        devices=("cpu",),
        needs=("torch", "keras", "numpy"),
        environment={"KERAS_BACKEND": "torch"},
    ),
    Recipe(
        name="keras_averages",
        module="keras_averages",
        summary="Whether the weights behind Keras's fit with use_ema are averages of those of the steps.",
        parameters={"plant": (False, True)},
        expectations=(Expectation("weight_ratio", 0.9, 1.1, "the weights are {} times as long as the right ones"),),
        controls=(Expectation("control", 0.9, 1.1, "without averages they are {} times as long"),),
        devices=("cpu",),
        needs=("torch", "keras", "numpy"),
        environment={"KERAS_BACKEND": "torch"},
    ),
    Recipe(
        name="optax_updates",
        module="optax_updates",
        summary="Whether optax's updates stay finite for negative gradients, and its focal loss for sure logits.",
        parameters={"what": ("distance", "focal"), "plant": (False, True)},
        expectations=(Expectation("finite_share", 1.0, 1.0, "{} of the values are finite"),),
        controls=(Expectation("control_share", 1.0, 1.0, "{} of those of harmless inputs are"),),
        variants=({"what": "distance"}, {"what": "focal"}),
        devices=("cpu",),
        needs=("jax", "optax"),
    ),
)  # fmt: skip
