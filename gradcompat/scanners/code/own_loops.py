"""Where a program trains: the call or loop after which nothing counts, and what options say in its own loop."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from gradcompat.scanners.code import calls
from gradcompat.scanners.code.arguments import Argument, argument
from gradcompat.scanners.code.calls import (
    AVERAGE,
    KNOWN_OF_TYPE,
    LOOP,
    OWN_LOOP,
    STATEFUL_LOADERS,
    known,
    tool_of_method,
)
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.names import UNKNOWN, Names, Scope
from gradcompat.scanners.code.option_defaults import is_option
from gradcompat.scanners.code.syntax import last_name, nodes_in
from gradcompat.scanners.code.walk import Step, text
from gradcompat.startup.lazy_patterns import lazy_pattern

_EPOCH = lazy_pattern(r"_?epochs?(?:_?(?:idx|index|num|i))?|ep", re.IGNORECASE)
# How many there are in all, and neither where they start nor how many warm up.
_EPOCHS = lazy_pattern(r"(?!epoch$)(?:(?:n|nb|num|max|total)_?)?(?:train(?:ing)?_?)?epochs?", re.IGNORECASE)
_STREAM = "datasets.IterableDataset"
TRAINERS = lazy_pattern(
    r"(?:transformers|trl|sentence_transformers|gliner|lightning|pytorch_lightning)\.(?:\w+\.)*\w*Trainer"
)


def end_of_training(steps: list[Step], names: Names) -> Step | None:
    """The last call that trains, or the loop around it: what follows in that function comes too late to matter."""
    last: Step | None = None
    loops: list[Step] = []
    for step in steps:
        if not isinstance(step.node, (ast.For, ast.While, ast.AsyncFor, ast.Call)):
            continue
        match step.node:
            case ast.For() | ast.While() | ast.AsyncFor():
                loops.append(step)
            case ast.Call(func=ast.Attribute(value=owner, attr="train" | "fit")):
                if any(TRAINERS.fullmatch(kind) for kind in names.type_of(owner, step.scope)):
                    if last is not None and last.function is not step.function:
                        return None
                    last = step
    around = (loop for loop in loops if last is not None and _inside(last.node, loop.node))
    return next(around, last)


def _inside(node: ast.AST, loop: ast.AST) -> bool:
    lines = range(getattr(loop, "lineno", 0), (getattr(loop, "end_lineno", None) or 0) + 1)
    return getattr(node, "lineno", -1) in lines


def stands_after(node: ast.AST, end: ast.AST) -> bool:
    return getattr(node, "lineno", 0) > (getattr(end, "end_lineno", 0) or 0)


def read_resumption(found: Findings, step: Step, test: ast.expr, body: Sequence[ast.stmt]) -> None:
    """``if args.resume_from_checkpoint: accelerator.load_state(…)``: the option says whether the run resumes."""
    match test:
        case ast.Compare(left=asked, ops=[ast.IsNot()], comparators=[ast.Constant(None)]):
            pass
        case _:
            asked = test
    if is_option(asked, found.names, step.scope) not in found.options:
        return
    for call in (inner for statement in body for inner in nodes_in(statement)):
        match call:
            case ast.Call(func=ast.Attribute(value=owner, attr="load_state" | "load_state_dict" as method)):
                if any(is_method_of(kind, method) for kind in found.names.type_of(owner, step.scope)):
                    given = Argument("resume_from_checkpoint", UNKNOWN, asked, None, asked)
                    found.optional_calls.add(call)
                    trained = KNOWN_OF_TYPE["train"]
                    found.feed(step, trained, [given], tool_of_method("train", trained))


def read_average(found: Findings, step: Step, test: ast.expr, body: Sequence[ast.stmt]) -> None:
    """``if args.use_ema: ema = EMAModel(…)``: the option says whether an average of the weights is kept."""
    if is_option(test, found.names, step.scope) not in found.options:
        return
    for call in (inner for statement in body for inner in nodes_in(statement) if isinstance(inner, ast.Call)):
        for name in found.names.resolve(call.func, step.scope):
            if known(name) is AVERAGE:
                found.optional_calls.add(call)
                found.feed(step, AVERAGE, [Argument("use_ema", UNKNOWN, test, None, test)], name)


def read_accumulation(found: Findings, step: Step, test: ast.expr, body: Sequence[ast.stmt]) -> None:
    """``if (index + 1) % gradient_accumulation_steps == 0: optimizer.step()``: a window of a loop of one's own."""
    sizes = [inner.right for inner in nodes_in(test) if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mod)]
    if len(sizes) != 1:
        return
    inside = [inner for statement in body for inner in nodes_in(statement)]
    for inner in inside:
        match inner:
            case ast.Call(func=ast.Attribute(value=owner, attr="step"), args=[]):
                kinds = found.names.type_of(owner, step.scope)
                if any(calls.optimizer(kind) is not None for kind in kinds) or text(owner).startswith("optim"):
                    named = argument("gradient_accumulation_steps", sizes[0], found.names, step.scope, None)
                    found.feed(step, OWN_LOOP, list(named), LOOP)
                    return


def read_epochs(found: Findings, loop: ast.For, scope: Scope) -> bool:
    """``for epoch in range(args.epochs)``: how often a loop of one's own goes through the data."""
    for call in (one for one in nodes_in(loop.iter) if isinstance(one, ast.Call)):
        if last_name(call.func) in ("range", "trange") and call.args:
            last = call.args[min(1, len(call.args) - 1)]
            if not _is_epoch(loop.target) and not _EPOCHS.fullmatch(_name_of(last)):
                return False
            step = Step(loop, scope, scope, branch=False)
            named = argument("num_train_epochs", last, found.names, scope, None)
            found.feed(step, OWN_LOOP, list(named), LOOP)
            return True
    return False


def _is_epoch(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and _EPOCH.fullmatch(target.id) is not None


def _name_of(number: ast.expr) -> str:
    """What a number is called where it is looked up: ``epochs`` in ``args.epochs`` and ``config["epochs"]``."""
    match number:
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
    return last_name(number)


def is_method_of(kind: str, method: str) -> bool:
    if method in ("clip_grad_norm_", "load_state"):
        return kind.startswith("accelerate.")
    if method == "load_state_dict":  # of a model it may be the weights that a run starts with
        return kind in (*STATEFUL_LOADERS, _STREAM) or calls.optimizer(kind) is not None
    if method == "filter":
        return kind == _STREAM
    return TRAINERS.fullmatch(kind) is not None
