"""The config.json of a model."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.scanners.configs import model_config
from tests.scanners.scanned import fixture, lines, stated


def test_a_config() -> None:
    context = model_config.scan(fixture("models/llava/config.json"))
    assert (context.kind, context.run, context.refers_to, context.skipped) == ("hf-model", False, (), ())
    assert lines(context) == [
        (2, "model.architecture", ("LlavaForConditionalGeneration",)),
        (3, "model.family", "llava"),
        (5, "quantization.double_quant", True),
        (6, "quantization.bits", 4),
        (8, "quantization.method", "bitsandbytes"),
        (11, "model.tied_embeddings", False),
        (12, "model.torch_dtype", "float16"),
        (13, "model.use_cache", False),
        (11, "model.tied_in_text_config", False),
    ]


@pytest.mark.parametrize(
    ("top", "below", "expected"),
    [
        ("", '"tie_word_embeddings": true', True),
        ('"tie_word_embeddings": false, ', '"tie_word_embeddings": true', True),
        ('"tie_word_embeddings": true, ', '"tie_word_embeddings": true', False),
        ('"tie_word_embeddings": true, ', "", False),
        ("", '"tie_word_embeddings": false', False),
        ("", "", None),
        ('"transformers_version": "4.57.6", ', '"tie_word_embeddings": true', True),
        ('"transformers_version": "5.1.0", ', '"tie_word_embeddings": true', False),
        ('"transformers_version": "5.0.0.dev0", ', '"tie_word_embeddings": true', False),
    ],
)
def test_where_embeddings_are_tied(top: str, below: str, expected: bool | None) -> None:
    text = f'{{"model_type": "qwen2_5_vl", {top}"text_config": {{{below}}}}}'
    found = stated(model_config.scan(Document("config.json", text)))
    assert found.get("model.tied_in_text_config") is expected


def test_other_quantisations() -> None:
    quantised = '{"quant_method": "gptq", "bits": 4}'
    text = f'{{"model_type": "qwen2", "vocab_size": 1, "dtype": "bfloat16", "quantization_config": {quantised}}}'
    assert stated(model_config.scan(Document("config.json", text))) == {
        "model.family": "qwen2",
        "model.vocab_size": 1,
        "model.torch_dtype": "bfloat16",
        "quantization.method": "gptq",
        "quantization.bits": 4,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"model_type": "llama"}',
        '{"architectures": ["A"]}',
        '{"model_type": 1, "vocab_size": 2}',
        "a: 1",
    ],
)
def test_what_is_no_config_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        model_config.scan(Document("config.json", text))
