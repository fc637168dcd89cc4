"""What the name of a published language model says of it: whether its input and output embeddings are one tensor, and
whether its heads of attention share one head of keys and values.

From what is commonly known of them: their published configs were not read, so that it is a presumption. What is not in
the tables is not known, and a config.json that lies in the project counts more.
"""

from __future__ import annotations

from collections.abc import Callable

from gradcompat.model.environment import Environment, Setting
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.class_facts import classes_of

_NAME_KEY, _TIED_KEY, _SHARED_KEY = "model.name", "model.tied_embeddings", "model.multi_query"
_LONGEST = 200
# Classes with a layer that gives each token of the vocabulary a number.
_WITH_OUTPUT = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")
# What may follow without another config being meant.
_SUFFIX = r"(?:[-_.](?:instruct|chat|it|pt|base|hf|thinking|unsloth|bnb|[48]bit|v\d(?:\.\d)?|25\d\d))*"
_TIED = lazy_pattern(
    r"(?:(?:code)?gemma-(?:1\.1-)?[27]b|gemma-2-(?:2|9|27)b|gemma-3-(?:270m|1b|4b|12b|27b)"
    r"|(?:distil)?gpt2(?:-medium|-large|-xl)?|qwen2(?:\.5)?(?:-coder|-math)?-(?:0\.5|1\.5)b|qwen2\.5(?:-coder)?-3b"
    r"|qwen3-(?:0\.6|1\.7|4)b|llama-3\.2-[13]b|smollm2?-(?:135m|360m|1\.7b)|smollm3-3b"
    r"|opt-(?:125m|350m|1\.3b|2\.7b|6\.7b|13b|30b)|t5-(?:small|base|large|3b|11b))" + _SUFFIX
)
_UNTIED = lazy_pattern(
    r"(?:(?:meta-)?llama-(?:2-(?:7|13|70)b|3-(?:8|70)b|3\.1-(?:8|70|405)b|3\.3-70b)|mistral-7b|mixtral-8x(?:7|22)b"
    r"|qwen2(?:\.5)?(?:-coder|-math)?-(?:7|14|32|72)b|qwen3-(?:8|14|32)b|phi-(?:1|1_5|2)|phi-3-mini-(?:4|128)k"
    r"|phi-3\.5-mini|pythia-(?:70m|160m|410m|1b|1\.4b|2\.8b|6\.9b|12b)(?:-deduped)?|tinyllama-1\.1b-chat-v1\.0"
    r"|gpt-j-6b|gpt-neox-20b|flan-t5-(?:small|base|large|xl|xxl))" + _SUFFIX
)
_SHARED = lazy_pattern(
    r"(?:falcon-7b|starcoder(?:base(?:-[137]b)?|plus)?|(?:gpt_bigcode-)?santacoder|(?:code)?gemma-(?:1\.1-)?2b)"
    r"(?:[-_](?:instruct|it|hf|sharded(?:-bf16)?))*"
)


def is_tied(name: str) -> bool | None:
    """Whether the published model of this name has one tensor for both; None if that is not known.

    >>> is_tied("google/gemma-2-2b"), is_tied("Qwen/Qwen2.5-7B-Instruct"), is_tied("my/model")
    (True, False, None)
    """
    model = name.rpartition("/")[2].lower()
    if len(name) > _LONGEST or name.count("/") > 1:
        return None
    return True if _TIED.fullmatch(model) else False if _UNTIED.fullmatch(model) else None


def shares_heads(name: str) -> bool:
    """Do the heads of the published model of this name share one of keys and values?

    >>> shares_heads("tiiuae/falcon-7b-instruct"), shares_heads("tiiuae/falcon-40b")
    (True, False)
    """
    return len(name) <= _LONGEST and _SHARED.fullmatch(name.rpartition("/")[2].lower()) is not None


def with_tied_embeddings(environment: Environment) -> Environment:
    """The environment with what the name of its model says of the embeddings, if nothing else says it."""
    classes = classes_of(environment.settings)
    if not classes or not all(name.endswith(_WITH_OUTPUT) for name in classes):
        return environment
    return _presumed(environment, _TIED_KEY, is_tied)


def with_shared_heads(environment: Environment) -> Environment:
    """The environment with what the name of its model says of the heads, if nothing else says it."""
    return _presumed(environment, _SHARED_KEY, lambda name: shares_heads(name) or None)


def _presumed(environment: Environment, key: str, of_name: Callable[[str], bool | None]) -> Environment:
    """The environment with what all names of its model say alike, if the fact is not stated."""
    names = [setting for setting in environment.settings if setting.key == _NAME_KEY]
    if not names or any(setting.key == key for setting in environment.settings):
        return environment
    said = {of_name(setting.value) if isinstance(setting.value, str) else None for setting in names}
    value = said.pop()
    if said or value is None:
        return environment
    setting = Setting(key=key, value=value, location=names[0].location, presumed=True)
    return replace(environment, settings=(*environment.settings, setting))
