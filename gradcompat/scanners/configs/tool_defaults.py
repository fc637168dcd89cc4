"""What tools do to checkpointing and DDP where nobody asks, and what they import: presumptions about their runs.

Their own arguments have other defaults than those of the Trainer below them, whose left-out fields would be taken
instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gradcompat.model.environment import Location, Setting, SettingValue

_CHECKPOINTING, _REENTRANT = "training.gradient_checkpointing", "training.use_reentrant"
_UNUSED = "distributed.find_unused_parameters"
_STRATEGY = "training.packing_strategy"
_HOOK, _CACHE = "training.enable_input_require_grads", "model.use_cache"
_PADDING = "data.padding_side"
_LEAVES = "deepspeed.leaf_modules"
_BATCH = "training.per_device_train_batch_size"
_SPLIT = "distributed.sequence_split"

# The tool as messages call it, and what it does. Where they checkpoint, all of them turn the cache off.
_OF_TOOL: Mapping[str, tuple[str, Mapping[str, SettingValue]]] = {
    # model/model_utils/checkpointing.py in 0.9.1, 0.9.2 and 0.9.4: on unless `disable_gradient_checkpointing`, and each
    # checkpointed layer lets its inputs require a gradient.
    "llamafactory": (
        "LLaMA-Factory",
        # hparams/parser.py in 0.8.3 and 0.9.3: DDP looks for no unused parameters beside an adapter.
        # model/model_utils/moe.py in 0.7.1, 0.9.1 and 0.9.3 names the sparse blocks of mixtures to ZeRO-3.
        # data/processor/supervised.py in 0.9.2 packs whole samples, which see one another without `neat_packing`.
        {
            _CHECKPOINTING: True,
            _REENTRANT: True,
            _HOOK: True,
            _CACHE: False,
            _UNUSED: False,
            _STRATEGY: "knapsack",
            _LEAVES: True,
        },
    ),
    # trainers/arguments.py and llm/train/sft.py in 3.2.0, trainers/mixin.py in 4.5.3; which kind of checkpointing
    # depends on the release and the launch. The batch is that of 2.0.0, 2.6.1, 3.0.0, 3.12.6 and 4.0.0.
    "ms-swift": (
        "ms-swift",
        {_CHECKPOINTING: True, _HOOK: True, _CACHE: False, _PADDING: "right", _BATCH: 1, _SPLIT: "none"},
    ),
    # load_adapter in 0.6.0, 0.9.2, 0.12.2 and 0.19.0; the embeddings of other runs are trained, or have it as well.
    # MultipackBatchSampler in 0.9.1, 0.9.2 and 0.18.0 fills several sequences at a time.
    "axolotl": ("axolotl", {_HOOK: True, _CACHE: False, _STRATEGY: "binned"}),
    # modules/common_utils.py and training/memory.py in 0.1.1, 0.4.0 and 0.6.1 call torch's wrapper, which has no other
    # kind by itself, or name that one.
    "torchtune": ("torchtune", {_REENTRANT: False}),
}

# What the Trainer and TRL import themselves, or for an argument that a config of such a tool has.
_AROUND_TRAINER = (
    *("torch", "transformers", "accelerate", "peft", "trl", "datasets", "bitsandbytes", "deepspeed", "liger_kernel"),
    *("flash_attn", "torchao", "torchvision", "torchcodec", "awq", "wandb", "tensorboard", "mlflow", "swanlab"),
)
# What the programs of these tools import on the main branches of 2026-11-26, some of it where an option asks for it.
_IMPORTED: Mapping[str, tuple[str, ...]] = {
    "axolotl": ("axolotl", *(name for name in _AROUND_TRAINER if name != "tensorboard")),
    "llamafactory": ("llamafactory", "torchaudio", *_AROUND_TRAINER),
    "ms-swift": ("swift", "sentence_transformers", *_AROUND_TRAINER),
    "torchtune": (
        *("torchtune", "torch", "torchao", "torchvision", "torchdata", "datasets", "bitsandbytes"),
        *("wandb", "tensorboard", "mlflow"),
    ),
    "verl": (
        *("verl", "torch", "transformers", "accelerate", "peft", "trl", "datasets", "flash_attn", "liger_kernel"),
        *("vllm", "torchdata", "torchvision", "timm", "hydra", "wandb", "tensorboard", "mlflow", "swanlab"),
    ),
}
# What is imported to report to, and the tools that import none of it for anything else; `all` is all of it.
_TRACKERS = frozenset({"wandb", "tensorboard", "mlflow", "swanlab"})
_REPORTS = frozenset({"llamafactory"})
# The arguments that have a tool import something more, and their values.
_ON_DEMAND: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "axolotl": (
        *(("rl", "grpo", "vllm"), ("xformers_attention", "true", "xformers")),
        ("use_tensorboard", "true", "tensorboard"),
    ),
    "llamafactory": (("use_unsloth", "true", "unsloth"),),
    "ms-swift": (("tuner_backend", "unsloth", "unsloth"), ("rlhf_type", "grpo", "vllm")),
}
# The arguments that name code of one's own, which may import anything.
_OWN_CODE: Mapping[str, tuple[str, ...]] = {
    "ms-swift": ("external_plugins", "custom_register_path"),
    "verl": ("custom_reward_function.path", "reward.custom_reward_function.path", "data.custom_cls.path"),
}


def imports_of(tool: str, arguments: Mapping[str, object], *, own: bool = False) -> tuple[str, ...]:
    """The packages that a tool imports, by the names in imports; none where that is not known.

    Args:
        tool: by its name on the index.
        arguments: what the run says to the tool, by the tool's own names.
        own: the run brings code of its own, which may import anything.
    """
    if tool not in _IMPORTED or own or any(arguments.get(name) not in (None, "") for name in _OWN_CODE.get(tool, ())):
        return ()
    asked = (
        library
        for argument, wanted, library in _ON_DEMAND.get(tool, ())
        if str(arguments.get(argument)).lower() == wanted
    )
    reported = set(re.findall(r"\w+", str(arguments.get("report_to", "all"))))
    unused = _TRACKERS - reported if tool in _REPORTS and not reported & {"all", "None"} else frozenset()
    return tuple(name for name in (*_IMPORTED[tool], *asked) if name not in unused)


def left_to_tool(tool: str, stated: Iterable[Setting]) -> list[Setting]:
    """The settings that a tool brings with it, as presumptions, where a run does not state them.

    Args:
        tool: by its name on the index.
        stated: the settings of the run.
    """
    if tool not in _OF_TOOL:
        return []
    name, defaults = _OF_TOOL[tool]
    values = {setting.key: setting.value for setting in stated}
    keys = values.keys() | ({_CACHE} if values.get(_CHECKPOINTING) is False else set())
    place = Location(path=f"default of {name}")
    return [
        Setting(key=key, value=value, location=place, presumed=True)
        for key, value in defaults.items()
        if key not in keys
    ]
