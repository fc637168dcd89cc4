"""Whether ``compile()`` of an object compiles a module of torch."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.terms.comparison import texts

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
        ("step = torch.compile(optimizer.step)", False),
        ("from torch.nn import functional as F\nloss = torch.compile(F.cross_entropy)", False),
        ("loss = torch.compile(torch.nn.MSELoss())", False),
        ("from torch.nn.attention.flex_attention import flex_attention\nflex = torch.compile(flex_attention)", False),
        ("@torch.compile\ndef orthogonal(g):\n    return g / g.norm()", False),
        ("@torch.compile(fullgraph=True)\ndef orthogonal(g):\n    return torch.mm(g, g)", False),
        ("@torch.compile\ndef step(x):\n    return total(x)\ndef total(x):\n    return model(x).sum()", True),
        ("@torch.compile(dynamic=False)\ndef step(x):\n    return model(x).sum()", True),
        ("def step(x):\n    return net.forward(x)\nstep = torch.compile(step)", True),
        ("class Net(torch.nn.Module):\n    @torch.compile\n    def forward(self, x):\n        return self.a(x)", True),
        ("compiled = torch.compile(model)", True),
        ("@torch.compile\ndef step(x):\n    return model.compute_loss(x)", True),
        ("@torch.compile\ndef step(x):\n    agent.policy.act(x)", True),
        ("@torch.compile\ndef step(w, x):\n    return torch.func.functional_call(model, w, x)", True),
        ("@torch.compile\ndef step(x):\n    loss(x).backward()\ndef loss(x):\n    return x.sum()", True),
        ("compiled = torch.compile(torch.nn.Sequential(a, b))", True),
    ],
)
def test_what_is_compiled(lines: str, expected: bool) -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}{lines}\nloss.backward()\n"))
    assert any(one.key == "training.torch_compile" and one.value is True for one in context.settings) is expected


def test_the_backend_is_told() -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}model.compile(backend='eager')\nloss.backward()\n"))
    assert [one.value for one in context.settings if one.key == "training.compile_backend"] == ["eager"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("for block in model.blocks: block.compile()", True),
        ("for i, block in enumerate(model.blocks): model.blocks[i] = torch.compile(block)", True),
        ("for epoch in range(3): model.compile()", False),
        ("model = torch.compile(model)", False),
    ],
)
def test_blocks_are_told(lines: str, expected: bool) -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}{lines}\nloss.backward()\n"))
    symbols = {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}
    assert ("torch.compile.of_blocks" in symbols) is expected
