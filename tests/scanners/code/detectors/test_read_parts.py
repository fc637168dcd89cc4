"""Whether a program reads attributes of modules that PEFT trains as copies."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.scanners.code.detectors.read_parts import READ
from gradcompat.terms.comparison import texts


@pytest.mark.parametrize(
    ("made", "forward", "expected"),
    [
        ("pass", "self.query.tokens.sum(0)", True),
        ("pass", "self.query.proj(x)", True),
        ("pass", "self.query(x)", False),
        ("pass", "self.query.weight.sum()", False),
        ("pass", "self.value.tokens.sum(0)", False),
        ("self.kept = self.query.tokens", "self.query(x)", False),
    ],
)
def test_what_is_read_of_a_part(made: str, forward: str, expected: bool) -> None:
    program = f"""import torch
from peft import LoraConfig, get_peft_model
class Model(torch.nn.Module):
    def __init__(self):
        {made}
    def forward(self, x):
        return {forward}
model = get_peft_model(Model(), LoraConfig(target_modules=["value"], modules_to_save=["query"]))
model(x).sum().backward()
"""
    context = python_code.scan(Document("train.py", program))
    symbols = {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}
    assert (READ in symbols) is expected
