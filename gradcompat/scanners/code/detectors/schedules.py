"""Schedules of torch that are made when their optimizer has another learning rate than they take it for.

The schedules that warm up multiply the learning rate as soon as they are made, and go on from there: one that is made
after the optimizer has taken back its state starts from a learning rate that was scheduled already. The cosine goes on
from the learning rate that it finds, which is the lowest where another cosine has just ended.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradcompat.scanners.code.object_history import called_name
from gradcompat.scanners.code.syntax import nodes_in
from gradcompat.startup.lazy_patterns import lazy_pattern

_PACKAGE = "torch.optim.lr_scheduler"
_MULTIPLYING = ("SequentialLR", "LinearLR", "ConstantLR")
_WARM_UP, _RESTARTS = "LinearLR", "CosineAnnealingWarmRestarts"
_COSINE = "CosineAnnealingLR"
_STATE = "load_state_dict"
_PROCESSES = "num_processes"
_OF_STEPS = lazy_pattern(r"step|warm|iter|epoch|update|total|batches", re.IGNORECASE)  # and not of an optimizer's rate
_DEEPEST = 3  # names that stand for one another
# What makes a schedule, and what it is called.
SCHEDULE = lazy_pattern(r"sched|LR\b|WarmRestarts|ReduceLROnPlateau", re.IGNORECASE)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SETS_BACK = lazy_pattern(r"(?:^|_)(?:lr|rate|reset)(?:_|$)|learning_rate", re.IGNORECASE)  # a function, by its name


def uses(statements: Iterable[ast.stmt]) -> tuple[tuple[str, ast.AST], ...]:
    """``….LinearLR.after_state`` and ``….CosineAnnealingLR.again``, with the calls that make the schedules.

    ``….LinearLR.after_restarts``: warm-ups that are all made behind the schedule with restarts that they lead to.
    ``scheduler.step.at_exchange``: a schedule that steps where accelerate exchanges gradients, and not each time.
    ``scheduler.unprepared``: one that the program makes and hands to no ``prepare`` of accelerate's.
    ``scheduler.of_all_processes``: one whose steps are multiplied by the number of processes.
    ``scheduler.of_whole_loader``: one whose steps are counted in a loader that is prepared later on.
    """
    return tuple(_uses(statements))


def _uses(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    bodies: list[list[ast.stmt]] = [list(statements)]
    everything = nodes_in(*bodies[0])
    if not any(_is_of_schedule(node) for node in everything if isinstance(node, ast.Call)):
        return
    unprepared = _unprepared(everything)
    if unprepared is not None:
        yield "scheduler.unprepared", unprepared
    multiplied = _of_all_processes(everything)
    if multiplied is not None:
        yield "scheduler.of_all_processes", multiplied
    counted = _of_whole_loader(everything)
    if counted is not None:
        yield "scheduler.of_whole_loader", counted
    for body in bodies:
        nodes = list(_inside(body))
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                bodies.append(node.body)
        yield from _after_restarts([node for node in nodes if isinstance(node, ast.Call)])
        yield from _after_state([node for node in nodes if isinstance(node, ast.Call)])
        for node in nodes:
            if isinstance(node, _LOOPS):
                yield from _again(node, bodies[0])
            elif isinstance(node, ast.If) and "sync_gradients" in ast.unparse(node.test) and _steps(node):
                yield "scheduler.step.at_exchange", node


def _is_of_schedule(call: ast.Call) -> bool:
    """Does a call make a schedule or step one, of which each use has one or the other?"""
    name = called_name(call)
    return SCHEDULE.search(name) is not None or (name == "step" and "sched" in _owner(call))


def _unprepared(nodes: Sequence[ast.AST]) -> ast.AST | None:
    """A schedule that is not among what the calls of ``prepare`` are given, all of which name what it is."""
    made: dict[str, ast.Assign] = {}
    prepared: list[ast.expr] = []
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=ast.Call() as value) if SCHEDULE.search(called_name(value)):
                made.setdefault(ast.unparse(target), node)
            case ast.Call(func=ast.Attribute(attr="prepare"), args=args):
                prepared += args
            case ast.Call(func=ast.Attribute(attr="prepare_scheduler")):
                return None
    named = {ast.unparse(one) for one in prepared}
    seen = not any(isinstance(one, ast.Starred) for one in prepared)
    first = next(iter(made.values()), None)
    return first if prepared and seen and named.isdisjoint(made) and not any(map(SCHEDULE.search, named)) else None


def _of_all_processes(nodes: Sequence[ast.AST]) -> ast.AST | None:
    """The first schedule that is given a number of steps into which ``accelerator.num_processes`` goes."""
    if not any(map(_is_number_of_processes, nodes)):
        return None
    told: dict[str, list[ast.expr]] = {}
    functions = {node.name: node.args.args for node in nodes if isinstance(node, ast.FunctionDef)}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                told.setdefault(ast.unparse(target), []).append(value)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=words) if name in functions:
                for parameter, value in zip(functions[name], args, strict=False):
                    told.setdefault(parameter.arg, []).append(value)
                for word in words:
                    told.setdefault(word.arg or "", []).append(word.value)
    for node in nodes:
        if isinstance(node, ast.Call) and SCHEDULE.search(called_name(node)):
            given = [one for one in (*node.args, *(word.value for word in node.keywords)) if _counts(one, told)]
            if given:
                return node
    return None


def _of_whole_loader(nodes: Sequence[ast.AST]) -> ast.AST | None:
    """The first schedule with a number of steps into which the length of a loader goes before it is prepared.

    A number that an option may give (``args.max_train_steps``) is none of these.
    """
    told: dict[str, list[ast.expr]] = {}
    prepared: dict[str, int] = {}  # name → the first line
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                told.setdefault(name, []).append(value)
            case ast.Call(func=ast.Attribute(attr="prepare" | "prepare_data_loader"), args=args):
                for one in args:
                    prepared[ast.unparse(one)] = min(node.lineno, prepared.get(ast.unparse(one), node.lineno))
    for node in nodes if prepared else ():
        if isinstance(node, ast.Call) and SCHEDULE.search(called_name(node)):
            given = (*node.args, *(word.value for word in node.keywords))
            counted = {name for one in given for name in _measured(one, told)}
            if any(prepared.get(name, 0) > node.lineno for name in counted):
                return node
    return None


def _measured(value: ast.expr, told: Mapping[str, list[ast.expr]], depth: int = 0) -> Iterator[str]:
    """Of what the length goes into a value."""
    for node in ast.walk(value):
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[measured]):
                yield ast.unparse(measured)
            case ast.Name(id=name) if depth < _DEEPEST and _OF_STEPS.search(name):
                for one in told.get(name, ()):
                    yield from _measured(one, told, depth + 1)


def _counts(value: ast.expr, told: Mapping[str, list[ast.expr]], depth: int = 0) -> bool:
    """Does the number of processes multiply a value, or one of those that it is made of?"""
    for node in ast.walk(value):
        match node:
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                sides = (other for side in (left, right) for other in (side, *told.get(ast.unparse(side), ())))
                if any(map(_is_number_of_processes, sides)):
                    return True
            case ast.Name() | ast.Attribute() if depth < _DEEPEST and _OF_STEPS.search(ast.unparse(node)):
                if any(_counts(one, told, depth + 1) for one in told.get(ast.unparse(node), ())):
                    return True
    return False


def _is_number_of_processes(node: ast.AST) -> bool:
    """``accelerator.num_processes``, ``dist.get_world_size()``, ``int(os.environ["WORLD_SIZE"])``."""
    match node:
        case ast.Attribute(attr="num_processes" | "world_size"):
            return True
        case ast.Call(func=ast.Attribute(attr="get_world_size") | ast.Name(id="get_world_size")):
            return True
        case ast.Call(func=ast.Name(id="int"), args=[ast.Subscript(slice=key) | ast.Call(args=[key, *_])]):
            return isinstance(key, ast.Constant) and key.value == "WORLD_SIZE"
    return False


def _inside(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a body in the order of the text, without those of the functions in it."""
    for node in body:
        yield node
        if not isinstance(node, _FUNCTIONS):
            yield from _inside(ast.iter_child_nodes(node))


def _after_restarts(calls: list[ast.Call]) -> Iterator[tuple[str, ast.AST]]:
    made = {name: [call.lineno for call in calls if called_name(call) == name] for name in (_WARM_UP, _RESTARTS)}
    if made[_WARM_UP] and made[_RESTARTS] and min(made[_WARM_UP]) > max(made[_RESTARTS]):
        yield f"{_PACKAGE}.{_WARM_UP}.after_restarts", next(call for call in calls if called_name(call) == _WARM_UP)


def _after_state(calls: list[ast.Call]) -> Iterator[tuple[str, ast.AST]]:
    """A schedule that is made between the state of its optimizer and its own."""
    taken = loaded = False
    made: ast.Call | None = None
    for call in calls:
        name, owner = called_name(call), _owner(call)
        if name == _STATE and "opt" in owner:
            if made is not None:
                return  # which puts the learning rate right
            taken = True
        elif name in _MULTIPLYING and taken and made is None:
            made = call
        elif name == _STATE and ("sched" in owner or "lr" in owner):
            loaded = loaded or made is not None
    if made is not None and loaded:
        yield f"{_PACKAGE}.{called_name(made)}.after_state", made


def _again(loop: ast.For | ast.AsyncFor | ast.While, program: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """A cosine that each turn of a loop makes anew for an optimizer that stays, and steps in a loop of its own."""
    calls = [node for node in _inside(loop.body) if isinstance(node, ast.Call)]
    made = next((call for call in calls if called_name(call) == _COSINE), None)
    if made is None or not made.args or not isinstance(made.args[0], (ast.Name, ast.Attribute)):
        return
    optimizer = ast.dump(made.args[0])
    assigned = [one for node in _inside(loop.body) if isinstance(node, ast.Assign) for one in node.targets]
    targets = (
        ast.dump(target).replace("Store()", "Load()")
        for one in (*assigned, *([] if isinstance(loop, ast.While) else [loop.target]))
        for target in ast.walk(one)
        if isinstance(target, (ast.Name, ast.Attribute))
    )
    stepped = any(isinstance(node, _LOOPS) and _steps(node) for node in _inside(loop.body))
    reset = any(isinstance(node, ast.Attribute) and node.attr == "param_groups" for node in _inside(loop.body))
    reset = reset or any(called_name(call) == _STATE and "opt" in _owner(call) for call in calls)
    if not stepped or reset or optimizer in targets:
        return
    handed = [call for call in calls if any(ast.dump(one) == optimizer for one in call.args)]
    if any(_SETS_BACK.search(called_name(call)) for call in handed):
        return
    if not {called_name(call) for call in calls} & _setting_back(made.args[0], program):
        yield f"{_PACKAGE}.{_COSINE}.again", made


def _setting_back(optimizer: ast.Name | ast.Attribute, program: Iterable[ast.stmt]) -> frozenset[str]:
    """The functions of a program that set the rates of an optimizer, or make the one that an object has."""
    name = optimizer.attr if isinstance(optimizer, ast.Attribute) else ""
    return frozenset(
        function.name
        for function in nodes_in(*program)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        and any(
            isinstance(node, ast.Attribute)
            and (node.attr == "param_groups" or (node.attr == name and isinstance(node.ctx, ast.Store)))
            for node in ast.walk(function)
        )
    )


def _steps(loop: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call) and called_name(node) == "step" and "sched" in _owner(node)
        for node in ast.walk(loop)
    )


def _owner(call: ast.Call) -> str:
    """The last name of the object whose method is called, in lower case."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    while isinstance(owner, (ast.Subscript, ast.Call)):
        owner = owner.value if isinstance(owner, ast.Subscript) else owner.func
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return name.lower()
