"""Where gradient checkpointing stands in a program: before or behind the adapters and the hook on the embeddings."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.walk import Step

# What puts the hook on the embeddings, under whichever name; their mention alone makes the absence doubtful.
HOOKS = frozenset(
    {
        *("enable_input_require_grads", "make_inputs_require_grad", "register_forward_hook"),
        *("prepare_model_for_kbit_training", "prepare_model_for_int8_training"),
    }
)
_HOOK = "enable_input_require_grads"
_ENABLING = "gradient_checkpointing_enable"
_QUANTISED = ("BitsAndBytesConfig", "load_in_4bit", "load_in_8bit")  # TRL prepares such a model from 0.20.0 on
_CHECKPOINTING = frozenset({"gradient_checkpointing", "use_gradient_checkpointing", "activation_checkpointing"})


def order(found: Findings, end: Step) -> None:
    """What follows from one module of several."""
    hooked(found, end)
    ordered(found, end)


def hooked(found: Findings, end: Step) -> None:
    """Where the hook on the embeddings stands behind the question for checkpointing, it is there when it counts.

    A hook of the program's own counts where it is for gradients, which one that adds noise is not.
    """
    hooks = found.hooks or (found.hooked_tables if "make_inputs_require_grad" in found.mentioned else [])
    if not hooks:
        return
    asked = _behind_checkpointing(end.node, _HOOK) if any(step.branch for step in hooks) else set()
    for step in hooks:
        branch = step.branch and step.node not in asked
        found.state(step._replace(branch=branch), "training.enable_input_require_grads", True)


def _behind_checkpointing(tree: ast.AST, method: str) -> set[ast.AST]:
    """The calls of a method that are made always or where checkpointing is asked for, if the model has the hook."""
    found: set[ast.AST] = set()
    waiting: list[tuple[ast.AST, bool]] = [(tree, True)]
    for node, inside in waiting:
        match node:
            case ast.If(test=test, body=body, orelse=otherwise):
                now = inside if _asks_for_method(test) else _asks_for_checkpointing(test)
                waiting += [(one, now) for one in body]
                waiting += [(one, False) for one in otherwise]
            case ast.Call(func=ast.Attribute(attr=name)) if inside and name == method:
                found.add(node)
            case ast.Expr() | ast.With() | ast.Module() | ast.FunctionDef(name="main" | "train" | "run"):
                waiting += [(child, inside) for child in ast.iter_child_nodes(node)]
            case _:
                waiting += [(child, False) for child in ast.iter_child_nodes(node)]
    return found


def _asks_for_checkpointing(test: ast.expr) -> bool:
    """`training_args.gradient_checkpointing`, alone."""
    return (isinstance(test, ast.Attribute) and test.attr in _CHECKPOINTING) or (
        isinstance(test, ast.Name) and test.id in _CHECKPOINTING
    )


def _asks_for_method(test: ast.expr) -> bool:
    """`hasattr(model, "enable_input_require_grads")`."""
    match test:
        case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=name)]):
            return bool(name == _HOOK)
    return False


def ordered(found: Findings, end: Step) -> None:
    """Was checkpointing enabled before the adapter was put on? In one function only that can be read off."""
    if not found.wrapping or not found.checkpointing:
        return
    wrapped = found.wrapping[0]
    sure = len(found.wrapping) == 1 and not wrapped.branch
    sure = sure and all(step.function is wrapped.function for step in found.checkpointing)
    if sure and any(step.branch for step in found.checkpointing):
        # Behind the question for checkpointing it is enabled in every run that has it.
        asked = _behind_checkpointing(end.node, _ENABLING)
        sure = all(not step.branch or step.node in asked for step in found.checkpointing)
    first = found.checkpointing[0]
    # Enabled before and once more after is enabled before.
    before = _position(first) < _position(wrapped)
    found.state(end, "training.checkpointing_before_peft", before if sure else None, at=first.node)


def _position(step: Step) -> tuple[int, int]:
    return getattr(step.node, "lineno", 0), getattr(step.node, "col_offset", 0)


def absent(found: Findings, end: Step) -> None:
    """What the program does not do, where nothing of it is hidden.

    A program that loads the model, puts adapters on it or freezes its embeddings, and hands it to transformers'
    Trainer, to Lightning's or to a loop of its own, all in this one file and with no module of the project between
    them, and that nowhere mentions the hook on the embeddings, does not set it. Then, and only then, the absence is
    stated: `training.enable_input_require_grads` and `peft.prepare_model_for_kbit_training` are false, and
    checkpointing that only the Trainer's arguments ask for, or may by what a command line gives them, comes after the
    adapter. TRL and unsloth do things to the model of their own, so nothing is said with them, but that a model which
    has its adapter already is not prepared by a program of TRL's.
    """
    changed = found.frozen or (found.wrapping[0].node if found.wrapping else None)
    if changed is None or any(step.branch for step in found.wrapping) or not found.trains or not found.models:
        return
    if found.runs_modules:
        return  # the modules between them may do it
    names = found.names
    foreign = {"trl", "unsloth"} & names.imported.keys() | {"trl"} & found.drivers.keys()
    if names.relative or names.stars or names.rewritten or found.hidden:
        return
    if foreign:
        said = found.mentioned & HOOKS or any(word in found.document.text for word in _QUANTISED)
        if foreign == {"trl"} and found.wrapping and not said:
            found.state(end, "peft.prepare_model_for_kbit_training", False, at=changed)
        return
    if not found.mentioned & HOOKS:
        found.state(end, "training.enable_input_require_grads", False, at=changed)
        if found.wrapping:
            found.state(end, "peft.prepare_model_for_kbit_training", False, at=changed)
    asked = found.parsers or any(
        setting.key == "training.gradient_checkpointing" and setting.value is not False for setting in found.settings
    )
    if found.wrapping and asked and not found.checkpointing:
        found.state(end, "training.checkpointing_before_peft", False, at=changed)
