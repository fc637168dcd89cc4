"""Patterns of calls, as records write them where a defect hangs on what an argument says.

``*.interleave_datasets(datasets, probabilities, seed) if probabilities is not None`` is one: the name with stars, the
parameters in their order as far as they are given by position, each with its default where that is not None, and a
condition over the names of arguments. The condition is an expression of Python, of ``and``, ``or``, ``not``,
comparisons, literals, ``%``, values of a mapping (``model_kwargs["attn_implementation"]``), the first and the last of a
list (``dims[0]``, ``dims[-1]``), one in the other (``params[0]["lr"]``), and these functions:

* ``given(a, b)``: one of the arguments is in the call; without a name, any argument is;
* ``isinstance(a, int)``, also ``float``, ``str``, ``list``: a value of this type that can be read; a bool is no int;
* ``len(a)``, ``min(a)``, ``max(a)``;
* ``like(a, "yolov8*.pt")``: a text that fits one of the patterns, as in a shell and whatever the case; one that cannot
  be read fits none, and a path whose end alone can be read those that ask for no more. A list fits where one of its
  texts does.

Words in braces stand for one another in the name: ``torch.optim.{Adam,AdamW}() if capturable``.

What a program puts into a setting of torch.compile (``torch._inductor.config.fallback_random = True``) is a call of the
setting with that value.

An argument that is left out has its default. One whose value cannot be read is not None and neither True nor False as
``is`` asks; in any other comparison it counts as what the pattern asks for: who passes it has a reason to. But whether
it is one text (``name == "cosine"``) is not known. Nor is anything known where the condition hangs on arguments that
are put together elsewhere (``**options``), or on an option of the program's command line, whose default is presumed
where no command is known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.terms.calls import Call, Ending, OptionValue, Unread, Value
from gradcompat.terms.name_patterns import matches
from gradcompat.truth import Truth

# An argument that may be among those that are put together elsewhere.
_HIDDEN: Final = Unread("**")
_LONGEST = 60  # letters of a condition that a sentence shows
_TYPES = {"int": int, "float": float, "str": str, "list": list}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {"len": len, "min": min, "max": max}
_MOST_TOLD = 3  # arguments of one call
_WORDS = frozenset({"given", "isinstance", "like", *_TYPES, *_FUNCTIONS})
_ORDERS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: lambda left, right: left < right,
    ast.LtE: lambda left, right: left <= right,
    ast.Gt: lambda left, right: left > right,
    ast.GtE: lambda left, right: left >= right,
}


@dataclass(frozen=True, slots=True)
class CallPattern:
    """One pattern.

    Attributes:
        name: the name of the function, with stars.
        parameters: what is given by position, in its order.
        defaults: what an argument is that is left out, where that is not None.
        condition: what the arguments have to say; None asks for the call alone.
    """

    name: str
    parameters: tuple[str, ...]
    defaults: dict[str, Value]
    condition: ast.expr | None

    def truth(self, call: Call) -> Truth:
        """Do the arguments of a call of such a name say what the pattern asks for?"""
        return Truth.YES if self.condition is None else _Arguments(self, call).judged(self.condition)

    def given(self, call: Call) -> str:
        """What a call gives of the arguments that are asked for: ``with eval_steps=50 and save_steps=500``.

        Of texts the name alone is told: what a program says may be a secret.
        """
        nodes = ast.walk(self.condition) if self.condition is not None else ()
        asked = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name) and node.id not in _WORDS)
        values = {**dict(zip(self.parameters, call.positional, strict=False)), **call.named}
        told = [
            f"{name}={values[name]}" if values[name] is None or isinstance(values[name], (int, float)) else name
            for name in asked
            if name in values
        ]
        rest = len(told) - _MOST_TOLD
        told = told if rest <= 0 else [*told[:_MOST_TOLD], f"{rest} more"]
        return f"with {', '.join(told[:-1])} and {told[-1]}" if told[1:] else f"with {told[0]}" if told else ""

    def in_words(self) -> str:
        """What stands behind the name in a sentence: ``with workers``, ``without dtype``, ``where k > 2``."""
        match self.condition:
            case None:
                return ""
            case (
                ast.Name(id=name)
                | ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)])
                | ast.Call(func=ast.Name(id="given"), args=[ast.Name(id=name)])
            ):
                return f"with {name}"
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq() | ast.Is()], comparators=[value]):
                return f"with {name}={ast.unparse(value)}"
            case ast.Call(func=ast.Name(id="given"), args=[ast.Name(id=name), *others]):
                return f"with {name} or one of {len(others)} other arguments"
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="given"), args=[ast.Name(id=name)])):
                return f"without {name}"
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="given"), args=[])):
                return "without arguments"
        whole = ast.unparse(self.condition)
        if len(whole) <= _LONGEST:
            return f"where {whole}"
        nodes = (node for node in ast.walk(self.condition) if isinstance(node, ast.Name))
        names = [name for name in dict.fromkeys(node.id for node in nodes) if name not in _WORDS]
        return f"by what {', '.join(names[:-1])} and {names[-1]} say" if names[1:] else f"by what {names[0]} says"


@lru_cache(maxsize=1024)
def read_pattern(text: str) -> CallPattern:
    """The pattern that a record writes.

    Raises:
        ValueError: it is none, and why.

    >>> read_pattern("*.MoE(hidden_size, expert, num_experts, ep_size, k=1) if k > 2").parameters[-1]
    'k'
    """
    name, _, rest = text.partition("(")
    signature, condition = _parts(rest, text)
    arguments = signature.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs:
        raise ValueError(f"`{text}`: name the parameters that the condition asks for, without * and ** and /")
    parameters = tuple(one.arg for one in arguments.args)
    behind = [*zip(arguments.args[len(parameters) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    behind += [(one, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    pattern = CallPattern(name, parameters, {one.arg: ast.literal_eval(value) for one, value in behind}, condition)
    if condition is not None:
        _Arguments(pattern, Call(name, (), {}, whole=True)).judged(condition)  # so that what it cannot ask is told now
    return pattern


def _parts(rest: str, text: str) -> tuple[ast.FunctionDef, ast.expr | None]:
    """The parameters and the condition of what stands behind the opening bracket."""
    end = rest.find(")")
    while end >= 0:
        behind = rest[end + 1 :].strip()
        try:
            made = ast.parse(f"def _({rest[:end]}): ...").body[0]
            condition = ast.parse(behind.removeprefix("if ").strip(), mode="eval").body if behind else None
        except SyntaxError:
            end = rest.find(")", end + 1)
            continue
        if isinstance(made, ast.FunctionDef) and (not behind or behind.startswith("if ")):
            return made, condition
        break
    raise ValueError(f"`{text}` is no pattern of calls: write NAME(parameters), and ` if CONDITION` behind it")


class _Arguments:
    """What one call says, as the names of a condition."""

    def __init__(self, pattern: CallPattern, call: Call) -> None:
        self._pattern, self._call = pattern, call
        self._given = {**dict(zip(pattern.parameters, call.positional, strict=False)), **call.named}
        self._open = False

    def judged(self, condition: ast.expr) -> Truth:
        """The truth of a condition; what hangs on values that cannot be read is what it asks for, but for a text."""
        found = self._truth(condition)
        return Truth.YES if found is Truth.UNKNOWN and not self._open else found

    def _truth(self, node: ast.expr) -> Truth:
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                return min(map(self._truth, values))
            case ast.BoolOp(op=ast.Or(), values=values):
                return max(map(self._truth, values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Truth(Truth.YES - self._truth(operand))
            case ast.Compare(left=left, ops=operators, comparators=others):
                sides = [*map(self._value, (left, *others))]
                return min(map(self._compared, operators, sides, sides[1:]))
            case ast.Call(func=ast.Name(id="given"), args=names, keywords=[]):
                return self._is_given([one.id for one in names if isinstance(one, ast.Name)])
            case ast.Call(func=ast.Name(id="isinstance"), args=[one, ast.Name(id=kind)]) if kind in _TYPES:
                value = self._value(one)
                if value == _HIDDEN:
                    return Truth.UNKNOWN
                return Truth.of(isinstance(value, _TYPES[kind]) and not isinstance(value, bool))
            case ast.Call(func=ast.Name(id="like"), args=[one, *patterns]) if patterns:
                value, wanted = self._value(one), [str(ast.literal_eval(pattern)).lower() for pattern in patterns]
                if value == _HIDDEN:
                    return Truth.UNKNOWN
                texts = value if isinstance(value, list) else [value]
                return Truth.of(any(_fits(text, each) for text in texts for each in wanted))
        value = self._value(node)
        return Truth.UNKNOWN if isinstance(value, Unread) else Truth.of(bool(value))

    def _is_given(self, names: Sequence[str]) -> Truth:
        given = not self._given.keys().isdisjoint(names) if names else self._call.positional or self._call.named
        found = bool(given)
        if found or self._call.whole:
            return Truth.of(found)
        self._open = True
        return Truth.UNKNOWN

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return self._argument(name)
            case ast.Subscript(value=one, slice=ast.Constant(value=str(key))):
                inside = self._value(one)
                return inside.get(key) if isinstance(inside, dict) else inside if isinstance(inside, Unread) else None
            case ast.Subscript(value=one, slice=ast.Constant(value=0)):
                return _end(self._value(one), 0)
            case ast.Subscript(value=one, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
                return _end(self._value(one), -1)
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return _computed(lambda one, other: one % other, self._value(left), self._value(right))
            case ast.Call(func=ast.Name(id=function), args=[one], keywords=[]) if function in _FUNCTIONS:
                return _computed(_FUNCTIONS[function], self._value(one))
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise ValueError(f"`{ast.unparse(node)}` is nothing that the condition of a pattern may ask") from None

    def _argument(self, name: str) -> Value:
        if name in self._given:
            value = self._given[name]
            if not isinstance(value, OptionValue) or isinstance(value.default, Unread):
                return value
            self._open = True
            return _HIDDEN
        if self._call.whole:
            return self._pattern.defaults.get(name)
        self._open = True
        return _HIDDEN

    def _compared(self, operator: ast.cmpop, left: Any, right: Any) -> Truth:
        unread = [one for one in (left, right) if isinstance(one, Unread)]
        negated = isinstance(operator, (ast.NotEq, ast.IsNot, ast.NotIn))
        if _HIDDEN in unread:
            return Truth.UNKNOWN
        if len(unread) == 2 and left == right:
            return Truth.of(not negated)
        if unread:
            if isinstance(operator, (ast.Is, ast.IsNot)):
                return Truth.of(negated)
            self._open = self._open or (isinstance(operator, ast.Eq) and isinstance(right, str))
            return Truth.UNKNOWN
        match operator:
            case ast.Eq() | ast.NotEq() if left != right and (_has_unread(left) or _has_unread(right)):
                return Truth.UNKNOWN
            case ast.Eq() | ast.NotEq():
                return Truth.of((left == right) is not negated)
            case ast.Is() | ast.IsNot():
                return Truth.of((type(left) is type(right) and left == right) is not negated)
            case ast.In() | ast.NotIn():
                found = isinstance(right, (list, tuple, dict, str)) and left in right
                return Truth.UNKNOWN if not found and _has_unread(right) else Truth.of(found is not negated)
        try:
            return Truth.of(_ORDERS[type(operator)](left, right))
        except TypeError:
            return Truth.NO


def _fits(value: Any, pattern: str) -> bool:
    if isinstance(value, Ending):
        return _asks_for_end(pattern, value.text.lower())
    return isinstance(value, str) and matches(value.lower(), pattern)


def _asks_for_end(pattern: str, end: str) -> bool:
    """``*.pt``, for a path that ends so; ``*`` for any."""
    return pattern[:1] == "*" and not {"*", "?", "["} & set(pattern[1:]) and end.endswith(pattern[1:])


def _has_unread(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, Unread) for one in value)


def _end(value: Any, index: int) -> Any:
    """The first or the last of a list; of what is none it is None."""
    return value if isinstance(value, Unread) else value[index] if isinstance(value, list) and value else None


def _computed(function: Callable[..., Any], *values: Any) -> Any:
    """What a function makes of values; of such as it does not take it makes None."""
    if unread := [value for value in values if isinstance(value, Unread)]:
        return unread[0] if _HIDDEN not in unread else _HIDDEN
    if function is not len and (inside := next(filter(_has_unread, values), None)):
        return next(one for one in inside if isinstance(one, Unread))
    try:
        return function(*values)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
