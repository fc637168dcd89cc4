"""YAML of LightningCLI, and of others that pass a ``trainer:`` on to Lightning's Trainer (NeMo).

Only what belongs to the Trainer is known by name; the model and the data are the program's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting, SettingValue
from gradcompat.scanners.configs.class_paths import OPTIMIZER
from gradcompat.scanners.configs.flat import Config, classes_of, read_config, run_of
from gradcompat.scanners.configs.nested import stated
from gradcompat.scanners.key_mapping import Feed, Feeds
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.calls import Call, Unread, Value
from gradcompat.terms.symbol_patterns import CALLS_KEY, SYMBOLS_KEY

_PRECISIONS: dict[str, SettingValue | None] = {
    **dict.fromkeys(("16", "16-mixed", "16-true"), "fp16"),
    **dict.fromkeys(("bf16", "bf16-mixed", "bf16-true"), "bf16"),
    **dict.fromkeys(("32", "32-true", "64", "64-true"), "no"),
    **dict.fromkeys(("transformer-engine", "transformer-engine-float16"), "fp8"),
}
_HALVED: dict[str, SettingValue | None] = {"16-true": True, "bf16-true": True}
_STAGES = {
    **{f"deepspeed_stage_{stage}{offload}": stage for stage in (1, 2, 3) for offload in ("", "_offload")},
    "deepspeed_stage_3_offload_nvme": 3,
}
# To where the optimizer's states and the parameters go; nowhere unless the name says so.
_DEVICES: dict[str, SettingValue | None] = {
    name: "nvme" if name.endswith("nvme") else "cpu" if "offload" in name else "none"
    for name in ("deepspeed", *_STAGES)
}
_STRATEGIES: dict[str, SettingValue | None] = {
    **{
        f"ddp{way}{unused}": "ddp"
        for way in ("", "_spawn", "_fork", "_notebook")
        for unused in ("", "_find_unused_parameters_true", "_find_unused_parameters_false")
    },
    "dp": "dp",
    **dict.fromkeys(("fsdp", "fsdp_native", "fsdp_cpu_offload", "fsdp_native_full_shard_offload"), "fsdp"),
    **dict.fromkeys(("deepspeed", *_STAGES), "deepspeed"),
}
_UNUSED: dict[str, SettingValue | None] = {
    f"ddp{way}_find_unused_parameters_{word}": word == "true"
    for way in ("", "_spawn", "_fork", "_notebook")
    for word in ("true", "false")
}
_BY_DEEPSPEED: dict[str, SettingValue | None] = dict.fromkeys(("deepspeed", *_STAGES), True)
_CLASSES: dict[str, SettingValue | None] = {
    f"{module}{name}".lower(): strategy
    for module in ("", "lightning.pytorch.strategies.", "pytorch_lightning.strategies.")
    for name, strategy in {
        "DDPStrategy": "ddp",
        "FSDPStrategy": "fsdp",
        "DDPFullyShardedNativeStrategy": "fsdp",
        "DeepSpeedStrategy": "deepspeed",
        "SingleDeviceStrategy": "none",
    }.items()
}
_SHARDING = {
    name.lower(): name for name in ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "_HYBRID_SHARD_ZERO2")
}
_ON_CPU: dict[str, SettingValue | None] = {"false": "none"}

INTERVAL = "val_check_interval"

# The Trainer's own arguments.
TRAINER: Feeds = {
    "accumulate_grad_batches": Feed("training.gradient_accumulation_steps"),
    "gradient_clip_val": Feed("training.max_grad_norm"),
    "gradient_clip_algorithm": (),
    "max_epochs": Feed("training.num_train_epochs", {"-1": None}),
    "precision": (Feed("precision.mode", _PRECISIONS), Feed("precision.half_weights", _HALVED, only=True)),
    # Whole numbers count batches, fractions are of an epoch: `literal` makes the words.
    "val_check_interval": Feed(
        "training.validation_inside_epoch", {"inside": True, "end": False, "auto": None}, only=True
    ),
    "limit_val_batches": (),
    "devices": Feed("distributed.processes"),
    "num_nodes": (),
    # What `gpu` and `cuda` stand for on ROCm is cuda, too.
    "accelerator": Feed("host.device", {"cpu": "cpu", "mps": "mps"}, only=True),
    "strategy": (
        Feed("distributed.strategy", _STRATEGIES),
        Feed("distributed.find_unused_parameters", _UNUSED, only=True),
        Feed("deepspeed.zero_stage", {"deepspeed": 2, **_STAGES}, only=True),
        # What DeepSpeedStrategy does unless it is told otherwise, from Lightning 1.9.5 to 2.6.6.
        Feed("deepspeed.overlap_comm", _BY_DEEPSPEED, only=True),
        Feed("deepspeed.contiguous_gradients", _BY_DEEPSPEED, only=True),
        Feed("deepspeed.offload_optimizer", _DEVICES, only=True),
        Feed("deepspeed.offload_param", {name: one for name, one in _DEVICES.items() if "3" in name}, only=True),
    ),
    "strategy.class_path": Feed("distributed.strategy", _CLASSES),
    "strategy.init_args.stage": Feed("deepspeed.zero_stage"),
    "strategy.init_args.offload_optimizer": Feed("deepspeed.offload_optimizer", _ON_CPU, only=True),
    "strategy.init_args.offload_optimizer_device": Feed("deepspeed.offload_optimizer"),
    "strategy.init_args.overlap_comm": Feed("deepspeed.overlap_comm"),
    "strategy.init_args.contiguous_gradients": Feed("deepspeed.contiguous_gradients"),
    "strategy.init_args.reduce_scatter": Feed("deepspeed.reduce_scatter"),
    "strategy.init_args.config": Feed("distributed.strategy", given="deepspeed"),
    "strategy.init_args.sharding_strategy": Feed("fsdp.sharding_strategy", _SHARDING),
    "strategy.init_args.auto_wrap_policy": Feed("fsdp.auto_wrap", given=True),
    "strategy.init_args.use_orig_params": Feed("fsdp.use_orig_params"),
    "strategy.init_args.state_dict_type": Feed(
        "fsdp.state_dict_type", {"full": "FULL_STATE_DICT", "sharded": "SHARDED_STATE_DICT"}
    ),
    "strategy.init_args.activation_checkpointing_policy": Feed("training.gradient_checkpointing", given=True),
    "strategy.init_args.find_unused_parameters": Feed("distributed.find_unused_parameters"),
    "strategy.init_args.process_group_backend": Feed("distributed.backend"),
}

_BESIDE: Feeds = {
    "trainer": Feed("training.framework", given="lightning"),
    "seed_everything": Feed("training.seed", {"true": None, "false": None}),
    "ckpt_path": Feed("training.resume_from_checkpoint", given=True),
    "optimizer.class_path": OPTIMIZER,
    "optimizer.init_args.weight_decay": Feed("optimizer.weight_decay"),
    "optimizer.init_args.fused": Feed("optimizer.fused"),
    "model.init_args.model_name_or_path": Feed("model.name"),
}
FEEDS: Feeds = {**_BESIDE, **{f"trainer.{name}": feed for name, feed in TRAINER.items()}}
# A program with subcommands has them at the top of its config.
_FIT: Feeds = {f"fit.{name}": feed for name, feed in FEEDS.items()}

# Arguments that only Lightning's Trainer has.
OWN = frozenset(
    {
        *("accumulate_grad_batches", "gradient_clip_val", "val_check_interval", "check_val_every_n_epoch"),
        *("max_epochs", "num_sanity_val_steps", "log_every_n_steps", "limit_train_batches", "limit_val_batches"),
        *("enable_checkpointing", "enable_progress_bar", "accelerator", "devices", "num_nodes", "callbacks"),
        *("fast_dev_run", "detect_anomaly", "sync_batchnorm", "default_root_dir", "strategy", "precision"),
    }
)
# The path of a class.
CLASS = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_UNREAD = Unread("_")
_TRAINER = "lightning.pytorch.Trainer"
LEAST = 2  # of them, for a `trainer` to be Lightning's


def scan(document: Document) -> Context:
    """The run that a LightningCLI config describes.

    Raises:
        Malformed: if it has no `trainer` of Lightning's, is composed by Hydra, or is no YAML.
    """
    config = read_config(document, {**FEEDS, **_FIT})
    composed = any(key in config.top for key in ("defaults", "hydra", "_target_"))
    if composed or document.text.lstrip("\ufeff").startswith("# @package"):
        raise Unrecognised("is composed by Hydra, not by LightningCLI", path=document.path)
    prefix = "" if config.value("trainer") is not None else "fit."
    trainer = config.value(f"{prefix}trainer")
    if not isinstance(trainer, dict) or len(trainer.keys() & OWN) < LEAST or "_target_" in trainer:
        raise Unrecognised("has no `trainer` of Lightning's", path=document.path)
    named = {entry.name.removeprefix(prefix): entry for entry in config.entries if entry.name.startswith(prefix)}
    entries = tuple(replace(entry, name=name) for name, entry in named.items() if name in FEEDS)
    config = literal(replace(config, entries=entries), "trainer.")
    settings, skipped = stated(config, FEEDS)
    settings += _classes(config, trainer)
    file = config.value("trainer.strategy.init_args.config")
    told = run_of(config, "lightning-cli", settings, skipped, refers_to=(file,) if isinstance(file, str) else ())
    return replace(told, makes=tuple(dict.fromkeys(name for name, _, _ in classes_of(config))))


def _classes(config: Config, trainer: dict[str, Any]) -> list[Setting]:
    """What the config has made, as a program would call it: the Trainer and each ``class_path`` with ``init_args``.

    It counts beside the program that reads the config (:mod:`gradcompat.scanners.run_assembly`).
    """
    found: list[tuple[str, Call, Location]] = []
    for name, given, location in classes_of(config):
        if CLASS.fullmatch(name):
            found.append((name, Call(name, (), _arguments(given), whole=True), location))
    place = next((entry.location for entry in config.entries if entry.name == "trainer"), None)
    if place is not None:
        # Of lists and mappings nothing is kept.
        given = {key: _UNREAD if value is None or "${" in str(value) else value for key, value in trainer.items()}
        found.append((_TRAINER, Call(_TRAINER, (), _arguments(given), whole=True), place))
    return made(found)


def _arguments(given: Mapping[Any, Any]) -> dict[str, Value]:
    return {str(key): _argument(value) for key, value in given.items() if str(key).isidentifier()}


def made(found: Iterable[tuple[str, Call, Location]]) -> list[Setting]:
    """The classes that a config names and the calls that make them, as settings; each call once."""
    calls: dict[str, tuple[str, Location]] = {}
    for name, call, location in found:
        calls.setdefault(str(call), (name, location))
    if not calls:
        return []
    names = dict(calls.values())
    places = {CALLS_KEY: [location for _, location in calls.values()], SYMBOLS_KEY: [*names.values()]}
    return [
        Setting(key=key, value=tuple(value), location=places[key][0], places=tuple(places[key]))
        for key, value in ((SYMBOLS_KEY, names), (CALLS_KEY, calls))
    ]


def _argument(value: Any) -> Value:
    return value if value is None or isinstance(value, (bool, int, float, str)) else _UNREAD


def literal(config: Config, prefix: str) -> Config:
    """The Trainer's arguments in the words of the vocabulary, where a table of values cannot say it."""
    values = {entry.name.removeprefix(prefix): entry.value for entry in config.entries}
    entries = []
    for entry in config.entries:
        value = entry.value
        match entry.name.removeprefix(prefix):
            case "accumulate_grad_batches" if isinstance(value, dict):
                value = "auto"  # a schedule over the epochs
            case "strategy" if isinstance(value, dict):
                continue  # its class_path says it
            case "gradient_clip_val" if values.get("gradient_clip_algorithm") not in (None, "norm"):
                continue
            case "val_check_interval" if values.get("limit_val_batches") in (0, 0.0):
                continue  # no validation at all
            case "val_check_interval":
                value = when(value)
            case "devices":
                value = _processes(value, values.get("num_nodes"))
                if values.get("num_nodes") is not None:
                    entries.append(replace(entry, value=value, spelling=None))  # its line does not say the product
                    continue
        entries.append(replace(entry, value=value))
    return replace(config, entries=tuple(entries))


def moment(text: str) -> str:
    """When validation runs by an option of a command, of which nobody knows whether 1 stands for 1.0."""
    try:
        number = float(text)
    except ValueError:
        return "auto"
    if text.strip() == "1":
        return "auto"
    return str(when(int(number) if number.is_integer() and "." not in text else number))


def when(value: Any) -> Any:
    """When validation runs: 1.0 is the end of the epoch; a duration may end anywhere."""
    if isinstance(value, int) and not isinstance(value, bool):
        return "inside"
    if isinstance(value, float):
        return "inside" if value < 1.0 else "end"
    return None if value is None else "auto"


def _processes(devices: Any, nodes: Any) -> Any:
    """One process for each device of each node."""
    if isinstance(devices, str) and "," in devices:
        devices = [part for part in devices.split(",") if part.strip()]
    if isinstance(devices, list):
        devices = len(devices)
    if isinstance(devices, str) and devices.isdecimal() and len(devices) < 10:
        devices = int(devices)
    if devices is None or isinstance(devices, bool):
        return None
    nodes = 1 if nodes is None else nodes
    if isinstance(devices, int) and isinstance(nodes, int) and devices > 0 and nodes > 0:
        return devices * nodes
    return "auto"
