"""Models that are loaded in front of the trainer's arguments, which are what tells transformers of DeepSpeed.

``model = AutoModel.from_pretrained(name)`` above ``args = TrainingArguments(…)``: ZeRO-3 splits nothing while it loads.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradcompat.scanners.code.syntax import calls_in
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
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def early_model(statements: Sequence[ast.stmt]) -> ast.AST | None:
    """The first model, where all of them are loaded in front of the arguments, in one function with these."""
    loaded: list[ast.Call] = []
    told: list[ast.Call] = []
    functions: set[ast.AST | None] = set()
    for call, function in calls_in(statements, FUNCTIONS):
        name = text(call.func)
        if _LOADED.fullmatch(name):
            loaded.append(call)
        elif _TELLING.fullmatch(name):
            told.append(call)
        else:
            continue
        functions.add(function)
    if not loaded or not told or len(functions) > 1:
        return None
    return loaded[0] if max(map(position, loaded)) < min(map(position, told)) else None


def position(node: ast.Call) -> tuple[int, int]:
    """Where a call begins, in the order of the text."""
    return node.lineno, node.col_offset
