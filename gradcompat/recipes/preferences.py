"""Recipes of TRL's trainers and of the losses of sentence-transformers."""

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
    Recipe(
        name="preference_router",
        module="preference_router",
        summary="Whether the load-balancing loss of a mixture of experts acts in TRL's preference trainers.",
        parameters={"method": ("dpo", "kto", "cpo", "orpo"), "plant": (False, True)},
        expectations=(
            Expectation("effect", 1e-3, INFINITE, "a large coefficient changes the update of the routers by {} of it"),
        ),
        controls=(
            Expectation("control_update_norm", 1e-9, INFINITE, "without it the routers move by {}"),
            Expectation("control_effect", 1e-3, INFINITE, "in the model's own loss the coefficient adds {}"),
        ),
        variants=({"method": "dpo"}, {"method": "kto"}, {"method": "cpo"}, {"method": "orpo"}),
        devices=("cpu",),
        needs=("torch", "transformers", "accelerate", "datasets", "trl"),
    ),
    Recipe(
        name="grpo_temperature",
        module="grpo_temperature",
        summary="Whether GRPO trains on log-probabilities at the temperature that its answers are sampled at.",
        parameters={"plant": (False, True)},
        expectations=(
            Expectation("update_cosine", 0.999, 1.001, "the direction of the update agrees with the definition to {}"),
        ),
        controls=(
            Expectation("control_cosine", 0.999, 1.001, "at temperature 1 it agrees to {}"),
            Expectation("control_apart", 0.01, INFINITE, "the two temperatures differ in their direction by {}"),
        ),
        variants=({},),
        devices=("cpu",),
        needs=("torch", "transformers", "accelerate", "datasets", "trl"),
    ),
    Recipe(
        name="grpo_reward_scale",
        module="grpo_reward_scale",
        summary="Whether GRPO divides rewards by their standard deviation, so that their scale does not matter.",
        parameters={"plant": (False, True)},
        expectations=(Expectation("grown", 0.99, 1.01, "ten times the rewards give {} times the update"),),
        controls=(
            Expectation("control_update_norm", 1e-6, INFINITE, "the rewards move the weights by {}"),
            Expectation("control_repeated", 0.999, 1.001, "the same rewards again give {} times the update"),
        ),
        variants=({},),
        devices=("cpu",),
        needs=("torch", "transformers", "accelerate", "datasets", "trl"),
    ),
    Recipe(
        name="sample_ends",
        module="sample_ends",
        summary="Whether SFTTrainer puts an end-of-sequence token behind each sample that has none.",
        parameters={"kind": ("text", "prompt"), "plant": (False, True)},
        expectations=(
            Expectation("end_counts", 1.0, 1.0, "{} of the samples end with the token, in the loss"),
            Expectation("ends", 1.0, 1.0, "a sample has {} such tokens"),
        ),
        controls=(Expectation("control_ends", 1.0, 1.0, "of the samples that bring it {} end with it"),),
        variants=({"kind": "text"}, {"kind": "prompt"}),
        devices=("cpu",),
        needs=("torch", "transformers", "accelerate", "datasets", "trl"),
    ),
    Recipe(
        name="gkd_divergence",
        module="gkd_divergence",
        summary="The loss of TRL's GKDTrainer against the Jensen-Shannon divergence that beta asks for.",
        parameters={"beta": (0.1, 0.5), "plant": (False, True)},
        expectations=(Expectation("loss_ratio", 0.999, 1.001, "the loss is {} times the divergence"),),
        controls=(Expectation("control_loss", 0.0, 1e-6, "equal distributions are {} apart"),),
        variants=({"beta": 0.1}, {"beta": 0.5}),
        needs=("torch", "transformers", "accelerate", "datasets", "trl"),
    ),
    Recipe(
        name="embedding_accumulation",
        module="embedding_accumulation",
        summary="One step of sentence-transformers' trainer over one large batch against the same in micro-batches.",
        parameters={"plant": (False, True)},
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
        variants=({},),
        signs={
            "loss_ratio": ("l", "the logged loss alone is wrong"),
            "update_ratio": ("g", "the gradients alone are wrong"),
            "update_cosine": ("g", "the gradients alone are wrong"),
        },
        devices=("cpu",),
        needs=("torch", "transformers", "accelerate", "datasets", "sentence_transformers"),
    ),
    Recipe(
        name="distilled_padding",
        module="distilled_padding",
        summary="Whether the loss of TRL's MiniLLMTrainer leaves out the padding behind shorter completions.",
        parameters={"plant": (False, True)},
        expectations=(Expectation("loss_ratio", 0.999, 1.001, "the loss is {} times that of the completions"),),
        controls=(Expectation("control", 0.99, 1.01, "with completions of one length it is {} times that"),),
        needs=("torch", "transformers", "trl"),
    ),
    Recipe(
        name="embedding_losses",
        module="embedding_losses",
        summary="Value and gradients of losses of sentence-transformers against their definition.",
        parameters={"loss": ("mega_batch", "list_mle", "adaptive_layer"), "plant": (False, True)},
        expectations=(
            Expectation("loss_ratio", 0.999, 1.001, "the loss is {} times that of its definition"),
            Expectation("gradient_ratio", 0.999, 1.001, "the gradients are {} times those of the definition"),
            Expectation("gradient_cosine", 0.999, 1.001, "the direction of the gradients agrees to {}"),
        ),
        controls=(
            Expectation("control_loss_ratio", 0.999, 1.001, "a case that is always right has {} times its loss"),
            Expectation("control_gradient_cosine", 0.999, 1.001, "the direction of its gradients agrees to {}"),
        ),
        variants=({"loss": "mega_batch"}, {"loss": "list_mle"}, {"loss": "adaptive_layer"}),
        devices=("cpu",),
        needs=("torch", "transformers", "sentence_transformers"),
    ),
)  # fmt: skip
