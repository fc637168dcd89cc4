"""Embeddings that a published model ties, by its name."""

from __future__ import annotations

import pytest

from gradcompat.model.environment import Environment, Location, Setting, SettingValue
from gradcompat.tied_models import is_tied, with_tied_embeddings


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
def test_names(name: str, tied: bool | None) -> None:
    assert is_tied(name) is tied


def said(**settings: SettingValue) -> list[tuple[SettingValue | None, bool]]:
    place = Location(path="train.py", line=1)
    stated = tuple(Setting(key=f"model.{key}", value=value, location=place) for key, value in settings.items())
    environment = with_tied_embeddings(
        Environment(source="r.txt", kind="requirements", packages=(), closed=False, settings=stated)
    )
    return [(one.value, one.presumed) for one in environment.settings if one.key == "model.tied_embeddings"]


def test_the_class_has_to_have_an_output_layer() -> None:
    assert said(name="google/gemma-2-2b", architecture=("Gemma2ForCausalLM",)) == [(True, True)]
    assert said(name="gpt2", architecture=("GPT2LMHeadModel",)) == [(True, True)]
    assert said(name="google/gemma-2-2b", architecture=("Gemma2ForSequenceClassification",)) == []
    assert said(name="google/gemma-2-2b") == []


def test_a_config_counts_more() -> None:
    told = said(name="google/gemma-2-2b", architecture=("Gemma2ForCausalLM",), tied_embeddings=False)
    assert told == [(False, False)]
