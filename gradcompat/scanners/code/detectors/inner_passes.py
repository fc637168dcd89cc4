"""Passes through the model inside of DeepSpeed's engine, in a loop whose loss the engine takes back.

``engine, _, _, _ = deepspeed.initialize(model=model)``: the engine scales what goes through itself, and
``engine.module.encoder(x)`` or ``model.encoder(x)`` goes past it. What the loss does not take has no gradient.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence, Set

from gradcompat.scanners.code.detectors.late_adapters import ENGINES
from gradcompat.scanners.code.detectors.ungraded_calls import SWITCHES
from gradcompat.scanners.code.syntax import argument_of, children, nodes_in
from gradcompat.scanners.code.walk import text
from gradcompat.startup.lazy_patterns import lazy_pattern

PAST_ENGINE = "deepspeed.initialize.inner_pass"
MAKING = lazy_pattern(r"\b(?:deepspeed|ds)\.initialize\(")
_UNGRADED = lazy_pattern(rf"\b(?:{'|'.join(sorted(SWITCHES))}|set_grad_enabled)\b")
# What is asked of a module without a pass that is trained.
_NO_PASS = lazy_pattern(
    r"(?:get|set|save|load|print|register|log|update|num|named|resize|gradient_checkpointing|enable|disable)_\w*"
    r"|parameters|buffers|modules|children|state_dict|train|eval|to|cuda|cpu|half|bfloat16|float|zero_grad|apply"
    r"|requires_grad_|generate|items|keys|values|tokenize|preprocess|add_noise|q_sample"
)
# Parts of a model that have nothing to train.
_UNTRAINED = frozenset({"tokenizer", "processor", "image_processor", "config", "scheduler", "noise_scheduler"})
_JUDGING = lazy_pattern(r"loss|criterion|metric|accuracy")
_WITHOUT_GRADIENTS = frozenset({"detach", "item", "tolist", "numpy"})
_ADDING = frozenset({"append", "extend", "update"})
_LOOPS = (ast.For, ast.While)


def inner_pass(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first such pass."""
    for engine, model in _engines(statements):
        inside = [f"{engine}.module", *([model] if model and model != engine else [])]
        back = f"{engine}.backward"
        still = _UNTRAINED | _frozen(statements)
        for loop in (node for node in nodes_in(*statements) if isinstance(node, _LOOPS)):
            taken = (argument_of(call, "loss", 0) for call in _own_calls(loop) if text(call.func) == back)
            losses = [loss for loss in taken if loss is not None]
            made = _made(loop) if losses else {}
            passes = [
                call
                for call in _calls(_behind(losses, made))
                if _passes(call, inside, still) and not _judges(call, engine, made)
            ]
            if passes:
                return min(passes, key=lambda call: (call.lineno, call.col_offset))
    return None


def _engines(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """The engines and the names of the models inside of them; a name that is empty is not known."""
    for node in nodes_in(*statements):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=[engine, *_])], value=ast.Call() as made):
                if text(made.func) in ENGINES:
                    model = argument_of(made, "model", 1)
                    yield text(engine), "" if model is None else text(model)


def _frozen(statements: Sequence[ast.stmt]) -> set[str]:
    """The last names of what is frozen: ``model.vae.requires_grad_(False)``, by a loop over its parameters, too."""
    frozen = set()
    for node in nodes_in(*statements):
        match node:
            case ast.Call(
                func=ast.Attribute(value=part, attr="requires_grad_"), args=[ast.Constant(value=False)], keywords=[]
            ):
                frozen.add(text(part).rpartition(".")[2])
            case ast.For(
                iter=ast.Call(func=ast.Attribute(value=part, attr="parameters")),
                body=[ast.Assign(targets=[ast.Attribute(attr="requires_grad")], value=ast.Constant(value=False))],
            ):
                frozen.add(text(part).rpartition(".")[2])
    return frozen


def _own_calls(loop: ast.AST) -> Iterator[ast.Call]:
    """The calls within a loop, but for those of loops inside of it."""
    waiting = children(loop)
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Call):
            yield one
        if not isinstance(one, _LOOPS):
            waiting.extend(children(one))


def _graded(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes within, but for what runs without gradients or is cut off from them at once."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.With) and any(_UNGRADED.search(ast.unparse(item)) for item in one.items):
            continue
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _WITHOUT_GRADIENTS:
            continue
        yield one
        waiting.extend(children(one))


def _made(loop: ast.AST) -> dict[str, list[ast.expr]]:
    """What each name of a loop is made of."""
    made: dict[str, list[ast.expr]] = {}
    for node in _graded(loop):
        match node:
            case ast.Assign(targets=targets, value=value):
                pairs = [(target, value) for target in targets]
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                pairs = [(target, value)]
            case ast.For(target=target, iter=value) if node is not loop:
                pairs = [(target, value)]
            case ast.Call(func=ast.Attribute(value=target, attr=attr), args=[*values]) if attr in _ADDING:
                pairs = [(target, value) for value in values]
            case _:
                pairs = []
        for target, value in pairs:
            for name in _targets(target):
                made.setdefault(name, []).append(value)
    return made


def _targets(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _targets(part)
        case ast.Starred(value=part) | ast.Subscript(value=part):
            yield from _targets(part)
        case ast.Name() | ast.Attribute():
            yield text(node)


def _behind(values: Iterable[ast.expr], made: dict[str, list[ast.expr]]) -> Iterator[ast.expr]:
    """Some values, and what they were made of."""
    waiting, known = list(values), set[str]()
    while waiting:
        value = waiting.pop()
        yield value
        for name in {text(node) for node in _graded(value) if isinstance(node, (ast.Name, ast.Attribute))} - known:
            known.add(name)
            waiting += made.get(name, ())


def _calls(values: Iterable[ast.expr]) -> Iterator[ast.Call]:
    return (node for value in values for node in _graded(value) if isinstance(node, ast.Call))


def _passes(call: ast.Call, inside: Sequence[str], still: Set[str]) -> bool:
    called = text(call.func)
    if not (call.args or call.keywords):
        return False
    if called in inside:
        return True
    path = next((called[len(one) + 1 :].split(".") for one in inside if called.startswith(f"{one}.")), None)
    return path is not None and still.isdisjoint(path) and _NO_PASS.fullmatch(path[-1]) is None


def _judges(call: ast.Call, engine: str, made: dict[str, list[ast.expr]]) -> bool:
    """Does it only compare what the engine has returned with something, as ``model.criterion(engine(x), y)``?"""
    if not _JUDGING.search(text(call.func).rpartition(".")[2].lower()):
        return False
    given = [*call.args, *(word.value for word in call.keywords)]
    return any(text(one.func) == engine for one in _calls(_behind(given, made)))
