"""What comes too late or in time as one file runs: adapters and optimizers behind DeepSpeed's engine or accelerate's
prepare(), overrides of bitsandbytes in front of what reads them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from gradcompat.scanners.code.detectors.engined_models import Assignments
from gradcompat.scanners.code.syntax import calls_in
from gradcompat.scanners.code.walk import text
from gradcompat.startup.lazy_patterns import lazy_pattern

ENGINES = ("deepspeed.initialize", "ds.initialize")
# What attaches an adapter.
ATTACHING = lazy_pattern(r"(?:add_adapter|load_adapter|add_module|inject_adapter_in_model|get_peft_model)\b")
_OPTIMIZER = lazy_pattern(r"(?:\w+\.)*optim\.[A-Z]\w*|Adam|AdamW|AdamW8bit|SGD|RMSprop|Adagrad|Adafactor")
# What bitsandbytes' GlobalOptimManager writes down for a parameter, and reads once.
OVERRIDING = lazy_pattern(r"\boverride_config\b")
_READING = lazy_pattern(r"(?:\w+\.)*register_parameters")
_MOST_ENGINES = 50  # of one file; a program has a handful
_DEEPEST = 4  # calls of functions around each other
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

_Lines = Mapping[str, int]


def late_adapter(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first such call that puts one on what an engine holds: behind it in its own function, or in one that calls
    both. Another model than the engine's may have its adapter whenever it likes.
    """
    calls = list(_calls(statements))
    engines = [one for one in calls if text(one[0].func) in ENGINES or text(one[0].func).endswith(".prepare")]
    attaching = [one for one in calls if ATTACHING.fullmatch(text(one[0].func).rpartition(".")[2])]
    if not engines or not attaching:
        return None
    assignments = Assignments(statements)
    made = [(_lines(*one, calls), assignments.held(*one)) for one in engines[:_MOST_ENGINES]]
    for call, within in attaching:
        lines = _lines(call, within, calls)
        for engine, held in made:
            if _follows(lines, [engine]) and assignments.attaches_to(call, within, held, engine.get(within, 0)):
                return call
    return None


def late_optimizer(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first optimizer, if all are made behind a call of prepare()."""
    calls = list(_calls(statements))
    made = [_lines(call, within, calls) for call, within in calls if text(call.func).endswith(".prepare")]
    optimizers = [(call, within) for call, within in calls if _OPTIMIZER.fullmatch(text(call.func))]
    if not made or not optimizers or not all(_follows(_lines(*one, calls), made) for one in optimizers):
        return None
    return optimizers[0][0]


def early_override(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first override, if it and all others stand in front of each call that reads them."""
    calls = list(_calls(statements))
    overriding = [one for one in calls if OVERRIDING.fullmatch(text(one[0].func).rpartition(".")[2])]
    made = [_lines(*one, calls) for one in overriding]
    reading = [_lines(*one, calls) for one in calls if _READING.fullmatch(text(one[0].func))]
    if not overriding or not reading or not all(_follows(one, made) for one in reading):
        return None
    behind = any(_follows(one, reading) for one in made)
    return None if behind else overriding[0][0]


def _follows(attached: _Lines, made: Sequence[_Lines]) -> bool:
    """Does it come behind the first engine that a common function makes?"""
    return any(
        attached[within] > min(lines[within] for lines in made if within in lines)
        for within in attached
        if any(within in lines for lines in made)
    )


def _calls(statements: Sequence[ast.stmt]) -> Iterator[tuple[ast.Call, str]]:
    """Each call with the name of the function that it stands in; empty for none."""
    return ((call, getattr(function, "name", "")) for call, function in calls_in(statements, _FUNCTIONS))


def _lines(call: ast.Call, within: str, calls: Sequence[tuple[ast.Call, str]]) -> _Lines:
    """Where something happens: in its own function, and in those that call that."""
    found = {within: call.lineno}
    waiting = [within]
    for _ in range(_DEEPEST):
        callers = [(one, outer) for one, outer in calls if text(one.func).rpartition(".")[2] in waiting]
        waiting = []
        for one, outer in callers:
            if outer not in found:
                found[outer] = one.lineno
                waiting.append(outer)
    return found
