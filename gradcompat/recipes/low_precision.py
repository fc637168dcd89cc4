"""Recipes of packages that train in few bits or with fused losses: torchao, Liger."""

from __future__ import annotations

from gradcompat.recipes.recipe import INFINITE, Expectation, Recipe

RECIPES = (
    Recipe(
        name="low_bit_training",
        module="low_bit_training",
        summary="How far torchao's low-bit optimizers step, and what its float8 layers leave frozen.",
        parameters={
            "what": ("dtype", "rates", "frozen"),
            "optimizer": ("adamw8bit", "adamw4bit"),
            "compiled": (False, True),
            "plant": (False, True),
        },
        expectations=(
            Expectation("accepted", 1, 1, "the optimizer takes the step: {}"),
            Expectation("moved", 0.98, 1.02, "it moves the weights {} times as far as it should"),
            Expectation("kept_share", 1.0, 1.0, "{} of the tensors are as trainable as they were"),
        ),
        controls=(
            Expectation("control_ratio", 0.98, 1.02, "without the setting that is asked about it is {} of that"),
        ),
        variants=(
            {"what": "dtype"},
            {"what": "dtype", "optimizer": "adamw4bit"},
            {"what": "dtype", "compiled": True},
            {"what": "rates"},
            {"what": "frozen"},
        ),
        devices=("cpu",),
        needs=("torch", "torchao"),
    ),
    Recipe(
        name="distillation_loss",
        module="distillation_loss",
        summary="Whether Liger's fused JSD loss leaves out ignored tokens, and is finite for very sure models.",
        parameters={"what": ("ignored", "confident"), "plant": (False, True)},
        expectations=(
            Expectation("ignored_change", 0.0, 1e-6, "the teacher at ignored tokens changes the loss by {} of it"),
            Expectation("ignored_gradient", 0.0, 1e-6, "{} of the gradient is at ignored tokens"),
            Expectation("finite", 1, 1, "loss and gradients of sure models are finite: {}"),
        ),
        controls=(
            Expectation("control_effect", 1e-3, INFINITE, "what counts anyway, or is finite anyway, is {}"),
        ),
        variants=({"what": "ignored"}, {"what": "confident"}),
        needs=("torch", "liger_kernel"),
    ),
    Recipe(
        name="part_imports",
        module="part_imports",
        summary="Whether parts of a package can be imported that it does not import itself.",
        parameters={
            "module": (
                "torchtune.training", "torchtune.modules", "torchtune.datasets",
                "liger_kernel.transformers.monkey_patch", "fla.ops.gated_delta_rule", "fla.ops.delta_rule",
            )
        },
        expectations=(Expectation("imported", 1, 1, "it can be imported: {}"),),
        controls=(Expectation("control_imported", 1, 1, "the package itself can be: {}"),),
        variants=({"module": "torchtune.training"},),
        devices=("cpu",),
        needs_for={
            "liger_kernel.transformers.monkey_patch": ("liger_kernel", "transformers", "triton"),
            "fla.ops.gated_delta_rule": ("triton", "packaging"),
            "fla.ops.delta_rule": ("triton", "packaging"),
        },
        alone=True,
    ),
)  # fmt: skip
