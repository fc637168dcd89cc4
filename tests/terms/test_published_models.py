"""What the name of a published model says of its embeddings and of its heads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from gradcompat.model.environment import Environment, Location, Setting, SettingValue
from gradcompat.terms.published_models import is_tied, shares_heads, with_shared_heads, with_tied_embeddings


@pytest.mark.parametrize(
    ("name", "tied"),
    [
        ("google/gemma-2-2b-it", True),
        ("Qwen/Qwen2.5-3B-Instruct", True),
        ("Qwen/Qwen3-4B-Instruct-2507", True),
        ("unsloth/Llama-3.2-1B-Instruct-bnb-4bit", True),
        ("gpt2", True),
        ("meta-llama/Meta-Llama-3-8B", False),
        ("meta-llama/Llama-2-7b-hf", False),
        ("google/flan-t5-base", False),
        ("Qwen/Qwen2.5-7B", False),
        ("me/gemma-2-2b-mine", None),
        ("./out/gpt2/x", None),
    ],
)
def test_names_of_tied_embeddings(name: str, tied: bool | None) -> None:
    assert is_tied(name) is tied


def said(
    of_name: Callable[[Environment], Environment], asked: str, **settings: SettingValue
) -> list[tuple[SettingValue | None, bool]]:
    place = Location(path="train.py", line=1)
    stated = tuple(Setting(key=f"model.{key}", value=value, location=place) for key, value in settings.items())
    environment = Environment(source="r.txt", kind="requirements", packages=(), closed=False, settings=stated)
    return [(one.value, one.presumed) for one in of_name(environment).settings if one.key == asked]


tied = partial(said, with_tied_embeddings, "model.tied_embeddings")
shared = partial(said, with_shared_heads, "model.multi_query")


def test_the_class_has_to_have_an_output_layer() -> None:
    assert tied(name="google/gemma-2-2b", architecture=("Gemma2ForCausalLM",)) == [(True, True)]
    assert tied(name="gpt2", architecture=("GPT2LMHeadModel",)) == [(True, True)]
    assert tied(name="google/gemma-2-2b", architecture=("Gemma2ForSequenceClassification",)) == []
    assert tied(name="google/gemma-2-2b") == []


def test_a_config_counts_more_for_embeddings() -> None:
    told = tied(name="google/gemma-2-2b", architecture=("Gemma2ForCausalLM",), tied_embeddings=False)
    assert told == [(False, False)]


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("tiiuae/falcon-7b", True),
        ("vilsonrodrigues/falcon-7b-instruct-sharded", True),
        ("bigcode/starcoderbase-3b", True),
        ("google/gemma-2b-it", True),
        ("google/gemma-2-2b", False),
        ("tiiuae/falcon-40b", False),
        ("tiiuae/falcon-rw-1b", False),
    ],
)
def test_names_of_shared_heads(name: str, shared: bool) -> None:
    assert shares_heads(name) is shared


def test_a_config_counts_more_for_heads() -> None:
    assert shared(name="tiiuae/falcon-7b") == [(True, True)]
    assert shared(name="tiiuae/falcon-7b", multi_query=False) == [(False, False)]
    assert shared(name="tiiuae/falcon-40b") == []
