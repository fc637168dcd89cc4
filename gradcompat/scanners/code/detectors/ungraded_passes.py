"""Passes without gradients in Lightning's modules, of weights that the graded pass behind them uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from gradcompat.startup.lazy_patterns import lazy_pattern

_UNGRADED = frozenset({"no_grad", "set_grad_enabled"})
_EVALUATES = lazy_pattern(r"(?:on_)?(?:validation|test|predict|eval|generate|sample|infer)")
# What a module has beside its layers.
_NO_LAYERS = lazy_pattern(
    r"log\w*|print|device|dtype|hparams|trainer|current_epoch|global_step|training|\w*(?:metric|acc)\w*"
)
# What is asked of a layer or of a buffer without a pass of it.
_NO_PASS = frozenset({"parameters", "named_parameters", "buffers", "named_buffers", "state_dict", "load_state_dict"})
_OF_TENSORS = frozenset({"data", "shape", "size", "clone", "detach", "copy_", "fill_", "mul_", "add_", "T", "t"})
_OF_MODES = frozenset({"train", "eval", "requires_grad_", "zero_grad", "device", "dtype", "modules", "named_modules"})
_PASSES_NOTHING = _NO_PASS | _OF_TENSORS | _OF_MODES
_NUMBERS = frozenset({"int", "float", "bool", "len", "range", "isinstance"})

_CALLED = "()"  # the module itself, whose forward runs

_Methods = Mapping[str, ast.FunctionDef]


def ungraded_pass(statements: Sequence[ast.stmt]) -> ast.AST | None:
    """The first place where gradients are switched off, outside of what only evaluates, and may do harm."""
    waiting: list[tuple[ast.AST, ast.FunctionDef | None, _Methods]] = [
        (statement, None, {}) for statement in statements
    ]
    for node, function, methods in waiting:
        if isinstance(node, ast.FunctionDef) and _EVALUATES.match(node.name):
            continue
        if _is_switch(node):
            return node
        within, around, inner = function, methods, list(ast.iter_child_nodes(node))
        if isinstance(node, ast.ClassDef):
            around = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            within = node
            if any(_is_switch(inner) for one in node.decorator_list for inner in ast.walk(one)):
                if not _is_harmless(node, node, methods):
                    return node
                inner = [child for child in inner if child not in node.decorator_list]
        elif isinstance(node, ast.With) and function is not None and _is_harmless(node, function, methods):
            inner = list(node.body)
        waiting += [(child, within, around) for child in inner]
    return None


def _is_switch(node: ast.AST) -> bool:
    return isinstance(node, (ast.Attribute, ast.Name)) and getattr(node, "attr", getattr(node, "id", "")) in _UNGRADED


def _is_harmless(block: ast.With | ast.FunctionDef, function: ast.FunctionDef, methods: _Methods) -> bool:
    """Does a block, or a function of which all is one, run only layers that no graded pass behind it uses, or none?"""
    inside = _all_layers(block.body, methods)
    if not inside:
        return not (block is function and _runs_argument(function))
    if block is function and not methods:
        return False
    for around, line in _places(block, function, methods):
        behind = _all_layers([around], methods, line)
        if behind and ("" in inside | behind or not inside.isdisjoint(behind)):
            return False
    return True


def _places(
    block: ast.With | ast.FunctionDef, function: ast.FunctionDef, methods: _Methods
) -> Iterator[tuple[ast.FunctionDef, int]]:
    """Where a block ends in the pass of a batch: its own end, and each place that calls its function."""
    if block is not function:
        yield function, block.end_lineno or block.lineno
    for name, method in methods.items():
        if not _EVALUATES.match(name):
            for call in _calls_of(function, method):
                yield method, call.end_lineno or call.lineno


def _calls_of(function: ast.FunctionDef, around: ast.FunctionDef) -> Iterator[ast.Attribute]:
    for node in ast.walk(around):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name == function.name:
                yield node


def _runs_argument(function: ast.FunctionDef) -> bool:
    """``teacher(x)``: does a function call what it is given?"""
    given = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in given
        for node in ast.walk(function)
    )


def _all_layers(nodes: Sequence[ast.AST], methods: _Methods, after: int = 0) -> frozenset[str]:
    """The layers that some code may run behind a line, with those of the methods that it calls; empty for all."""
    found: set[str] = set()
    entered: set[str] = set()
    waiting = [(node, after) for node in nodes]
    for node, line in waiting:
        for name in _layers(node, line):
            method = "forward" if name == _CALLED else name
            if method not in methods:
                found.add("" if name == _CALLED else name)
            elif method not in entered:
                entered.add(method)
                waiting += [(one, 0) for one in methods[method].body]
    return frozenset(found)


def _layers(node: ast.AST, after: int) -> Iterator[str]:
    """The attributes of ``self`` that are mentioned and may run; empty for the module as a whole."""
    parents = {id(child): one for one in ast.walk(node) for child in ast.iter_child_nodes(one)}
    for inner in ast.walk(node):
        if getattr(inner, "lineno", 0) <= after:
            continue
        parent = parents.get(id(inner))
        match inner:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                if not _NO_LAYERS.fullmatch(name) and not _runs_nothing(inner, parent):
                    yield name
            case ast.Name(id="self") if isinstance(parent, ast.Call) and parent.func is inner:
                yield _CALLED
            case ast.Name(id="self") if not isinstance(parent, ast.Attribute):
                yield ""


def _runs_nothing(mention: ast.Attribute, parent: ast.AST | None) -> bool:
    """Is an attribute of ``self`` only written, counted with or asked for its parameters?"""
    if isinstance(mention.ctx, ast.Store):
        return True
    match parent:
        case ast.Attribute(attr=asked):
            return asked in _PASSES_NOTHING
        case ast.Subscript(ctx=ast.Store()) | ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.AugAssign():
            return True
        case ast.Call(func=ast.Name(id=called)):
            return called in _NUMBERS and mention is not parent.func
    return False
