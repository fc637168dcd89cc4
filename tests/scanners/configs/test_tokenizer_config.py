"""Of which form the tokenizer in a folder is, and whose it is."""

from __future__ import annotations

import pytest

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.scanners.configs import tokenizer_config
from gradcompat.scanners.run_assembly import join
from tests.scanners.scanned import fixture, lines

KEY = "files.tokenizer_of_5"


def test_a_file() -> None:
    context = tokenizer_config.scan(fixture("hf/tokenizer_config.json"))
    assert (context.kind, context.run) == ("hf-tokenizer", False)
    assert lines(context) == [(3, KEY, True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"tokenizer_class": "TokenizersBackend"}', True),
        ('{"tokenizer_class": "LlamaTokenizerFast", "extra_special_tokens": ["<a>"]}', True),
        ('{"tokenizer_class": "LlamaTokenizerFast", "extra_special_tokens": {}}', False),
        ('{"tokenizer_class": "LlamaTokenizerFast", "extra_special_tokens": []}', False),
        ('{"tokenizer_class": "PreTrainedTokenizerFast"}', False),
    ],
)
def test_forms(text: str, expected: bool) -> None:
    (setting,) = tokenizer_config.scan(Document("tokenizer_config.json", text)).settings
    assert setting.value is expected


def test_something_else() -> None:
    with pytest.raises(Unrecognised):
        tokenizer_config.scan(Document("a.json", '{"model_type": "llama"}'))


@pytest.mark.parametrize(("folder", "told"), [("tok", [True]), ("Qwen/Qwen3-8B", [])])
def test_it_belongs_to_the_program_that_loads_it(folder: str, told: list[bool]) -> None:
    text = "from transformers import AutoTokenizer, Trainer\n"
    text += f"t = AutoTokenizer.from_pretrained('{folder}')\nTrainer(m).train()\n"
    config = Document("tok/tokenizer_config.json", '{"tokenizer_class": "TokenizersBackend"}')
    (run,) = join([python_code.scan(Document("train.py", text)), tokenizer_config.scan(config)])
    assert [one.value for one in run.settings if one.key == KEY] == told
