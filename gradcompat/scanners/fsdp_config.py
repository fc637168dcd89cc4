"""The file that ``fsdp_config`` of transformers' TrainingArguments names: FSDP's options, with or without a prefix."""

from __future__ import annotations

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.scanners.configs import read_config, settings_of
from gradcompat.scanners.training_arguments import FSDP_CONFIG

FEEDS = {name.removeprefix("fsdp_config."): feed for name, feed in FSDP_CONFIG.items()}

# What such a file has at its top, and configs of other tools have below another key.
_OWN = (
    *("transformer_layer_cls_to_wrap", "cpu_ram_efficient_loading", "sync_module_states", "backward_prefetch"),
    *("limit_all_gathers", "use_orig_params", "state_dict_type", "min_num_params", "reshard_after_forward"),
)


def scan(document: Document) -> Context:
    """What the file says of FSDP; that a run uses it is said by what names the file.

    Raises:
        Malformed: if it is no JSON, or holds something else.
    """
    config = read_config(document, FEEDS)
    if not any(f"{prefix}{name}" in config.top for name in _OWN for prefix in ("", "fsdp_")):
        raise Unrecognised("is not an fsdp_config of transformers", path=document.path)
    settings, skipped = settings_of(config, FEEDS)
    return Context(source=document.path, kind="hf-fsdp", settings=tuple(settings), run=False, skipped=tuple(skipped))
