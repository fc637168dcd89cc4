"""What can only be said at the end of a program: who drives the loop, what came first, and what is not there."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from gradcompat.model.environment import Location, Setting, SettingValue
from gradcompat.scanners.code.calls import BATCH, KERAS
from gradcompat.scanners.code.checkpointing_order import absent, hooked, ordered
from gradcompat.scanners.code.composed_calls import composed
from gradcompat.scanners.code.detectors.added_layers import unfilled_layers
from gradcompat.scanners.code.detectors.earlier_precision import after_half
from gradcompat.scanners.code.detectors.inner_evaluations import inner_evaluation
from gradcompat.scanners.code.detectors.model_buffers import buffer_of_model, loads_a_model
from gradcompat.scanners.code.detectors.outer_losses import computed_outside
from gradcompat.scanners.code.detectors.read_parts import READ, read_of, saved_modules
from gradcompat.scanners.code.detectors.redrawn_heads import initialised_after_resizing
from gradcompat.scanners.code.detectors.renamed_parameters import RENAMED, gamma_of_model
from gradcompat.scanners.code.detectors.ungraded_passes import ungraded_pass
from gradcompat.scanners.code.findings import COMPLETIONS, PICTURE, Findings
from gradcompat.scanners.code.loader_inference import LOOPS_OF_ITS_OWN, batched, loaded, repeated, shuffled, streamed
from gradcompat.scanners.code.sample_contents import read_videos_alone
from gradcompat.scanners.code.syntax import last_name
from gradcompat.scanners.code.walk import Step
from gradcompat.scanners.configs.model_names import BODY, model_settings
from gradcompat.scanners.configs.ms_swift import micro_batches
from gradcompat.scanners.configs.tool_defaults import left_to_tool
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.calls import Call, read_call
from gradcompat.terms.symbol_patterns import name_of

# ``outputs[0]``, which is the loss of a model.
FIRST = "[0]"
_RECOMPUTES = lazy_pattern(
    r"checkpointing|recompute|remat|utils\.checkpoint|\bcheckpoint\(|checkpoint_wrapper|import checkpoint"
    r"|use_checkpoint|with_cp\b|grad\w*_(?:checkpoint|ckpt)|memory_efficient\s*=\s*True"
)
# The methods of trainers that train.
_STARTS = frozenset({"train", "fit"})
# What runs the loop that TrainingArguments are for.
_TRAINER_OF_OTHERS = lazy_pattern(
    r"(?:transformers|trl|optimum|unsloth|adapters|setfit|sentence_transformers)\.(?:\w+\.)*\w*Trainer(?:\.\w+)?"
)
# TRL's before 0.12 takes the steps that the program's own loop asks for.
_TAKES_STEPS = lazy_pattern(r"(?:trl|unsloth)\.(?:\w+\.)*PPOTrainer\.step")
# The step of ignite that a program does not write out.
_SUPERVISED = lazy_pattern(r"ignite\.engine\.create_supervised_trainer")
# What is made the padding token, and where that is the first one of the vocabulary.
_PADDING = lazy_pattern(r"\bpad_token(?:_id)?[\"']?\s*(?:=(?!=)|:)[^\n]*")
_ZERO = lazy_pattern(r"pad_token_id\s*=\s*0\s*(?:#.*)?")
_LLAMA = lazy_pattern(r"llama", re.IGNORECASE)
# An end that a program writes into its samples without eos_token, or into the template of its tokenizer.
_WRITTEN_END = lazy_pattern(r"</s>|TemplateProcessing|post_processor|input_ids[\"']?\]?(?:\.append\(|\s*\+)")
# What a program of Keras calls to train: compile and fit of a model, or a tape of its own.
_FIT = frozenset({"compile", "fit"})
_TAPE = frozenset({"GradientTape", "apply_gradients"})
_OF_TORCH = frozenset({"backward", "apply"})  # with torch behind Keras
_OF_OPTAX = frozenset({"apply_updates", "apply_gradients"})
_CPU = lazy_pattern(r"""(?:\bdevice\s*=\s*|torch\.device\(|\.to\()["']cpu["']""")
_OTHER_DEVICE = lazy_pattern(r"cuda|gpu|mps|xpu|deepspeed|environ|argparse", re.IGNORECASE)
# Who only compares with it may run on whatever there is.
_APPLE = lazy_pattern(
    r"""(?:device\w*(?:\s*:\s*[\w.]+)?\s*=\s*|torch\.device\(\s*|\.to\(\s*|\breturn\s+|\belse\s+)["']mps(?::0)?["']""",
    re.IGNORECASE,
)
_BESIDE_APPLE = lazy_pattern(
    r"cuda|xpu|directml|deepspeed|torch\.accelerator|torch_xla|npu\b|hpu\b|argparse|\bclick\b|\btyper\b|\bhydra\b|\bfire\.Fire",
    re.IGNORECASE,
)
_TAKES_ADAPTERS = ("trl", "transformers.Trainer", "accelerate", "torch")
_ADAPTED = ("peft", "adapter", "lora")
_HALF = lazy_pattern(r"\b(?:bf16|fp16)\b")
_PRECISION_VARIABLE = "ACCELERATE_MIXED_PRECISION"  # who sets it says what the next arguments take
# What trains in libraries that nothing of the vocabulary drives, by a call of it or of what it makes.
_LOOPS_OF_OTHERS = (
    (lazy_pattern(r"speechbrain\.(?:core\.)?Brain"), frozenset({"fit"})),
    (lazy_pattern(r"flair\.trainers\.(?:\w+\.)*\w*Trainer"), frozenset({"train", "fine_tune"})),
    (lazy_pattern(r"fastai\..*"), frozenset({"fit", "fit_one_cycle", "fit_flat_cos", "fine_tune"})),
    (lazy_pattern(r"simpletransformers\..*"), frozenset({"train_model"})),
    (lazy_pattern(r"detectron2\.engine\.(?:\w+\.)*\w*Trainer"), frozenset({"train"})),
    (lazy_pattern(r"colbert\.(?:\w+\.)*Trainer"), frozenset({"train"})),
    (lazy_pattern(r"autogluon\..*"), frozenset({"fit"})),
    (lazy_pattern(r"(?:skorch|pytorch_tabnet)\..*"), frozenset({"fit"})),
)
# What a loop over a pipeline of spaCy makes its weights or its optimizer by.
_STARTS_SPACY = frozenset({"initialize", "begin_training", "resume_training", "create_optimizer"})
# ``[t[i : i + block_size] for i in range(0, total_length, block_size)]`` and the labels of what it gives.
_CUT = lazy_pattern(r"\[\s*(\w+)\s*:\s*\1\s*\+\s*\w+\s*\]\s*for\s+\1\s+in\s+range\(\s*0\s*,")
_ALL_COUNT = lazy_pattern(r"""\[["']labels["']\]\s*=\s*\w+\[["']input_ids["']\]""")
_FILLED = lazy_pattern(r"""padding["']?\s*[=:]\s*["']max_length["']""")
# A collator that pads nothing, and stops where texts of a batch differ in length; what makes them differ by batch.
_STACKED = lazy_pattern(r"data_collator\s*=\s*(?:\w+\.)*default_data_collator\b")
_TO_LONGEST = lazy_pattern(r"""padding["']?\s*[=:]\s*(?:True|["']longest)""")
# What leaves out the padding that a text is filled up with.
_LEAVES_OUT = lazy_pattern(r"-\s*100|DataCollatorFor|ignore_index|masked_fill")
# Also what may bring one from elsewhere: engines, configs and checkpoints.
_OTHER_PRECISION = lazy_pattern(
    r"auto_?cast|b?f(?:loat|p)?16|half|amp\b|f(?:loat|p)8|precision|dtype|scaler|deepspeed|accelerat|apex|fabric"
    r"|from_pretrained|argparse|config|cfg|hydra|yaml|json|environ",
    re.IGNORECASE,
)
_OWN_WEIGHTS = "transformers.PreTrainedModel._init_weights"
_EMBEDDING = lazy_pattern(
    r"sentence_transformers\.(?:\w+\.)*(SentenceTransformer|CrossEncoder)\((?:model_name(?:_or_path)?=)?'([^']+)'"
)
_EMBEDDING_TASKS = {"SentenceTransformer": BODY, "CrossEncoder": "SequenceClassification"}
# A model of sentence-transformers, which trains itself.
_SELF_TRAINED = lazy_pattern(
    r"sentence_transformers\.(?:\w+\.)*(?:SentenceTransformer|CrossEncoder|SparseEncoder)\.fit"
)
# An algorithm of stable-baselines3 or of the package beside it, whose learn() trains.
_OF_BASELINES = lazy_pattern(
    r"(?:stable_baselines3|sb3_contrib)\.(?:\w+\.)*(?:A2C|ARS|CrossQ|DDPG|\w*DQN|\w*PPO|SAC|TD3|TQC|TRPO)(?:\.load)?"
)
_COMPILED = "training.torch_compile"
# The variables that keep torch.compile from compiling, whoever calls it.
_COMPILES_NOTHING = lazy_pattern(r"TORCH(?:DYNAMO|_COMPILE)_DISABLE")
# What ms-swift's commands call, with defaults of its own.
_OF_SWIFT = lazy_pattern(r"swift\.(?:\w+\.)*(?:sft|pt|pretrain|rlhf)_main")
_LOOP_LIBRARIES = frozenset({"torch", "accelerate", "deepspeed", "transformers"})


def conclude(found: Findings, end: Step) -> None:
    """Add what follows from the whole."""
    _read_parts(found)
    hooked(found, end)
    _driven(found, end)
    if any(map(_OF_SWIFT.fullmatch, found.symbols)):
        found.settings += left_to_tool("ms-swift", found.settings)
        found.settings += micro_batches(found.settings)
    if found.with_text(_COMPILES_NOTHING.search) and _says(found, _COMPILED, value=False):
        found.settings[:] = [one for one in found.settings if one.key != _COMPILED or one.value is False]
    _embedded(found)
    _merged(found)
    _accumulated_alike(found)
    ordered(found, end)
    absent(found, end)
    _masked(found)
    _loss(found)
    _blocks(found)
    _outside(found, end)
    streamed(found)
    loaded(found)
    repeated(found)
    batched(found)
    _validated(found, end)
    _padded(found)
    _ended(found, end)
    shuffled(found)
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
    composed(found)
    if _OWN_WEIGHTS in found.symbols and not loads_a_model(found):
        del found.symbols[_OWN_WEIGHTS]  # no checkpoint, which it could overwrite
    gamma = gamma_of_model(found)
    if gamma is not None:
        found.symbols.setdefault(RENAMED, gamma)
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
    if "step" in found.mentioned and any(map(_TAKES_STEPS.fullmatch, found.symbols)):
        found.trains = True
    if "run" in found.mentioned and any(map(_SUPERVISED.fullmatch, found.symbols)):
        found.trains = True
        found.drivers.setdefault("torch", found.place(_first(end, {"run"})))
    if "train_batch" in found.mentioned and "deepspeed" in found.imported and not found.drivers:
        found.trains = True  # a pipeline takes whole steps
        found.drivers["torch"] = found.place(_first(end, {"train_batch"}))
    if any(found.mentioned & calls and any(map(names.fullmatch, found.symbols)) for names, calls in _LOOPS_OF_OTHERS):
        found.trains = True
    if "spacy" in found.imported and "update" in found.mentioned and found.mentioned & _STARTS_SPACY:
        found.trains = True
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
    whole = [] if driver is None else [Setting(key="peft.method", value="none", location=driver)]
    for one in (found, *found.parts):
        of_others = [setting for setting in one.settings if not setting.key.startswith("peft.")]
        methods = [replace(setting, value="none") for setting in one.settings if setting.key == "peft.method"]
        one.settings = [*of_others, *(methods or whole)]
        whole = []


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


def _read_parts(found: Findings) -> None:
    """Modules that PEFT trains as copies, of which the program reads attributes."""
    if not _says(found, "peft.modules_to_save", value=True):
        return
    everything = (found, *found.parts)
    saved = set().union(*(saved_modules(one.names) for one in everything))
    for owner in everything if saved else ():
        read = read_of(saved, owner.names)
        if read is not None:
            found.symbols.setdefault(READ, owner.place(read))
            return


def _left_to_keras(found: Findings) -> None:
    """What the optimizers of Keras do unless they are told otherwise; AdamW alone decays by itself."""
    names = found.names
    if found.runs_modules or names.relative or names.stars or names.rewritten:
        return
    said = {one.key for one in found.settings}
    left = {"training.gradient_accumulation_steps": 1, "optimizer.weight_decay": 0.0}
    if "AdamW" in found.mentioned:
        del left["optimizer.weight_decay"]
    for key, value in left.items():
        if key not in said:
            found.settings.append(Setting(key=key, value=value, location=found.drivers["keras"], presumed=True))


def _embedded(found: Findings) -> None:
    """The model of a program that names those of sentence-transformers alone."""
    if any(one.key in ("model.name", "model.architecture") for one in found.settings):
        return
    for line, location in found.calls.items():
        if named := _EMBEDDING.match(line):
            found.settings += model_settings(named[2], location, task=_EMBEDDING_TASKS[named[1]])


def _is_read_whole(found: Findings) -> bool:
    """Does it take nothing of other modules of the project?"""
    return not (found.runs_modules or found.names.relative or found.names.stars)


def _on_cpu(found: Findings) -> None:
    """A loop of torch whose device is the CPU, by a word of the program and without one of another."""
    if not found.is_driven_by("torch") or not _is_read_whole(found):
        return
    if _CPU.search(found.document.text) and not _OTHER_DEVICE.search(found.document.text):
        where = found.drivers["torch"]
        found.settings.append(Setting(key="host.device", value="cpu", location=where, presumed=True))


def _on_apple(found: Findings) -> None:
    """A loop of torch that takes Apple's GPU if there is one, and names no other: it was written on a Mac."""
    if not found.is_driven_by("torch") or any(one.key == "host.device" for one in found.settings):
        return
    others = any(map(_BESIDE_APPLE.search, found.texts))
    if _APPLE.search(found.document.text) and not others:
        where = found.drivers["torch"]
        found.settings.append(Setting(key="host.device", value="mps", location=where, presumed=True))


def _in_full_precision(found: Findings) -> None:
    """A loop of torch that was read to its end, and has no word of another precision in it."""
    if not found.is_driven_by("torch") or not _is_read_whole(found):
        return
    said = any(one.key == "precision.mode" for one in found.settings)
    if not said and not _OTHER_PRECISION.search(found.document.text):
        where = found.drivers["torch"]
        found.settings.append(Setting(key="precision.mode", value="no", location=where, presumed=True))


def _unadapted(found: Findings) -> None:
    """Whoever trains adapters says so somewhere, and an installed PEFT alone makes none."""
    driver = next((name for name in _TAKES_ADAPTERS if name in found.drivers), None)
    if driver is None or not found.trains or found.runs_modules or found.names.relative or found.names.stars:
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
    """Texts of one length, of which every token counts.

    They are cut into blocks, as run_clm.py of transformers does, filled up with padding that is among the labels, or
    stacked as they are.
    """
    driver = found.drivers.get("transformers.Trainer") or found.drivers.get("accelerate")
    if driver is None or found.own_losses or any(one.key == "data.unequal_labels" for one in found.settings):
        return
    text = "\n".join(found.texts)
    masks = "DataCollatorForLanguageModeling" in text and "mlm=False" not in text.replace(" ", "")
    cut = _CUT.search(text) and not masks and "-100" not in text
    stacked = _STACKED.search(text) and not _TO_LONGEST.search(text) and "-100" not in text
    if (cut or stacked or (_FILLED.search(text) and not _LEAVES_OUT.search(text))) and _ALL_COUNT.search(text):
        found.settings.append(Setting(key="data.unequal_labels", value=False, location=driver, presumed=True))


def _masked(found: Findings) -> None:
    """Batches of a processor bring the mask of cross-attention, unless a call says what it takes of them."""
    key = BATCH["cross_attention_mask"]
    if found.masking and all(setting.key != key for setting in found.settings):
        found.settings.append(Setting(key=key, value=True, location=found.masking[0]))


def _outside(found: Findings, end: Step) -> None:
    """A loop of the program's own that never takes a loss out of what its model returns computes it from the logits.

    So does a Trainer of its own in `compute_loss`.
    """
    names = found.names
    own = found.is_driven_by("torch", "accelerate")
    loss = computed_outside(names) if own else None
    if loss is not None:
        found.state(end, "model.returns_loss", False, at=loss)
        return
    if not (own or found.own_losses) or not found.models:
        return
    unknown = names.relative or names.stars or names.rewritten or found.dynamic or found.hidden
    if unknown or found.runs_modules:
        return
    if found.mentioned.isdisjoint({"loss", FIRST}):
        found.state(end, "model.returns_loss", False)


def _validated(found: Findings, end: Step) -> None:
    """A loop of the program's own that evaluates between its steps."""
    if not found.is_driven_by("torch", "accelerate"):
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


def recomputes_nothing(found: Findings) -> Iterator[Setting]:
    """A loop of the program's own recomputes no activations if no word of it says so; a config still may.

    Args:
        found: in the program, all of whose modules were read.
    """
    driver = next((one for one in found.settings if one.key == "training.framework"), None)
    if driver is None or driver.value not in LOOPS_OF_ITS_OWN or found.names.stars:
        return
    if found.with_text(_RECOMPUTES.search):
        return
    yield Setting(key="training.gradient_checkpointing", value=False, location=driver.location, presumed=True)


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
