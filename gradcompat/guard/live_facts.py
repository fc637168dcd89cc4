"""Settings of the running process, by the keys of the records: nothing is presumed and little is unknown."""

from __future__ import annotations

import inspect
import platform
import re
import sys
from collections.abc import Mapping
from typing import Any

from gradcompat.guard import fsdp
from gradcompat.guard.collective import world_size
from gradcompat.guard.first_batch import base_model
from gradcompat.guard.instrumentation import loaded

Fact = bool | int | float | str
Facts = dict[str, Fact]
_DRIVER = "/proc/driver/nvidia/version"
# Two names of one setting, of which a release of transformers may have either.
_CHECKPOINTING = ("activation_checkpointing", "gradient_checkpointing")


def of_process() -> Facts:
    """What every process knows of itself."""
    facts: Facts = {
        "host.python": platform.python_version(),
        "host.platform": sys.platform,
        "distributed.processes": world_size(),
    }
    torch = loaded("torch")
    if torch is not None:
        cuda = torch.cuda.is_available()
        facts["host.device"] = "cuda" if cuda else "cpu"
        if cuda:
            facts["host.cuda_arch"] = ".".join(map(str, torch.cuda.get_device_capability()))
            if torch.version.cuda:
                facts["host.cuda"] = torch.version.cuda
            if driver := _driver():
                facts["host.nvidia_driver"] = driver
    return facts


def _driver(path: str = _DRIVER) -> str | None:
    """The version of NVIDIA's driver, as the kernel module says it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as said:
            found = re.search(r"Kernel Module.*?\s(\d+(?:\.\d+)+)\s", said.read())
    except OSError:
        return None
    return found[1] if found else None


def of_model(model: Any) -> Facts:
    """Class, family, adapters and quantisation of a model."""
    base = base_model(model)
    config = getattr(base, "config", None)
    facts: Facts = {
        "model.architecture": type(base).__name__,
        "model.forward_takes_kwargs": _takes_keywords(base),
        "model.of_library": type(base).__module__.startswith("transformers."),
    }
    if not facts["model.forward_takes_kwargs"] and "num_items_in_batch" not in _parameters(base):
        facts["model.uses_num_items_in_batch"] = False
    if config is not None:
        text = config.get_text_config() if hasattr(config, "get_text_config") else config
        known = {
            "model.family": getattr(config, "model_type", None),
            "model.attn_implementation": getattr(config, "_attn_implementation", None),
            "model.vocab_size": getattr(text, "vocab_size", None),
            "model.tied_embeddings": bool(getattr(config, "tie_word_embeddings", False)),
            "model.use_cache": getattr(text, "use_cache", None),
            "model.output_router_logits": bool(getattr(text, "output_router_logits", False)),
        }
        facts.update({key: value for key, value in known.items() if value is not None and value != ""})
    facts.update(_adapters(model))
    facts.update(_embeddings(model, base))
    method = getattr(base, "quantization_method", None) or getattr(
        getattr(config, "quantization_config", None), "quant_method", None
    )
    facts["quantization.method"] = str(getattr(method, "value", method)) if method else "none"
    return facts


def of_loop(model: Any) -> Facts:
    """A loop of PyTorch, or of accelerate where its state is set."""
    shared = getattr(getattr(loaded("accelerate.state"), "AcceleratorState", None), "_shared_state", None)
    modules = base_model(model).modules()
    facts: Facts = {
        "training.framework": "accelerate" if shared else "torch",
        "training.gradient_checkpointing": any(getattr(one, name, False) for one in modules for name in _CHECKPOINTING),
        **fsdp.of_accelerate(),
        **fsdp.of_model(model),
    }
    accumulation = _accumulation()
    if isinstance(accumulation.get("num_steps"), int):
        facts["training.gradient_accumulation_steps"] = accumulation["num_steps"]
        facts["distributed.sync_each_batch"] = bool(accumulation.get("sync_each_batch", False))
    return facts


def of_arguments(arguments: Any) -> Facts:
    """``TrainingArguments`` of transformers, as they really are after every default and override."""
    facts: Facts = {}
    for name in (
        "gradient_accumulation_steps",
        "per_device_train_batch_size",
        "label_smoothing_factor",
        "max_grad_norm",
        "logging_nan_inf_filter",
        "num_train_epochs",
        "seed",
        "dataloader_num_workers",
        "neftune_noise_alpha",
        "packing",
        "padding_free",
    ):
        value = getattr(arguments, name, None)
        if isinstance(value, (bool, int, float)):
            facts[f"training.{name}"] = value
    for name in ("torch_compile", "use_liger_kernel", "average_tokens_across_devices"):
        facts[f"training.{name}"] = bool(getattr(arguments, name, False))
    facts["training.gradient_checkpointing"] = bool(_checkpointing(arguments))
    facts["training.resume_from_checkpoint"] = bool(getattr(arguments, "resume_from_checkpoint", None))
    facts["precision.mode"] = (
        "fp16" if getattr(arguments, "fp16", False) else "bf16" if getattr(arguments, "bf16", False) else "no"
    )
    optimizer = getattr(arguments, "optim", None)
    if optimizer is not None:
        facts["optimizer.name"] = str(getattr(optimizer, "value", optimizer))
    scheduler = getattr(arguments, "lr_scheduler_type", None)
    if scheduler is not None:
        facts["optimizer.scheduler"] = str(getattr(scheduler, "value", scheduler))
    device = getattr(arguments, "device", None)
    if device is not None:
        facts["host.device"] = device.type
    return facts


def method_of(trainer: Any) -> str | None:
    """The method that a Trainer of TRL is for (sft, dpo, grpo); None for another one."""
    names = (one.__name__ for one in type(trainer).__mro__ if one.__module__.startswith("trl."))
    return next((name.removesuffix("Trainer").lower() for name in names if name.endswith("Trainer")), None)


def of_trainer(trainer: Any) -> Facts:
    """A Trainer of transformers or of TRL."""
    arguments, model = trainer.args, trainer.model
    facts = of_process() | of_model(model) | of_arguments(arguments)
    facts["training.framework"] = "trl" if type(trainer).__module__.startswith("trl") else "transformers.Trainer"
    if method := method_of(trainer):
        facts["training.method"] = method
    if getattr(trainer, "is_deepspeed_enabled", False):
        facts["distributed.strategy"] = "deepspeed"
    elif getattr(trainer, "is_fsdp_enabled", False):
        facts |= fsdp.of_accelerate() | fsdp.of_model(getattr(trainer, "model_wrapped", None) or model)
        facts["distributed.strategy"] = "fsdp"
    else:
        several = getattr(arguments, "n_gpu", 0) > 1
        facts["distributed.strategy"] = "dp" if several else "ddp" if arguments.world_size > 1 else "none"
    if _checkpointing(arguments):
        facts["training.use_reentrant"] = _is_reentrant(model, arguments)
    data = getattr(trainer, "train_dataset", None)
    facts["data.streaming"] = data is not None and not hasattr(data, "__len__")
    return facts


def _checkpointing(arguments: Any, suffix: str = "") -> Any:
    """The setting under its name since transformers 5.23, or the one that it had before and that is gone in 6."""
    values = (getattr(arguments, f"{name}{suffix}", None) for name in _CHECKPOINTING)
    return next((value for value in values if value is not None), None)


def _is_reentrant(model: Any, arguments: Any) -> bool:
    """What checkpointing was really switched on with; before that, what the arguments ask for."""
    for module in base_model(model).modules():
        functions = (getattr(module, f"_{name}_func", None) for name in _CHECKPOINTING)
        function = next((one for one in functions if one is not None), None)
        if function is not None:
            return bool(getattr(function, "keywords", {}).get("use_reentrant", True))
    asked = _checkpointing(arguments, "_kwargs") or {}
    return bool(asked.get("use_reentrant", True))


def _takes_keywords(base: Any) -> bool:
    if getattr(base, "accepts_loss_kwargs", None) is False:
        return False
    return any(one.kind is one.VAR_KEYWORD for one in _parameters(base).values())


def _parameters(base: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(base.forward).parameters


def _adapters(model: Any) -> Facts:
    configs = getattr(model, "peft_config", None)
    if not isinstance(configs, dict) or not configs:
        return {"peft.method": "none"}
    one = next(iter(configs.values()))
    return {
        "peft.method": str(getattr(one.peft_type, "value", one.peft_type)).lower(),
        "peft.modules_to_save": bool(getattr(one, "modules_to_save", None)),
        "peft.adapters": len(configs),
    }


def _embeddings(model: Any, base: Any) -> Facts:
    try:
        weight = base.get_input_embeddings().weight
    except (AttributeError, NotImplementedError):
        return {}
    hooks = getattr(base, "_require_grads_hook", None) or getattr(base, "_require_grads_hooks", None)
    return {
        "training.frozen_embeddings": not weight.requires_grad and any(one.requires_grad for one in model.parameters()),
        "training.enable_input_require_grads": bool(hooks),
    }


def accelerate_steps() -> int | None:
    """The accumulation that a loop with accelerate asks for; None without one."""
    steps = _accumulation().get("num_steps")
    return steps if isinstance(steps, int) else None


def _accumulation() -> Mapping[str, Any]:
    """The accumulation plug-in of accelerate."""
    state = getattr(loaded("accelerate.state"), "GradientState", None)
    return getattr(state, "_shared_state", {}).get("plugin_kwargs") or {}
