"""Libraries that put trainers, losses and forward passes of their own in the place of those of others."""

from __future__ import annotations

from collections.abc import Mapping

# Importing unsloth replaces the Trainer's accumulation and TRL's trainers, and loading a model with it the forward pass
# and the loss (unsloth/models/_utils.py, patch_gradient_accumulation_fix; models/rl.py; models/llama.py). What records
# measure of the originals is not what runs there.
REPLACED: Mapping[str, frozenset[str]] = {"unsloth": frozenset({"transformers", "trl", "peft", "accelerate"})}

# A `training_step` of one's own divides the loss as it likes, whatever the Trainer's does about that.
OWN_STEP_KEY = "training.own_step"
OF_STEP = frozenset({"gradient-scale"})
# With these TRL tells the Trainer that no model counts labels, so that the Trainer divides by the accumulation steps
# (model_accepts_loss_kwargs at the tag v0.15.2); that earlier releases did not has records of its own. Those of
# trl.experimental derive from GRPO's trainer, or say so themselves (0.26.2, 1.4.0 and 1.14.0).
METHOD_KEY = "training.method"
_LIKE_GRPO = frozenset({"grpo", "dppo", "gfpo", "gmpo", "grpo_with_replay_buffer", "minillm", "papo"})
_ALONE = frozenset({"async_distillation", "async_grpo", "sdft", "sdpo", "ssd"})
DIVIDED_BY_STEPS = frozenset({"dpo", "kto", "cpo"}) | _LIKE_GRPO | _ALONE
# With these TRL takes the model's logits alone, and computes the loss itself (trainers of 0.25.1 and 0.28.0).
OF_LOGITS = frozenset({"dpo", "kto", "cpo", "orpo", "rloo"}) | _LIKE_GRPO | _ALONE
RETURNED_LOSS_KEY = "model.returns_loss"
# What a Trainer is told that no model of the run counts labels, or a model says so itself: it divides by the steps.
FORWARD_KEY = "model.forward_takes_kwargs"
# What an own step has as well: the last one of an epoch, which has fewer micro-batches.
ANY_STEP_KEY = "data.partial_last_step"
OF_TRAINER = frozenset({"transformers.Trainer", "trl"})

# Categories of records that are about what a training step computes.
OF_TRAINING = frozenset(
    {
        *("wrong-loss", "loss-scale", "gradient-scale", "wrong-gradient", "lost-gradient", "no-op-training"),
        *("masking", "packing"),
    }
)
