"""From the options of a launch to settings: which flag of which tool feeds which key.

A bare switch is true, ``--no_bf16`` is false, the last of several counts. What is not known in full (``$STEPS``, an
argument of the script) is set to nobody knows what.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from gradcompat.formats.shell import HOLE
from gradcompat.model.environment import Location, Setting, Skipped
from gradcompat.quotation import quoted
from gradcompat.scanners.configs import (
    accelerate,
    axolotl,
    lightning_cli,
    llamafactory,
    ms_swift,
    openrlhf,
    torchtune,
    training_arguments,
    verl,
)
from gradcompat.scanners.configs.model_names import architecture_setting
from gradcompat.scanners.configs.tool_defaults import imports_of, left_to_tool
from gradcompat.scanners.configs.training_arguments import expanded, settled
from gradcompat.scanners.key_mapping import Feed, Feeds, fed
from gradcompat.scanners.launches import environment_variables
from gradcompat.scanners.launches.environment_variables import VARIABLES, said_by
from gradcompat.scanners.launches.launchers import MULTIRUN, Argument, Launch, is_lightning, says_all
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.calls import Call, Unread, Value
from gradcompat.terms.symbol_patterns import CALLS_KEY, settings_of_use

_ACCUMULATION = Feed("training.gradient_accumulation_steps")
_CHECKPOINTING = Feed("training.gradient_checkpointing")
_COUNT = lazy_pattern(r"[1-9][0-9]{0,8}")
_LORA = Feed("peft.method", {"true": "lora"}, only=True)
# Of sd-scripts, in its own spelling of the classes; what it does not know is a class by its path.
_OPTIMIZER_TYPES = {
    "adamw": "adamw_torch",
    "adamw8bit": "adamw_8bit",
    "pagedadamw8bit": "paged_adamw_8bit",
    "lion8bit": "lion_8bit",
    "pagedlion8bit": "paged_lion_8bit",
}

# Arguments of scripts that have their own: diffusers, sd-scripts, DeepSpeed's examples, LLaVA and its likes, timm,
# Megatron.
SCRIPTS: Feeds = {
    **training_arguments.FEEDS,
    "accumulate_grad_batches": _ACCUMULATION,
    "trainer.accumulate_grad_batches": _ACCUMULATION,
    "trainer.precision": lightning_cli.FEEDS["trainer.precision"],
    "val_check_interval": lightning_cli.TRAINER["val_check_interval"],
    "trainer.val_check_interval": lightning_cli.TRAINER["val_check_interval"],
    "training.gradient_accumulation_steps": _ACCUMULATION,
    "gradient_accumulation": _ACCUMULATION,
    "gradient_accumulation_step": _ACCUMULATION,
    "grad_accumulation_steps": _ACCUMULATION,
    "grad_accum_steps": _ACCUMULATION,
    "grad_accum": _ACCUMULATION,
    "accum_iter": _ACCUMULATION,
    "accum_freq": _ACCUMULATION,
    "enable_gradient_checkpointing": _CHECKPOINTING,
    "use_gradient_checkpointing": _CHECKPOINTING,
    "grad_checkpointing": _CHECKPOINTING,
    "grad_checkpoint": _CHECKPOINTING,
    "mixed_precision": Feed("precision.mode", {"false": "no"}),
    "allow_tf32": Feed("precision.tf32", {"true": True}, only=True),
    "use_8bit_adam": (
        Feed("optimizer.name", {"true": "adamw_8bit"}, only=True),
        Feed("optimizer.library", {"true": "bitsandbytes"}, only=True),
    ),
    "optimizer_type": (
        Feed("optimizer.name", _OPTIMIZER_TYPES),
        Feed("optimizer.library", {name: "bitsandbytes" for name in _OPTIMIZER_TYPES if "8bit" in name}, only=True),
    ),
    "max_data_loader_n_workers": Feed("training.dataloader_num_workers"),
    "persistent_data_loader_workers": Feed("training.persistent_workers", {"true": True}, only=True),
    "max_train_epochs": Feed("training.num_train_epochs"),
    "deepspeed_config": Feed("distributed.strategy", given="deepspeed"),
    "zero_stage": Feed("deepspeed.zero_stage"),
    "lora_enable": _LORA,
    "use_lora": _LORA,
    "use_qlora": _LORA,
    # QLoRA's and LLaVA's; 16 is no quantisation.
    "bits": (
        Feed("quantization.bits", {"4": 4, "8": 8}, only=True),
        Feed("quantization.method", {"4": "bitsandbytes", "8": "bitsandbytes"}, only=True),
    ),
    "model_max_length": Feed("data.sequence_length"),
    "pretrained_model_name_or_path": Feed("model.name"),
    "lr_scheduler_kwargs": Feed("training.text_lr_scheduler_kwargs", given=True),
}

# Options of the launchers themselves.
LAUNCHERS: dict[str, Feeds] = {
    "accelerate": {
        "mixed_precision": Feed("precision.mode"),
        "cpu": Feed("host.device", {"true": "cpu"}, only=True),
        "multi_gpu": Feed("distributed.strategy", {"true": "ddp"}, only=True),
        "use_deepspeed": Feed("distributed.strategy", {"true": "deepspeed"}, only=True),
        "use_fsdp": Feed("distributed.strategy", {"true": "fsdp"}, only=True),
        "deepspeed_config_file": Feed("distributed.strategy", given="deepspeed"),
        "gradient_accumulation_steps": _ACCUMULATION,
        "zero_stage": Feed("deepspeed.zero_stage"),
        "gradient_clipping": Feed("deepspeed.gradient_clipping"),
        "offload_optimizer_device": Feed("deepspeed.offload_optimizer"),
        "offload_param_device": Feed("deepspeed.offload_param"),
        "zero3_save_16bit_model": Feed("deepspeed.gather_16bit_weights"),
        "dynamo_backend": Feed("training.torch_compile", {"no": False}, given=True),
        "dynamo_use_regional_compilation": Feed("training.regional_compilation"),
        "num_processes": Feed("distributed.processes"),
        **{
            name.removeprefix("parallelism_config."): feed
            for name, feed in accelerate.FEEDS.items()
            if name.startswith("parallelism_config.")
        },
        **{
            name.removeprefix("fsdp_config."): feed
            for name, feed in training_arguments.FSDP_CONFIG.items()
            if name.startswith("fsdp_config.fsdp_")
        },
    },
    "torchrun": {"nproc_per_node": Feed("distributed.processes", dict.fromkeys(("gpu", "cpu", "auto", "xpu")))},
    "deepspeed": {"num_gpus": Feed("distributed.processes")},
    "colossalai": {"nproc_per_node": Feed("distributed.processes")},
    "srun": {"n": Feed("distributed.processes"), "ntasks": Feed("distributed.processes")},
    "mpirun": {name: Feed("distributed.processes") for name in ("n", "np")},
    "environment": {"NPROC_PER_NODE": Feed("distributed.processes")},
}
_TITLES = {"accelerate": "accelerate launch ", "colossalai": "colossalai run "}
_TOOLS: dict[str, Feeds] = {
    "llamafactory": llamafactory.FEEDS,
    "ms-swift": ms_swift.FEEDS,
    "axolotl": axolotl.FEEDS,
    "verl": verl.FEEDS,
    "openrlhf": openrlhf.FEEDS,
    # An override of a component asks for a config of its own, which is not at hand.
    "ultralytics": {"workers": Feed("training.dataloader_num_workers"), "epochs": Feed("training.num_train_epochs")},
    "torchtune": {name: feed for name, feed in torchtune.FEEDS.items() if not name.endswith("_component_")},
    "megatron": ms_swift.MEGATRON,
    "mlx-lm-lora": {},
    "lerobot": {},
}
# Tools whose command is told as the call of a function, and the options that name a config.
_CALLED = {
    "mlx-lm-lora": ("mlx_lm_lora.train", frozenset({"c", "config"})),
    "lerobot": ("lerobot.scripts.train", frozenset({"config_path"})),
}
# The programs of Megatron-LM, which is no package: who trains with them has a checkout.
_MEGATRON = lazy_pattern(r"(?:^|/)pretrain_(?:gpt|bert|t5|mamba|retro|vlm|ict|ft)\.py$")
# Trainers that derive from transformers', which uses DeepSpeed only if it is given a config.
_TRANSFORMERS = frozenset({"llamafactory", "ms-swift", "axolotl", "trl"})

# What is listed on the page of the vocabulary; the tools' own arguments stand there already.
FEEDS: Feeds = {
    **SCRIPTS,
    **{f"verl {name}": feed for name, feed in verl.FEEDS.items()},
    **{f"openrlhf --{name}": feed for name, feed in openrlhf.FEEDS.items()},
    **environment_variables.FEEDS,
    **{
        (name if launcher == "environment" else f"{_TITLES.get(launcher, f'{launcher} ')}--{name}"): feed
        for launcher, feeds in LAUNCHERS.items()
        for name, feed in feeds.items()
    },
}

# How many machines there are, by the launcher that is asked for processes on each.
_MACHINES = {"torchrun": "nnodes", "deepspeed": "num_nodes", "colossalai": "num_nodes"}
_METHODS = {"pt": "pretrain"}
_CONFIGS = (".yaml", ".yml", ".json")
_FILES = (".json", ".yaml", ".yml", ".toml", ".py")
_AROUND = ("vision_tower", "mm_", "vision_model", "audio_tower")
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Places:
    """What is asked about offsets: which location, and which variable's assignment, if it is one.

    ``cut``: the option stands behind a line that ends, for the shell, where it was meant to go on.
    """

    location: Callable[[int], Location]
    assignment: Callable[[Argument], str | None]
    cut: Callable[[Launch, int], bool]


def settings_of(launch: Launch, places: Places) -> tuple[list[Setting], list[Skipped]]:
    """What a launch states, in the order of its words."""
    named: list[tuple[str, Setting]] = _of_tool(launch, places)
    skipped: list[Skipped] = []
    feeds = _feeds(launch)
    if launch.launcher in LAUNCHERS:
        for argument in _last(launch.options, places, skipped):
            named += _fed(LAUNCHERS[launch.launcher], argument, launch, places, skipped)
    named = _multiplied(named, launch)
    named += _processes(launch, places, skipped)
    named += _variables(launch, places)
    for argument in _last(launch.arguments, places, skipped):
        named += _fed(feeds, argument, launch, places, skipped)
    if feeds is llamafactory.FEEDS and llamafactory.keeps_attention(_values(launch)):
        named = [(name, one) for name, one in named if one.key != llamafactory.ATTENTION]
    if launch.launcher == "deepspeed":
        named += _of_deepspeed(launch, places)
    if launch.tool == "verl" and launch.subcommand == verl.SFT:
        processes = next((one.value for _, one in named if one.key == "distributed.processes"), None)
        steps = verl.micro_batches(_values(launch), processes)
        named.append(("", Setting(key=_ACCUMULATION.key, value=steps, location=places.location(launch.place))))
    settings = settled(named)
    if feeds is SCRIPTS and launch.tool == "":
        names = {argument.name for argument in launch.arguments}
        place = launch.place if launch.target is None else launch.target.place(0)
        settings += training_arguments.drivers_by_arguments(names, places.location(place))
        if launch.launcher == "accelerate" and "pretrained_model_name_or_path" in names:
            # diffusers' examples and sd-scripts: loops of their own
            at = places.location(place)
            settings.append(Setting(key="training.framework", value="accelerate", location=at, presumed=True))
    # What is built around the model that is named has another class, and so has Megatron's own.
    plain = launch.tool != "megatron" and not any(argument.name.startswith(_AROUND) for argument in launch.arguments)
    for setting in list(settings):
        if plain and setting.key == "model.name" and isinstance(setting.value, str):
            architecture = architecture_setting(setting.value, setting.location)
            if architecture is not None:
                presumed = architecture.presumed or setting.presumed
                settings.insert(settings.index(setting) + 1, replace(architecture, presumed=presumed))
    if not any(word.text.lower().endswith(_CONFIGS) for word in launch.files):  # which has them itself
        settings += left_to_tool(_tool(launch, feeds), settings)
        if launch.tool == "ms-swift":
            settings += ms_swift.micro_batches(settings)
            settings += ms_swift.weighed_by_labels(settings, _values(launch))
    return settings, skipped


def imports_of_launch(launch: Launch) -> tuple[str, ...]:
    """The packages that the tool of a launch imports; none where that is not known."""
    return imports_of(_tool(launch, _feeds(launch)), _values(launch))


def files_of(launch: Launch) -> list[str]:
    """The files that a launch names, as far as their paths are known: configs, and what it runs."""
    target = "" if launch.target is None else launch.target.text
    texts = [target if launch.tool else _program(target)]
    texts += [word.text for word in launch.files]
    texts += _composed(launch)
    for argument in (*launch.options, *launch.arguments):
        values = (argument.value,) if isinstance(argument.value, str) else argument.value
        texts += [] if isinstance(values, bool) else values
        if argument.name in ("model_name_or_path", "model", "base_model", "model_id_or_path"):
            texts += [] if isinstance(values, bool) else [f"{values[0].rstrip('/')}/config.json"]
    found: list[str] = []
    for text in texts:
        if not text.lower().endswith(_FILES) or len(text) > _LONGEST:
            continue
        _, hole, after = text.rpartition(HOLE)
        path = after.lstrip("/") if hole and after.startswith("/") else text  # `$HERE/ds.json`
        if HOLE not in path and not (hole and path == "config.json"):
            found.append(path)
    return found


def is_module(target: str) -> bool:
    """Does a launch run a module by its name, as ``python -m src.train`` does, and no file?"""
    named = len(target) <= _LONGEST and all(part.isidentifier() for part in target.split("."))
    return named and not target.lower().endswith(_FILES)


def _program(target: str) -> str:
    """The path of what a launch runs: ``src/train.py`` for the module ``src.train``."""
    return f"{target.replace('.', '/')}.py" if is_module(target) else target


def _composed(launch: Launch) -> list[str]:
    """The config that Hydra is told to compose: ``--config-name train --config-path configs``."""
    given = {argument.name: argument.value for argument in launch.arguments if isinstance(argument.value, str)}
    name = given.get("config_name", given.get("cn"))
    folder = given.get("config_path", given.get("cp"))
    if name is None:
        return []
    name = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
    return [name if folder is None else f"{folder}/{name}"]


def _feeds(launch: Launch) -> Feeds:
    names = {argument.name for argument in launch.arguments}
    if launch.tool == "" and "finetuning_type" in names:
        return llamafactory.FEEDS
    return _TOOLS.get(launch.tool, SCRIPTS)


def _tool(launch: Launch, feeds: Feeds) -> str:
    """Whose defaults a launch has; what came before LLaMA-Factory had a program for each stage, and no template."""
    named = {argument.name for argument in launch.arguments}
    if feeds is llamafactory.FEEDS and (launch.tool or named & {"stage", "template"}):
        return "llamafactory"
    return launch.tool


def _values(launch: Launch) -> dict[str, object]:
    return {argument.name: argument.value for argument in launch.arguments}


def _of_tool(launch: Launch, places: Places) -> list[tuple[str, Setting]]:
    """What the name of the tool, and its word for what it does, say."""
    stated: dict[str, str | float] = {}
    if launch.tool == "trl":
        stated = {"training.framework": "trl", "training.method": launch.subcommand}
    elif launch.tool in ("ms-swift", "megatron") and launch.subcommand in ("sft", "pt"):
        task = next((argument.value for argument in launch.arguments if argument.name == "task_type"), "causal_lm")
        stated = {"training.method": launch.subcommand} if task == "causal_lm" else {}
        driver = "megatron" if launch.tool == "megatron" else "transformers.Trainer"
        stated = {"training.framework": driver, **stated}
        if ms_swift.streams_in_order(_values(launch)):
            stated["data.shuffle"] = False
    elif launch.tool == "megatron":
        stated = {"training.framework": "megatron"}
    elif launch.tool == "torchtune":
        stated = {"training.framework": "torchtune", **_recipe("" if launch.target is None else launch.target.text)}
    elif launch.tool == "verl":
        stated = {**verl.stated(launch.subcommand, _values(launch))}
    elif launch.tool == "openrlhf":
        stated = openrlhf.stated(launch.subcommand, _values(launch))
    elif launch.tool == "xtuner":
        stated = {"training.framework": "mmengine"}
    elif launch.tool == "ultralytics":
        stated = {"training.framework": "ultralytics"}
    elif launch.tool == "mlx-lm-lora":
        stated = {"training.framework": "mlx"}
    elif launch.tool == "lerobot":
        stated = {"training.framework": "torch"}
    elif is_lightning(launch):
        stated = {"training.framework": "lightning"}
    place = launch.place if launch.target is None else launch.target.place(0)
    found = [
        ("", Setting(key=key, value=_METHODS.get(str(value), value), location=places.location(place)))
        for key, value in stated.items()
    ]
    if launch.tool == "trl":
        found += [("", one) for one in training_arguments.stored_as_loaded(_values(launch), places.location(place))]
    if launch.tool == "trl" and _trains_all_weights(launch):
        whole = Setting(key="peft.method", value="none", location=places.location(place), presumed=True)
        found.append(("", whole))
    if launch.tool == "trl" and launch.target is None and not launch.conditional:  # no script of TRL
        found.append(("", Setting(key=CALLS_KEY, value=("trl.cli.main()",), location=places.location(place))))
    if launch.tool == "ultralytics":
        location = places.location(place)
        used = settings_of_use(map(str, _yolo(launch)))
        found += [("", Setting(key=key, value=value, location=location)) for key, value in used.items()]
    called = _called(launch)
    if called is not None:
        found.append(("", Setting(key=CALLS_KEY, value=(str(called),), location=places.location(place))))
    if _feeds(launch) is llamafactory.FEEDS:
        found += [("", one) for one in llamafactory.refused_counts(_values(launch), places.location(place))]
        found += [("", one) for one in llamafactory.counted_alike(_values(launch), places.location(place))]
    if _feeds(launch) is llamafactory.FEEDS and {"stage", "adapter_name_or_path"} <= _values(launch).keys():
        alone = llamafactory.resumes_alone(_values(launch))
        found.append(("", Setting(key="training.resumed_adapter_alone", value=alone, location=places.location(place))))
    return found


def _trains_all_weights(launch: Launch) -> bool:
    """Is TRL's script, which makes an adapter where it is asked for one, asked for none, here or in a config?"""
    return not launch.conditional and says_all(launch) and _values(launch).keys().isdisjoint({"use_peft", "config"})


def _yolo(launch: Launch) -> tuple[Call, Call]:
    """What ultralytics' command makes of its class and asks of it, as a program writes it."""
    read = {name: Unread("_1") if HOLE in str(value) else _word(value) for name, value in _values(launch).items()}
    model = read.pop("model", None)
    given: tuple[Value, ...] = () if model is None else (model,)
    asked = {name: value for name, value in read.items() if name.isidentifier() and name not in ("task", "mode")}
    return Call("ultralytics.YOLO", given, {}, whole=True), Call("ultralytics.YOLO.train", (), asked, whole=True)


def _called(launch: Launch) -> Call | None:
    """What a command is asked for, as a call in which ``--policy.type`` is ``policy_type``; its config may say more."""
    if launch.tool in _CALLED:
        function, configs = _CALLED[launch.tool]
    elif launch.target is not None and _MEGATRON.search(launch.target.text) and "micro_batch_size" in _values(launch):
        function, configs = "megatron.training.pretrain", frozenset({"yaml_cfg"})
    else:
        return None
    read = {name: Unread("_1") if HOLE in str(value) else _word(value) for name, value in _values(launch).items()}
    named = {name.replace(".", "_"): value for name, value in read.items()}
    asked = {name: value for name, value in named.items() if name.isidentifier()}
    return Call(function, (), asked, whole=configs.isdisjoint(read))


def _word(value: object) -> Value:
    """A word of a command as the value that it reads there."""
    text = value if isinstance(value, str) else str(value)
    try:
        read = ast.literal_eval({"true": "True", "false": "False", "none": "None"}.get(text.lower(), text))
    except (ValueError, SyntaxError):
        return text
    return read if read is None or isinstance(read, (bool, int, float, str)) else text


def _recipe(name: str) -> dict[str, str | int]:
    """What the name of a torchtune recipe tells: ``lora_dpo_distributed``, ``full_finetune_single_device``."""
    # Distillation and QAT have cross entropy as well.
    by_tokens = any(word in name for word in ("finetune", "qat", "distillation"))
    method = next((word for word in ("dpo", "ppo", "grpo") if word in name), "sft" if by_tokens else None)
    told: dict[str, str | int] = {} if method is None else {"training.method": method}
    return {**told, "distributed.processes": 1} if "single_device" in name else told


def _last(arguments: Iterable[Argument], places: Places, skipped: list[Skipped]) -> list[Argument]:
    """Each argument once: of two with one name the last counts."""
    found: dict[str, Argument] = {}
    noted: set[str] = set()
    for argument in arguments:
        before = found.pop(argument.name, None)
        if before is not None and len(argument.name) > 1 and argument.name not in noted:
            noted.add(argument.name)
            reason = "appears more than once: the last value counts"
            where = places.location(before.option_place)
            skipped.append(Skipped(what=quoted(argument.name, "an option"), reason=reason, gap=False, location=where))
        found[argument.name] = argument
    return list(found.values())


def _fed(
    feeds: Feeds, argument: Argument, launch: Launch, places: Places, skipped: list[Skipped]
) -> list[tuple[str, Setting]]:
    name, value = argument.name, argument.assumed or argument.value
    if isinstance(value, str) and "," in value and _is_swept(argument, launch):
        value = HOLE
    if value is True and name not in feeds and name.removeprefix("no_") in feeds:
        name, value = name.removeprefix("no_"), False
    location = places.location(argument.place)
    spelling = places.assignment(argument)
    if isinstance(value, tuple) and name not in ("fsdp", "loss_type") and not _is_list(feeds, name):
        value = value[0]
    if not isinstance(value, bool) and sum(map(len, value)) > _LONGEST:
        reason = f"has more than {_LONGEST} characters"
        skipped.append(Skipped(what=quoted(name, "an option"), reason=reason, location=location))
        return []
    if name.rpartition(".")[2] == lightning_cli.INTERVAL and isinstance(value, str):
        if _ends_steps(value, launch):
            return []
        value = lightning_cli.moment(value)
    named: list[tuple[str, Setting]] = []
    for inner, one in expanded(name, list(value) if isinstance(value, tuple) else value):
        settings, unread = fed(
            feeds, inner, _computed(feeds, inner, one), location, spelling if inner == name else None
        )
        if places.cut(launch, argument.option_place):
            settings = [replace(setting, value=None) for setting in settings]
        elif value is argument.assumed:
            settings = [replace(setting, presumed=setting.value is not None, spelling=None) for setting in settings]
        named += [(inner, setting) for setting in settings]
        skipped += unread
    return named


def _ends_steps(interval: str, launch: Launch) -> bool:
    """Does a validation of Lightning's come behind whole steps of as many batches as the command says?"""
    steps = [one.value for one in launch.arguments if one.name.rpartition(".")[2] == "accumulate_grad_batches"]
    counts = [int(value) for value in steps if isinstance(value, str) and _COUNT.fullmatch(value)]
    return _COUNT.fullmatch(interval) is not None and any(int(interval) % count == 0 for count in counts)


def _is_swept(argument: Argument, launch: Launch) -> bool:
    """Is it ``seed=1,2`` behind ``--multirun``, several runs in one?"""
    sweeps = any(one.name in MULTIRUN and one.value is True for one in launch.arguments)
    return sweeps and argument.spelling is not None and not argument.spelling.startswith("-")


def _is_list(feeds: Feeds, name: str) -> bool:
    feed = feeds.get(name, ())
    return any(one.given is not None for one in (feed if isinstance(feed, tuple) else (feed,)))


def _computed(feeds: Feeds, name: str, value: object) -> object:
    """A value of which a part is not known, as the table takes it."""
    if not isinstance(value, str) or HOLE not in value:
        return value
    known = value.replace(HOLE, "")
    # Whatever `$HERE/zero2.json` is, it is there.
    return known if known.strip("/") and _is_list(feeds, name) else "${}"


def _multiplied(named: list[tuple[str, Setting]], launch: Launch) -> list[tuple[str, Setting]]:
    """Processes on each machine times machines."""
    option = _MACHINES.get(launch.launcher)
    machines = next((argument for argument in launch.options if option is not None and argument.name == option), None)
    hosts = any(option.name in ("hostfile", "H", "include", "i", "exclude", "e") for option in launch.options)
    return [
        (name, _times(setting, machines.value if machines else None, unknown=machines is None and hosts))
        if setting.key == "distributed.processes" and option is not None
        else (name, setting)
        for name, setting in named
    ]


def _times(setting: Setting, machines: object, *, unknown: bool) -> Setting:
    """The number of processes on one machine as that on all of them; one if nothing is said."""
    text = "1" if machines is None else str(machines).removesuffix(":1") if machines == "1:1" else str(machines)
    if unknown or not (text.isascii() and text.isdigit() and len(text) < 6) or not isinstance(setting.value, int):
        return replace(setting, value=None)
    return setting if int(text) == 1 else replace(setting, value=setting.value * int(text), spelling=None)


def _processes(launch: Launch, places: Places, skipped: list[Skipped]) -> list[tuple[str, Setting]]:
    """The number of processes where no launcher of torch's counts them: srun, mpirun, variables."""
    environment = launch.environment
    if launch.tool in ("ms-swift", "llamafactory") and launch.launcher == "python":
        word = environment.get("NPROC_PER_NODE")
        if word is None:
            return []
        argument = Argument("NPROC_PER_NODE", word.text, word.place(0), word.place(0), "NPROC_PER_NODE={}")
        found = _fed(LAUNCHERS["environment"], argument, launch, places, skipped)
        machines = environment.get("NNODES")
        return [(name, _times(one, machines.text if machines else None, unknown=False)) for name, one in found]
    if launch.launcher != "python":
        return []
    for argument in launch.wrapped:
        wrapper, _, name = argument.name.partition(".")
        wrapper = {"mpiexec": "mpirun", "horovodrun": "mpirun"}.get(wrapper, wrapper)
        if name in LAUNCHERS.get(wrapper, {}):
            return _fed(LAUNCHERS[wrapper], replace(argument, name=name), launch, places, skipped)
    if launch.wrapper == "srun" and "SLURM_NTASKS" in environment:
        word = environment["SLURM_NTASKS"]
        argument = Argument("ntasks", word.text, word.place(0), word.place(0), None)
        return _fed(LAUNCHERS["srun"], argument, launch, places, skipped)
    return []


def _variables(launch: Launch, places: Places) -> list[tuple[str, Setting]]:
    """What packages read in the environment of the launch."""
    found: list[tuple[str, Setting]] = []
    for name, word in launch.environment.items():
        said = said_by(name, None if HOLE in word.text else word.text) if name in VARIABLES else None
        if said is not None:
            found.append(("", Setting(key=said[0], value=said[1], location=places.location(word.place(0)))))
    return found


def _of_deepspeed(launch: Launch, places: Places) -> list[tuple[str, Setting]]:
    """What the launcher ``deepspeed`` says by itself."""
    names = {argument.name for argument in launch.arguments}
    if names & {"deepspeed", "deepspeed_config"}:
        return []
    transformers = launch.tool in _TRANSFORMERS or names & {"per_device_train_batch_size", "output_dir"}
    value = None if transformers else "deepspeed"
    return [("", Setting(key="distributed.strategy", value=value, location=places.location(launch.place)))]
