"""Which token a program pads with: its end-of-sequence token, one of its own, or what the tokenizer has."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from gradcompat.model.environment import Setting
from gradcompat.scanners.code.arguments import pairs
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.names import Scope
from gradcompat.scanners.code.regions import Position, end, start
from gradcompat.scanners.code.syntax import argument_of, last_name
from gradcompat.scanners.code.walk import Step

_KEY = "data.pad_is_eos"
_PADDING = frozenset({"pad_token", "pad_token_id"})
# What ends a sequence wherever it is a token, and what stands for words that are none.
_ENDING, _UNKNOWN = "</s>", ("<unk>", "[UNK]")
_TOKENIZER = ("processing_class", "tokenizer")  # what a trainer calls it


def special_tokens(found: Findings, step: Step, call: ast.Call) -> None:
    """``tokenizer.add_special_tokens({"pad_token": "[PAD]"})``."""
    for pair in pairs(call.args[0], found.names, step.scope) or [] if call.args else []:
        if pair.key == "pad_token":
            padded(found, step, pair.key, pair.node, pair.names.literal(pair.node, pair.scope))


def padded_on_loading(found: Findings, step: Step, call: ast.Call) -> None:
    """``AutoTokenizer.from_pretrained(name, pad_token="<pad>")``."""
    if any("Tokenizer" in name for name in found.names.resolve(call.func, step.scope)):
        value = argument_of(call, "pad_token")
        if value is not None:
            padded(found, step, "pad_token", value, found.names.literal(value, step.scope))


def padded(found: Findings, step: Step, name: str, value: ast.expr, literal: Any) -> None:
    """What is put in the place of a padding token.

    Args:
        found: what is known of the program.
        step: what puts it there.
        name: the attribute, ``pad_token`` or ``pad_token_id``.
        value: what it becomes.
        literal: the value, or UNKNOWN.
    """
    filling = step.branch and _is_where_none(found, value)
    if _fills_padding(name, value, filling=filling):
        found.symbol("tokenizer.pad_token.filled", value)
    elif _is_of(value, name.replace("pad", "eos")):
        found.state(step, _KEY, True, at=value)
    elif (filling or not step.branch) and (literal in _UNKNOWN or _is_of(value, name.replace("pad", "unk"))):
        # GPT-2 has one token for all, but who pads so has mostly another one to end with.
        _presume(found, value, ends=False)
    elif (filling or not step.branch) and literal == _ENDING:
        _presume(found, value, ends=True)
    elif _is_of(value, name):
        return  # model.config.pad_token_id = tokenizer.pad_token_id: the token that is the padding already
    else:
        # Only a token that is called padding is surely not the end of a sequence: GPT-2 has one token for all.
        own = isinstance(literal, str) and "pad" in literal.lower()
        if own and filling:  # what a tokenizer has already is its end of a sequence for few models
            _presume(found, value, ends=False)
        else:
            found.state(step, _KEY, False if own else None, at=value)


def _is_of(value: ast.expr, attribute: str) -> bool:
    return isinstance(value, ast.Attribute) and value.attr == attribute


def _presume(found: Findings, value: ast.expr, *, ends: bool) -> None:
    found.settings.append(Setting(key=_KEY, value=ends, location=found.place(value), presumed=True))


def is_of_evaluation(tokenizer: ast.expr, found: Findings, step: Step) -> bool:
    """Is it a tokenizer beside those that trainers and collators get by name, as one for an evaluation is?"""
    own = _loaded(tokenizer, found, step.scope)
    calls = found.names.nodes(ast.Call)
    given = [(word.value, one) for one in calls for word in one.keywords if word.arg in _TOKENIZER]
    others = [_loaded(one, found, found.names.scope_of(call)) for one, call in given]
    return own is not None and bool(others) and all(one is not None and one is not own for one in others)


def _fills_padding(name: str, value: ast.expr, *, filling: bool) -> bool:
    """Does it make the end of a sequence the padding of a tokenizer that has none?

    ``if tokenizer.pad_token is None: tokenizer.pad_token = tokenizer.eos_token``, or ``tokenizer.pad_token or
    tokenizer.eos_token``.
    """
    eos = name.replace("pad", "eos")
    match value:
        case ast.BoolOp(op=ast.Or(), values=[ast.Attribute(attr=first), ast.Attribute(attr=last)]):
            return (first, last) == (name, eos)
    return filling and _is_of(value, eos)


def _is_where_none(found: Findings, value: ast.expr) -> bool:
    """Does a value stand behind the question whether there is no padding token?"""
    place = start(value)
    around = [node for node in found.names.nodes(ast.If) if isinstance(node, ast.If) and _has(node.body, place)]
    return bool(around) and _asks_for_none(max(around, key=start).test)


def _asks_for_none(test: ast.expr) -> bool:
    """Does it hold for a tokenizer without a padding token?"""
    match test:
        case ast.Compare(left=left, ops=[ast.Is() | ast.Eq()], comparators=[ast.Constant(value=None)]):
            return _is_padding(left)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_padding(operand)
        case ast.BoolOp(op=ast.Or(), values=values):
            return all(map(_asks_for_none, values))
    return False


def _is_padding(node: ast.expr) -> bool:
    match node:
        case (
            ast.Attribute(attr=name) | ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), _])
        ):
            return name in _PADDING
    return False


def _has(body: Sequence[ast.stmt], place: Position) -> bool:
    return start(body[0]) <= place < end(body[-1])


def _loaded(tokenizer: ast.expr, found: Findings, scope: Scope) -> ast.expr | None:
    """The one call of from_pretrained that a name stands for."""
    bound = found.names.bound_once(tokenizer.id, scope) if isinstance(tokenizer, ast.Name) else None
    loads = bound is not None and isinstance(bound[0], ast.Call) and last_name(bound[0].func) == "from_pretrained"
    return bound[0] if bound is not None and loads else None
