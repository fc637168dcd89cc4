"""The file that ``fsdp_config`` of transformers' TrainingArguments names: FSDP's options, with or without a prefix."""

from __future__ import annotations

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.scanners.configs.flat import read_config, settings_of
from gradcompat.scanners.configs.training_arguments import FSDP_CONFIG
from gradcompat.scanners.registry import FSDP_OPTIONS

FEEDS = {name.removeprefix("fsdp_config."): feed for name, feed in FSDP_CONFIG.items()}


def scan(document: Document) -> Context:
    """What the file says of FSDP; that a run uses it is said by what names the file.

    Raises:
        Malformed: if it is no JSON, or holds something else.
    """
    config = read_config(document, FEEDS)
    if config.top.keys().isdisjoint(FSDP_OPTIONS):
        raise Unrecognised("is not an fsdp_config of transformers", path=document.path)
    settings, skipped = settings_of(config, FEEDS)
    return Context(source=document.path, kind="hf-fsdp", settings=tuple(settings), run=False, skipped=tuple(skipped))
