"""Outputs of short convolutions of flash-linear-attention that are transposed or joined: gradients come in strides.

``torch.cat([conv(q)[0], k], -1)`` and ``conv(x)[0].transpose(1, 2)`` hand back a view of a larger gradient. Behind a
split, a slice or a view of heads it is copied, and behind a projection it is new.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradcompat.scanners.code.syntax import argument_of, last_name, nodes_in
from gradcompat.startup.lazy_patterns import lazy_pattern

CONVOLVING = lazy_pattern(r"\bShortConvolution\b|\bcausal_conv1d\b")
_CLASS, _FUNCTION = "ShortConvolution", "causal_conv1d"
_TURNING = frozenset({"transpose", "permute", "swapaxes", "movedim"})
_JOINING = frozenset({"cat", "concat", "concatenate", "stack"})
_TURNED = frozenset({"T", "mT"})


def joined_convolution(statements: Sequence[ast.stmt]) -> ast.AST | None:
    """The first use of such an output that turns or joins it."""
    nodes = nodes_in(*statements)
    layers = {
        ast.unparse(target)
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and last_name(node.value.func) == _CLASS
        for target in node.targets
    }
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found = _joined_in(node, layers)
            if found is not None:
                return found
    return None


def _joined_in(function: ast.FunctionDef | ast.AsyncFunctionDef, layers: set[str]) -> ast.AST | None:
    nodes = nodes_in(*function.body)
    outputs: set[str] = set()
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=name), *_])], value=value) if _makes(value, layers):
                outputs.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _makes(_first_of(value), layers):
                outputs.add(name)
    return next((node for node in nodes for used in _turned(node) if _is_output(used, outputs, layers)), None)


def _turned(node: ast.AST) -> Iterator[ast.expr]:
    """What an expression turns or joins."""
    match node:
        case ast.Attribute(value=used, attr=name) if name in _TURNED:
            yield used
        case ast.Call(func=ast.Attribute(value=used, attr=name), args=args) if name in _TURNING:
            yield from (used, *args[:1])
        case ast.Call(func=function, args=[ast.List(elts=used) | ast.Tuple(elts=used), *_]):
            axis = argument_of(node, "dim", 1)
            along_batch = isinstance(axis, ast.Constant) and axis.value == 0
            joining = last_name(function)
            if joining in _JOINING and not along_batch and (axis is not None or joining == "stack"):
                yield from used
        case ast.Call(func=function, args=[used, ast.Constant(value=str(pattern))]) if last_name(
            function
        ) == "rearrange" and _turns(pattern):
            yield used


def _turns(pattern: str) -> bool:
    """``b t d -> b d t``; what makes or joins axes copies the gradient."""
    before, _, after = pattern.partition("->")
    return "(" not in pattern and before.split() != after.split()


def _is_output(node: ast.AST, outputs: set[str], layers: set[str]) -> bool:
    return (isinstance(node, ast.Name) and node.id in outputs) or _makes(_first_of(node), layers)


def _first_of(node: ast.AST) -> ast.AST:
    return node.value if isinstance(node, ast.Subscript) else node


def _makes(node: ast.AST, layers: set[str]) -> bool:
    return isinstance(node, ast.Call) and (last_name(node.func) == _FUNCTION or ast.unparse(node.func) in layers)
