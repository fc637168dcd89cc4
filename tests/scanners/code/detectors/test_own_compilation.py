"""Whether ``compile()`` of an object compiles a module of torch."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code

HEAD = "import keras\nimport torch\nmodel = Net()\nother = keras.Sequential()\nmodule = keras.models.Model(a, b)\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("model.compile()", True),
        ("model.compile(mode='max-autotune', fullgraph=True)", True),
        ("for block in model.blocks:\n    block.compile()", True),
        ("self.net.compile()", True),
        ("model.compile(optimizer='adam')", False),
        ("model.compile('adam', 'mse')", False),
        ("other.compile()", False),
        ("module.compile()", False),
        ("graph.compile()", False),
        ("make_model().compile()", False),
    ],
)
def test_what_is_compiled(lines: str, expected: bool) -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}{lines}\nloss.backward()\n"))
    assert any(one.key == "training.torch_compile" and one.value is True for one in context.settings) is expected


def test_the_backend_is_told() -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}model.compile(backend='eager')\nloss.backward()\n"))
    assert [one.value for one in context.settings if one.key == "training.compile_backend"] == ["eager"]
