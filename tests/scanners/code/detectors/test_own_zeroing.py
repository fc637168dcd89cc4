"""Whether a program clears the gradients of DeepSpeed's engine itself."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code

HEAD = "import deepspeed\nengine, optimizer, _, _ = deepspeed.initialize(model=net, optimizer=adam)\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("engine.zero_grad()", True),
        ("optimizer.zero_grad()", True),
        ("net.zero_grad()", True),
        ("discriminator.zero_grad()", False),
        ("engine.step()", False),
    ],
)
def test_who_clears_the_gradients(line: str, expected: bool) -> None:
    text = f"{HEAD}for batch in loader:\n    engine.backward(engine(batch))\n    {line}\n"
    context = python_code.scan(Document("train.py", text))
    found = next(one.value for one in context.settings if one.key == "code.symbols")
    assert isinstance(found, tuple)
    assert ("deepspeed.initialize.zero_grad" in found) is expected
