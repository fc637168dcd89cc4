"""Does the parser of transformers take TrainingArguments, and a value of theirs that is written as JSON?

The control is a class of one number, read by the same parser.
"""

import tempfile
from dataclasses import dataclass

from ..comparing import one_line


@dataclass
class Plain:
    """What any release can read."""

    number: float = 0.0


def measure(parameters, device, seed):  # noqa: ARG001  # nothing is computed
    """With ``plant`` the value is no JSON."""
    from transformers import HfArgumentParser, TrainingArguments

    def parsed(kind, words):
        try:
            return HfArgumentParser(kind).parse_args_into_dataclasses(words)[0]
        except (SystemExit, ValueError):
            return None

    plain = parsed(Plain, ["--number", "0.5"])
    control = {"control_parsed": int(plain is not None and plain.number == 0.5)}
    value = "min_lr" if parameters.get("plant") else '{"min_lr": 0.25}'
    words = ["--output_dir", tempfile.mkdtemp(dir="."), "--lr_scheduler_kwargs", value]
    try:
        found = parsed(TrainingArguments, words)
    except (RuntimeError, NameError) as error:
        return {"made": 0, "error": one_line(error), **control}
    return {"made": 1, "parsed": int(found is not None and found.lr_scheduler_kwargs == {"min_lr": 0.25}), **control}
