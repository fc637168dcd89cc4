"""Recipes of one step or one run through the Trainer of transformers and through Accelerate."""

from __future__ import annotations

from gradcompat.recipes.recipe import INFINITE, Expectation, Recipe

# One step in micro-batches against the same samples in one large batch; the control repeats the large batch.
STEP_EXPECTATIONS = (
    Expectation("loss_ratio", 0.98, 1.02, "the logged loss is {} times that of the large batch"),
    Expectation("update_ratio", 0.98, 1.02, "the gradients are {} times those of the large batch"),
    Expectation("update_cosine", 0.999, 1.001, "the direction of the gradients agrees to {}"),
)
STEP_CONTROLS = (
    Expectation("control_update_norm", 1e-6, INFINITE, "the large batch moves the weights by {}"),
    Expectation("control_loss_ratio", 0.999, 1.001, "the large batch repeated gives {} times its loss"),
    Expectation("control_update_ratio", 0.999, 1.001, "the large batch repeated gives {} times its gradients"),
)
STEP_SIGNS = {
    "loss_ratio": ("l", "the logged loss alone is wrong"),
    "update_ratio": ("g", "the gradients alone are wrong"),
    "update_cosine": ("g", "the gradients alone are wrong"),
}

RECIPES = (
    Recipe(
        name="accumulation_equivalence",
        module="accumulation",
        summary="One optimizer step over one large batch against the same samples in accumulated micro-batches.",
        parameters={
            "model": (
                "llama", "gpt2", "t5", "mt5", "bart", "whisper", "llama_sequence_classification",
                "llama_token_classification", "bert_sequence_classification", "qwen2_sequence_classification", "llava",
                "vip_llava", "llama_lora", "toy_kwargs", "toy_plain", "toy_refusing",
            ),
            "labels": ("equal", "unequal"),
            "tail": (False, True),
            "label_smoothing": (False, True),
            "compute_loss": ("model", "own"),
        },
        expectations=STEP_EXPECTATIONS,
        controls=STEP_CONTROLS,
        variants=(
            {"model": "llama"},
            {"model": "llama", "labels": "unequal"},
            {"model": "llama", "tail": True},
            {"model": "llama", "labels": "unequal", "label_smoothing": True},
            {"model": "llama", "labels": "unequal", "compute_loss": "own"},
            {"model": "gpt2"},
            {"model": "gpt2", "labels": "unequal"},
            {"model": "t5"},
            {"model": "t5", "labels": "unequal"},
            {"model": "mt5"},
            {"model": "bart"},
            {"model": "bart", "labels": "unequal"},
            {"model": "whisper"},
            {"model": "whisper", "labels": "unequal"},
            {"model": "llama_lora"},
            {"model": "llama_lora", "labels": "unequal"},
            {"model": "llama_sequence_classification"},
            {"model": "llama_token_classification"},
            {"model": "bert_sequence_classification"},
            {"model": "qwen2_sequence_classification"},
            {"model": "llava"},
            {"model": "llava", "labels": "unequal"},
            {"model": "vip_llava"},
            {"model": "vip_llava", "labels": "unequal"},
            {"model": "toy_plain"},
            {"model": "toy_plain", "labels": "unequal"},
            {"model": "toy_plain", "tail": True},
            {"model": "toy_kwargs"},
            {"model": "toy_kwargs", "labels": "unequal"},
            {"model": "toy_refusing"},
            {"model": "toy_refusing", "tail": True},
        ),
        signs=STEP_SIGNS,
        needs=("torch", "transformers", "accelerate"),
        needs_for={"llama_lora": ("peft",)},
    ),
    Recipe(
        name="gradient_flow",
        module="gradient_flow",
        summary="Which trainable tensors a backward pass reaches, with activation checkpointing and without.",
        parameters={
            "setup": ("frozen_embeddings", "last_layer", "lora", "lora_after_checkpointing", "full"),
            "reentrant": ("default", "true", "false"),
            "hook": (False, True),
            "through": ("model", "trainer"),
        },
        expectations=(
            Expectation("reached_share", 1.0, 1.0, "{} of the trainable tensors get a gradient"),
            Expectation("norm_ratio", 0.99, 1.01, "the norm of the gradients is {} times that without checkpointing"),
        ),
        controls=(Expectation("control_share", 1.0, 1.0, "without checkpointing {} of the trainable tensors get one"),),
        variants=(
            {"setup": "full"},
            {"setup": "frozen_embeddings"},
            {"setup": "frozen_embeddings", "hook": True},
            {"setup": "frozen_embeddings", "reentrant": "false"},
            {"setup": "frozen_embeddings", "through": "trainer"},
            {"setup": "last_layer"},
            {"setup": "last_layer", "reentrant": "false"},
            {"setup": "lora"},
            {"setup": "lora", "hook": True},
            {"setup": "lora", "reentrant": "false"},
            {"setup": "lora", "through": "trainer"},
            {"setup": "lora_after_checkpointing"},
        ),
        needs=("torch", "transformers"),
        needs_for={"lora": ("peft",), "lora_after_checkpointing": ("peft",), "trainer": ("accelerate",)},
    ),
    Recipe(
        name="resume",
        module="resume",
        summary="A Trainer's run resumed from a checkpoint in its second epoch, against the same run in one piece.",
        parameters={"what": ("weights", "order", "rng"), "plant": (False, True)},
        expectations=(
            Expectation("resumed", 1, 1, "the Trainer can go on from its own checkpoint: {}"),
            Expectation("difference", 0.0, 1e-4, "the weights end {} of the way apart"),
            Expectation("optimizer_difference", 0.0, 1e-4, "the optimizer's state ends {} of its length apart"),
            Expectation("same_rate_share", 1.0, 1.0, "the learning rate is the same in {} of the steps"),
            Expectation("same_order_share", 1.0, 1.0, "{} of the steps see the same samples"),
        ),
        controls=(
            Expectation("control_difference", 0.0, 1e-6, "the whole run, repeated, ends {} of the way apart"),
            Expectation("control_moved", 1e-6, INFINITE, "after the checkpoint the weights move by {}"),
        ),
        variants=({"what": "weights"}, {"what": "order"}, {"what": "rng"}),
        needs=("torch", "transformers", "accelerate"),
    ),
    Recipe(
        name="accumulation_beyond_trainer",
        module="accumulation_beyond_trainer",
        summary="A loop with accelerate's accumulate() against plain torch with large batches.",
        parameters={"sync_each_batch": (False, True), "tail": (False, True), "plant": (False, True)},
        expectations=(
            Expectation("updates_ratio", 1.0, 1.0, "there are {} times as many updates as large batches"),
            Expectation("update_ratio", 0.98, 1.02, "the weights move by {} times what the large batches do"),
            Expectation("update_cosine", 0.999, 1.001, "the direction of the movement agrees to {}"),
        ),
        controls=(
            Expectation("control_update_ratio", 0.999, 1.001, "the large batches repeated move them {} times as far"),
            Expectation("control_update_norm", 1e-6, INFINITE, "the large batches move the weights by {}"),
        ),
        variants=({}, {"sync_each_batch": True}, {"tail": True}),
        needs=("torch", "accelerate"),
    ),
    Recipe(
        name="nan_in_the_log",
        module="nan_in_the_log",
        summary="Whether the log of the Trainer shows a loss that is NaN in every step.",
        parameters={"filter": ("default", "off")},
        expectations=(Expectation("shown_share", 1.0, 1.0, "the log shows {} of the losses that are NaN"),),
        controls=(Expectation("control_ratio", 0.98, 1.02, "without a NaN it has {} times the loss of the model"),),
        variants=({"filter": "default"}, {"filter": "off"}),
        needs=("torch", "transformers", "accelerate"),
    ),
)  # fmt: skip
