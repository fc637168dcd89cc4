"""Metrics out of one line of a training log, whichever tool printed it; nothing is evaluated.

A line counts if it states a loss, a gradient norm, a loss scale or skipped steps *as measured*: dumps of settings
(``learning_rate=5e-05``, ``"loss_scale": 0``) do not. The names that come out are those of a Trainer:

* ``loss``, ``grad_norm``, ``learning_rate``, ``epoch``, ``step`` (counted through all epochs where that is known);
* ``loss_scale`` and ``skipped`` (steps skipped so far);
* ``reward_std``, how much the rewards of a group differ;
* ``loss_scale_minimum``, 1.0 on the line on which a tool gives up since the loss scale cannot fall any further;
* ``other_objective``, 1.0 where the loss is visibly no cross entropy of tokens: a reward or parts of a loss stand
  beside it. What is a plausible loss is then another question.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from gradcompat.startup.lazy_patterns import lazy_pattern

# Each line with metrics has one of these, and few others have; a search for them is all that other lines cost.
HINTS = ("loss", "Loss", "grad_norm", "grad norm", "skipped=")

# A longer "line" is a binary blob or a file without line ends; metrics come in a few hundred characters.
MAX_LINE = 20_000

# `nan.0` is how Lightning's progress bar prints nan. What follows a number must not make it a version, a date or a
# share.
_EXPONENT = r"(?:[eE][-+]?\d{1,4})?"
_NUMBER = (
    rf"[-+]?(?:\d{{1,30}}(?:\.\d{{0,30}})?{_EXPONENT}|\.\d{{1,30}}{_EXPONENT}|nan(?:\.0)?|inf(?:inity)?)(?!\w|\.\d|%)"
)
# How values are wrapped: quotes (transformers 5), lists (DeepSpeed's lr), numpy's and torch's repr.
_WRAPPED = rf"(?:np\.float\d\d\(|tensor\(|['\"\[])*(?P<value>{_NUMBER})"
# Names of two words; those of losses that are not the training's are here to be told from `loss`.
_TWO_WORDS = (
    r"(?:lm|train|training|val|valid|validation|eval|evaluation|test|dev) loss|grad norm|learning rate|loss scale"
)
_PAIR = lazy_pattern(
    rf"(?<![\w./-])(?P<name>[A-Za-z_][\w./-]{{0,60}}|{_TWO_WORDS})['\"]?\s{{0,8}}[:=]\s{{0,8}}{_WRAPPED}",
    re.IGNORECASE,
)
_IN_BRACES = lazy_pattern(r"\{[^{}]{0,4000}\}")
_STATES_LOSS = lazy_pattern(r"(?:['\"/]|train_)loss['\"]|grad_norm['\"]")
_PLAIN_PAIR = lazy_pattern(r"['\"]([\w ./-]{1,60})['\"]: ['\"]?([-+.\deE]{1,40}|nan|NaN|-?inf|-?Infinity)['\"]?[,}]")
_ROUNDED = lazy_pattern(r"0\.00+")

# In order: the first name that a line has is taken. What a tool averages over an epoch is not a point of the curve.
_NAMES: dict[str, tuple[str, ...]] = {
    "loss": (
        "loss", "train_loss_step", "train/loss_step", "loss_step", "train/loss", "train_loss", "train.loss",
        "train loss", "training loss", "training_loss", "training/loss", "lm loss",
        "lm_loss", "train/lm_loss", "lm-loss-training/lm loss",
        "train/samples/train_loss", "actor/pg_loss", "loss/train",
    ),
    "grad_norm": (
        "grad_norm", "grad norm", "train/grad_norm", "train_grad_norm", "grad-norm", "gradient_norm",
        "global_grad_norm", "actor/grad_norm", "grad_norm_step",
    ),
    "learning_rate": (
        "learning_rate", "learning rate", "lr", "train/learning_rate", "train/lr", "base_lr", "train/samples/lr",
        "actor/lr", "learning-rate",
    ),
    "epoch": ("epoch", "train/epoch"),
    "step": (
        "step", "global_step", "train/global_step", "current_steps", "_step", "trainer/global_step", "iteration",
        "iter", "steps", "global_steps",
    ),
    "loss_scale": ("loss scale", "train/samples/loss_scale", "train/loss_scale", "loss-scale"),
    "skipped": ("skipped",),
    "reward_std": ("reward_std",),
}  # fmt: skip
_CANONICAL = {name: (rank, key) for key, names in _NAMES.items() for rank, name in enumerate(names)}
_LAST = max(map(len, _NAMES.values()))

# What stands beside a loss that is no cross entropy of tokens: in reinforcement learning, detection, regression.
_OTHER_OBJECTIVE = lazy_pattern(
    r"reward|\bkl\b|objective/|policy|advantage|loss_(?:cls|bbox|mask|rpn|iou|giou|dfl|obj|ce|dice|vb|kd|cons)|\bd\d\.loss"
    r"|\b(?:mse|mae|rmse|psnr|fid|elbo|cls_loss|box_loss|dfl_loss|vb_loss|sft_loss|chosen|rejected)\b",
    re.IGNORECASE,
)

_MEGATRON_ITERATION = lazy_pattern(r"\biteration\s+(\d{1,15})/\s*\d")
_MMENGINE_EPOCH = lazy_pattern(r"Epoch\(train\)\s*\[(\d{1,9})\]\[\s*(\d{1,9})/(\d{1,9})\]")
_MMENGINE_ITERATION = lazy_pattern(r"Iter(?:\(train\))?\s*\[\s*(\d{1,15})/\s*\d{1,15}\]")
_LIGHTNING_BAR = lazy_pattern(r"Epoch (\d{1,9})(?:/\d+)?\s*:?\s.{0,200}?\b(\d{1,15})/(\d{1,15})\b")
_TORCHTUNE_BAR = lazy_pattern(r"(?:^|\s)(\d{1,9})\|(\d{1,15})\|Loss: ")
_NAMED_STEP = lazy_pattern(r"\b(?:global_step|step|iter|iteration)s?\b[\s:=]{1,3}(\d{1,15})(?![\w.%])", re.IGNORECASE)
# The bar of sd-scripts and diffusers' examples: ``steps:   1%|▏  | 23/4000 [00:32<1:31:11, loss=0.142]``.
_STEPS_BAR = lazy_pattern(r"\bsteps?:\s{1,8}\d{1,3}%\|[^|]{0,200}\|\s{0,8}(\d{1,15})/\d{1,15}\b", re.IGNORECASE)
_NAMED_EPOCH = lazy_pattern(r"\bepoch\b[\s:=\[]{1,3}(\d{1,9}(?:\.\d{1,20})?)(?![\w])", re.IGNORECASE)
# nanoGPT and its many children: `iter 10: loss 4.5678, time 12ms`.
_PLAIN_LOSS = lazy_pattern(rf"\b(?:iter|step)\s+\d+\b.{{0,40}}?\b(?:train )?loss\s+({_NUMBER})", re.IGNORECASE)

_SCALE_AT_MINIMUM = "loss scale already at minimum"
_SCALE_FALLS = lazy_pattern(rf"[Aa]ttempted loss scale: {_NUMBER}, reducing to (?P<value>{_NUMBER})")
_SCALE_CHANGES = lazy_pattern(
    rf"(?:Reducing|Increasing|Grad overflow).{{0,60}}loss scale from {_NUMBER} to (?P<value>{_NUMBER})"
)
_HOLDS_SCALE = lazy_pattern(r"[Aa]ttempted loss scale|dynamic loss scale|loss scale from")


def parse_line(line: str) -> dict[str, float] | None:
    """The metrics that a line states, or None if it states none.

    >>> parse_line("{'loss': '1.043', 'grad_norm': 'nan', 'learning_rate': '5e-05', 'epoch': '0.1'}")
    {'loss': 1.043, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.1}
    """
    for hint in HINTS:
        if hint in line:
            return _parsed(line)
    return None


def canonical(name: str) -> str | None:
    """The name of a metric for a column, a key or a tag of another tool, or None if it is not one of ours."""
    return _known(name)[1]


def choose(values: dict[str, float]) -> dict[str, float]:
    """Metrics under our names out of metrics under a tool's own: the plainest name wins."""
    chosen: dict[str, tuple[int, float]] = {}
    for name, value in values.items():
        rank, key = _known(name)
        if key is not None and (key not in chosen or rank < chosen[key][0]):
            chosen[key] = (rank, value)
    return {key: value for key, (_, value) in chosen.items()}


def is_other_objective(names: Iterable[str]) -> bool:
    """Whether the names beside a loss say that it is no cross entropy of tokens."""
    return any(map(_OTHER_OBJECTIVE.search, names))


def _known(name: str) -> tuple[int, str | None]:
    """How plain a name is, 0 first, and what it names."""
    lowered = name.strip().lower()
    if lowered.startswith("lr-"):  # Lightning's LearningRateMonitor: lr-AdamW, lr-SGD/pg1
        return _LAST, "learning_rate"
    return _CANONICAL.get(lowered, (0, None))


def number(text: str) -> float | None:
    """A number as any tool prints it, ``nan`` and ``inf`` among them."""
    try:
        return float(text.strip().strip("'\"").replace("nan.0", "nan"))
    except ValueError:
        return None


def _parsed(line: str) -> dict[str, float] | None:
    if len(line) > MAX_LINE:
        return None
    if "loss scale" in line:
        if _SCALE_AT_MINIMUM in line:
            return {"loss_scale_minimum": 1.0}
        match = _SCALE_FALLS.search(line) or _SCALE_CHANGES.search(line)
        if match:
            return _finished({"loss_scale": _value(match["value"])})
        if _HOLDS_SCALE.search(line):
            return None
    # The summary at the end, whose train_loss is the mean of the run; DeepSpeed-Chat's evaluation.
    if "train_runtime" in line or line.startswith(("ppl:", "chosen:")):
        return None
    for braces in _IN_BRACES.finditer(line):
        if _STATES_LOSS.search(braces[0]):
            return _finished(_of_dictionary(braces[0]))  # without the progress bar before it
    values: dict[str, float] = {}
    for match in _PAIR.finditer(line):
        name, written = match["name"].lower(), match["value"]
        known = _CANONICAL.get(name)
        if known is None or name in values:
            continue
        # A progress bar of three digits prints small rates as 0.000, which is no zero.
        if known[1] == "learning_rate" and _ROUNDED.fullmatch(written):
            continue
        values[name] = _value(written)
    result = choose(values)
    _add_position(line, result)
    if "loss" not in result and (match := _PLAIN_LOSS.search(line)):
        result["loss"] = _value(match[1])
    if "loss_scale" in result and "step" not in result:
        del result["loss_scale"]
    if "loss" in result and _OTHER_OBJECTIVE.search(line):
        result["other_objective"] = 1.0
    return _finished(result)


def _of_dictionary(text: str) -> dict[str, float]:
    """What a printed dictionary or a line of JSON states: the most frequent lines, so the plain ones are quick."""
    pairs = _PLAIN_PAIR.findall(text)
    if len(pairs) != text.count(":"):
        pairs = [(match["name"], match["value"]) for match in _PAIR.finditer(text)]
    values: dict[str, float] = {}
    for name, written in pairs:
        if name.lower() in _CANONICAL:
            values[name] = _value(written)
    result = choose(values)
    unknown = len(values) < len(pairs) or "reward_std" in result
    if "loss" in result and unknown and _OTHER_OBJECTIVE.search(text):
        result["other_objective"] = 1.0
    return result


def _add_position(line: str, result: dict[str, float]) -> None:
    """Where in the run the line stands, for tools that do not print it as a metric."""
    if match := _MMENGINE_EPOCH.search(line):
        epoch, position, length = (int(group) for group in match.groups())
        result.update(epoch=float(epoch), step=float((epoch - 1) * length + position))
    elif (match := _MMENGINE_ITERATION.search(line)) or (match := _MEGATRON_ITERATION.search(line)):
        result["step"] = float(match[1])
    elif match := _TORCHTUNE_BAR.search(line):
        result.update(epoch=float(match[1]), step=float(match[2]))
    elif ("%|" in line or "\N{BOX DRAWINGS HEAVY HORIZONTAL}" in line) and (match := _LIGHTNING_BAR.search(line)):
        epoch, position, length = (int(group) for group in match.groups())
        result.update(epoch=float(epoch), step=float(epoch * length + position))
    else:
        if "step" not in result and (match := _STEPS_BAR.search(line) or _NAMED_STEP.search(line)):
            result["step"] = float(match[1])
        if "epoch" not in result and (match := _NAMED_EPOCH.search(line)):
            result["epoch"] = float(match[1])


def _finished(result: dict[str, float]) -> dict[str, float] | None:
    return result if result.keys() & {"loss", "grad_norm", "loss_scale", "skipped"} else None


def _value(written: str) -> float:
    value = number(written)
    return math.nan if value is None else value
