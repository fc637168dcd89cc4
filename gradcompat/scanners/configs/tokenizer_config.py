"""``tokenizer_config.json`` in the folder of a tokenizer: whether it is in the form of transformers 5."""

from __future__ import annotations

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Setting
from gradcompat.scanners.configs.flat import read_config
from gradcompat.scanners.key_mapping import Feed, Feeds

_CLASS, _TOKENS = "tokenizer_class", "extra_special_tokens"
FEEDS: Feeds = {_CLASS: Feed("files.tokenizer_of_5"), _TOKENS: Feed("files.tokenizer_of_5")}


def scan(document: Document) -> Context:
    """Whether the tokenizer was saved in the form of transformers 5, which 4 does not read.

    It names TokenizersBackend where no class of its own is, and lists what transformers 4 has a mapping for.

    Raises:
        Malformed: if it is none, or no JSON.
    """
    config = read_config(document, FEEDS)
    if not isinstance(config.top.get(_CLASS), str):
        raise Unrecognised("is not a tokenizer_config.json", path=document.path)
    entries = {entry.name: entry for entry in config.entries}
    tokens = config.value(_TOKENS)
    listed = isinstance(tokens, list) and bool(tokens)
    decides = entries[_TOKENS] if listed else entries[_CLASS]
    value = listed or config.value(_CLASS) == "TokenizersBackend"
    setting = Setting(key="files.tokenizer_of_5", value=value, location=decides.location)
    return Context(source=document.path, kind="hf-tokenizer", settings=(setting,), run=False)
