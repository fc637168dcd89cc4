"""Which framework drives the loop, from the form in which a log prints its metrics.

A form says no more than who prints so: a Trainer's dictionary is printed by transformers and by TRL, whose trainers
derive from it, and a progress bar with the loss behind it by loops of one's own.
"""

from __future__ import annotations

import re

from gradcompat.startup.lazy_patterns import lazy_pattern

_FRAMEWORK = "training.framework"
_TRL = (b"'rewards/", b"'logps/", b"'mean_token_accuracy'", b"'num_tokens'", b"'completions/")

# The first form that a line has counts.
_FORMS: tuple[tuple[re.Pattern[bytes], str, tuple[str, ...]], ...] = (
    (lazy_pattern(rb"Epoch \d+(?:/\d+)?:? .*\bv_num[=:]"), _FRAMEWORK, ("lightning",)),
    (lazy_pattern(rb"(?:^|\s)\d+\|\d+\|Loss: "), _FRAMEWORK, ("torchtune",)),
    (lazy_pattern(rb" - mmengine - INFO - (?:Epoch|Iter)\(train\)"), _FRAMEWORK, ("mmengine",)),
    (lazy_pattern(rb"\biteration\s+\d+/\s*\d+ \|.*consumed samples:"), _FRAMEWORK, ("megatron",)),
    (
        lazy_pattern(rb"\d+/\d+ (?:\[[=>.]+\]|(?:\xe2\x94\x81)+).*\d(?:us|ms|s)/(?:step|epoch) - .*loss: "),
        _FRAMEWORK,
        ("keras",),
    ),
    (lazy_pattern(rb"\[Rank \d+\] step=\d+, skipped=\d+, lr=\["), "distributed.strategy", ("deepspeed",)),
    (
        lazy_pattern(rb"\d+%\|.*\| \d+/\d+ \[[^\]]*\bloss=|\d+%\|.*\| \d+/\d+ \[.*_loss="),
        _FRAMEWORK,
        ("torch", "accelerate"),
    ),
)
_TRAINER = lazy_pattern(rb"\{'(?:loss|grad_norm)': [^{}]*'learning_rate': [^{}]*'epoch': [^{}]*\}")


# Metrics that only some of TRL's trainers print, and the methods of these.
_METHODS = (
    (lazy_pattern(rb"'rewards/(?:chosen|rejected|margins)'"), ("dpo", "kto", "cpo", "orpo", "bco")),
    (lazy_pattern(rb"'(?:completions/|completion_length|rewards/[\w.-]+/mean')"), ("grpo", "rloo")),
)


def methods_printed_by(line: bytes) -> tuple[str, ...]:
    """The training methods of which one prints such a line of metrics; none where the form does not tell."""
    if _TRAINER.search(line) is None:
        return ()
    return next((methods for pattern, methods in _METHODS if pattern.search(line)), ())


def printed_by(line: bytes) -> tuple[str, tuple[str, ...]] | None:
    """The setting that the form of a line of metrics states and its possible values; None if it states none."""
    if match := _TRAINER.search(line):
        trl = any(name in match[0] for name in _TRL)
        return _FRAMEWORK, ("trl",) if trl else ("transformers.Trainer", "trl")
    for pattern, key, values in _FORMS:
        if pattern.search(line):
            return key, values
    return None
