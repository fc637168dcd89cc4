"""The YAML that ``accelerate config`` writes: processes, precision, and the options of FSDP and DeepSpeed.

It describes how a program is launched and nothing of the program, so it is a part of a run, never one on its own.
"""

from __future__ import annotations

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Setting, SettingValue
from gradcompat.scanners.configs import training_arguments
from gradcompat.scanners.configs.deepspeed import not_gathered
from gradcompat.scanners.configs.flat import read_config
from gradcompat.scanners.configs.nested import stated
from gradcompat.scanners.key_mapping import SEVERAL, Feed, Feeds

# `NO` without quotes is YAML's false.
_STRATEGIES: dict[str, SettingValue | None] = {
    **dict.fromkeys(("no", "false"), "none"),
    **dict.fromkeys(("multi_gpu", "multi_cpu", "multi_npu", "multi_mlu", "multi_xpu", "multi_hpu"), "ddp"),
    "fsdp": "fsdp",
    "deepspeed": "deepspeed",
    "tp": "tensor_parallel",
    "megatron_lm": "megatron_lm",
}
_COMPILED = Feed("training.torch_compile", {"no": False}, given=True)

FEEDS: Feeds = {
    "distributed_type": Feed("distributed.strategy", _STRATEGIES),
    "num_processes": Feed("distributed.processes"),
    "mixed_precision": Feed("precision.mode", {"false": "no"}),
    "use_cpu": Feed("host.device", {"true": "cpu"}, only=True),
    "dynamo_backend": _COMPILED,
    "dynamo_config.dynamo_backend": _COMPILED,
    "dynamo_config.dynamo_use_regional_compilation": Feed("training.regional_compilation"),
    "deepspeed_config.zero_stage": Feed("deepspeed.zero_stage"),
    "deepspeed_config.gradient_accumulation_steps": Feed("training.gradient_accumulation_steps"),
    "deepspeed_config.gradient_clipping": Feed("deepspeed.gradient_clipping"),
    "deepspeed_config.offload_optimizer_device": Feed("deepspeed.offload_optimizer"),
    "deepspeed_config.offload_param_device": Feed("deepspeed.offload_param"),
    "deepspeed_config.zero3_save_16bit_model": Feed("deepspeed.gather_16bit_weights"),
    "deepspeed_config.deepspeed_moe_layer_cls_names": Feed("deepspeed.leaf_modules", given=True),
    "deepspeed_config.deepspeed_config_file": (),
    "parallelism_config.parallelism_config_cp_size": Feed(
        "distributed.sequence_split", dict.fromkeys(SEVERAL, "context_parallel"), only=True
    ),
    "parallelism_config.parallelism_config_sp_size": Feed(
        "distributed.sequence_split", dict.fromkeys(SEVERAL, "ulysses"), only=True
    ),
    **training_arguments.FSDP_CONFIG,
    # From version 1.3 on the strategy of FSDP 1 stands here; of FSDP 2 it is a switch, and no strategy.
    "fsdp_config.fsdp_reshard_after_forward": Feed(
        "fsdp.sharding_strategy",
        {
            "full_shard": "FULL_SHARD",
            "shard_grad_op": "SHARD_GRAD_OP",
            "no_shard": "NO_SHARD",
            "hybrid_shard": "HYBRID_SHARD",
            "hybrid_shard_zero2": "HYBRID_SHARD_ZERO2",
        },
        only=True,
    ),
}

_OWN = ("distributed_type", "compute_environment")
_BESIDE = ("num_processes", "num_machines", "machine_rank", "mixed_precision", "use_cpu", "fsdp_config")


def scan(document: Document) -> Context:
    """What an accelerate config says of the launch.

    Raises:
        Malformed: if it is none, or no YAML or JSON.
    """
    config = read_config(document, FEEDS)
    if not any(key in config.top for key in _OWN) or not any(key in config.top for key in _BESIDE):
        raise Unrecognised("is not an accelerate config", path=document.path)
    settings, skipped = stated(config, FEEDS)
    strategy = next((one for one in settings if one.key == "distributed.strategy" and one.value == "fsdp"), None)
    if strategy is not None and all(one.key != "fsdp.version" for one in settings):
        settings.append(Setting(key="fsdp.version", value=1, location=strategy.location, presumed=True))
    version = next((one for one in settings if one.key == "fsdp.version"), None)
    if strategy is not None and version is not None and all(one.key != "fsdp.state_dict_type" for one in settings):
        # FullyShardedDataParallelPlugin.__post_init__ in 0.20.3, 0.34.2, 1.6.0, 1.7.0 and 1.15.0.
        default = "FULL_STATE_DICT" if version.value == 1 else "SHARDED_STATE_DICT"
        settings.append(Setting(key="fsdp.state_dict_type", value=default, location=version.location, presumed=True))
    file = config.value("deepspeed_config.deepspeed_config_file")
    asked = file is not None or config.value("deepspeed_config.zero3_save_16bit_model") is not None
    return Context(
        source=document.path,
        kind="accelerate",
        settings=(*settings, *not_gathered(config, "deepspeed_config.zero_stage", asked=asked)),
        run=False,
        refers_to=(file,) if isinstance(file, str) and file not in ("", "none") else (),
        skipped=tuple(skipped),
    )
