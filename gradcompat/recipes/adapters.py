"""Recipes of PEFT."""

from __future__ import annotations

from gradcompat.recipes.recipe import Expectation, Recipe

RECIPES = (
    Recipe(
        name="adapters",
        module="adapters",
        summary="Whether PEFT's adapters sit where they were asked for, start from the model's output, merge, train.",
        parameters={
            "what": ("layers", "tokens", "merged", "frozen", "second"),
            "kind": ("lora", "dora", "embedding"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("right_share", 1.0, 1.0, "{} of the modules with an adapter and those asked for are the same"),
            Expectation("start_change", 0.0, 1e-5, "before any step the outputs change by {} of the largest"),
            Expectation("merged_change", 0.0, 1e-3, "merging changes the outputs by {} of what the adapter does"),
            Expectation("trainable_share", 1.0, 1.0, "{} of the adapter's tensors are still trainable in SFTTrainer"),
            Expectation("kept_share", 1.0, 1.0, "{} of them are still trainable after another adapter was loaded"),
        ),
        controls=(Expectation("control_share", 0.9, 1.0, "of what has to be right anyway {} is"),),
        variants=(
            {"what": "layers"},
            {"what": "tokens"},
            {"what": "merged", "kind": "lora"},
            {"what": "merged", "kind": "dora"},
            {"what": "merged", "kind": "embedding"},
            {"what": "frozen"},
            {"what": "second"},
        ),
        devices=("cpu",),
        needs=("torch", "transformers", "peft"),
        needs_for={"frozen": ("accelerate", "datasets", "trl")},
    ),
    Recipe(
        name="expert_adapters",
        module="expert_adapters",
        summary="Whether LoRA's adapters reach the experts of a mixture of experts, by their names and by all-linear.",
        parameters={
            "model": ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "deepseek_v3", "glm4_moe"),
            "names": ("list", "all-linear"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("accepted", 1, 1, "PEFT takes these names for this model: {}"),
            Expectation("expert_share", 1.0, 1.0, "{} of the experts' weights have an adapter"),
        ),
        controls=(Expectation("control_share", 1.0, 1.0, "{} of the attention's weights have one"),),
        variants=(
            {"model": "mixtral"},
            {"model": "mixtral", "names": "all-linear"},
            {"model": "qwen2_moe"},
            {"model": "qwen2_moe", "names": "all-linear"},
            {"model": "qwen3_moe"},
            {"model": "qwen3_moe", "names": "all-linear"},
            {"model": "olmoe"},
            {"model": "deepseek_v3"},
            {"model": "glm4_moe"},
        ),
        devices=("cpu",),
        needs=("torch", "transformers", "peft"),
    ),
    Recipe(
        name="low_precision_flow",
        module="low_precision_flow",
        summary="Which adapters a backward pass reaches over a base in 4 bits or half precision, with checkpointing.",
        parameters={
            "weights": ("nf4", "bfloat16"),
            "prepared": (False, True),
            "reentrant": ("default", "true", "false"),
            "hook": (False, True),
        },
        expectations=(
            Expectation("reached_share", 1.0, 1.0, "{} of the adapters get a gradient"),
            Expectation("norm_ratio", 0.99, 1.01, "the norm of the gradients is {} times that without checkpointing"),
        ),
        controls=(Expectation("control_share", 1.0, 1.0, "without checkpointing {} of the adapters get one"),),
        variants=(
            {"weights": "nf4"},
            {"weights": "nf4", "reentrant": "false"},
            {"weights": "nf4", "hook": True},
            {"weights": "nf4", "prepared": True},
            {"weights": "bfloat16"},
            {"weights": "bfloat16", "reentrant": "false"},
        ),
        needs=("torch", "transformers", "accelerate", "peft"),
        needs_for={"nf4": ("bitsandbytes",)},
    ),
)  # fmt: skip
