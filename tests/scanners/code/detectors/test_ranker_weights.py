"""The dtype of a reranker that is trained."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.terms.comparison import texts

_HEAD = "from sentence_transformers.cross_encoder import CrossEncoder, CrossEncoderTrainer\n"
_HALF = "CrossEncoder('a', model_kwargs={'torch_dtype': 'bfloat16'})"


@pytest.mark.parametrize(
    ("lines", "in_float"),
    [
        (f"teacher = {_HALF}\nmodel = CrossEncoder('b', num_labels=1)", True),
        (f"teacher = {_HALF}\nmodel = CrossEncoder('b', model_kwargs={{'attn_implementation': 'sdpa'}})", True),
        (f"model = {_HALF}\nmodel.float()", True),
        (f"model = {_HALF}\nmodel.model.float()", True),
        (f"model = {_HALF}", False),
        (f"model = {_HALF}\nother = CrossEncoder('b')", False),
        ("model = CrossEncoder('b', model_kwargs=options)", False),
        ("model = CrossEncoder('b', **options)", False),
        ("model = make()", False),
    ],
)
def test_what_the_trainer_gets(lines: str, in_float: bool) -> None:
    context = python_code.scan(Document("train.py", f"{_HEAD}{lines}\nCrossEncoderTrainer(model=model).train()\n"))
    symbols = {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}
    assert ("sentence_transformers.CrossEncoderTrainer.float_weights" in symbols) is in_float
