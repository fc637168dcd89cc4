"""Recipes of kernels that take the place of a package's own code, and of models that use them."""

from __future__ import annotations

from gradcompat.recipes.recipe import Expectation, Recipe

RECIPES = (
    Recipe(
        name="liger_kernels",
        module="liger_kernels",
        summary="Liger's losses against torch's, forward and backward, with each token weighted by itself.",
        parameters={
            "kernel": ("cross_entropy", "fused_linear_cross_entropy"),
            "reduction": ("none", "mean"),
            "autocast": (False, True),
            "plant": (False, True),
        },
        expectations=(
            Expectation("ran", 1, 1, "it runs: {}"),
            Expectation("error", 0, 0, "the error is {}"),
            Expectation("output_error", 0.0, 0.02, "the losses are {} of their length apart"),
            Expectation("without_grad_error", 0.0, 0.02, "without gradients the losses are {} of their length apart"),
            Expectation("gradient_ratio", 0.98, 1.02, "the gradients are {} times those in float64"),
            Expectation("gradient_cosine", 0.999, 1.001, "the direction of the gradients agrees to {}"),
        ),
        controls=(Expectation("control_mean_error", 0.0, 1e-4, "the mean of the losses is {} of itself off"),),
        variants=(
            {"kernel": "cross_entropy"},
            {"kernel": "cross_entropy", "reduction": "mean"},
            {"kernel": "fused_linear_cross_entropy"},
            {"kernel": "fused_linear_cross_entropy", "reduction": "mean"},
            {"kernel": "fused_linear_cross_entropy", "reduction": "mean", "autocast": True},
        ),
        devices=("cpu", "cuda", "xpu"),
        needs=("torch", "liger_kernel", "transformers", "triton"),
        alone=True,
    ),
    Recipe(
        name="model_kernels",
        module="model_kernels",
        summary="A model with a fast attention against the same with attention written out, forward and backward.",
        parameters={
            "model": ("llama", "gemma2", "vaultgemma", "mllama", "glm4v_vision", "qwen2_vl_vision"),
            "attention": ("default", "sdpa", "eager"),
            "mask": ("none", "padding"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("output_error", 0.0, 1e-4, "the outputs are {} of their length apart"),
            Expectation("evaluation_error", 0.0, 1e-4, "in evaluation they are {} of their length apart"),
            Expectation("gradient_ratio", 0.999, 1.001, "the gradients are {} times those written out"),
            Expectation("gradient_cosine", 0.999, 1.001, "the direction of the gradients agrees to {}"),
        ),
        controls=(Expectation("control_error", 0.0, 1e-5, "written out, and a second time, the model differs by {}"),),
        variants=(
            {"model": "llama"},
            {"model": "llama", "mask": "padding"},
            {"model": "gemma2"},
            {"model": "gemma2", "attention": "sdpa"},
            {"model": "vaultgemma"},
            {"model": "mllama", "attention": "sdpa"},
            {"model": "glm4v_vision", "attention": "sdpa"},
            {"model": "glm4v_vision", "attention": "eager"},
            {"model": "qwen2_vl_vision", "attention": "sdpa"},
            {"model": "qwen2_vl_vision", "attention": "eager"},
        ),
        needs=("torch", "transformers"),
    ),
)
