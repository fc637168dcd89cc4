"""Passes without gradients that may do harm to the graded one behind them, and adapters that come too late."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest

from gradcompat.scanners.code.detectors.late_adapters import late_adapter, late_optimizer
from gradcompat.scanners.code.detectors.ungraded_passes import ungraded_pass

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


DECORATED = "@torch.no_grad()\ndef teach(self, y):\n    return self.net(y)\n"


@pytest.mark.parametrize(
    ("body", "more", "expected"),
    [
        ("target = self.teach(x)\nreturn self.net(x)\n", DECORATED, True),
        ("loss = self.net(x)\nself.teach(x)\nreturn loss\n", DECORATED, False),
        ("return self.net(x)\n", DECORATED, False),  # nothing of the class asks for it
        (
            "target = self.teach(x)\nreturn self(x)\n",
            f"{DECORATED}def forward(self, y):\n    return self.net(y)\n",
            True,
        ),
        (
            "target = self.teach(x)\nreturn self(x)\n",
            f"{DECORATED}def forward(self, y):\n    return self.student(y)\n",
            False,
        ),
        ("return self.net(x)\n", DECORATED.replace("teach", "validation_step"), False),
        (
            "self.follow()\nreturn self.net(x)\n",
            "@torch.no_grad()\ndef follow(self):\n"
            "    for mine, its in zip(self.net.parameters(), self.slow.parameters()):\n"
            "        its.data = its.data * self.momentum + mine.data\n"
            "    self.queue[:, int(self.pointer)] = 0\n",
            False,
        ),
    ],
)
def test_a_decorated_method_runs_where_it_is_called(body: str, more: str, expected: bool) -> None:
    assert found(body, more) is expected


def test_a_decorated_function_may_run_a_model_that_it_is_given() -> None:
    decorated = "@torch.no_grad()\ndef teach(model, x):\n    return {}(x)\n"
    assert ungraded_pass(ast.parse(decorated.format("model")).body) is not None
    assert ungraded_pass(ast.parse(decorated.format("gather")).body) is None


def test_a_block_of_a_helper_runs_before_what_stands_behind_its_call() -> None:
    helper = f"def teach(self, x):\n{indent(UNGRADED, '    ')}    return target\n"
    assert found("target = self.teach(x)\nreturn self.net(x)\n", helper)
    assert not found("loss = self.net(x)\nself.teach(x)\nreturn loss\n", helper)


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
        (
            f"reference = load()\ne = deepspeed.initialize(model=reference)\nmodel = load()\n{ADAPTER}{ENGINE}",
            False,
        ),
        (f"loader = accelerator.prepare(loader)\nmodel = load()\n{ADAPTER}model = accelerator.prepare(model)\n", False),
        (f"{ENGINE}model = load()\n{ADAPTER}", False),
        (f"{ENGINE}other = load()\nother.load_adapter('out')", False),
        (f"{ENGINE}plain = accelerator.unwrap_model(model)\nplain.add_adapter(config)", True),
        (f"{ENGINE}inner = engine.module\ninner.add_adapter(config)", True),
        (f"def late(one):\n    one.add_adapter(config)\n{ENGINE}late(engine.module)", True),
        (f"def late(one):\n    one.add_adapter(config)\n{ENGINE}late(other)", False),
        (f"def make(one):\n    return deepspeed.initialize(model=one)\nmodel = make(model)\n{ADAPTER}", True),
        (
            "class A:\n    def __init__(self):\n        self.model = accelerator.prepare(self.model)\n"
            "class B:\n    def __init__(self):\n        self.add_module('a', layer)\n",
            False,
        ),
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
