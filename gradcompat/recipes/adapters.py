"""Recipes of PEFT."""

from __future__ import annotations

from gradcompat.recipes.recipe import Expectation, Recipe

RECIPES = (
    Recipe(
        name="adapters",
        module="adapters",
        summary="Whether PEFT's adapters sit where they were asked for, start from the model's output, merge, train.",
        parameters={
            "what": ("layers", "tokens", "merged", "frozen"),
            "kind": ("lora", "dora", "embedding"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("right_share", 1.0, 1.0, "{} of the modules with an adapter and those asked for are the same"),
            Expectation("start_change", 0.0, 1e-5, "before any step the outputs change by {} of the largest"),
            Expectation("merged_change", 0.0, 1e-3, "merging changes the outputs by {} of what the adapter does"),
            Expectation("trainable_share", 1.0, 1.0, "{} of the adapter's tensors are still trainable in SFTTrainer"),
        ),
        controls=(Expectation("control_share", 0.9, 1.0, "of what has to be right anyway {} is"),),
        variants=(
            {"what": "layers"},
            {"what": "tokens"},
            {"what": "merged", "kind": "lora"},
            {"what": "merged", "kind": "dora"},
            {"what": "merged", "kind": "embedding"},
            {"what": "frozen"},
        ),
        devices=("cpu",),
        needs=("torch", "transformers", "peft"),
        needs_for={"frozen": ("accelerate", "datasets", "trl")},
    ),
)  # fmt: skip
