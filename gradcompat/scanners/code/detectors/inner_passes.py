"""Passes through the model inside of DeepSpeed's engine, in a loop whose loss the engine takes back.

``engine, _, _, _ = deepspeed.initialize(model=model)``: the engine scales what goes through itself, and
``engine.module.encoder(x)`` or ``model.encoder(x)`` goes past it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from gradcompat.scanners.code.syntax import argument_of, children
from gradcompat.scanners.code.walk import text

PAST_ENGINE = "deepspeed.initialize.inner_pass"
MAKING = re.compile(r"\b(?:deepspeed|ds)\.initialize\(")
_ENGINES = ("deepspeed.initialize", "ds.initialize")
_UNGRADED = re.compile(r"\b(?:no_grad|inference_mode|set_grad_enabled)\b")
# What is asked of a module without a pass that is trained.
_NO_PASS = re.compile(
    r"(?:get|set|save|load|print|register|log|update|num|named|resize|gradient_checkpointing|enable|disable)_\w*"
    r"|parameters|buffers|modules|children|state_dict|train|eval|to|cuda|cpu|half|bfloat16|float|zero_grad|apply"
    r"|requires_grad_|generate|items|keys|values"
)
_LOOPS = (ast.For, ast.While)


def inner_pass(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first such pass."""
    for engine, model in _engines(statements):
        inside = [f"{engine}.module", *([model] if model and model != engine else [])]
        for loop in (node for statement in statements for node in ast.walk(statement) if isinstance(node, _LOOPS)):
            calls = list(_graded_calls(loop))
            if any(text(call.func) == f"{engine}.backward" for call in calls):
                found = next((call for call in calls if _passes(call, inside)), None)
                if found is not None:
                    return found
    return None


def _engines(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """The engines and the names of the models inside of them; a name that is empty is not known."""
    for node in (node for statement in statements for node in ast.walk(statement)):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=[engine, *_])], value=ast.Call() as made):
                if text(made.func) in _ENGINES:
                    model = argument_of(made, "model", 1)
                    yield text(engine), "" if model is None else text(model)


def _graded_calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls within, but for what runs without gradients or is cut off from them at once."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.With) and any(_UNGRADED.search(ast.unparse(item)) for item in one.items):
            continue
        if isinstance(one, ast.Call):
            if isinstance(one.func, ast.Attribute) and one.func.attr == "detach":
                continue
            yield one
        waiting.extend(reversed(children(one)))


def _passes(call: ast.Call, inside: Sequence[str]) -> bool:
    called = text(call.func)
    if not (call.args or call.keywords):
        return False
    return called in inside or (
        called.startswith(tuple(f"{one}." for one in inside)) and _NO_PASS.fullmatch(called.rpartition(".")[2]) is None
    )
