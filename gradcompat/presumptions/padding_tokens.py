"""Whether a tokenizer pads with its end-of-sequence token, by the name of its model.

From special_tokens_map.json and tokenizer_config.json of the models on the hub and of what was trained from them, seen
on 2026-11-28, and the tokenizers of transformers 4.57.6: Gemma's and BLOOM's have a padding token, those of LLaMA,
GPT-2 and GPT-NeoX none. Of Qwen's models without a chat nothing is presumed: padding is their end of a sequence, which
is not the one that their chat template writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gradcompat.model.environment import Setting
from gradcompat.presumptions.engines import FRAMEWORK_KEY
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.symbol_patterns import SYMBOLS_KEY

PADDING_KEY = "data.pad_is_eos"
# The end of a sequence becomes the padding where the tokenizer has none: `if tokenizer.pad_token is None: …`.
FILLED = "tokenizer.pad_token.filled"
# What a model is published as, by those who made it; the copies of others have other tokens.
_OWN = lazy_pattern(
    r"unsloth/.+|qwen/(?:qwen(?:1\.5|2|2\.5)-(?:math-|coder-)?[\d.]+b-(?:chat|instruct)|qwen3-[\d.]+b(?:-a[\d.]+b)?"
    r"(?:-instruct-2507|-thinking-2507)?)|google/(?:code)?gemma-.+|bigscience/bloomz?(?:-\w+)?",
    re.IGNORECASE,
)
_SAME = lazy_pattern(
    r"huggingfaceh4/zephyr-7b-(?:alpha|beta)|tinyllama/tinyllama-1\.1b-chat-v1\.0|huggingfacetb/smollm2-[\d.]+[mb]-instruct"
    r"|microsoft/phi-3-mini-4k-instruct",
    re.IGNORECASE,
)
_NONE = lazy_pattern(
    r"meta-llama/(?:meta-)?llama-(?:2-\d+b(?:-chat)?-hf|3(?:\.[12])?-\d+b(?:-instruct)?)|mistralai/mistral-7b-(?:instruct-)?v0\.\d"
    r"|(?:openai-community/)?gpt2(?:-medium|-large|-xl)?|(?:distilbert/)?distilgpt2"
    r"|eleutherai/(?:pythia-[\d.]+[mb](?:-deduped)?|gpt-neo-[\d.]+[mb]|gpt-j-6b|gpt-neox-20b)",
    re.IGNORECASE,
)
_TOKENIZES = lazy_pattern(r"Tokenizer|Processor|get_tokenizer|load_tokenizer")


def padding(settings: Iterable[Setting]) -> Setting | None:
    """Whether padding is the end of a sequence, as a presumption; None where nothing says so, or a file does.

    Args:
        settings: everything that is stated of the run.
    """
    stated = tuple(settings)
    named = [setting for setting in stated if setting.key == "model.name"]
    if not named or any(setting.key == PADDING_KEY for setting in stated):
        return None
    filled = _fills(stated)
    known = {_of_model(setting.value, filled=filled) for setting in named}
    value = known.pop()
    if known or value is None:
        return None
    return replace(named[0], key=PADDING_KEY, value=value, spelling=None, presumed=True, places=())


def _of_model(name: object, *, filled: bool) -> bool | None:
    if not isinstance(name, str):
        return None
    if _OWN.fullmatch(name):
        return False
    return True if _SAME.fullmatch(name) or (filled and _NONE.fullmatch(name)) else None


def _fills(stated: Sequence[Setting]) -> bool:
    """Is a padding token put in where there is none, by the program, or by TRL, which is given no tokenizer?"""
    symbols = {
        name
        for setting in stated
        if setting.key == SYMBOLS_KEY and isinstance(setting.value, tuple)
        for name in setting.value
        if isinstance(name, str)
    }
    of_trl = {setting.value for setting in stated if setting.key == FRAMEWORK_KEY} == {"trl"}
    return FILLED in symbols or (of_trl and bool(symbols) and not any(map(_TOKENIZES.search, symbols)))
