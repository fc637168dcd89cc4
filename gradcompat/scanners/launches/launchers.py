"""The programs that start a training, found in a shell command: ``torchrun``, ``accelerate launch``, ``python``, ….

A command is taken apart into what runs what: wrappers (``srun``, ``nohup``, ``env``), a launcher with its own options,
the script or tool that trains, and its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gradcompat.formats.shell import HOLE, Word, default_of
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern

# Commands that run the command behind them, what stands between is theirs; and those among them that run a file.
_RUNNERS = frozenset({"uv", "poetry", "pdm", "pixi", "pipenv"})
WRAPPERS = _RUNNERS | {
    *("srun", "mpirun", "mpiexec", "horovodrun", "jsrun", "aprun", "ibrun", "salloc", "screen", "hfai", "ray"),
    *("nohup", "env", "sudo", "nice", "setsid", "timeout", "stdbuf", "numactl", "taskset", "ionice", "unbuffer"),
    *("xvfb-run", "proxychains4", "strace", "time", "nsys", "ncu", "py-spy", "rocprof"),
    *("singularity", "apptainer", "docker", "podman", "conda", "mamba", "micromamba"),
}
_PYTHON = lazy_pattern(r"(?:python|pypy|ipython)(?:\d+(?:\.\d+)?)?(?:\.exe)?")
_PYTHON_VALUES = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_VARIABLE = lazy_pattern(r"([A-Za-z_]\w*)=")

MULTIRUN = frozenset({"multirun", "m"})  # Hydra's switch for a run of each of the values of ``seed=1,2``

# Modules that are launchers themselves.
_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "torch.distributed.elastic.launcher": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "accelerate.commands.accelerate_cli": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
}
_PROGRAMS = {
    "torchrun": "torchrun",
    "accelerate-launch": "accelerate",
    "deepspeed": "deepspeed",
}
# Tools with subcommands that train, and which of them do.
_TOOLS = {
    "llamafactory-cli": ("llamafactory", frozenset({"train"})),
    "lmf": ("llamafactory", frozenset({"train"})),
    "axolotl": ("axolotl", frozenset({"train"})),
    "swift": ("ms-swift", frozenset({"sft", "pt", "rlhf"})),
    "megatron": ("megatron", frozenset({"sft", "pt", "rlhf"})),
    "trl": (
        "trl",
        frozenset({"sft", "dpo", "kto", "orpo", "grpo", "rloo", "reward", "cpo", "bco", "gkd", "online_dpo", "ppo"}),
    ),
    "xtuner": ("xtuner", frozenset({"train"})),
}
# What of their other subcommands uses a model that is trained, beside no training that it serves.
_USING = {
    "llamafactory-cli": frozenset({"chat", "api", "export", "webchat"}),
    "axolotl": frozenset({"inference", "merge-lora", "merge_lora"}),
    "swift": frozenset({"infer", "deploy", "export", "eval", "app", "app-ui", "merge-lora"}),
    "trl": frozenset({"chat"}),
}
# Tools whose program does nothing else than train.
_TRAINERS = {"mlx_lm_lora.train": "mlx-lm-lora", "lerobot-train": "lerobot"}
_YOLO = "yolo"
_YOLO_TASKS = frozenset({"detect", "segment", "classify", "pose", "obb"})
_STARTS = lazy_pattern(
    "|".join(
        [*map(re.escape, [*_PROGRAMS, *_TOOLS, *_TRAINERS, _YOLO]), "accelerate", "colossalai", "tune", _PYTHON.pattern]
    )
)
_FARTHEST = 100  # words of a wrapper before the launcher
# What a script or a module is a part of.
_PARTS = (
    (lazy_pattern(r"(?:^|/)axolotl[./]cli[./]()train(?:\.py)?$"), "axolotl"),
    (lazy_pattern(r"(?:^|/)llamafactory[./](?:cli|launcher)()(?:\.py)?$"), "llamafactory"),
    (lazy_pattern(r"(?:^|/)()train_bash(?:\.py)?$"), "llamafactory"),  # its program until 0.7, in no other project
    (lazy_pattern(r"(?:^|/)swift[./]cli[./](sft|pt|rlhf)(?:\.py)?$"), "ms-swift"),
    (lazy_pattern(r"(?:^|/)trl[./]scripts[./](\w+?)(?:\.py)?$"), "trl"),
    (
        lazy_pattern(
            r"(?:^|/)verl[./](?:trainer|experimental)[./](fsdp_sft_trainer|sft_trainer(?:_ray)?|main_ppo"
            r"|fully_async_policy[./]fully_async_main|one_step_off_policy[./]main_ppo)(?:\.py)?$"
        ),
        "verl",
    ),
    (lazy_pattern(r"(?:^|/)openrlhf[./]cli[./](train_(?:sft|dpo|kto|rm|prm|kd|ppo(?:_ray)?))(?:\.py)?$"), "openrlhf"),
    (lazy_pattern(r"(?:^|/)xtuner[./]tools[./]()train(?:\.py)?$"), "xtuner"),
    (lazy_pattern(r"(?:^|/)mlx_lm_lora[./]()train(?:\.py)?$"), "mlx-lm-lora"),
    (lazy_pattern(r"(?:^|/)lerobot[./]scripts[./]()(?:lerobot_)?train(?:\.py)?$"), "lerobot"),
)
# Options of launchers that take no value; all others take one.
_SWITCHES = {
    "torchrun": frozenset({"standalone", "m", "module", "no_python", "run_path", "use_env", "use_agent_store"}),
    "accelerate": frozenset(
        {
            *("multi_gpu", "cpu", "tpu", "mps", "use_mps_device", "ipex", "use_xpu", "use_deepspeed", "use_fsdp"),
            *("use_megatron_lm", "use_tpu", "m", "module", "no_python", "debug", "q", "quiet", "same_network"),
            *("tpu_use_cluster", "no_tpu_cluster", "tpu_use_sudo", "enable_cpu_affinity", "use_parallelism_config"),
            *("dynamo_use_fullgraph", "dynamo_use_dynamic", "dynamo_use_regional_compilation"),
        }
    ),
    "deepspeed": frozenset(
        {
            *("no_python", "module", "no_local_rank", "no_ssh_check", "no_ssh", "force_multi", "elastic_training"),
            *("bind_cores_to_rank", "save_pid", "h", "help"),
        }
    ),
    "colossalai": frozenset({"m", "module"}),
}
_SWITCHES["tune"] = _SWITCHES["torchrun"]

_TRAINS = lazy_pattern(
    r"train|fine?-?_?tun|(?:^|[^a-z])(?:sft|dpo|orpo|kto|ppo|grpo|gkd|rlhf|rloo|reward|lora|qlora|run_(?:clm|mlm|glue|squad"
    r"|qa|ner|swag|xnli|summarization|translation|seq2seq)\w*)(?:[^a-z]|$)|distill|dreambooth|textual_inversion"
)
_DOES_NOT = lazy_pattern(
    r"(?:^|[^a-z])(?:infer\w*|eval\w*|generat\w*|convert\w*|preprocess\w*|preproc|prepare\w*|serve\w*|server|merge\w*"
    r"|export\w*|demo|tests?|pytest|download\w*|bench\w*|predict\w*|vllm\w*|sglang\w*|tokenize\w*|setup|plot\w*|chat\w*"
    r"|web\w*|gradio\w*|api|upload\w*|data|dataset|build\w*|lm_eval|check\w*|install)(?:[^a-z]|$)"
)
# Only who trains is asked for these.
_OF_TRAINING = frozenset(
    {
        *("gradient_accumulation_steps", "per_device_train_batch_size", "num_train_epochs", "learning_rate", "lr"),
        *("max_train_steps", "train_batch_size", "gradient_checkpointing", "epochs", "num_epochs", "micro_batch_size"),
        *("accumulate_grad_batches", "weight_decay", "max_grad_norm", "lr_scheduler_type", "trainer.max_epochs"),
        *("trainer.accumulate_grad_batches", "warmup_ratio", "warmup_steps", "optim", "deepspeed_config"),
    }
)
# Switches of programs that train, and with which they do not.
_EVALUATES_ALONE = lazy_pattern(
    r"(?:(?:eval(?:uate)?|test|predict|infer(?:ence)?|generate)_only|only_(?:eval|test|predict))"
)


@dataclass(frozen=True, slots=True)
class Argument:
    """One option with its value.

    Attributes:
        name: without dashes at its front, the others as underscores; dots are kept.
        value: the words behind it, joined to one if there is one; True for a bare switch. A part that is not known is
            a :data:`~gradcompat.formats.shell.HOLE`.
        place: the offset of the value; of the option if it has none.
        option_place: the offset of the option.
        spelling: the option with ``{}`` in the place of the value; None for a bare switch.
        assumed: the value unless somebody sets the variable that has it: ``--lr ${LR:-1e-4}``.
    """

    name: str
    value: str | tuple[str, ...] | bool
    place: int
    option_place: int
    spelling: str | None
    assumed: str | None = None


@dataclass(slots=True)
class Launch:
    """One command that starts a training.

    Attributes:
        launcher: torchrun, accelerate, deepspeed, colossalai, tune; python if there is none.
        tool: the tool that trains, if it is one that is known: llamafactory, axolotl, ms-swift, trl, torchtune,
            ultralytics, ….
        subcommand: the tool's own word for what it does: ``sft``.
        place: the offset of the launcher or tool.
        target: the script or module; None if a tool is called by its own name.
        wrapped: options of ``srun`` and ``mpirun``, with the wrapper's name before them: ``srun.ntasks``.
        options: of the launcher.
        arguments: of what trains.
        files: its arguments without an option, and paths.
        environment: variables that are set for it.
        wrapper: what starts the launcher: srun, mpirun.
        conditional: it may never be run.
    """

    launcher: str
    tool: str
    place: int
    subcommand: str = ""
    target: Word | None = None
    wrapped: list[Argument] = field(default_factory=list)
    options: list[Argument] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    files: list[Word] = field(default_factory=list)
    environment: dict[str, Word] = field(default_factory=dict)
    wrapper: str = ""
    conditional: bool = False


def says_all(launch: Launch) -> bool:
    """Are all arguments of a launch seen, with no ``"$@"`` among them that may hold others?"""
    if any(HOLE in word.text for word in launch.files):
        return False
    several = (argument.value for argument in launch.arguments if isinstance(argument.value, tuple))
    return not any(HOLE in value[1:] for value in several)  # `--lr 1e-4 "$@"`


def launch_of(words: Sequence[Word]) -> Launch | None:
    """What a command starts, if it starts a training."""
    words = [word for word in words if word.text]
    if not words:
        return None
    first = _base(words[0])
    starts = range(1)
    if first in WRAPPERS or HOLE in first or _VARIABLE.match(words[0].text):
        starts = range(min(len(words), _FARTHEST))
    for index in starts:
        launch = _at(words, index)
        if launch is None and words[index].text.endswith(".py") and (index == 0 or first in _RUNNERS):
            launch = _targeted(Launch("python", "", words[index].place(0)), words[index:])
        if launch is None:
            continue
        for word in words[:index]:
            if match := _VARIABLE.match(word.text):
                launch.environment[match[1]] = word.part(match.end())
        if index:
            launch.wrapper = first
            launch.wrapped = [
                Argument(f"{first}.{option.name}", option.value, option.place, option.option_place, option.spelling)
                for option in _options(words[1:index])
            ]
        return launch if _is_training(launch) else None
    if HOLE in first:  # `$LAUNCHER $SCRIPT --learning_rate 1e-4`
        launch = _with_arguments(Launch("", "", words[0].place(0)), words[1:])
        return launch if _is_training(launch) else None
    return None


def uses_model(words: Sequence[Word]) -> bool:
    """Does a command have a tool that trains use a model, and train none?"""
    names = [_base(word) for word in words[:_FARTHEST] if word.text]
    tool = next((index for index, name in enumerate(names) if name in _USING), None)
    if tool is None or (tool and names[0] not in WRAPPERS and not _VARIABLE.match(names[0])):
        return False
    return not _USING[names[tool]].isdisjoint(names[tool + 1 : tool + 2])


def _base(word: Word) -> str:
    return word.text.rpartition("/")[2]


def _at(words: Sequence[Word], index: int) -> Launch | None:
    """The launch whose launcher or tool is this word."""
    program = _base(words[index])
    if not _STARTS.fullmatch(program) and HOLE not in program:
        return None
    place = words[index].place(0)
    after = words[index + 1 :]
    following = after[0].text if after else ""
    if program in _PROGRAMS:
        return _launched(_PROGRAMS[program], place, after)
    if program == "accelerate" and following == "launch":
        return _launched("accelerate", place, after[1:])
    if program == "colossalai" and following == "run":
        return _launched("colossalai", place, after[1:])
    if program == "tune" and following == "run":
        return _launched("tune", place, after[1:])
    if program in _TOOLS and following in _TOOLS[program][1]:
        launch = Launch("python", _TOOLS[program][0], place, subcommand=following)
        return _with_arguments(launch, after[1:])
    if program in _TRAINERS:
        return _with_arguments(Launch("python", _TRAINERS[program], place), after)
    if program == _YOLO:  # `yolo detect train model=…`, `yolo mode=train …`
        texts = [word.text for word in after]
        if "train" in texts[:2] and _YOLO_TASKS.issuperset(texts[: texts.index("train")]):
            return _with_arguments(Launch("python", "ultralytics", place), after[texts.index("train") + 1 :])
        if "mode=train" in texts:
            return _with_arguments(Launch("python", "ultralytics", place), after)
        return None
    if _PYTHON.fullmatch(program):
        return _python(place, after)
    if HOLE in program and following.endswith(".py"):  # `$PYTHON train.py`, `$LAUNCHER train.py`
        return _targeted(Launch("", "", place), after)
    return None


def _python(place: int, words: Sequence[Word]) -> Launch | None:
    index = 0
    while index < len(words) and words[index].text.startswith("-"):
        text = words[index].text
        if text in ("-c", "-"):
            return None
        if text == "-m":
            module = words[index + 1].text if index + 1 < len(words) else ""
            if module in _MODULES:
                launcher = _MODULES[module]
                rest = words[index + 2 :]
                if module.endswith("accelerate_cli") and rest and rest[0].text == "launch":
                    rest = rest[1:]
                return _launched(launcher, place, rest)
            return _targeted(Launch("python", "", place), words[index + 1 :])
        index += 2 if text in _PYTHON_VALUES else 1
    return _targeted(Launch("python", "", place), words[index:])


def _launched(launcher: str, place: int, words: Sequence[Word]) -> Launch | None:
    """A launcher with its options; the first word that is none of them is what it runs."""
    switches = _SWITCHES[launcher]
    scripts = [index for index, word in enumerate(words) if word.text.endswith(".py")]
    last = scripts[-1] if scripts else -1
    options: list[Word] = []
    index = 0
    while index < len(words):
        text = words[index].text
        if text == HOLE and last > index:  # `torchrun $OPTIONS train.py`
            index += 1
            continue
        if not text.startswith("-"):
            break
        name = text.lstrip("-").replace("-", "_")
        alone = "=" in text or name in switches or index + 1 >= len(words) or words[index + 1].text.endswith(".py")
        options += words[index : index + (1 if alone else 2)]
        index += 1 if alone else 2
    launch = Launch("torchrun" if launcher == "tune" else launcher, "torchtune" if launcher == "tune" else "", place)
    launch.options = list(_options(options, switches))
    return _targeted(launch, words[index:])


def _targeted(launch: Launch, words: Sequence[Word]) -> Launch | None:
    """A launch with the script or module that it runs, and its arguments."""
    if not words:
        return None
    launch.target, *rest = words
    text = launch.target.text
    for pattern, tool in _PARTS:
        if match := pattern.search(text[-200:]):
            launch.tool, launch.subcommand = tool, match[1]
    if launch.tool == "llamafactory" and rest and rest[0].text == "train":
        rest = rest[1:]
    name = text.rpartition("/")[2]
    if launch.tool == "" and name in _TOOLS and rest and rest[0].text in _TOOLS[name][1]:
        launch.tool, launch.subcommand = _TOOLS[name][0], rest[0].text
        rest = rest[1:]
    return _with_arguments(launch, rest)


def _with_arguments(launch: Launch, words: Sequence[Word]) -> Launch:
    split = next((index for index, word in enumerate(words) if word.text == "--"), len(words))
    if launch.tool == "axolotl":  # behind `--` stands what is for the launcher
        launch.options += _options(words[split + 1 :], _SWITCHES["torchrun"])
        words = words[:split]
    launch.files = []
    launch.arguments = list(_options(words, files=launch.files))
    return launch


def _options(
    words: Sequence[Word], switches: frozenset[str] = frozenset(), *, files: list[Word] | None = None
) -> Iterator[Argument]:
    """``--name value``, ``--name=value``, ``--switch`` and ``name=value``; all other words go to files."""
    index = 0
    while index < len(words):
        word = words[index]
        text = word.text
        index += 1
        sign, equals, value = text.partition("=")
        if _is_option(text):
            name = _name(sign)
            if equals:
                start = len(sign) + 1
                at = word.place(start) if value else word.place(0)
                yield Argument(name, value, at, word.place(0), f"{sign}={{}}", default_of(word, value))
                continue
            values: list[Word] = []
            while index < len(words) and name not in switches and not _is_option(words[index].text):
                if (values or name in MULTIRUN) and _is_override(words[index].text):
                    break
                values.append(words[index])
                index += 1
            if not values:
                yield Argument(name, True, word.place(0), word.place(0), None)
                continue
            given = values[0].text if len(values) == 1 else tuple(value.text for value in values)
            assumed = default_of(values[0], given) if isinstance(given, str) else None
            yield Argument(name, given, values[0].place(0), word.place(0), f"{text} {{}}", assumed)
        elif _is_override(text):
            start = len(sign) + 1
            yield Argument(
                _name(sign.lstrip("+~")),
                value,
                word.place(start) if value else word.place(0),
                word.place(0),
                f"{sign}={{}}",
                default_of(word, value),
            )
        elif files is not None and text != "--":
            files.append(word)


def _is_option(text: str) -> bool:
    return (text.startswith("--") and len(text) > 2) or (text.startswith("-") and text[1:2].isalpha())


def _is_override(text: str) -> bool:
    return re.match(r"[+~]{0,2}[A-Za-z_][\w.@/-]*=", text[:200]) is not None


def _name(text: str) -> str:
    return text.lstrip("-").replace("-", "_")


def is_lightning(launch: Launch) -> bool:
    """Is it `fit`, the subcommand of programs that are built on LightningCLI?"""
    names = {argument.name for argument in launch.arguments}
    return [word.text for word in launch.files[:1]] == ["fit"] and (
        bool(names & {"config", "c"}) or any(name.startswith(("trainer.", "model.", "data.")) for name in names)
    )


def _is_training(launch: Launch) -> bool:
    if any(_EVALUATES_ALONE.fullmatch(one.name) and _is_on(one.value) for one in launch.arguments):
        return False
    if is_lightning(launch):
        return True
    if launch.tool:
        return launch.tool != "trl" or launch.subcommand in _TOOLS["trl"][1]
    if any(one.name in _OF_TRAINING or (one.name == "do_train" and _is_on(one.value)) for one in launch.arguments):
        return True
    target = "" if launch.target is None else launch.target.text.rpartition("/")[2].lower()
    if launch.target is not None and "/" not in launch.target.text and not target.endswith(".py"):
        target = ".".join(target.split(".")[-2:])  # of a module the last names count
    if _TRAINS.search(target):
        return not (_DOES_NOT.search(target) and "train" not in target)
    return launch.launcher not in ("", "python") and not _DOES_NOT.search(target)


def _is_on(value: str | tuple[str, ...] | bool) -> bool:
    return value is True or (isinstance(value, str) and value.lower() in ("true", "1", "yes"))
