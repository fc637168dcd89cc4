"""Recipes of TRL's preference trainers."""

from __future__ import annotations

from gradcompat.recipes.recipe import INFINITE, Expectation, Recipe

RECIPES = (
    Recipe(
        name="preference_accumulation",
        module="preference_accumulation",
        summary="One step of TRL's preference trainers over one large batch against the same in micro-batches.",
        parameters={"method": ("dpo", "kto", "cpo", "orpo")},
        expectations=(
            Expectation("loss_ratio", 0.98, 1.02, "the logged loss is {} times that of the large batch"),
            Expectation("update_ratio", 0.98, 1.02, "the gradients are {} times those of the large batch"),
            Expectation("update_cosine", 0.999, 1.001, "the direction of the gradients agrees to {}"),
        ),
        controls=(
            Expectation("control_update_norm", 1e-6, INFINITE, "the large batch moves the weights by {}"),
            Expectation("control_loss_ratio", 0.999, 1.001, "the large batch repeated gives {} times its loss"),
            Expectation("control_update_ratio", 0.999, 1.001, "the large batch repeated gives {} times its gradients"),
        ),
        variants=({"method": "dpo"}, {"method": "kto"}, {"method": "cpo"}, {"method": "orpo"}),
        signs={
            "loss_ratio": ("l", "the logged loss alone is wrong"),
            "update_ratio": ("g", "the gradients alone are wrong"),
            "update_cosine": ("g", "the gradients alone are wrong"),
        },
        needs=("torch", "transformers", "accelerate", "datasets", "trl"),
    ),
)  # fmt: skip
