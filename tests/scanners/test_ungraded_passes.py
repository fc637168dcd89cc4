"""Passes without gradients that may do harm to the graded one behind them, and adapters that come too late."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest

from gradcompat.scanners.late_adapters import late_adapter, late_optimizer
from gradcompat.scanners.ungraded_passes import ungraded_pass

UNGRADED = "with torch.no_grad():\n    target = self.net(x)\n"


def found(body: str, more: str = "") -> bool:
    step = f"    def training_step(self, batch):\n{indent(body, '        ')}"
    program = f"class M(LightningModule):\n{step}{indent(more, '    ')}"
    return ungraded_pass(ast.parse(program).body) is not None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{UNGRADED}return self.net(y)\n", True),
        (f"{UNGRADED}return self.student(y)\n", False),
        (f"{UNGRADED}return self(y)\n", True),
        (f"{UNGRADED}return step(self, y)\n", True),
        (f"{UNGRADED}return self.shared(y)\n", True),  # a method, which may do anything
        ("with torch.no_grad():\n    target = self(x)\nreturn self.student(y)\n", True),
        ("loss = self.net(x)\nwith torch.no_grad():\n    self.log('accuracy', f(loss))\nreturn loss\n", False),
        ("loss = self.net(x)\nwith torch.no_grad():\n    self.net(x)\nreturn loss\n", False),
        ("return self.net(x)\n", False),
    ],
)
def test_which_layers_run_without_gradients(body: str, expected: bool) -> None:
    assert found(body, "def shared(self, y):\n    return self.net(y)\n") is expected


def test_a_decorated_method_may_run_anything() -> None:
    assert found("return self.net(x)\n", "@torch.no_grad()\ndef teach(self, y):\n    return self.net(y)\n")
    assert not found(
        "return self.net(x)\n", "@torch.no_grad()\ndef validation_step(self, y):\n    return self.net(y)\n"
    )


ENGINE = "engine = deepspeed.initialize(model=model)\n"
ADAPTER = "model = get_peft_model(model, config)\n"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (ENGINE + ADAPTER, True),
        (ADAPTER + ENGINE, False),
        (f"def main():\n    model = build()\n    {ENGINE}def build():\n    {ADAPTER}    return model\nmain()\n", False),
        (f"def main():\n    {ENGINE}    late()\ndef late():\n    {ADAPTER}main()\n", True),
        (f"def make():\n    {ENGINE}def late():\n    {ADAPTER}make()\nlate()\n", True),
        (f"def make():\n    {ENGINE}def late():\n    {ADAPTER}late()\nmake()\n", False),
        (ADAPTER, False),
    ],
)
def test_an_adapter_behind_the_engine(program: str, expected: bool) -> None:
    assert (late_adapter(ast.parse(program).body) is not None) is expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("m = a.prepare(m)\no = torch.optim.AdamW(m.parameters())\no, d = a.prepare(o, d)", True),
        ("o = torch.optim.AdamW(m.parameters())\nm, o = a.prepare(m, o)", False),
        ("o = AdamW(m.parameters())\nm = a.prepare(m)\np = SGD(m.parameters())", False),
        ("o = torch.optim.SGD(m.parameters())", False),
        ("m = a.prepare(m)", False),
    ],
)
def test_an_optimizer_that_is_made_behind_prepare(program: str, expected: bool) -> None:
    assert (late_optimizer(ast.parse(program).body) is not None) is expected
