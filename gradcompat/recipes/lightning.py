"""Recipes of Lightning."""

from __future__ import annotations

from gradcompat.recipes.recipe import INFINITE, Expectation, Recipe

RECIPES = (
    Recipe(
        name="optimizer_closure",
        module="optimizer_closure",
        summary="Whether the loss keeps its gradient in the closure that Lightning hands to transformers' optimizers.",
        parameters={
            "optimizer": ("adafactor", "adamw"),
            "package": ("pytorch_lightning", "lightning"),
        },
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
)  # fmt: skip
