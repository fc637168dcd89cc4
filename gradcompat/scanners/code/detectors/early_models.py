"""Models that are loaded in front of the trainer's arguments, which are what tells transformers of DeepSpeed.

``model = AutoModel.from_pretrained(name)`` above ``args = TrainingArguments(…)``: ZeRO-3 splits nothing while it loads.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeAlias

from gradcompat.scanners.code.regions import end
from gradcompat.scanners.code.syntax import calls_in, last_name, nodes_in
from gradcompat.scanners.code.walk import text
from gradcompat.startup.lazy_patterns import lazy_pattern

EARLY = "from_pretrained.in_front"
LOADING = lazy_pattern(r"(?:Model|For[A-Z])\w*\.from_pretrained\b")
_LOADED = lazy_pattern(r"(?:\w+\.)*\w*(?:Model|For[A-Z])\w*\.from_pretrained")
# What tells transformers of DeepSpeed, or may have a part of the program that does.
_TELLING = lazy_pattern(
    r"(?:\w+\.)*(?:\w*Arguments|Accelerator|PartialState|HfArgumentParser|TrlParser|HfDeepSpeedConfig"
    r"|(?:SFT|DPO|GRPO|KTO|ORPO|CPO|PPO|PRM|RLOO|Reward|BCO|XPO|GKD|OnlineDPO|NashMD)Config)"
)
_Placed: TypeAlias = "tuple[ast.Call, ast.AST | None]"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def early_model(statements: Sequence[ast.stmt]) -> ast.AST | None:
    """The first model, where all of them are loaded in front of the arguments.

    They stand in one function with these, or what stands in another one is done where that is called.
    """
    calls = list(calls_in(statements, FUNCTIONS))
    loaded = [(call, function) for call, function in calls if _LOADED.fullmatch(text(call.func))]
    told = [(call, function) for call, function in calls if _TELLING.fullmatch(text(call.func))]
    if not loaded or not told:
        return None
    if len({function for _, function in (*loaded, *told)}) > 1:
        starts = _starts(statements, calls)
        loaded, told = ([_outermost(*one, starts) for one in group] for group in (loaded, told))
        if len({function for _, function in (*loaded, *told)}) > 1:
            return None
    return loaded[0][0] if max(map(_done, loaded)) < min(map(_done, told)) else None


def _starts(statements: Sequence[ast.stmt], calls: Sequence[_Placed]) -> dict[ast.AST, _Placed]:
    """The one call of each function, where nothing else speaks of it; of a constructor that of its class."""
    named: dict[str, list[ast.AST]] = {}
    spoken: dict[str, int] = {}
    for node in nodes_in(*statements):
        match node:
            case ast.ClassDef(name=name, body=body):
                made = [one for one in body if isinstance(one, FUNCTIONS) and getattr(one, "name", "") == "__init__"]
                named.setdefault(name, []).append(made[0] if made else node)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                named.setdefault(name, []).append(node)
            case ast.Name(id=name) | ast.Attribute(attr=name):
                spoken[name] = spoken.get(name, 0) + 1
    called = {last_name(call.func): (call, function) for call, function in calls}
    once = (name for name, own in named.items() if len(own) == 1 and spoken.get(name) == 1 and name in called)
    return {named[name][0]: called[name] for name in once}


def _outermost(call: ast.Call, function: ast.AST | None, starts: dict[ast.AST, _Placed]) -> _Placed:
    for _ in range(len(starts)):
        if function is None or function not in starts:
            break
        call, function = starts[function]
    return call, function


def _done(placed: _Placed) -> tuple[int, int]:
    """When a call has been made: what it is given is made in front of it."""
    return end(placed[0])


def position(node: ast.Call) -> tuple[int, int]:
    """Where a call begins, in the order of the text."""
    return node.lineno, node.col_offset
