"""What a program does with its tokenizer: calls it, and counts what apply_chat_template returns."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

_HEAD = """\
from transformers import AutoProcessor, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("a")
processor = AutoProcessor.from_pretrained("a")
"""


def counted(text: str, word: str = ".counted") -> list[str]:
    settings = scan(Document("x.py", _HEAD + text)).settings
    values = [one.value for one in settings if one.key == "code.symbols"]
    names = [str(name) for value in values if isinstance(value, tuple) for name in value]
    return [name for name in names if name.endswith(word)]


@pytest.mark.parametrize(
    "text",
    [
        "n = len(tokenizer.apply_chat_template(messages))",
        "ids = tokenizer.apply_chat_template(messages, tokenize=True)\nlabels = [-100] * len(ids)",
        "data = data.filter(lambda row: len(tokenizer.apply_chat_template(row['messages'])) < 2048)",
    ],
)
def test_the_tokens_are_counted(text: str) -> None:
    assert counted(text) == ["transformers.AutoTokenizer.apply_chat_template.counted"]


def test_of_a_tokenizer_that_is_handed_over() -> None:
    text = "def size(tok, messages):\n    return len(tok.apply_chat_template(messages))\n"
    assert counted(f"{text}print(size(tokenizer, m))") == ["transformers.AutoTokenizer.apply_chat_template.counted"]
    assert counted(f"{text}print(size(found, m))") == ["apply_chat_template.counted"]


@pytest.mark.parametrize(
    "text",
    [
        "n = len(tokenizer.apply_chat_template(messages, tokenize=False))",
        "n = len(tokenizer.apply_chat_template(messages, return_dict=False))",
        "n = len(tokenizer.apply_chat_template(messages)['input_ids'])",
        "n = len(tokenizer.apply_chat_template(messages, **options))",
        "n = len(processor.apply_chat_template(messages))",
        "ids = tokenizer.apply_chat_template(messages)\nids = ids['input_ids']\nn = len(ids)",
        "ids = tokenizer.apply_chat_template(messages)\nn = len(messages)",
    ],
)
def test_text_and_what_is_a_list_are_not(text: str) -> None:
    assert counted(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "text = tokenizer.apply_chat_template(chat, tokenize=False).removeprefix('<bos>')",
        "text = tokenizer.apply_chat_template(chat, tokenize=False)\nb = text.replace(tokenizer.bos_token, '', 1)",
        "text = tokenizer.apply_chat_template(chat, tokenize=False)\nids = tokenizer(text, add_special_tokens=False)",
    ],
)
def test_something_is_taken_off_the_text(text: str) -> None:
    assert counted(text, ".trimmed") == ["transformers.AutoTokenizer.apply_chat_template.trimmed"]


@pytest.mark.parametrize(
    "text",
    [
        "text = tokenizer.apply_chat_template(chat, tokenize=False)\nname = path.removeprefix('a')",
        "text = tokenizer.apply_chat_template(chat, tokenize=False)\nids = tokenizer(text)",
        "t = tokenizer.apply_chat_template(c, tokenize=False, add_generation_prompt=True)\n"
        "ids = tokenizer(t, add_special_tokens=False)",
    ],
)
def test_nothing_is_taken_off_another_text(text: str) -> None:
    assert counted(text, ".trimmed") == []


def calls(text: str) -> list[str]:
    settings = scan(Document("x.py", _HEAD + text)).settings
    values = [one.value for one in settings if one.key == "code.calls"]
    lines = [str(line) for value in values if isinstance(value, tuple) for line in value]
    return [line for line in lines if ".__call__(" in line]


def test_a_tokenizer_that_is_called() -> None:
    assert calls("out = tokenizer(text, return_offsets_mapping=True)") == [
        "transformers.AutoTokenizer.__call__(_1, return_offsets_mapping=True)"
    ]
    assert calls("from transformers import AutoModel\nmodel = AutoModel.from_pretrained('a')\nmodel(x)") == []
