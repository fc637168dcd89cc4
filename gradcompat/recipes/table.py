"""Every recipe: what it measures, what it takes, and what its numbers have to be when nothing is wrong.

A recipe that runs in the interpreter returns numbers and judges nothing; the thresholds stand here, so that what was
measured long ago can be judged again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradcompat.errors import ProbeUnavailable
from gradcompat.model.probe import ParameterValue, ProbeSpec


@dataclass(frozen=True, slots=True)
class Expectation:
    """One value, and where it lies when nothing is wrong.

    Attributes:
        value: its name among the measured values.
        low: the least that is right.
        high: the most that is right.
        sentence: what it is, with ``{}`` in the place of the number.
    """

    value: str
    low: float
    high: float
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One kind of measurement.

    Attributes:
        name: as records name it.
        module: below ``inside/recipes``.
        summary: what it compares, in one sentence.
        parameters: what it takes, with the values that each may have, the default first.
        expectations: what its values are when nothing is wrong; one that is not makes the defect ``reproduced``.
        controls: the same for the control that ran beside it; one that is not makes the run ``inconclusive``.
        variants: the parameters that the picture of the recipe shows, in its order.
        signs: value → the letter that stands in a picture where it alone is wrong, and what the letter means.
        seconds: how long it may take.
        devices: where it can run.
        needs: packages that have to be there, as modules.
        needs_for: value of a parameter → packages that it needs besides.
        environment: variables that it needs.
        alone: it changes its process.
        death: the end of the process is the defect, not a failure of the recipe.
    """

    name: str
    module: str
    summary: str
    parameters: Mapping[str, tuple[ParameterValue, ...]] = field(default_factory=dict)
    expectations: tuple[Expectation, ...]
    variants: tuple[Mapping[str, ParameterValue], ...] = ()
    signs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    controls: tuple[Expectation, ...] = ()
    seconds: float = 120.0
    devices: tuple[str, ...] = ("cpu", "cuda", "mps", "xpu")
    needs: tuple[str, ...] = ("torch",)
    needs_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False
    death: bool = False


_INFINITE = float("inf")

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
        expectations=(
            Expectation("loss_ratio", 0.98, 1.02, "the logged loss is {} times that of the large batch"),
            Expectation("update_ratio", 0.98, 1.02, "the gradients are {} times those of the large batch"),
            Expectation("update_cosine", 0.999, 1.001, "the direction of the gradients agrees to {}"),
        ),
        controls=(
            Expectation("control_update_norm", 1e-6, _INFINITE, "the large batch moves the weights by {}"),
            Expectation("control_loss_ratio", 0.999, 1.001, "the large batch repeated gives {} times its loss"),
            Expectation("control_update_ratio", 0.999, 1.001, "the large batch repeated gives {} times its gradients"),
        ),
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
        signs={
            "loss_ratio": ("l", "the logged loss alone is wrong"),
            "update_ratio": ("g", "the gradients alone are wrong"),
            "update_cosine": ("g", "the gradients alone are wrong"),
        },
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
        name="optimizer_closure",
        module="optimizer_closure",
        summary="Whether the loss keeps its gradient in the closure that Lightning hands to transformers' optimizers.",
        parameters={
            "optimizer": ("adafactor", "adamw"),
            "package": ("pytorch_lightning", "lightning"),
        },
        expectations=(
            Expectation("requires_grad_share", 1.0, 1.0, "the loss requires a gradient in {} of the steps"),
            Expectation("moved", 1e-6, _INFINITE, "the weights move by {}"),
        ),
        controls=(
            Expectation("control_requires_grad_share", 1.0, 1.0, "with one of torch it does in {} of the steps"),
            Expectation("control_moved", 1e-6, _INFINITE, "with an optimizer of torch the weights move by {}"),
        ),
        variants=({"optimizer": "adafactor"}, {"optimizer": "adamw"}),
        # Releases before 2.4 import pkg_resources, and their metadata do not say what it comes with.
        needs=("torch", "transformers", "pytorch_lightning", "setuptools"),
    ),
    Recipe(
        name="no_op_training",
        module="no_op_training",
        summary="Which weights one optimizer step moves, and whether those that are frozen stay.",
        parameters={
            "optimizer": ("adamw", "sgd", "adafactor"),
            "frozen": ("nothing", "embeddings", "all_but_head"),
            "dtype": ("float32", "bfloat16"),
            "rate": (1e-2, 2e-5),
            "plant": ("nothing", "stale_optimizer", "detached", "zero_rate"),
        },
        expectations=(
            Expectation("moved_share", 1.0, 1.0, "{} of the trainable tensors move"),
            Expectation("moved_elements", 0.9, 1.0, "{} of the weights with a gradient move"),
            Expectation("frozen_moved", 0.0, 0.0, "{} of the frozen tensors move"),
        ),
        controls=(Expectation("control_share", 1.0, 1.0, "in float64 {} of the trainable tensors get a gradient"),),
        variants=(
            {"optimizer": "sgd"},
            {"optimizer": "adamw"},
            {"optimizer": "adafactor"},
            {"optimizer": "adamw", "frozen": "embeddings"},
            {"optimizer": "adamw", "frozen": "all_but_head"},
            {"optimizer": "adamw", "rate": 2e-5},
            {"optimizer": "adamw", "dtype": "bfloat16"},
            {"optimizer": "adamw", "dtype": "bfloat16", "rate": 2e-5},
        ),
    ),
    Recipe(
        name="clipping",
        module="clipping",
        summary="What clip_grad_norm_ of torch does to gradients, against the same in float64.",
        parameters={
            "norm": (2, 1, "inf"),
            "foreach": ("default", "true", "false"),
            "dtype": ("float32", "bfloat16", "float16"),
            "size": ("small", "large"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("norm_ratio", 0.98, 1.02, "the norm that it returns is {} times the right one"),
            Expectation("clipped_ratio", 0.98, 1.02, "clipped gradients are {} times as long as the limit"),
            Expectation("clipped_cosine", 0.999, 1.001, "their direction agrees to {}"),
            Expectation("short_error", 0.0, 0.0, "gradients below the limit change by {} of their length"),
            Expectation("nonfinite_norm_seen", 1, 1, "a NaN among the gradients shows in the norm: {}"),
            Expectation("nonfinite_raised", 1, 1, "an infinite gradient raises where that is asked for: {}"),
        ),
        controls=(Expectation("control_norm_ratio", 0.999, 1.001, "the norm by hand is {} times that in float64"),),
        variants=(
            {"norm": 2},
            {"norm": 1},
            {"norm": "inf"},
            {"foreach": "true"},
            {"foreach": "false"},
            {"dtype": "bfloat16"},
            {"dtype": "float16"},
            {"dtype": "bfloat16", "size": "large"},
            {"dtype": "float16", "size": "large"},
        ),
    ),
    Recipe(
        name="optimizer_step",
        module="optimizer_step",
        summary="Three steps of an optimizer against its definition in float64.",
        parameters={
            "optimizer": (
                "adamw", "adam", "sgd", "adagrad", "rmsprop", "lion_32bit", "lion_8bit", "adamw_32bit", "adamw_8bit",
            ),
            "implementation": ("default", "for_loop", "foreach", "fused", "capturable"),
            "layout": ("contiguous", "transposed", "mixed"),
            "variant": ("plain", "weight_decay", "amsgrad", "maximize", "momentum", "nesterov"),
            "plant": ("nothing", "on_copies", "coupled_decay"),
        },
        expectations=(
            Expectation("update_ratio", 0.98, 1.02, "the weights move by {} times what the definition says"),
            Expectation("update_cosine", 0.99, 1.01, "the direction agrees to {}"),
            Expectation("update_error", 0.0, 1e-3, "they end {} of the way apart"),
        ),
        controls=(
            Expectation("control_error", 0.0, 1e-3, "plain SGD ends {} of the way apart"),
            Expectation("control_update_norm", 1e-6, _INFINITE, "by the definition the weights move by {}"),
        ),
        variants=(
            {"optimizer": "adamw"},
            {"optimizer": "adamw", "variant": "weight_decay"},
            {"optimizer": "adamw", "variant": "amsgrad"},
            {"optimizer": "adamw", "variant": "maximize"},
            {"optimizer": "adamw", "variant": "weight_decay", "implementation": "for_loop"},
            {"optimizer": "adamw", "variant": "weight_decay", "implementation": "foreach"},
            {"optimizer": "adamw", "variant": "weight_decay", "implementation": "fused"},
            {"optimizer": "adamw", "variant": "weight_decay", "implementation": "capturable"},
            {"optimizer": "adamw", "variant": "amsgrad", "implementation": "fused"},
            {"optimizer": "adamw", "layout": "transposed"},
            {"optimizer": "adamw", "layout": "transposed", "implementation": "foreach"},
            {"optimizer": "adamw", "layout": "transposed", "implementation": "fused"},
            {"optimizer": "adamw", "layout": "mixed"},
            {"optimizer": "adamw", "layout": "mixed", "implementation": "foreach"},
            {"optimizer": "adamw", "layout": "mixed", "implementation": "fused"},
            {"optimizer": "sgd", "layout": "mixed", "implementation": "fused"},
            {"optimizer": "adagrad", "layout": "mixed", "implementation": "fused"},
            {"optimizer": "adam", "variant": "weight_decay"},
            {"optimizer": "adam", "variant": "weight_decay", "implementation": "fused"},
            {"optimizer": "sgd", "variant": "nesterov"},
            {"optimizer": "sgd", "variant": "momentum", "implementation": "fused"},
            {"optimizer": "adagrad"},
            {"optimizer": "adagrad", "implementation": "fused"},
            {"optimizer": "rmsprop", "variant": "momentum"},
            {"optimizer": "lion_32bit"},
            {"optimizer": "lion_32bit", "variant": "weight_decay"},
            {"optimizer": "lion_8bit", "variant": "weight_decay"},
            {"optimizer": "adamw_32bit", "variant": "weight_decay"},
            {"optimizer": "adamw_8bit", "variant": "weight_decay"},
        ),
        needs_for={
            "lion_32bit": ("bitsandbytes",),
            "lion_8bit": ("bitsandbytes",),
            "adamw_32bit": ("bitsandbytes",),
            "adamw_8bit": ("bitsandbytes",),
        },
    ),
    Recipe(
        name="mixed_precision",
        module="mixed_precision",
        summary="Gradients under autocast against float64, and a GradScaler at an overflow, a NaN and clipping.",
        parameters={
            "dtype": ("bfloat16", "float16"),
            "plant": ("nothing", "step_anyway", "hide_nan", "clip_scaled"),
        },
        expectations=(
            Expectation("gradient_ratio", 0.95, 1.05, "the gradients are {} times those in float64"),
            Expectation("gradient_cosine", 0.99, 1.01, "their direction agrees to {}"),
            Expectation("overflow_scale", 0.5, 0.5, "an overflow multiplies the scale by {}"),
            Expectation("overflow_moved", 0.0, 0.0, "an overflow moves the weights by {}"),
            Expectation("grown_scale", 2.0, 2.0, "a good step multiplies the scale by {}"),
            Expectation("clipped_ratio", 0.98, 1.02, "unscaled and clipped, the step is {} times as long as the limit"),
            Expectation("masked_nan_scale", 0.5, 0.5, "a NaN behind a mask multiplies the scale by {}"),
            Expectation("masked_nan_moved", 0.0, 0.0, "a NaN behind a mask moves the weights by {}"),
        ),
        controls=(
            Expectation("control_gradient_ratio", 0.999, 1.001, "without autocast they are {} times those in float64"),
        ),
        variants=({"dtype": "bfloat16"}, {"dtype": "float16"}),
    ),
    Recipe(
        name="kernels",
        module="kernels",
        summary="A fast kernel against the same operation written out in float64, forward and backward.",
        parameters={
            "kernel": (
                "sdpa", "sdpa_math", "sdpa_flash", "sdpa_efficient", "flash_attn", "xformers", "layer_norm", "rms_norm",
                "liger_cross_entropy", "liger_fused_linear_cross_entropy",
            ),
            "mask": ("none", "causal", "padding", "left_padding"),
            "heads": ("equal", "grouped"),
            "layout": ("contiguous", "transposed"),
            "plant": ("nothing", "leak", "detached", "eval"),
        },
        expectations=(
            Expectation("output_error", 0.0, 0.02, "the outputs are {} of their length apart"),
            Expectation("without_grad_error", 0.0, 0.02, "without gradients the outputs are {} of their length apart"),
            Expectation("gradient_ratio", 0.98, 1.02, "the gradients are {} times those in float64"),
            Expectation("gradient_cosine", 0.999, 1.001, "the direction of the gradients agrees to {}"),
        ),
        controls=(
            Expectation("control_output_error", 0.0, 0.02, "written out they are {} of their length apart"),
            Expectation("control_gradient_cosine", 0.999, 1.001, "written out the gradients agree to {}"),
        ),
        variants=(
            {"kernel": "sdpa"},
            {"kernel": "sdpa", "mask": "causal"},
            {"kernel": "sdpa", "mask": "padding"},
            {"kernel": "sdpa", "mask": "left_padding"},
            {"kernel": "sdpa_math", "mask": "causal"},
            {"kernel": "sdpa_math", "mask": "left_padding"},
            {"kernel": "sdpa_math", "mask": "causal", "heads": "grouped"},
            {"kernel": "sdpa_flash", "mask": "causal"},
            {"kernel": "sdpa_flash", "mask": "left_padding"},
            {"kernel": "sdpa_flash", "mask": "causal", "heads": "grouped"},
            {"kernel": "sdpa_flash", "mask": "causal", "layout": "transposed"},
            {"kernel": "sdpa_efficient", "mask": "causal"},
            {"kernel": "sdpa_efficient", "mask": "padding"},
            {"kernel": "sdpa_efficient", "mask": "left_padding"},
            {"kernel": "flash_attn", "mask": "causal"},
            {"kernel": "flash_attn", "mask": "causal", "heads": "grouped"},
            {"kernel": "xformers", "mask": "causal"},
            {"kernel": "layer_norm"},
            {"kernel": "rms_norm"},
            {"kernel": "liger_cross_entropy"},
            {"kernel": "liger_fused_linear_cross_entropy"},
        ),
        needs_for={
            "flash_attn": ("flash_attn",),
            "xformers": ("xformers",),
            "liger_cross_entropy": ("liger_kernel",),
            "liger_fused_linear_cross_entropy": ("liger_kernel",),
        },
    ),
    Recipe(
        name="compiled",
        module="compiled",
        summary="Outputs and gradients of a compiled block against those of the block itself.",
        parameters={
            "backend": ("inductor", "aot_eager"),
            "block": ("attention", "gated"),
            "shapes": (1, 2),
            "plant": (False, True),
        },
        expectations=(
            Expectation("compiled", 1, 1, "it can be compiled and run: {}"),
            Expectation("error", 0, 0, "the error is {}"),
            Expectation("output_error", 0.0, 1e-3, "the outputs are {} of their length apart"),
            Expectation("gradient_ratio", 0.999, 1.001, "the gradients are {} times those of the block"),
            Expectation("gradient_cosine", 0.999, 1.001, "the direction of the gradients agrees to {}"),
            Expectation("second_output_error", 0.0, 1e-3, "with another batch size the outputs are {} apart"),
            Expectation("second_gradient_ratio", 0.999, 1.001, "with another batch size the gradients are {} times"),
        ),
        controls=(
            Expectation("control_output_error", 0.0, 1e-3, "the block is {} away from itself in float64"),
            Expectation("control_gradient_error", 0.0, 1e-3, "its gradients are {} away from those in float64"),
        ),
        variants=(
            {"backend": "aot_eager", "block": "attention"},
            {"backend": "aot_eager", "block": "gated", "shapes": 2},
            {"backend": "inductor", "block": "attention"},
            {"backend": "inductor", "block": "gated"},
            {"backend": "inductor", "block": "attention", "shapes": 2},
        ),
        # Slow: a cold compiler takes three minutes for two shapes where the machine has other work.
        seconds=400.0,
        environment={"TORCHINDUCTOR_COMPILE_THREADS": "1"},
        alone=True,
    ),
    Recipe(
        name="recomputation",
        module="recomputation",
        summary="Gradients of a checkpointed block against those of the block itself.",
        parameters={
            "block": ("dropout", "rrelu", "batch_norm", "gelu"),
            "reentrant": (False, True),
            "early_stop": ("default", "false"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("output_error", 0.0, 1e-5, "the outputs are {} of their length apart"),
            Expectation("gradient_ratio", 0.999, 1.001, "the gradients are {} times those of the block"),
            Expectation("gradient_cosine", 0.999, 1.001, "the direction of the gradients agrees to {}"),
        ),
        controls=(
            Expectation("control_gradient_error", 0.0, 1e-5, "the gradients of the block itself repeat up to {}"),
        ),
        variants=(
            {"block": "dropout"},
            {"block": "dropout", "reentrant": True},
            {"block": "rrelu"},
            {"block": "rrelu", "reentrant": True},
            {"block": "rrelu", "early_stop": "false"},
            {"block": "batch_norm"},
            {"block": "gelu"},
        ),
    ),
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
            Expectation("control_moved", 1e-6, _INFINITE, "after the checkpoint the weights move by {}"),
        ),
        variants=({"what": "weights"}, {"what": "order"}, {"what": "rng"}),
        needs=("torch", "transformers", "accelerate"),
    ),
    Recipe(
        name="attention_masks",
        module="attention_masks",
        summary="Whether a token's output depends on its future, on padding, or on a sequence that it is packed with.",
        parameters={
            "what": ("causal", "left_padding", "right_padding", "packing"),
            "model": (
                "llama", "mistral", "qwen2", "gpt2", "doge", "bert", "roformer", "big_bird", "rembert", "megatron_bert",
            ),
            "attention": ("default", "eager", "sdpa"),
            "mask": ("positions", "blocks"),
            "cache": ("off", "default"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("leak", 0.0, 1e-5, "what a token must not see changes its output by {} of the largest"),
        ),
        controls=(Expectation("control_sight", 1e-4, _INFINITE, "what it has to see changes its output by {}"),),
        variants=(
            {"what": "causal", "model": "llama"},
            {"what": "causal", "model": "llama", "attention": "eager"},
            {"what": "causal", "model": "gpt2"},
            {"what": "causal", "model": "doge"},
            {"what": "causal", "model": "doge", "cache": "default"},
            {"what": "causal", "model": "bert"},
            {"what": "causal", "model": "roformer"},
            {"what": "causal", "model": "big_bird"},
            {"what": "causal", "model": "rembert"},
            {"what": "causal", "model": "megatron_bert"},
            {"what": "left_padding", "model": "llama"},
            {"what": "left_padding", "model": "llama", "attention": "eager"},
            {"what": "left_padding", "model": "gpt2"},
            {"what": "right_padding", "model": "llama"},
            {"what": "packing", "model": "llama", "attention": "eager"},
            {"what": "packing", "model": "llama", "attention": "sdpa"},
            {"what": "packing", "model": "llama", "attention": "sdpa", "cache": "default"},
            {"what": "packing", "model": "gpt2"},
            {"what": "packing", "model": "llama", "attention": "eager", "mask": "blocks"},
            {"what": "packing", "model": "llama", "attention": "sdpa", "mask": "blocks"},
        ),
        needs=("torch", "transformers"),
    ),
    Recipe(
        name="loss_masking",
        module="loss_masking",
        summary="Which labels count: a model's shift, the end of a sample where it is the padding token too, prompts.",
        parameters={
            "what": ("shift", "end", "prompt"),
            "model": (
                "llama", "mistral", "qwen2", "gpt2", "doge", "bert", "roformer", "big_bird", "rembert", "megatron_bert",
            ),
            "through": ("transformers", "trl"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("loss_ratio", 0.999, 1.001, "the loss is {} times the cross entropy of the shifted labels"),
            Expectation("first_label_changes", 0.0, 1e-6, "the label at position 0 changes the loss by {}"),
            Expectation("end_counts", 1.0, 1.0, "the end-of-sequence token counts in {} of the samples"),
            Expectation("padding_counts", 0.0, 0.0, "{} of the padding counts"),
            Expectation("prompt_counts", 0.0, 0.0, "{} of the prompt counts"),
        ),
        controls=(Expectation("control_counts", 1.0, 1.0, "of what has to count anyway {} does"),),
        variants=(
            {"what": "shift", "model": "llama"},
            {"what": "shift", "model": "gpt2"},
            {"what": "shift", "model": "bert"},
            {"what": "shift", "model": "roformer"},
            {"what": "end", "through": "transformers"},
            {"what": "end", "through": "trl"},
            {"what": "prompt"},
        ),
        devices=("cpu",),
        needs=("torch", "transformers"),
        needs_for={"trl": ("accelerate", "datasets", "trl"), "prompt": ("accelerate", "datasets", "trl")},
    ),
    Recipe(
        name="round_trip",
        module="round_trip",
        summary="A model against what from_pretrained makes of its save_pretrained: weights, ties, buffers, dtype.",
        parameters={
            "what": ("weights", "tied", "buffers", "dtype"),
            "model": ("llama", "gpt2", "t5"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("same_share", 1.0, 1.0, "{} of the tensors are the same"),
            Expectation("tie_kept", 1, 1, "input and output embeddings are still one tensor: {}"),
            Expectation("tied_same_share", 1.0, 1.0, "{} of the tensors of a tied model are the same"),
            Expectation("untied_same_share", 1.0, 1.0, "{} of the tensors of an untied model are the same"),
            Expectation("buffer_same_share", 1.0, 1.0, "{} of a buffer that is not persistent is the same"),
            Expectation("loaded_bits", 32, 32, "weights saved in bfloat16 and loaded without a dtype have {} bits"),
        ),
        controls=(Expectation("control_same_share", 1.0, 1.0, "of what no loading can spoil {} is the same"),),
        variants=(
            {"what": "weights", "model": "llama"},
            {"what": "weights", "model": "gpt2"},
            {"what": "weights", "model": "t5"},
            {"what": "tied", "model": "llama"},
            {"what": "tied", "model": "gpt2"},
            {"what": "tied", "model": "t5"},
            {"what": "buffers"},
            {"what": "dtype"},
        ),
        devices=("cpu",),
        needs=("torch", "transformers"),
    ),
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
            Expectation("control_update_norm", 1e-6, _INFINITE, "the large batches move the weights by {}"),
        ),
        variants=({}, {"sync_each_batch": True}, {"tail": True}),
        needs=("torch", "accelerate"),
    ),
    Recipe(
        name="router_loss",
        module="router_loss",
        summary="The load-balancing loss of a mixture of experts against its definition, and how often it counts.",
        parameters={
            "model": ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "minimax"),
            "through": ("model", "sft"),
        },
        expectations=(
            Expectation("auxiliary_ratio", 0.99, 1.01, "the load-balancing loss is {} times what its definition says"),
            Expectation("counted_times", 0.99, 1.01, "the loss has it {} times"),
        ),
        controls=(Expectation("control_imbalance", 1.2, _INFINITE, "it has to be {} times that of even routing"),),
        variants=(
            {"model": "mixtral"},
            {"model": "qwen2_moe"},
            {"model": "qwen3_moe"},
            {"model": "olmoe"},
            {"model": "minimax"},
            {"model": "mixtral", "through": "sft"},
        ),
        needs=("torch", "transformers"),
        needs_for={"sft": ("accelerate", "datasets", "trl")},
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
            Expectation("control_update_norm", 1e-6, _INFINITE, "the large batch moves the weights by {}"),
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
        name="data_parallel_equivalence",
        module="data_parallel",
        summary="Two optimizer steps of several processes with a share of the batch each against one process with all.",
        parameters={
            "engine": ("ddp", "fsdp1", "fsdp2", "deepspeed", "pipeline"),
            "processes": (2, 3, 4),
            "accumulation": (1, 2, 3, 4),
            "dtype": ("float32", "bfloat16", "float16"),
            "stage": (2, 0, 1, 3),
            "offload": (False, True),
            "communication_data_type": ("default", "float32", "bfloat16", "float16"),
            "grad_accum_dtype": ("default", "float32", "bfloat16"),
            "plant": ("nothing", "dropped", "unsynchronised"),
        },
        expectations=(
            Expectation("update_ratio", 0.98, 1.02, "the gradients are {} times those of one process"),
            Expectation("update_cosine", 0.999, 1.001, "their direction agrees to {}"),
            Expectation("tensor_ratio", 0.97, 1.03, "those of the worst tensor are {} times as large"),
            Expectation("second_update_ratio", 0.97, 1.03, "those of the second step are {} times as large"),
            Expectation("rank_difference", 0.0, 1e-6, "the weights of the ranks are {} updates apart"),
        ),
        controls=(
            Expectation("control_update_norm", 1e-6, _INFINITE, "one process moves the weights by {}"),
            Expectation("control_update_ratio", 0.98, 1.02, "one process in micro-batches gives {} times its update"),
            Expectation("control_exchange", 0.999, 1.001, "a sum over all ranks gives {} of what it should"),
        ),
        variants=(
            {"engine": "ddp"},
            {"engine": "ddp", "accumulation": 4},
            {"engine": "fsdp1"},
            {"engine": "fsdp1", "accumulation": 4},
            {"engine": "fsdp2"},
            {"engine": "fsdp2", "accumulation": 4},
            {"engine": "deepspeed", "stage": 0, "accumulation": 4},
            {"engine": "deepspeed", "stage": 1, "accumulation": 4},
            {"engine": "deepspeed", "stage": 1, "dtype": "bfloat16", "grad_accum_dtype": "float32"},
            {"engine": "deepspeed", "stage": 2, "accumulation": 4},
            {"engine": "deepspeed", "stage": 2, "accumulation": 4, "offload": True},
            {"engine": "deepspeed", "stage": 3, "accumulation": 4},
            {"engine": "deepspeed", "stage": 3, "accumulation": 4, "offload": True},
            {"engine": "pipeline", "accumulation": 4},
        ),
        seconds=240.0,
        devices=("cpu", "cuda"),
        needs_for={"deepspeed": ("deepspeed",), "pipeline": ("deepspeed",)},
        alone=True,
    ),
    Recipe(
        name="deepspeed_step",
        module="deepspeed_step",
        summary="Three steps of a DeepSpeed engine in one process against a loop written by hand.",
        parameters={
            "stage": (2, 0, 1, 3),
            "dtype": ("float32", "bfloat16", "float16"),
            "optimizer": ("torch", "fused"),
            "accumulation": (1, 2, 3, 4),
            "offload": (False, True),
            "communication_data_type": ("default", "float32", "bfloat16", "float16"),
            "grad_accum_dtype": ("default", "float32", "bfloat16"),
            "bucket": ("large", "small"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("moved", 1e-9, _INFINITE, "three steps move the weights by {}"),
            Expectation("update_ratio", 0.98, 1.02, "the first update is {} times that by hand"),
            Expectation("update_cosine", 0.999, 1.001, "its direction agrees to {}"),
            Expectation("last_update_ratio", 0.97, 1.03, "the last update is {} times that by hand"),
            Expectation("completed", 1, 1, "that it trains with this communication type is {}"),
        ),
        controls=(
            Expectation("control_update_norm", 1e-6, _INFINITE, "by hand the weights move by {}"),
            Expectation("control_update_ratio", 0.98, 1.02, "by hand the update is {} times that in float64"),
        ),
        variants=(
            {"stage": 0},
            {"stage": 0, "dtype": "bfloat16"},
            {"stage": 0, "dtype": "float16"},
            {"stage": 0, "dtype": "float16", "optimizer": "fused"},
            {"stage": 1, "dtype": "bfloat16", "grad_accum_dtype": "float32"},
            {"stage": 2, "accumulation": 4, "offload": True},
            {"stage": 3, "accumulation": 4, "offload": True},
            {"stage": 1, "dtype": "bfloat16", "communication_data_type": "float32", "bucket": "small"},
        ),
        seconds=240.0,
        devices=("cpu", "cuda"),
        needs=("torch", "deepspeed"),
        alone=True,
    ),
    Recipe(
        name="infinite_gradient",
        module="infinite_gradient",
        summary="Whether one infinite gradient spoils the other weights when DeepSpeed clips.",
        parameters={"stage": (1, 2), "dtype": ("bfloat16", "float32"), "plant": (False, True)},
        expectations=(Expectation("spared", 1, 1, "that the weight beside it stays finite is {}"),),
        controls=(Expectation("control_spared", 1, 1, "that it stays finite without clipping is {}"),),
        variants=({"stage": 1}, {"stage": 2}, {"stage": 1, "dtype": "float32"}),
        seconds=240.0,
        devices=("cpu", "cuda"),
        needs=("torch", "deepspeed"),
        alone=True,
    ),
    Recipe(
        name="deepspeed_accumulation",
        module="deepspeed_trainer",
        summary="One step of the Trainer through DeepSpeed over one large batch against the same in micro-batches.",
        parameters={
            "model": ("llama", "toy_plain", "toy_kwargs"),
            "labels": ("equal", "unequal"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("loss_ratio", 0.98, 1.02, "the logged loss is {} times that of the large batch"),
            Expectation("update_ratio", 0.98, 1.02, "the gradients are {} times those of the large batch"),
            Expectation("update_cosine", 0.999, 1.001, "the direction of the gradients agrees to {}"),
        ),
        controls=(
            Expectation("control_update_norm", 1e-6, _INFINITE, "the large batch moves the weights by {}"),
            Expectation("control_loss_ratio", 0.999, 1.001, "the large batch repeated gives {} times its loss"),
            Expectation("control_update_ratio", 0.999, 1.001, "the large batch repeated gives {} times its gradients"),
        ),
        variants=({"model": "llama"}, {"model": "toy_plain"}),
        signs={
            "loss_ratio": ("l", "the logged loss alone is wrong"),
            "update_ratio": ("g", "the gradients alone are wrong"),
            "update_cosine": ("g", "the gradients alone are wrong"),
        },
        seconds=240.0,
        devices=("cpu", "cuda"),
        needs=("torch", "transformers", "accelerate", "deepspeed"),
        alone=True,
    ),
)  # fmt: skip

BY_NAME = {recipe.name: recipe for recipe in RECIPES}


def recipe_of(spec: ProbeSpec) -> Recipe:
    """The recipe of a probe.

    Raises:
        ProbeUnavailable: if there is none, or if it does not take these parameters.
    """
    recipe = BY_NAME.get(spec.name)
    if recipe is None:
        raise ProbeUnavailable(f"there is no recipe `{spec.name}`", hint=f"there are: {', '.join(BY_NAME)}")
    for name, value in spec.parameters.items():
        allowed = recipe.parameters.get(name)
        if allowed is None:
            known = ", ".join(recipe.parameters) or "none"
            raise ProbeUnavailable(f"`{spec.name}` has no parameter `{name}`", hint=f"it has: {known}")
        if value not in allowed:
            values = ", ".join(map(str, allowed))
            raise ProbeUnavailable(f"`{name}` of `{spec.name}` cannot be `{value}`", hint=f"it can be: {values}")
    return recipe


def needed(spec: ProbeSpec) -> tuple[str, ...]:
    """The packages that a probe needs, as modules."""
    recipe = recipe_of(spec)
    special = [name for value in spec.parameters.values() for name in recipe.needs_for.get(str(value), ())]
    return tuple(dict.fromkeys((*recipe.needs, *special)))
