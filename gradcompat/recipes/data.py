"""Recipes of datasets."""

from __future__ import annotations

from gradcompat.recipes.recipe import Expectation, Recipe

RECIPES = (
    Recipe(
        name="streams",
        module="streams",
        summary="Whether a streamed dataset loses samples when it goes on from its state, and feeds all workers.",
        parameters={
            "what": ("filter", "map", "shuffle", "workers"),
            "format": ("none", "numpy", "torch"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("lost_share", 0.0, 0.0, "{} of the samples that are left are lost"),
            Expectation("repeated_share", 0.0, 0.0, "{} of them come again"),
            Expectation("busy_share", 1.0, 1.0, "{} of the workers get samples"),
        ),
        controls=(Expectation("control", 1.0, 1.0, "of a stream to which nothing was done {} comes out right"),),
        variants=(
            {"what": "filter"},
            {"what": "filter", "format": "numpy"},
            {"what": "map"},
            {"what": "map", "format": "numpy"},
            {"what": "shuffle"},
            {"what": "workers"},
        ),
        needs=("torch", "datasets"),
    ),
)
