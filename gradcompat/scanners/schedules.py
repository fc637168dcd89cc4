"""Schedules of torch that are made when their optimizer has another learning rate than they take it for.

The schedules that warm up multiply the learning rate as soon as they are made, and go on from there: one that is made
after the optimizer has taken back its state starts from a learning rate that was scheduled already. The cosine goes on
from the learning rate that it finds, which is the lowest where another cosine has just ended.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

_PACKAGE = "torch.optim.lr_scheduler"
_MULTIPLYING = ("SequentialLR", "LinearLR", "ConstantLR")
_WARM_UP, _RESTARTS = "LinearLR", "CosineAnnealingWarmRestarts"
_COSINE = "CosineAnnealingLR"
_STATE = "load_state_dict"
# What makes a schedule, and what it is called.
_SCHEDULE = re.compile(r"sched|LR\b|WarmRestarts|ReduceLROnPlateau", re.IGNORECASE)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def uses(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """``….LinearLR.after_state`` and ``….CosineAnnealingLR.again``, with the calls that make the schedules.

    ``….LinearLR.after_restarts``: warm-ups that are all made behind the schedule with restarts that they lead to.
    ``scheduler.step.at_exchange``: a schedule that steps where accelerate exchanges gradients, and not each time.
    ``scheduler.unprepared``: one that the program makes and hands to no ``prepare`` of accelerate's.
    """
    bodies: list[list[ast.stmt]] = [list(statements)]
    unprepared = _unprepared(bodies[0])
    if unprepared is not None:
        yield "scheduler.unprepared", unprepared
    for body in bodies:
        nodes = list(_inside(body))
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                bodies.append(node.body)
        yield from _after_restarts([node for node in nodes if isinstance(node, ast.Call)])
        yield from _after_state([node for node in nodes if isinstance(node, ast.Call)])
        for node in nodes:
            if isinstance(node, _LOOPS):
                yield from _again(node)
            elif isinstance(node, ast.If) and "sync_gradients" in ast.unparse(node.test) and _steps(node):
                yield "scheduler.step.at_exchange", node


def _unprepared(statements: Iterable[ast.stmt]) -> ast.AST | None:
    """A schedule that is not among what the calls of ``prepare`` are given, all of which name what it is."""
    made: dict[str, ast.Assign] = {}
    prepared: list[ast.expr] = []
    for statement in statements:
        for node in ast.walk(statement):
            match node:
                case ast.Assign(targets=[target], value=ast.Call() as value) if _SCHEDULE.search(_name(value)):
                    made.setdefault(ast.unparse(target), node)
                case ast.Call(func=ast.Attribute(attr="prepare"), args=args):
                    prepared += args
                case ast.Call(func=ast.Attribute(attr="prepare_scheduler")):
                    return None
    named = {ast.unparse(one) for one in prepared}
    seen = not any(isinstance(one, ast.Starred) for one in prepared)
    first = next(iter(made.values()), None)
    return first if prepared and seen and named.isdisjoint(made) and not any(map(_SCHEDULE.search, named)) else None


def _inside(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a body in the order of the text, without those of the functions in it."""
    for node in body:
        yield node
        if not isinstance(node, _FUNCTIONS):
            yield from _inside(ast.iter_child_nodes(node))


def _after_restarts(calls: list[ast.Call]) -> Iterator[tuple[str, ast.AST]]:
    made = {name: [call.lineno for call in calls if _name(call) == name] for name in (_WARM_UP, _RESTARTS)}
    if made[_WARM_UP] and made[_RESTARTS] and min(made[_WARM_UP]) > max(made[_RESTARTS]):
        yield f"{_PACKAGE}.{_WARM_UP}.after_restarts", next(call for call in calls if _name(call) == _WARM_UP)


def _after_state(calls: list[ast.Call]) -> Iterator[tuple[str, ast.AST]]:
    """A schedule that is made between the state of its optimizer and its own."""
    taken = loaded = False
    made: ast.Call | None = None
    for call in calls:
        name, owner = _name(call), _owner(call)
        if name == _STATE and "opt" in owner:
            if made is not None:
                return  # which puts the learning rate right
            taken = True
        elif name in _MULTIPLYING and taken and made is None:
            made = call
        elif name == _STATE and ("sched" in owner or "lr" in owner):
            loaded = loaded or made is not None
    if made is not None and loaded:
        yield f"{_PACKAGE}.{_name(made)}.after_state", made


def _again(loop: ast.For | ast.AsyncFor | ast.While) -> Iterator[tuple[str, ast.AST]]:
    """A cosine that each turn of a loop makes anew for an optimizer that stays, and steps in a loop of its own."""
    calls = [node for node in _inside(loop.body) if isinstance(node, ast.Call)]
    made = next((call for call in calls if _name(call) == _COSINE), None)
    if made is None or not made.args or not isinstance(made.args[0], (ast.Name, ast.Attribute)):
        return
    optimizer = ast.dump(made.args[0])
    targets = (
        ast.dump(target).replace("Store()", "Load()")
        for node in _inside(loop.body)
        if isinstance(node, ast.Assign)
        for one in node.targets
        for target in ast.walk(one)
        if isinstance(target, (ast.Name, ast.Attribute))
    )
    stepped = any(isinstance(node, _LOOPS) and _steps(node) for node in _inside(loop.body))
    reset = any(isinstance(node, ast.Attribute) and node.attr == "param_groups" for node in _inside(loop.body))
    reset = reset or any(_name(call) == _STATE and "opt" in _owner(call) for call in calls)
    if stepped and not reset and optimizer not in targets:
        yield f"{_PACKAGE}.{_COSINE}.again", made


def _steps(loop: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call) and _name(node) == "step" and "sched" in _owner(node) for node in ast.walk(loop)
    )


def _name(call: ast.Call) -> str:
    """What is called, without what it is taken from."""
    called = call.func
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _owner(call: ast.Call) -> str:
    """The last name of the object whose method is called, in lower case."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    while isinstance(owner, (ast.Subscript, ast.Call)):
        owner = owner.value if isinstance(owner, ast.Subscript) else owner.func
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return name.lower()
