"""What is loaded early enough."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.detectors.early_loads import forgotten_adapter, load_in_front

_LOAD, _SETUP = "fabric.load(path, state)\n", "model, optimizer = fabric.setup(model, optimizer)\n"
_TAKEN = "generate(lora_request=model.load_lora('lora'))\n"


def test_a_state_in_front_of_setup() -> None:
    assert load_in_front(ast.parse(_LOAD + _SETUP).body) is not None
    for program in (_SETUP + _LOAD, _LOAD, _LOAD + _SETUP + _LOAD, f"def f():\n    {_LOAD}{_SETUP}"):
        assert load_in_front(ast.parse(program).body) is None


def test_an_adapter_that_is_not_used() -> None:
    assert forgotten_adapter(ast.parse("model.load_lora('lora')\n" + _TAKEN).body) is not None
    for program in (_TAKEN, _TAKEN + "model.load_lora('lora')\n", "model.load_lora('lora')\n"):
        assert forgotten_adapter(ast.parse(program).body) is None
