"""Which model a program loads: ``AutoModelForCausalLM.from_pretrained("name")``, or a class that names it."""

from __future__ import annotations

import ast
import re

from gradcompat.model.context import ConfigLookup, OptionDefault
from gradcompat.model.environment import Setting, SettingValue
from gradcompat.scanners.code.arguments import Argument
from gradcompat.scanners.code.calls import LOADING, MODELS, OF_CONFIG, Known
from gradcompat.scanners.code.config_lookups import lookup
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.option_defaults import is_option, option_behind, variable_option
from gradcompat.scanners.code.walk import Step
from gradcompat.scanners.configs.model_names import model_settings
from gradcompat.startup.lazy_patterns import lazy_pattern

_AUTO = lazy_pattern(r"Auto(?:(?:Peft)?Model|LigerKernel)(?:For(?P<task>\w+?))?(?:WithValueHead)?")
_CLASS = lazy_pattern(
    r"(?!Auto|DataCollator)[A-Z]\w*(?:LMHeadModel|For(?:CausalLM|ConditionalGeneration|QuestionAnswering|MaskedLM|PreTraining"
    r"|MultipleChoice|CTC|SpeechSeq2Seq|\w*Classification|\w*Segmentation|\w*Detection|MaskedImageModeling))"
    r"|(?:Vision|Speech)?EncoderDecoderModel"
)
_PIECES = "from_encoder_decoder_pretrained"  # VisionEncoderDecoderModel's, of two models
_HOMES = ("transformers.", "fla.models.")
_UNSLOTH = frozenset({"FastLanguageModel", "FastModel", "FastVisionModel", "FastLlamaModel"})
_LOADERS = _UNSLOTH | {"AutoLigerKernelForCausalLM"}
_QUANTISED = lazy_pattern(
    r"quant|[248]-?bits?\b|(?:int|fp|nf|w)[48]\b|w[48]a|awq|gptq|bnb|gguf|hqq|exl2|aqlm", re.IGNORECASE
)
_METHOD = lazy_pattern(r"(?<![^\W_])(?:gptq|awq)(?![^\W\d_])", re.IGNORECASE)
# What transformers saves in 8 bits is of bitsandbytes; other methods have their names in those of their weights.
_EIGHT_BITS = lazy_pattern(r"(?<![^\W_])8-?bits?(?![^\W_])", re.IGNORECASE)
_OF_OTHERS = lazy_pattern(r"mlx|gguf|exl|hqq|aqlm|quanto|torchao|fp8|int8|openvino", re.IGNORECASE)
_LENGTH = "max_seq_length"  # only unsloth's loaders take it
_HOW = frozenset({"quantization_config", "load_in_4bit", "load_in_8bit"})
# Where unsloth is told none of these it quantises (load_in_4bit of 2024.11.10, 2024.12.4 and 2025.9.1).
_HOW_OF_UNSLOTH = _HOW | {"load_in_16bit", "load_in_fp8", "full_finetuning"}
_FOUR_BITS = lazy_pattern(r"(?<![^\W_])bnb-4-?bits?(?![^\W_])", re.IGNORECASE)
_POSITIONAL = ("pretrained_model_name_or_path",)
_POSITIONAL_OF_UNSLOTH = (*_POSITIONAL, _LENGTH, "dtype", "load_in_4bit")
_FEEDS = {name: feed for name, feed in LOADING.items() if name != _LENGTH}
# A config that a model is made with: ``MixtralConfig(output_router_logits=True)``.
_CONFIG = lazy_pattern(r"transformers\.(?:\w+\.)*\w*Config(?:\.from_pretrained)?")


def is_model(name: str) -> bool:
    """Is that the full name of a class which is a model with its head, of transformers or in its form?"""
    return name.startswith(_HOMES) and _CLASS.fullmatch(name.rpartition(".")[2]) is not None


def makes_model(name: str) -> bool:
    """Does a call of that function or class give a model?"""
    head, _, last = name.rpartition(".")
    if last in ("from_pretrained", "from_config"):
        owner = head.rpartition(".")[2]
        return (
            _AUTO.fullmatch(owner) is not None or is_model(head) or owner in _LOADERS or owner.startswith("PeftModel")
        )
    return last == "get_peft_model" or is_model(name) or (last == _PIECES and is_model(head))


def loaded(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    """What ``Class.from_pretrained(…)`` and ``Class.from_config(…)`` say, a class that is called itself, or a config.

    In a branch it is still the class of the run, as a name is: where another branch has another one, both are told.
    """
    head, _, last = name.rpartition(".")
    always = step._replace(branch=False)
    if is_model(name):
        found.state(always, "model.architecture", (last,))
        return
    if _CONFIG.fullmatch(name):
        found.feed(step, Known(frozenset(), OF_CONFIG), found.arguments(step, call), MODELS)
        return
    owner = head.rpartition(".")[2]
    if last == _PIECES and is_model(head):
        found.state(always, "model.architecture", (owner,))
        return
    auto = _AUTO.fullmatch(owner)
    if last not in ("from_pretrained", "from_config") or not (auto or is_model(head) or owner in _LOADERS):
        return
    arguments = found.arguments(step, call, _POSITIONAL_OF_UNSLOTH if owner in _UNSLOTH else _POSITIONAL)
    found.feed(step, Known(frozenset(), LOADING if owner in _LOADERS else _FEEDS), arguments, MODELS)
    if is_model(head):
        found.state(always, "model.architecture", (owner,))
    if last == "from_pretrained" and owner in _UNSLOTH:
        _presumed_by_unsloth(found, call, arguments)
    elif last == "from_pretrained" and owner not in _LOADERS:
        _presumed_weights(found, call, arguments)
    for argument in arguments:
        if last == "from_pretrained" and argument.name in ("pretrained_model_name_or_path", "model_name"):
            named(found, step, argument, auto["task"] or "" if auto else None, known=is_model(head))


def _presumed_by_unsloth(found: Findings, call: ast.Call, arguments: list[Argument]) -> None:
    """Unsloth's loaders quantise in 4 bits unless they are told how to load."""
    given = {argument.name: argument.value for argument in arguments}
    name = given.get("pretrained_model_name_or_path", given.get("model_name"))
    called = name if isinstance(name, str) else ""
    if any(word.arg is None for word in call.keywords) or _OF_OTHERS.search(called):
        return
    told: dict[str, SettingValue] = {}
    others = [how for how in _HOW_OF_UNSLOTH & given.keys() if given[how] is not False]
    if given.keys().isdisjoint(_HOW_OF_UNSLOTH):
        told = {"quantization.method": "bitsandbytes", "quantization.bits": 4}
    elif given.get("load_in_4bit") is False and not others and called and not _QUANTISED.search(called):
        told = {"quantization.method": "none", "quantization.bits": 16}
    place = found.place(call)
    found.settings += [Setting(key=key, value=value, location=place, presumed=True) for key, value in told.items()]


def _presumed_weights(found: Findings, call: ast.Call, arguments: list[Argument]) -> None:
    """Weights that are loaded under a name of their own and as they are are presumably not quantised, or as it says."""
    given = {argument.name: argument.value for argument in arguments}
    name = given.get("pretrained_model_name_or_path")
    if not isinstance(name, str):
        return
    method = _METHOD.search(name)
    told: dict[str, SettingValue] = {}
    if method is not None and "quantization_config" not in given:
        told = {"quantization.method": method[0].lower()}
    elif given.keys().isdisjoint(_HOW) and all(word.arg is not None for word in call.keywords):
        if _EIGHT_BITS.search(name) and not _OF_OTHERS.search(name):
            told = {"quantization.method": "bitsandbytes", "quantization.bits": 8}
        elif _FOUR_BITS.search(name):
            told = {"quantization.method": "bitsandbytes", "quantization.bits": 4}
        elif not _QUANTISED.search(name):
            told = {"quantization.method": "none", "quantization.bits": 16}
    place = found.place(call)
    found.settings += [Setting(key=key, value=value, location=place, presumed=True) for key, value in told.items()]


def named(found: Findings, step: Step, argument: Argument, task: str | None, *, known: bool = False) -> None:
    """A model by its name or path, or by an option or a config that has it.

    In a branch it is still the model of the run: where another branch loads another one, both are told.

    Args:
        found: what is known so far.
        step: where it is loaded.
        argument: the name.
        task: for which task it is loaded, "" for none; None where that is not said.
        known: its class is named in the program.
    """
    keys = ("model.name",) if known else ("model.name", "model.architecture")
    if isinstance(argument.value, str):
        settings = model_settings(
            argument.value,
            found.place(argument.node),
            task=task,
            document=found.document,
            spelling=argument.spelling,
        )
        found.settings += [setting for setting in settings if setting.key in keys]
        if settings[0].value is not None:
            found.refers_to.append(f"{argument.value.rstrip('/')}/config.json")
        return
    place = found.place(argument.node)
    stated = tuple(Setting(key=key, value=None, location=place, spelling=argument.spelling) for key in keys)
    found.settings += stated
    option = option_behind(argument.given, found.names, step.scope, found.options)
    option = option or variable_option(argument.given, found.names, step.scope)
    if option is not None:
        default = tuple(model_settings(option.default, place, task=task)) if isinstance(option.default, str) else stated
        found.defaults.append(
            OptionDefault(
                flags=option.flags,
                tool="",
                argument=argument.name,
                stated=stated,
                default=default,
                loads=True,
                task=task,
            )
        )
    elif path := lookup(argument.given, found.names, step.scope):
        found.lookups.append(
            ConfigLookup(path=path, tool="", argument=argument.name, stated=stated, loads=True, task=task)
        )
    elif (name := is_option(argument.given, found.names, step.scope)) and name not in found.changed:
        # of a dataclass of another package, or of a parser that stands elsewhere
        given = OptionDefault(
            flags=(name,), tool="", argument=argument.name, stated=stated, default=stated, loads=True, task=task
        )
        found.defaults.append(given)
