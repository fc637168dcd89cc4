"""PEFT's ``adapter_config.json``: it lists every option, so that what is null there is surely not used."""

from __future__ import annotations

from gradcompat.errors import Unrecognised
from gradcompat.formats import json_text
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Setting
from gradcompat.scanners.configs.flat import read_config, run_of
from gradcompat.scanners.configs.nested import stated
from gradcompat.scanners.key_mapping import Feed, Feeds
from gradcompat.startup.lazy_dataclasses import replace

_METHODS = (
    *("lora", "adalora", "loha", "lokr", "ia3", "oft", "boft", "vera", "fourierft", "xlora", "hra", "vblora", "bone"),
    *("prompt_tuning", "multitask_prompt_tuning", "prefix_tuning", "p_tuning", "adaption_prompt", "ln_tuning", "cpt"),
    *("randlora", "trainable_tokens", "shira", "c3a", "poly", "miss", "waveft", "delora", "osf", "road", "gralora"),
)

FEEDS: Feeds = {
    "peft_type": Feed("peft.method", {name: name for name in _METHODS}),
    "base_model_name_or_path": Feed("model.name"),
    "task_type": Feed("peft.task_type"),
    "target_parameters": Feed("peft.target_parameters", given=True),
    "modules_to_save": Feed("peft.modules_to_save", given=True),
    "layers_to_transform": Feed("peft.layers_to_transform", given=True),
    "trainable_token_indices": Feed("peft.trainable_tokens", given=True),
}

# What makes an adapter more than a few matrices beside some modules.
OPTIONS = ("target_parameters", "modules_to_save", "layers_to_transform", "trainable_token_indices")


def scan(document: Document) -> Context:
    """What the adapter's config says of the adapter.

    Raises:
        Malformed: if it is none, or no JSON.
    """
    config = read_config(document, FEEDS)
    if not isinstance(config.top.get("peft_type"), str) or not document.text.lstrip("\ufeff \t\r\n").startswith("{"):
        raise Unrecognised("is not an adapter_config.json", path=document.path)
    settings, skipped = stated(config, FEEDS)
    places = json_text.Places(document.text, document.path)
    said = {setting.key for setting in settings}
    for name in OPTIONS:
        feed = FEEDS[name]
        if isinstance(feed, Feed) and name in config.top and feed.key not in said:
            settings.append(Setting(key=feed.key, value=False, location=places.of(name)))
    settings.sort(key=lambda one: (one.location.line or 0, one.location.column or 0))
    return replace(run_of(config, "hf-adapter", settings, skipped), run=False)
