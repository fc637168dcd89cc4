"""PEFT's adapter_config.json: what is null there is surely not used."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.scanners.configs import adapter_config
from tests.scanners.scanned import fixture, lines, stated


def test_a_config() -> None:
    context = adapter_config.scan(fixture("models/adapter_config.json"))
    assert (context.kind, context.run, context.skipped) == ("hf-adapter", False, ())
    assert context.refers_to == ("llava-hf/llava-1.5-7b-hf/config.json",)
    assert lines(context) == [
        (2, "model.name", "llava-hf/llava-1.5-7b-hf"),
        (2, "model.architecture", ("LlavaForConditionalGeneration",)),
        (3, "peft.layers_to_transform", False),
        (4, "peft.modules_to_save", False),
        (5, "peft.method", "lora"),
        (8, "peft.target_parameters", True),
        (9, "peft.trainable_tokens", True),
    ]


def test_what_is_not_listed_is_not_said() -> None:
    assert stated(adapter_config.scan(Document("a.json", '{"peft_type": "IA3"}'))) == {"peft.method": "ia3"}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"peft_type": null}', '{"peft_type": ["LORA"]}', "peft_type: LORA"]
)
def test_what_is_no_config_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        adapter_config.scan(Document("a.json", text))
