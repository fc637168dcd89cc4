"""Recipes about packages themselves: what can be imported beside what."""

from __future__ import annotations

from gradcompat.recipes.recipe import Expectation, Recipe

RECIPES = (
    Recipe(
        name="imports",
        module="imports",
        summary="Whether packages can be imported, after torch and after one another.",
        parameters={
            "module": (
                "torchvision", "torchaudio", "transformers", "transformers.Trainer", "diffusers",
                "diffusers.DiffusionPipeline", "pytorch_lightning", "lightning", "lightning.pytorch", "accelerate",
                "peft", "trl", "datasets", "sentence_transformers", "deepspeed", "bitsandbytes", "xformers",
                "flash_attn", "transformer_engine.pytorch", "liger_kernel.transformers", "unsloth", "torchtune", "apex",
                "triton", "flax", "jax", "numba", "torch.from_numpy",
            ),
            "after": ("nothing", "transformers", "torchvision", "bitsandbytes", "deepspeed", "xformers", "numpy"),
        },
        expectations=(
            Expectation("imported", 1, 1, "it can be imported: {}"),
            Expectation("error", 0, 0, "the error is {}"),
        ),
        controls=(Expectation("control_imported", 1, 1, "what is imported before it can be: {}"),),
        variants=(
            {"module": "torchvision"},
            {"module": "torchaudio"},
            {"module": "transformers"},
            {"module": "transformers.Trainer"},
            {"module": "diffusers.DiffusionPipeline"},
            {"module": "pytorch_lightning"},
            {"module": "lightning"},
            {"module": "accelerate"},
            {"module": "peft"},
            {"module": "trl"},
            {"module": "deepspeed"},
            {"module": "deepspeed", "after": "transformers"},
            {"module": "bitsandbytes"},
            {"module": "xformers"},
            {"module": "flash_attn"},
            {"module": "transformer_engine.pytorch"},
            {"module": "triton"},
            {"module": "torch.from_numpy"},
        ),
        needs=(),
        alone=True,
        death=True,
    ),
)  # fmt: skip
