"""``trainer_state.json``, which transformers' Trainer keeps in its checkpoints: mostly a log, hardly a config.

``train_batch_size`` is not taken: it counts the samples of all GPUs of a process. The curves are for ``diagnose``.
"""

from __future__ import annotations

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.scanners.configs.flat import read_config, settings_of
from gradcompat.scanners.key_mapping import Feed, Feeds

FEEDS: Feeds = {"num_train_epochs": Feed("training.num_train_epochs")}

_MOST_EPOCHS = 100_000  # a run that is bounded by steps over a stream has sys.maxsize here


def scan(document: Document) -> Context:
    """What the state of a Trainer says of its run.

    Raises:
        Malformed: if it is no JSON, or holds something else.
    """
    config = read_config(document, FEEDS)
    if config.top.get("log_history") != () or "global_step" not in config.top:
        raise Unrecognised("is not a trainer state of transformers", path=document.path)
    settings, skipped = settings_of(config, FEEDS)
    known = tuple(setting for setting in settings if isinstance(setting.value, float) and setting.value < _MOST_EPOCHS)
    return Context(source=document.path, kind="hf-trainer-state", settings=known, run=False, skipped=tuple(skipped))
