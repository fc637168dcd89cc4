"""What can only be said at the end of a program: who drives the loop, what came first, and what is not there."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from gradcompat.model.environment import Location, Setting, SettingValue
from gradcompat.scanners.code.arguments import Argument
from gradcompat.scanners.code.calls import KERAS, LOADER, LOADERS, STATEFUL_LOADERS
from gradcompat.scanners.code.detectors.adapted_convolutions import ON_CONVOLUTIONS, on_plain_convolutions
from gradcompat.scanners.code.detectors.added_layers import unfilled_layers
from gradcompat.scanners.code.detectors.autocast_regions import ungraded_first
from gradcompat.scanners.code.detectors.earlier_precision import after_half
from gradcompat.scanners.code.detectors.graded_losses import FUSED, only_trains
from gradcompat.scanners.code.detectors.inner_evaluations import inner_evaluation
from gradcompat.scanners.code.detectors.joined_convolutions import CONVOLVING, joined_convolution
from gradcompat.scanners.code.detectors.last_crops import ends_with_crop
from gradcompat.scanners.code.detectors.late_adapters import (
    ATTACHING,
    OVERRIDING,
    early_override,
    late_adapter,
    late_optimizer,
)
from gradcompat.scanners.code.detectors.lightning_checkpoints import reads_objects
from gradcompat.scanners.code.detectors.model_buffers import buffer_of_model, loads_a_model
from gradcompat.scanners.code.detectors.outer_losses import computed_outside
from gradcompat.scanners.code.detectors.redrawn_heads import initialised_after_resizing
from gradcompat.scanners.code.detectors.restored_generation import NONE_BEHIND, ends_generation
from gradcompat.scanners.code.detectors.returning_hooks import RETURNING, returning_hook
from gradcompat.scanners.code.detectors.schedules import SCHEDULE, uses
from gradcompat.scanners.code.detectors.split_loaders import SHARING, left_unprepared, shared_twice
from gradcompat.scanners.code.detectors.ungraded_passes import ungraded_pass
from gradcompat.scanners.code.detectors.worker_copies import copied_compositions
from gradcompat.scanners.code.findings import COMPLETIONS, PICTURE, Findings
from gradcompat.scanners.code.names import UNKNOWN
from gradcompat.scanners.code.object_history import scope_of
from gradcompat.scanners.code.option_defaults import is_option, named_option
from gradcompat.scanners.code.own_loops import read_epochs
from gradcompat.scanners.code.sample_contents import read_videos_alone
from gradcompat.scanners.code.syntax import last_name
from gradcompat.scanners.code.walk import Step
from gradcompat.scanners.configs.ms_swift import micro_batches
from gradcompat.scanners.configs.tool_defaults import left_to_tool
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.calls import Call, read_call
from gradcompat.terms.symbol_patterns import name_of

# What puts the hook on the embeddings, under whichever name; their mention alone makes the absence doubtful.
HOOKS = frozenset(
    {
        *("enable_input_require_grads", "make_inputs_require_grad", "register_forward_hook"),
        *("prepare_model_for_kbit_training", "prepare_model_for_int8_training"),
    }
)
# ``outputs[0]``, which is the loss of a model.
FIRST = "[0]"
_HOOK = "enable_input_require_grads"
_CHECKPOINTING = frozenset({"gradient_checkpointing", "use_gradient_checkpointing", "activation_checkpointing"})
_RECOMPUTES = re.compile(
    r"checkpointing|recompute|remat|utils\.checkpoint|\bcheckpoint\(|checkpoint_wrapper|import checkpoint"
    r"|use_checkpoint|with_cp\b|grad\w*_(?:checkpoint|ckpt)|memory_efficient\s*=\s*True"
)
# Who trains in a loop of the program's own, or in one that recomputes nothing by itself.
_LOOPS_OF_ITS_OWN = ("torch", "accelerate", "lightning")
# The methods of trainers that train.
_STARTS = frozenset({"train", "fit"})
_LOADERS = frozenset({"torch.utils.data.DataLoader", *STATEFUL_LOADERS})
# What runs the loop that TrainingArguments are for.
_TRAINER_OF_OTHERS = re.compile(
    r"(?:transformers|trl|optimum|unsloth|adapters|setfit|sentence_transformers)\.(?:\w+\.)*\w*Trainer(?:\.\w+)?"
)
# Schedules that are of torch's LRScheduler, which ReduceLROnPlateau was not before it.
_TORCHS_SCHEDULE = re.compile(
    r"torch\.optim\.lr_scheduler\.(?:\w+LR|CosineAnnealingWarmRestarts)|transformers\.(?:\w+\.)*get_\w*schedule\w*"
)
# What is made the padding token, and where that is the first one of the vocabulary.
_PADDING = re.compile(r"\bpad_token(?:_id)?[\"']?\s*(?:=(?!=)|:)[^\n]*")
_ZERO = re.compile(r"pad_token_id\s*=\s*0\s*(?:#.*)?")
_LLAMA = re.compile(r"llama", re.IGNORECASE)
# An end that a program writes into its samples without eos_token, or into the template of its tokenizer.
_WRITTEN_END = re.compile(r"</s>|TemplateProcessing|post_processor|input_ids[\"']?\]?(?:\.append\(|\s*\+)")
_BEFORE_SHUFFLE = 2  # dataset and batch_size
_BEFORE_WORKERS = 5  # dataset, batch_size, shuffle, sampler and batch_sampler come before num_workers
# What a program of Keras calls to train: compile and fit of a model, or a tape of its own.
_FIT = frozenset({"compile", "fit"})
_TAPE = frozenset({"GradientTape", "apply_gradients"})
_OF_TORCH = frozenset({"backward", "apply"})  # with torch behind Keras
_OF_OPTAX = frozenset({"apply_updates", "apply_gradients"})
_CPU = re.compile(r"""(?:\bdevice\s*=\s*|torch\.device\(|\.to\()["']cpu["']""")
_OTHER_DEVICE = re.compile(r"cuda|gpu|mps|xpu|deepspeed|environ|argparse", re.IGNORECASE)
# Who only compares with it may run on whatever there is.
_APPLE = re.compile(
    r"""(?:device\w*(?:\s*:\s*[\w.]+)?\s*=\s*|torch\.device\(\s*|\.to\(\s*|\breturn\s+|\belse\s+)["']mps(?::0)?["']""",
    re.IGNORECASE,
)
_BESIDE_APPLE = re.compile(
    r"cuda|xpu|directml|deepspeed|torch\.accelerator|torch_xla|npu\b|hpu\b|argparse|\bclick\b|\btyper\b|\bhydra\b|\bfire\.Fire",
    re.IGNORECASE,
)
_TAKES_ADAPTERS = ("trl", "transformers.Trainer", "accelerate", "torch")
_ADAPTED = ("peft", "adapter", "lora")
_HALF = re.compile(r"(?:bf16|fp16)\s*=\s*True")
_PRECISION_VARIABLE = "ACCELERATE_MIXED_PRECISION"  # who sets it says what the next arguments take
_BRAINS = frozenset({"speechbrain.Brain", "speechbrain.core.Brain"})
# What may bring `fit` data for a validation.
_OF_VALIDATION = re.compile(r"val_dataloader|[Dd]ata_?[Mm]odule|LightningCLI|instantiate")
# ``[t[i : i + block_size] for i in range(0, total_length, block_size)]`` and the labels of what it gives.
_CUT = re.compile(r"\[\s*(\w+)\s*:\s*\1\s*\+\s*\w+\s*\]\s*for\s+\1\s+in\s+range\(\s*0\s*,")
_ALL_COUNT = re.compile(r"""\[["']labels["']\]\s*=\s*\w+\[["']input_ids["']\]""")
# Also what may bring one from elsewhere: engines, configs and checkpoints.
_OTHER_PRECISION = re.compile(
    r"auto_?cast|b?f(?:loat|p)?16|half|amp\b|f(?:loat|p)8|precision|dtype|scaler|deepspeed|accelerat|apex|fabric"
    r"|from_pretrained|argparse|config|cfg|hydra|yaml|json|environ",
    re.IGNORECASE,
)
_AUTOCAST = re.compile("autocast")
_BACKWARD_PRE_HOOK = re.compile("full_backward_pre_hook")
_GENERATING = re.compile(r"\bgenerate\(")
# Who asks what parameters of Flax are before it thaws them.
_ASKS_FROZEN = re.compile(r"isinstance\([^()]*FrozenDict|hasattr\([^()]*['\"]unfreeze['\"]|except\s+AttributeError")
_PREPARING = re.compile(r"\.prepare\(")
_OWN_WEIGHTS = "transformers.PreTrainedModel._init_weights"
# A model of sentence-transformers, which trains itself.
_SELF_TRAINED = re.compile(r"sentence_transformers\.(?:\w+\.)*(?:SentenceTransformer|CrossEncoder|SparseEncoder)\.fit")
# An algorithm of stable-baselines3 or of the package beside it, whose learn() trains.
_OF_BASELINES = re.compile(
    r"(?:stable_baselines3|sb3_contrib)\.(?:\w+\.)*(?:A2C|ARS|CrossQ|DDPG|\w*DQN|\w*PPO|SAC|TD3|TQC|TRPO)(?:\.load)?"
)
_COMPILED = "training.torch_compile"
# The variables that keep torch.compile from compiling, whoever calls it.
_COMPILES_NOTHING = re.compile(r"TORCH(?:DYNAMO|_COMPILE)_DISABLE")
# What ms-swift's commands call, with defaults of its own.
_OF_SWIFT = re.compile(r"swift\.(?:\w+\.)*(?:sft|pt|pretrain|rlhf)_main")
_LOOP_LIBRARIES = frozenset({"torch", "accelerate", "deepspeed", "transformers"})


def conclude(found: Findings, end: Step) -> None:
    """Add what follows from the whole."""
    _hooked(found, end)
    _driven(found, end)
    if any(map(_OF_SWIFT.fullmatch, found.symbols)):
        found.settings += left_to_tool("ms-swift", found.settings)
        found.settings += micro_batches(found.settings)
    if any(map(_COMPILES_NOTHING.search, found.texts)) and _says(found, _COMPILED, value=False):
        found.settings[:] = [one for one in found.settings if one.key != _COMPILED or one.value is False]
    _merged(found)
    _accumulated_alike(found)
    _ordered(found, end)
    _absent(found, end)
    _loss(found)
    _blocks(found)
    _outside(found, end)
    _streamed(found)
    _loaded(found)
    _repeated(found)
    _batched(found)
    _validated(found, end)
    _padded(found)
    _ended(found, end)
    _shuffled(found)
    _unadapted(found)
    _pictured(found, end)
    _completed(found)
    _on_cpu(found)
    _on_apple(found)
    _in_full_precision(found)
    ungraded = ungraded_pass(found.statements) if "lightning" in found.drivers else None
    if ungraded is not None:
        found.symbols.setdefault("lightning.LightningModule.no_grad", found.place(ungraded))
    if _HALF.search(found.document.text) and _PRECISION_VARIABLE not in found.document.text:
        half = after_half(found.names.module.node, found.names)
        if half is not None:
            found.symbols.setdefault(f"{half[0]}.after_half", found.place(half[1]))
    _composed(found)
    if _OWN_WEIGHTS in found.symbols and not loads_a_model(found):
        del found.symbols[_OWN_WEIGHTS]  # no checkpoint, which it could overwrite
    buffer = buffer_of_model(found)
    if buffer is not None:
        found.symbols.setdefault("transformers.PreTrainedModel.register_buffer", buffer)
    for name, place in unfilled_layers(found):
        found.symbols.setdefault(name, place)
    redrawn = initialised_after_resizing(found.statements) if ".post_init(" in found.document.text else None
    if redrawn is not None:
        found.symbols.setdefault("transformers.PreTrainedModel.post_init.after_resizing", found.place(redrawn))


def _says(found: Findings, key: str, *, value: SettingValue) -> bool:
    return any(one.key == key and one.value is value for one in found.settings)


def _pictured(found: Findings, end: Step) -> None:
    """Who writes messages with pictures, and none with a video, trains on pictures."""
    read_videos_alone(found)
    if PICTURE in found.mentioned and not any(setting.key == "data.videos" for setting in found.settings):
        found.settings.append(Setting(key="data.videos", value=False, location=found.place(end.node), presumed=True))


def _completed(found: Findings) -> None:
    """TRL leaves prompts out of the loss where samples have a prompt and a completion, unless it is told otherwise."""
    key, driver = "training.completion_only_loss", found.drivers.get("trl")
    if driver is not None and COMPLETIONS in found.mentioned and all(one.key != key for one in found.settings):
        found.settings.append(Setting(key=key, value=True, location=driver, presumed=True))


def _composed(found: Findings) -> None:
    """What is wrong by what else the program says: orders of calls, and names that go only together."""
    if "torch" in found.imported:
        for one in found.with_text(SCHEDULE.search):
            for name, node in one.once(uses):
                found.symbols.setdefault(name, one.place(node))
        for one in found.with_text(_AUTOCAST.search):
            second = one.once(ungraded_first)
            if second is not None:
                found.symbols.setdefault("torch.autocast.ungraded_first", one.place(second))
    for one in found.with_text(_BACKWARD_PRE_HOOK.search):
        hook = one.once(returning_hook)
        if hook is not None:
            found.symbols.setdefault(RETURNING, one.place(hook))
    generating = found.with_text(_GENERATING.search) if "peft" in found.imported else []
    ending = generating[0].once(ends_generation) if len(generating) == 1 else None
    if ending is not None:
        found.symbols.setdefault(NONE_BEHIND, generating[0].place(ending))
    if "peft" in found.imported and any(map(ON_CONVOLUTIONS.search, found.texts)):
        everything = (found, *found.parts)
        told = on_plain_convolutions([statement for one in everything for statement in one.statements])
        for name, node in told:
            owner = next(one for one in everything if any(node in ast.walk(part) for part in one.statements))
            found.symbols.setdefault(name, owner.place(node))
    _reloaded(found)
    _copied(found)
    if found.lightning_module is not None and "save_hyperparameters" in found.mentioned:
        everything = (found, *found.parts)
        loaded = reads_objects(
            [one.statements for one in everything], [one.document.text for one in everything], found.imported
        )
        if loaded is not None:
            found.symbols.setdefault("lightning.LightningModule.object_hyperparameters", found.lightning_module)
    if found.lightning_module is not None and not _validates(found):
        found.symbols.setdefault("lightning.LightningModule.no_validation", found.lightning_module)
    if found.lightning_module is not None and "save_hyperparameters" not in found.mentioned:
        found.symbols.setdefault("lightning.LightningModule.no_hyperparameters", found.lightning_module)
    for one in found.with_text(ATTACHING.search):
        late = one.once(late_adapter)
        if late is not None:
            found.symbols.setdefault("late_adapter", one.place(late))
    for one in found.with_text(_PREPARING.search):
        late = one.once(late_optimizer)
        if late is not None:
            found.symbols.setdefault("late_optimizer", one.place(late))
        left = one.once(left_unprepared)
        if left is not None:
            found.symbols.setdefault("loader.unprepared", one.place(left))
    if "fla" in found.imported:
        for one in found.with_text(CONVOLVING.search):
            joined = one.once(joined_convolution)
            if joined is not None:
                found.symbols.setdefault("fla.modules.ShortConvolution.joined", one.place(joined))
    if "flax" in found.imported and "unfreeze" in found.mentioned and any(map(_ASKS_FROZEN.search, found.texts)):
        found.symbols.setdefault("unfreeze.guarded", found.place(found.names.module.node))
    fused = list(found.with_text(FUSED.search)) if "liger_kernel" in found.imported else []
    if fused and all(only_trains(one.names) for one in fused):
        found.symbols.setdefault("liger_loss.of_training", found.place(found.names.module.node))
    if "bitsandbytes" in found.imported:
        for one in found.with_text(OVERRIDING.search):
            early = one.once(early_override)
            if early is not None:
                found.symbols.setdefault("override_config.in_front", one.place(early))
    for one in found.with_text(SHARING.search):
        loader = one.once(shared_twice)
        if loader is not None:
            found.symbols.setdefault("loader.shared_twice", one.place(loader))
    scheduled = next(filter(_TORCHS_SCHEDULE.fullmatch, found.symbols), None)
    steps = any("lr_scheduler_step" in text for text in found.texts)
    kept = bool(found.configured) and not any(found.configured)  # the module steps it by hand
    if scheduled is not None and "lightning" in found.drivers and not (steps or kept):
        found.symbols.setdefault("lightning.LightningModule.torchs_scheduler", found.symbols[scheduled])


def _validates(found: Findings) -> bool:
    """May a module of Lightning's have a validation? Only what derives from its class alone surely has none."""
    everything = (found, *found.parts)
    classes = (node for one in everything for node in one.statements if isinstance(node, ast.ClassDef))
    mixed = any(len(node.bases) > 1 for node in classes)
    return mixed or (any("validation_step" in text for text in found.texts) and _loads_validation(found))


def _loads_validation(found: Findings) -> bool:
    """May ``fit`` get data for a validation? Surely not where it gets one loader that the program makes."""
    if any(_OF_VALIDATION.search(text) for text in found.texts):
        return True
    everything = (found, *found.parts)
    fits = [call.node for one in everything for call in one.called if any(name.endswith(".fit") for name in call.names)]
    made = any("DataLoader(" in text for text in found.texts)
    return not (made and fits and all(_gets_one_loader(call) for call in fits))


def _gets_one_loader(fit: ast.Call) -> bool:
    starred = any(isinstance(given, ast.Starred) for given in fit.args)
    return not starred and len(fit.args) <= 2 and all(keyword.arg is not None for keyword in fit.keywords)


def _copied(found: Findings) -> None:
    """Augmentations that end in a crop, and those that the workers of a data loader get copies of."""
    if "albumentations" not in found.imported:
        return
    everything = (found, *found.parts)
    places = {
        call.node: one
        for one in everything
        for call in one.called
        if any(name.startswith("albumentations.") for name in call.names)
    }
    for call, owner in places.items():
        if ends_with_crop(call, owner.names, scope_of(call, owner.names)):
            found.symbols.setdefault("albumentations.Compose.ends_with_crop", owner.place(call))
    for call in copied_compositions([one.statements for one in everything], places):
        found.symbols.setdefault("albumentations.Compose.copied", places[call].place(call))


def _reloaded(found: Findings) -> None:
    """Loads of what the program has saved itself, and of tokenizers of another model."""
    if not found.loaded:
        return
    saved = {ast.dump(one) for one in found.saved}
    folders = {one.value for one in found.saved if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    models = {setting.value for setting in found.settings if setting.key == "model.name"}
    for name, where, path, location in found.loaded:
        own = ast.dump(where) in saved or (path is not None and any(path.startswith(f"{one}/") for one in folders))
        if "Tokenizer" not in name:
            if own:
                found.symbols.setdefault(f"{name}.of_saved", location)
            continue
        if path is None:
            continue
        if models and None not in models and path not in models:
            found.symbols.setdefault(f"{name}.of_other", location)


def _driven(found: Findings, end: Step) -> None:
    """The framework: the most special one that is used; Lightning beside another is both.

    A trainer that only predicts or evaluates trains nothing, and neither do arguments of one that nobody makes.
    """
    if _only_parsed(found):
        del found.drivers["transformers.Trainer"]
    found.trains = found.trainer and not _STARTS.isdisjoint(found.mentioned)
    if {"backward", "step"} <= found.mentioned and found.imported & _LOOP_LIBRARIES:
        found.trains = found.trains or "lightning" not in found.drivers
        if "lightning" not in found.drivers:
            found.drivers.setdefault("torch", found.place(_first(end, {"backward"})))
    if "train_batch" in found.mentioned and "deepspeed" in found.imported and not found.drivers:
        found.trains = True  # a pipeline takes whole steps
        found.drivers["torch"] = found.place(_first(end, {"train_batch"}))
    if "fit" in found.mentioned and not _BRAINS.isdisjoint(found.symbols):
        found.trains = True  # nothing of the vocabulary drives SpeechBrain's loop
    if "fit" in found.mentioned and "TTS" in found.imported and "trainer.Trainer" in found.symbols:
        found.trains = True  # nor Coqui's
    if "fit" in found.mentioned and any(map(_SELF_TRAINED.fullmatch, found.symbols)):
        found.trains = True  # by a loop of its own or by the Trainer, as the release has it
    if "learn" in found.mentioned and any(map(_OF_BASELINES.fullmatch, found.symbols)):
        found.trains = True
        found.drivers["stable-baselines3"] = found.place(_first(end, {"learn"}))
    if not found.drivers.keys().isdisjoint({"megatron", "verl", "mlx"}) or any(map(_OF_SWIFT.fullmatch, found.symbols)):
        found.trains = True  # the functions that they are known by train
    if "optax" in found.imported and found.mentioned & _OF_OPTAX:
        found.trains = True  # nothing of the vocabulary drives a loop of JAX
    for names in (
        ("lightning",),
        ("sentence-transformers",),
        ("ultralytics",),
        ("mmengine",),
        ("gliner",),
        ("megatron",),
        ("verl",),
        ("mlx",),
        ("stable-baselines3",),
        ("trl", "transformers.Trainer"),
    ):
        first = next((name for name in names if name in found.drivers), None)
        if first is not None:
            _framework(found, first)
    if found.drivers.keys().isdisjoint({"lightning", "sentence-transformers", "trl", "transformers.Trainer"}):
        first = next((name for name in ("accelerate", "torch") if name in found.drivers), None)
        if first is not None:
            _framework(found, first)
    if not found.drivers and _trains_keras(found):
        found.trains = True
        found.drivers["keras"] = found.place(_first(end, {"fit", "train_on_batch", "GradientTape"}))
        _framework(found, "keras")
        _left_to_keras(found)
        _unread_results(found)


def _only_parsed(found: Findings) -> bool:
    """Are the arguments of transformers' Trainer a command line's, and the loop another one's that is seen here?"""
    if "transformers.Trainer" not in found.drivers or any(one.names.stars for one in (found, *found.parts)):
        return False
    own = {"backward", "step"} <= found.mentioned or "lightning" in found.drivers
    return own and not any(map(_TRAINER_OF_OTHERS.fullmatch, found.symbols))


def _merged(found: Findings) -> None:
    """A run whose trainers and optimizers get models that adapters were merged into trains all weights."""
    if not found.merged or not all(found.merged):
        return
    driver = next(iter(found.drivers.values()), None)
    loaded = [] if driver is None else [Setting(key="peft.method", value="none", location=driver)]
    for one in (found, *found.parts):
        of_others = [setting for setting in one.settings if not setting.key.startswith("peft.")]
        methods = [replace(setting, value="none") for setting in one.settings if setting.key == "peft.method"]
        one.settings = [*of_others, *(methods or loaded)]
        loaded = []


def _accumulated_alike(found: Findings) -> None:
    """Whether DeepSpeed's plugin and the Accelerator that takes it accumulate as many micro-batches.

    The plugin that is given no number accumulates one.
    """
    by_name: dict[str, list[tuple[Call, Location]]] = {}
    for text, location in found.calls.items():
        last = name_of(text).rpartition(".")[2]
        if last in ("Accelerator", "DeepSpeedPlugin") and name_of(text).startswith("accelerate."):
            by_name.setdefault(last, []).append((read_call(text), location))
    if set(by_name) != {"Accelerator", "DeepSpeedPlugin"} or any(len(calls) > 1 for calls in by_name.values()):
        return
    ((whole, location),), ((plugin, _),) = by_name["Accelerator"], by_name["DeepSpeedPlugin"]
    numbers = [one.named.get("gradient_accumulation_steps", 1) for one in (whole, plugin)]
    if not whole.whole or not plugin.whole or plugin.positional or plugin.named.keys() & {"hf_ds_config"}:
        return
    if all(isinstance(number, int) for number in numbers):
        found.settings.append(
            Setting(key="deepspeed.same_accumulation", value=numbers[0] == numbers[1], location=location)
        )


def _first(end: Step, names: Collection[str]) -> ast.AST:
    """The first method of those names that the program mentions; the program where it imports what mentions them."""
    mentions = (node for node in ast.walk(end.node) if isinstance(node, ast.Attribute) and node.attr in names)
    return min(mentions, key=lambda node: node.lineno, default=end.node)


def _unread_results(found: Findings) -> None:
    """Steps of Keras of whose results nothing is taken."""
    steps = {"train_on_batch", "test_on_batch"}
    if steps.isdisjoint(found.mentioned):
        return
    everything = (found, *found.parts)
    taken = [(one, call) for one in everything for call in one.names.nodes(ast.Call) if last_name(call.func) in steps]
    alone = {id(node.value) for one in everything for node in one.names.nodes(ast.Expr)}
    if taken and all(id(call) in alone for _, call in taken):
        owner, first = taken[0]
        found.symbols.setdefault("train_on_batch.unread", owner.place(first))


def _left_to_keras(found: Findings) -> None:
    """What the optimizers of Keras do unless they are told otherwise; AdamW alone decays by itself."""
    names = found.names
    if found.parts or names.relative or names.stars or names.rewritten:
        return
    said = {one.key for one in found.settings}
    left = {"training.gradient_accumulation_steps": 1, "optimizer.weight_decay": 0.0}
    if "AdamW" in found.mentioned:
        del left["optimizer.weight_decay"]
    for key, value in left.items():
        if key not in said:
            found.settings.append(Setting(key=key, value=value, location=found.drivers["keras"], presumed=True))


def _is_loop_of_torch(found: Findings) -> bool:
    """Does torch alone drive the run?"""
    return {one.value for one in found.settings if one.key == "training.framework"} == {"torch"}


def _is_read_whole(found: Findings) -> bool:
    """Does it take nothing of other modules of the project?"""
    return not (found.parts or found.names.relative or found.names.stars)


def _on_cpu(found: Findings) -> None:
    """A loop of torch whose device is the CPU, by a word of the program and without one of another."""
    if not _is_loop_of_torch(found) or not _is_read_whole(found):
        return
    if _CPU.search(found.document.text) and not _OTHER_DEVICE.search(found.document.text):
        where = found.drivers["torch"]
        found.settings.append(Setting(key="host.device", value="cpu", location=where, presumed=True))


def _on_apple(found: Findings) -> None:
    """A loop of torch that takes Apple's GPU if there is one, and names no other: it was written on a Mac."""
    if not _is_loop_of_torch(found) or any(one.key == "host.device" for one in found.settings):
        return
    others = any(map(_BESIDE_APPLE.search, found.texts))
    if _APPLE.search(found.document.text) and not others:
        where = found.drivers["torch"]
        found.settings.append(Setting(key="host.device", value="mps", location=where, presumed=True))


def _in_full_precision(found: Findings) -> None:
    """A loop of torch that was read to its end, and has no word of another precision in it."""
    if not _is_loop_of_torch(found) or not _is_read_whole(found):
        return
    said = any(one.key == "precision.mode" for one in found.settings)
    if not said and not _OTHER_PRECISION.search(found.document.text):
        where = found.drivers["torch"]
        found.settings.append(Setting(key="precision.mode", value="no", location=where, presumed=True))


def _unadapted(found: Findings) -> None:
    """Whoever trains adapters says so somewhere, and an installed PEFT alone makes none."""
    driver = next((name for name in _TAKES_ADAPTERS if name in found.drivers), None)
    if driver is None or not found.trains or found.parts or found.names.relative or found.names.stars:
        return
    if not any(word in found.document.text.lower() for word in _ADAPTED):
        where = found.drivers[driver]
        found.settings.append(Setting(key="peft.method", value="none", location=where, presumed=True))


def _loss(found: Findings) -> None:
    """A loss of one's own: how labels weigh in it is not known, nor what a model of one's own takes."""
    if not found.own_losses:
        return
    first = found.own_losses[0][0]
    found.settings.append(Setting(key="data.unequal_labels", value=None, location=first))
    said = {leaves_out for _, leaves_out in found.own_losses}
    theirs = bool(found.models) and not found.own_module  # whose forward may take other arguments
    value = said.pop() if len(said) == 1 and (theirs or True not in said) else None
    found.settings.append(Setting(key="training.custom_compute_loss", value=value, location=first))


def _blocks(found: Findings) -> None:
    """Texts that are cut into blocks of one length, of which every token counts, as run_clm.py of transformers does."""
    driver = found.drivers.get("transformers.Trainer") or found.drivers.get("accelerate")
    if driver is None or found.own_losses or any(one.key == "data.unequal_labels" for one in found.settings):
        return
    text = "\n".join(found.texts)
    masks = "DataCollatorForLanguageModeling" in text and "mlm=False" not in text.replace(" ", "")
    if _CUT.search(text) and _ALL_COUNT.search(text) and not masks and "-100" not in text:
        found.settings.append(Setting(key="data.unequal_labels", value=False, location=driver, presumed=True))


def _outside(found: Findings, end: Step) -> None:
    """A loop of the program's own that never takes a loss out of what its model returns computes it from the logits.

    So does a Trainer of its own in `compute_loss`.
    """
    driven = {one.value for one in found.settings if one.key == "training.framework"}
    names = found.names
    own = bool(driven) and driven <= {"torch", "accelerate"}
    loss = computed_outside(names) if own else None
    if loss is not None:
        found.state(end, "model.returns_loss", False, at=loss)
        return
    if not (own or found.own_losses) or not found.models:
        return
    if found.parts or names.relative or names.stars or names.rewritten or found.dynamic or found.hidden:
        return
    if found.mentioned.isdisjoint({"loss", FIRST}):
        found.state(end, "model.returns_loss", False)


def _streamed(found: Findings) -> None:
    """A stream comes in its own order where the program, all of which was read, shuffles nothing, and as a whole where
    it filters nothing.

    Trainers and data loaders shuffle no stream themselves.
    """
    made = found.symbols.get("datasets.IterableDataset.from_generator")
    if made is not None:
        found.settings.append(Setting(key="data.streaming", value=True, location=made))
    streams = [one.location for one in found.settings if one.key == "data.streaming" and one.value is True]
    names = found.names
    if not streams or found.parts or names.relative or names.stars or names.rewritten or found.dynamic:
        return
    if not any("shuffle" in name for name in found.mentioned):
        found.settings.append(Setting(key="data.shuffle", value=False, location=streams[0]))
    if "filter" not in found.mentioned:
        found.settings.append(Setting(key="data.stream_filter", value=False, location=streams[0]))


def _loaded(found: Findings) -> None:
    """The worker processes of the data loaders that a program makes itself, if all loaders agree on several or none.

    That a number is given and computed is told, too.
    """
    agreed: tuple[int | None, Location] | None = _of_loaders(found, _workers, alone=0)
    driven = {one.value for one in found.settings if one.key == "training.framework"}
    if agreed is None and driven and driven <= {*_LOOPS_OF_ITS_OWN}:
        calls = [(one, call.node) for one in (found, *found.parts) for call in one.called if {*call.names} <= _LOADERS]
        if _workers_of_option(found, [call for one, call in calls if one is found], others=len(calls)):
            return
        computed = [(None, one.place(call)) for one, call in calls if _computes_workers(call)]
        agreed = computed[0] if computed else None
    if agreed is not None:
        found.settings.append(Setting(key="training.dataloader_num_workers", value=agreed[0], location=agreed[1]))


def _repeated(found: Findings) -> None:
    """How often a loop of the program's own goes through the data, where it counts its epochs."""
    driven = {one.value for one in found.settings if one.key == "training.framework"}
    if not driven or not driven <= {"torch", "accelerate"}:
        return
    for loop in found.names.nodes(ast.For):
        if isinstance(loop, ast.For) and read_epochs(found, loop, scope_of(loop, found.names)):
            return


def _workers_of_option(found: Findings, calls: Sequence[ast.Call], *, others: int) -> bool:
    """Does one option of the command line say it for all loaders, ``num_workers=args.workers``? Then it is noted."""
    given = [word.value for call in calls for word in call.keywords if word.arg == "num_workers"]
    if not given or len(given) != others or len({ast.unparse(one) for one in given}) != 1:
        return False
    scope = scope_of(given[0], found.names)
    asked = is_option(given[0], found.names, scope)
    if asked not in found.options if asked is not None else named_option(given[0], found.names, scope) is None:
        return False
    step = Step(given[0], scope, scope, branch=False)
    found.feed(step, LOADER, [Argument("num_workers", UNKNOWN, given[0], None, given[0])], LOADERS)
    return True


def _computes_workers(call: ast.Call) -> bool:
    return any(one.arg == "num_workers" and not isinstance(one.value, ast.Constant) for one in call.keywords)


def _batched(found: Findings) -> None:
    """The samples of a batch of the data loaders that a program makes itself, if all agree on several or one."""
    agreed = _of_loaders(found, _batch, alone=1)
    if agreed is not None:
        found.settings.append(
            Setting(key="training.per_device_eval_batch_size", value=agreed[0], location=agreed[1], presumed=True)
        )


def _of_loaders(found: Findings, count: Callable[[ast.Call], int | None], *, alone: int) -> tuple[int, Location] | None:
    """The least count of the data loaders and where it stands, if all say it and all are above one, or `alone`.

    Loaders of training and of validation are not told apart.
    """
    driven = {one.value for one in found.settings if one.key == "training.framework"}
    if not driven or not driven <= {"torch", "accelerate", "lightning"}:
        return None
    everything = (found, *found.parts)
    calls = [(one, call.node) for one in everything for call in one.called if _LOADERS.issuperset(call.names)]
    given = [count(call) for _, call in calls]
    counts = [one for one in given if one is not None]
    if not counts or len(counts) != len(given) or (min(counts) <= 1 and max(counts) != alone):
        return None
    owner, least = calls[counts.index(min(counts))]
    return min(counts), owner.place(least)


def _batch(call: ast.Call) -> int | None:
    """The batch size of one loader, 1 where it says nothing; None if what it says is computed."""
    if any(one.arg in (None, "batch_sampler") for one in call.keywords):
        return None
    told = [one.value for one in call.keywords if one.arg == "batch_size"] or call.args[1:_BEFORE_SHUFFLE]
    if not told:
        return 1
    value = told[0].value if isinstance(told[0], ast.Constant) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _validated(found: Findings, end: Step) -> None:
    """A loop of the program's own that evaluates between its steps."""
    driven = {one.value for one in found.settings if one.key == "training.framework"}
    if not driven or not driven <= {"torch", "accelerate"}:
        return
    evaluation = inner_evaluation(found.statements)
    if evaluation is None:
        return
    found.state(end, "training.validation_inside_epoch", True, at=evaluation.at)
    if evaluation.apart:
        found.symbol("accelerate.Accelerator.evaluates_apart", evaluation.at)
    if evaluation.gathers is not None:
        found.symbol("accelerate.Accelerator.gathers_steps", evaluation.gathers)


def _padded(found: Findings) -> None:
    """``tokenizer.pad_token_id = 0``: in LLaMA's vocabularies that token ends nothing, in those of Pythia it does."""
    names = [one.value for one in found.settings if one.key == "model.name"]
    if not names or not all(isinstance(name, str) and _LLAMA.search(name) for name in names):
        return
    paddings = _PADDING.findall(found.document.text)
    if paddings and all(_ZERO.fullmatch(one) for one in paddings):
        found.settings[:] = [
            replace(one, value=False) if one.key == "data.pad_is_eos" and one.value is None else one
            for one in found.settings
        ]


def _ended(found: Findings, end: Step) -> None:
    if "add_eos_token" in found.document.text and _WRITTEN_END.search(found.document.text):
        found.symbols.setdefault("tokenizer.eos_token.written", found.place(end.node))


def _shuffled(found: Findings) -> None:
    """Loaders of torch in a loop of the program's own take the samples in their order, if none is told to shuffle."""
    driven = {one.value for one in found.settings if one.key == "training.framework"}
    if not driven or not driven <= {"torch", "accelerate"} or {"shuffle", "sampler"} & found.mentioned:
        return
    if any(one.key in ("data.streaming", "data.shuffle") for one in found.settings):
        return
    calls = [call.node for call in found.called if _LOADERS.issuperset(call.names)]
    if calls and all(_keeps_order(call) for call in calls):
        found.settings.append(Setting(key="data.shuffle", value=False, location=found.place(calls[0])))


def _keeps_order(call: ast.Call) -> bool:
    """Is a loader neither told to shuffle nor given a sampler, by what stands in the call?"""
    if len(call.args) > _BEFORE_SHUFFLE or any(one.arg is None for one in call.keywords):
        return False
    told = [one.value for one in call.keywords if one.arg in ("shuffle", "sampler", "batch_sampler")]
    return all(isinstance(one, ast.Constant) and one.value in (False, None) for one in told)


def recomputes_nothing(found: Findings, text: str) -> Iterator[Setting]:
    """A loop of the program's own recomputes no activations if no word of it says so; a config still may.

    Args:
        found: in the program, all of whose modules were read.
        text: of the program and of these modules.
    """
    driver = next((one for one in found.settings if one.key == "training.framework"), None)
    if driver is None or driver.value not in _LOOPS_OF_ITS_OWN or found.names.stars or _RECOMPUTES.search(text):
        return
    yield Setting(key="training.gradient_checkpointing", value=False, location=driver.location, presumed=True)


def _workers(call: ast.Call) -> int | None:
    """The workers of one loader, none where it says nothing; None if what it says is computed."""
    if len(call.args) > _BEFORE_WORKERS or any(one.arg is None for one in call.keywords):
        return None
    for one in call.keywords:
        if one.arg == "num_workers":
            value = one.value.value if isinstance(one.value, ast.Constant) else None
            return value if isinstance(value, int) and not isinstance(value, bool) else None
    return 0


def _trains_keras(found: Findings) -> bool:
    """Does the program train a model of Keras? Others have a fit, too, where TensorFlow is only imported."""
    if found.imported.isdisjoint(KERAS):
        return False
    if "train_on_batch" not in found.mentioned and not found.mentioned >= _FIT:
        return found.mentioned >= _TAPE or (found.mentioned >= _OF_TORCH and "torch" not in found.imported)
    used = found.mentioned.union(*(name.split(".") for name in found.symbols))
    return not (found.imported | used).isdisjoint(KERAS - {"tensorflow"})


def _framework(found: Findings, name: str) -> None:
    found.settings.append(Setting(key="training.framework", value=name, location=found.drivers[name]))


def order(found: Findings, end: Step) -> None:
    """What follows from one module of several."""
    _hooked(found, end)
    _ordered(found, end)


def _hooked(found: Findings, end: Step) -> None:
    """Where the hook on the embeddings stands behind the question for checkpointing, it is there when it counts."""
    if not found.hooks:
        return
    asked = _behind_checkpointing(end.node) if any(step.branch for step in found.hooks) else set()
    for step in found.hooks:
        branch = step.branch and step.node not in asked
        found.state(step._replace(branch=branch), "training.enable_input_require_grads", True)


def _behind_checkpointing(tree: ast.AST) -> set[ast.AST]:
    """The calls of the hook that are made whenever checkpointing is asked for, if the model has the method."""
    found: set[ast.AST] = set()
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    for node, inside in waiting:
        match node:
            case ast.If(test=test, body=body, orelse=otherwise):
                now = inside if _asks_for_method(test) else _asks_for_checkpointing(test)
                waiting += [(one, now) for one in body]
                waiting += [(one, False) for one in otherwise]
            case ast.Call(func=ast.Attribute(attr=name)) if inside and name == _HOOK:
                found.add(node)
            case ast.Expr() | ast.With() | ast.Module():
                waiting += [(child, inside) for child in ast.iter_child_nodes(node)]
            case _:
                waiting += [(child, False) for child in ast.iter_child_nodes(node)]
    return found


def _asks_for_checkpointing(test: ast.expr) -> bool:
    """`training_args.gradient_checkpointing`, alone."""
    return (isinstance(test, ast.Attribute) and test.attr in _CHECKPOINTING) or (
        isinstance(test, ast.Name) and test.id in _CHECKPOINTING
    )


def _asks_for_method(test: ast.expr) -> bool:
    """`hasattr(model, "enable_input_require_grads")`."""
    match test:
        case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=name)]):
            return bool(name == _HOOK)
    return False


def _ordered(found: Findings, end: Step) -> None:
    """Was checkpointing enabled before the adapter was put on? In one function only that can be read off."""
    if not found.wrapping or not found.checkpointing:
        return
    wrapped = found.wrapping[0]
    sure = len(found.wrapping) == 1 and not wrapped.branch
    sure = sure and all(not step.branch and step.function is wrapped.function for step in found.checkpointing)
    first = found.checkpointing[0]
    # Enabled before and once more after is enabled before.
    before = _position(first) < _position(wrapped)
    found.state(end, "training.checkpointing_before_peft", before if sure else None, at=first.node)


def _position(step: Step) -> tuple[int, int]:
    return getattr(step.node, "lineno", 0), getattr(step.node, "col_offset", 0)


def _absent(found: Findings, end: Step) -> None:
    """What the program does not do, where nothing of it is hidden.

    A program that loads the model, puts adapters on it or freezes its embeddings, and hands it to transformers'
    Trainer or to a loop of its own, all in this one file and with no module of the project between them, and that
    nowhere mentions the hook on the embeddings, does not set it. Then, and only then, the absence is stated:
    `training.enable_input_require_grads` and `peft.prepare_model_for_kbit_training` are false, and checkpointing
    that only the Trainer's arguments ask for comes after the adapter. TRL, Lightning and unsloth do things to the
    model of their own, so nothing is said with them.
    """
    changed = found.frozen or (found.wrapping[0].node if found.wrapping else None)
    if changed is None or any(step.branch for step in found.wrapping) or not found.trains or not found.models:
        return
    if found.parts:
        return  # the modules between them may do it
    names = found.names
    foreign = {"trl", "unsloth"} & names.imported.keys() or {"trl", "lightning"} & found.drivers.keys()
    if foreign or names.relative or names.stars or names.rewritten or found.hidden:
        return
    if not found.mentioned & HOOKS:
        found.state(end, "training.enable_input_require_grads", False, at=changed)
        if found.wrapping:
            found.state(end, "peft.prepare_model_for_kbit_training", False, at=changed)
    asked = any(
        setting.key == "training.gradient_checkpointing" and setting.value is True for setting in found.settings
    )
    if found.wrapping and asked and not found.checkpointing:
        found.state(end, "training.checkpointing_before_peft", False, at=changed)
