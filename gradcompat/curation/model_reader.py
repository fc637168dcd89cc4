"""What the class of a model says about its loss: read out of ``forward`` and of the attributes of the class."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

COUNTS, IGNORES, INHERITS, DELEGATES = "counts", "ignores", "inherits", "delegates"

# transformers: a loss that is looked up by the name of the class, and divides by the count that it is given.
_LOOKED_UP = frozenset({"loss_function", "ForCausalLMLoss", "ForMaskedLMLoss", "fixed_cross_entropy"})
# Losses of PyTorch; none of them is told a count.
_PLAIN = frozenset(
    {
        *("CrossEntropyLoss", "MSELoss", "BCEWithLogitsLoss", "L1Loss", "NLLLoss", "CTCLoss", "KLDivLoss"),
        *("cross_entropy", "mse_loss", "binary_cross_entropy_with_logits", "l1_loss", "nll_loss", "ctc_loss"),
    }
)
_COUNT = "num_items_in_batch"
_FLAGS = ("accepts_loss_kwargs", "_supports_")


def model_facts(node: ast.ClassDef) -> Mapping[str, str]:
    """What the body of a class says; empty where it says nothing about a loss, attention or tied weights.

    Returns:
        ``labels``: ``forward`` takes labels, ``1`` or ``0``; ``kwargs``: it takes ``**kwargs``, ``1`` or ``0``; both
        only where the class has a ``forward``. ``loss``: one of the constants of this module, missing where that is not
        certain. ``shifts``: it shifts labels itself. ``tied``: the names of the weights that are tied, by spaces.
        The rest are attributes of the class: ``accepts_loss_kwargs``, ``_supports_sdpa`` and the like.
    """
    found: dict[str, str] = {}
    for inner in node.body:
        match inner:
            case ast.FunctionDef(name="forward"):
                found |= _forward(inner)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                if name == "_tied_weights_keys":
                    found["tied"] = " ".join(_texts(value))
                elif name.startswith(_FLAGS) and isinstance(value, ast.Constant):
                    found[name] = str(value.value)
    return found


def _forward(node: ast.FunctionDef) -> dict[str, str]:
    arguments = node.args
    kwargs = None if arguments.kwarg is None else arguments.kwarg.arg
    named = {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    found = {"labels": str(int("labels" in named)), "kwargs": str(int(kwargs is not None))}
    if "labels" not in named:
        return found
    losses: set[str] = set()
    for inner in _nodes(node):
        match inner:
            case ast.Call():
                losses |= set(_losses(inner, kwargs))
            case ast.Assign(targets=[ast.Name(id="shift_labels" | "shifted_labels")]):
                found["shifts"] = "1"
    # Labels are also handed to a model for its masks; the loss is then made here.
    deciding = losses - {DELEGATES} or losses
    if len(deciding) == 1:
        found["loss"] = deciding.pop()
    return found


def _losses(call: ast.Call, kwargs: str | None) -> Iterator[str]:
    """What a call in ``forward`` shows of how the loss is made."""
    called = _last(call.func)
    handed = any(_hands_on(keyword, kwargs) for keyword in call.keywords)
    if called in _LOOKED_UP:
        yield COUNTS if handed else IGNORES
    elif called in _PLAIN:
        yield IGNORES
    elif called == "forward" and isinstance(call.func, ast.Attribute) and _is_super(call.func.value):
        yield INHERITS if handed or kwargs is None else DELEGATES
    elif any(keyword.arg == "labels" and _mentions(keyword.value, "labels") for keyword in call.keywords):
        # The outputs of a model are made of keywords too, and have no labels.
        yield DELEGATES


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those below it, in no order: what :func:`ast.walk` gives takes twice as long."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        for value in vars(one).values():
            if isinstance(value, ast.AST):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [inner for inner in value if isinstance(inner, ast.AST)]


def _hands_on(keyword: ast.keyword, kwargs: str | None) -> bool:
    if keyword.arg is None:
        return kwargs is not None and _mentions(keyword.value, kwargs)
    return keyword.arg == _COUNT


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _last(node.func) == "super"


def _mentions(node: ast.expr, name: str) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node))


def _last(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _texts(value: ast.expr) -> Iterator[str]:
    """The literal strings of a list or a set, the keys of a dict."""
    match value:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            pass
        case ast.Dict(keys=keys):
            parts = [key for key in keys if key is not None]
        case _:
            return
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
