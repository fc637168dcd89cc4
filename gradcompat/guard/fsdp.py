"""What is known of a model under FSDP: settings, and whether its parts make up the whole once over all ranks."""

from __future__ import annotations

from typing import Any

from gradcompat.guard.collective import world_size
from gradcompat.guard.instrumentation import loaded

_Facts = dict[str, bool | int | float | str]
_FIRST = "FullyShardedDataParallel"
_PARTED = ("FULL_SHARD", "SHARD_GRAD_OP")


def wrappers(model: Any) -> list[Any]:
    """The modules of FSDP 1."""
    return [module for module in model.modules() if type(module).__name__ == _FIRST]


def is_parted(model: Any) -> bool:
    """Whether every trainable number of a model under FSDP 1 is on exactly one rank."""
    found = wrappers(model)
    return (
        bool(found)
        and all(_name(getattr(one, "sharding_strategy", None)) in _PARTED for one in found)
        and all(one.process_group.size() == world_size() for one in found)
        and all(getattr(one, "_fsdp_flattened", False) for one in model.parameters() if one.requires_grad)
    )


def of_model(model: Any) -> _Facts:
    """Settings of a model that is wrapped, by the keys of the records; none of another one."""
    first = wrappers(model)
    if first:
        known = {
            "fsdp.sharding_strategy": _name(getattr(first[0], "sharding_strategy", None)),
            "fsdp.state_dict_type": _name(getattr(first[0], "_state_dict_type", None)),
            "fsdp.use_orig_params": getattr(first[0], "_use_orig_params", None),
            "fsdp.auto_wrap": len(first) > 1,
        }
        settings: _Facts = {key: value for key, value in known.items() if value is not None}
        return {"distributed.strategy": "fsdp", "fsdp.version": 1, **settings}
    if any(hasattr(module, "set_requires_gradient_sync") and hasattr(module, "unshard") for module in model.modules()):
        return {"distributed.strategy": "fsdp", "fsdp.version": 2}
    return {}


def of_accelerate() -> _Facts:
    """What accelerate was asked for; it wraps the model only where that is prepared."""
    state = getattr(getattr(loaded("accelerate.state"), "AcceleratorState", None), "_shared_state", {})
    plugin = state.get("fsdp_plugin")
    if plugin is None:
        return {}
    version = getattr(plugin, "fsdp_version", None) or 1
    known = {
        "fsdp.sharding_strategy": _name(getattr(plugin, "sharding_strategy", None)) if version == 1 else None,
        "fsdp.state_dict_type": _name(getattr(plugin, "state_dict_type", None)),
        "fsdp.use_orig_params": getattr(plugin, "use_orig_params", None) if version == 1 else None,
    }
    settings: _Facts = {key: value for key, value in known.items() if value is not None}
    return {"distributed.strategy": "fsdp", "fsdp.version": int(version), **settings}


def _name(member: Any) -> str | None:
    name = getattr(member, "name", member)
    return name if isinstance(name, str) else None
