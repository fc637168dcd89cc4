"""Which model a program loads: ``AutoModelForCausalLM.from_pretrained("name")``, or a class that names it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from gradcompat.model.environment import Setting
from gradcompat.scanners.code_arguments import Argument
from gradcompat.scanners.code_calls import LOADING, Known
from gradcompat.scanners.code_findings import Findings
from gradcompat.scanners.code_walk import Step
from gradcompat.scanners.model_names import architecture_beside, architecture_of, presumed_architecture_of

_AUTO = re.compile(r"Auto(?:Peft)?Model(?:For(?P<task>\w+?))?(?:WithValueHead)?")
_CLASS = re.compile(
    r"(?!Auto|DataCollator)[A-Z]\w*(?:LMHeadModel|For(?:CausalLM|ConditionalGeneration|QuestionAnswering|MaskedLM|PreTraining"
    r"|MultipleChoice|CTC|SpeechSeq2Seq|\w*Classification|\w*Segmentation|\w*Detection|MaskedImageModeling))"
)
_LOADERS = frozenset({"FastLanguageModel", "FastModel", "FastVisionModel"})
_LENGTH = "max_seq_length"  # only unsloth's loaders take it
_FEEDS = {name: feed for name, feed in LOADING.items() if name != _LENGTH}
# Heads that a program puts on a model that is published with another.
_HEADS = frozenset({"SequenceClassification", "TokenClassification", "QuestionAnswering"})
_LONGEST = 1000


def is_model(name: str) -> bool:
    """Is that the full name of a class of transformers which is a model with its head?"""
    return name.startswith("transformers.") and _CLASS.fullmatch(name.rpartition(".")[2]) is not None


def makes_model(name: str) -> bool:
    """Does a call of that function or class give a model?"""
    head, _, last = name.rpartition(".")
    if last in ("from_pretrained", "from_config"):
        owner = head.rpartition(".")[2]
        return (
            _AUTO.fullmatch(owner) is not None or is_model(head) or owner in _LOADERS or owner.startswith("PeftModel")
        )
    return last == "get_peft_model" or is_model(name)


def loaded(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    """What ``Class.from_pretrained(…)`` and ``Class.from_config(…)`` say, or a class that is called itself."""
    head, _, last = name.rpartition(".")
    if is_model(name):
        found.state(step, "model.architecture", (last,))
        return
    owner = head.rpartition(".")[2]
    auto = _AUTO.fullmatch(owner)
    if last not in ("from_pretrained", "from_config") or not (auto or is_model(head) or owner in _LOADERS):
        return
    arguments = found.arguments(step, call, ("pretrained_model_name_or_path",))
    found.feed(step, Known(frozenset(), LOADING if owner in _LOADERS else _FEEDS), arguments)
    if is_model(head):
        found.state(step, "model.architecture", (owner,))
    for argument in arguments:
        if last == "from_pretrained" and argument.name in ("pretrained_model_name_or_path", "model_name"):
            named(found, step, argument, auto["task"] or "" if auto else None, known=is_model(head))


def named(found: Findings, step: Step, argument: Argument, task: str | None, *, known: bool = False) -> None:
    """A model by its name or path.

    Args:
        found: what is known so far.
        step: where it is loaded.
        argument: the name.
        task: for which task it is loaded, "" for none; None where that is not said.
        known: its class is named in the program.
    """
    value = argument.value
    name = value if isinstance(value, str) and value.isprintable() and 0 < len(value) <= _LONGEST else None
    name = None if step.branch else name
    location = found.place(argument.node)
    found.settings.append(Setting(key="model.name", value=name, location=location, spelling=argument.spelling))
    if name is not None:
        found.refers_to.append(f"{name.rstrip('/')}/config.json")
    if known:
        return
    classes = None if name is None else architecture_of(name)
    if classes is None and name is not None and not Path(name).is_absolute():
        classes = architecture_beside(found.document, name)
    presumed = None if name is None or classes is not None else presumed_architecture_of(name)
    classes = classes or presumed
    if classes is not None and task is not None:
        classes = _headed(classes, task)
    found.settings.append(
        Setting(key="model.architecture", value=classes, location=location, presumed=bool(presumed and classes))
    )


def _headed(classes: tuple[str, ...], task: str) -> tuple[str, ...] | None:
    """The classes with the head for a task: LlamaForSequenceClassification; none that is known without any."""
    if task and task not in _HEADS:
        return classes
    bodies = [name.removesuffix("ForCausalLM") for name in classes if name.endswith("ForCausalLM")]
    return tuple(f"{body}For{task}" for body in bodies) if task and bodies else None
