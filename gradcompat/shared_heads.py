"""Published language models whose heads of attention share one head of keys and values, by their names.

From what is commonly known of them, as :mod:`gradcompat.tied_models` has it: a presumption, and a config.json that lies
in the project counts more.
"""

from __future__ import annotations

from gradcompat.lazy_dataclasses import replace
from gradcompat.lazy_patterns import lazy_pattern
from gradcompat.model.environment import Environment, Setting

_NAME_KEY, _SHARED_KEY = "model.name", "model.multi_query"
_LONGEST = 200
_SHARED = lazy_pattern(
    r"(?:falcon-7b|starcoder(?:base(?:-[137]b)?|plus)?|(?:gpt_bigcode-)?santacoder|(?:code)?gemma-(?:1\.1-)?2b)"
    r"(?:[-_](?:instruct|it|hf|sharded(?:-bf16)?))*"
)


def shares_heads(name: str) -> bool:
    """Is this the name of such a model?

    >>> shares_heads("tiiuae/falcon-7b-instruct"), shares_heads("tiiuae/falcon-40b")
    (True, False)
    """
    return len(name) <= _LONGEST and _SHARED.fullmatch(name.rpartition("/")[2].lower()) is not None


def with_shared_heads(environment: Environment) -> Environment:
    """The environment with what the name of its model says, if nothing else says it."""
    names = [setting for setting in environment.settings if setting.key == _NAME_KEY]
    if not names or any(setting.key == _SHARED_KEY for setting in environment.settings):
        return environment
    if not all(isinstance(setting.value, str) and shares_heads(setting.value) for setting in names):
        return environment
    shared = Setting(key=_SHARED_KEY, value=True, location=names[0].location, presumed=True)
    return replace(environment, settings=(*environment.settings, shared))
