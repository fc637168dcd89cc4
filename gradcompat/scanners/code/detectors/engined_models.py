"""What an engine of DeepSpeed, or accelerate's prepare(), is given as one file names it, and what it gives back."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gradcompat.scanners.code.syntax import last_name

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_UNWRAPPING = frozenset({"unwrap_model", "unwrap", "getattr"})
# Where the model stands that a function puts an adapter on; a method is one of the model.
_MODEL = {"get_peft_model": 0, "inject_adapter_in_model": 1}


class _Assigned(NamedTuple):
    """An assignment, with the names on both sides."""

    line: int
    value: ast.expr
    targets: tuple[str, ...]
    of_value: tuple[str, ...]

    @classmethod
    def of(cls, node: ast.Assign) -> _Assigned:
        value = node.value.value if isinstance(node.value, (ast.Await, ast.Subscript)) else node.value
        targets = tuple(name for target in node.targets for name in _chains(target))
        return cls(node.lineno, value, targets, tuple(_chains(value)))


class Assignments:
    """What one file assigns, which functions it has and which calls."""

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        nodes = [node for statement in statements for node in ast.walk(statement)]
        self._assigned = [_Assigned.of(node) for node in nodes if isinstance(node, ast.Assign)]
        self._calls = [node for node in nodes if isinstance(node, ast.Call)]
        self._functions: Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef] = {
            node.name: node for node in nodes if isinstance(node, _FUNCTIONS)
        }

    def held(self, engine: ast.Call, within: str) -> frozenset[str]:
        """The names of what an engine holds, by which its model may be among them.

        Args:
            engine: the call that makes it.
            within: the function that the call stands in; empty for none.
        """
        making = [engine, *(call for call in self._calls if within and last_name(call.func) == within)]
        found = {name for call in making for one in _given(call) for name in _chains(one)}
        for assigned in self._assigned:
            value = assigned.value
            if any(value is call for call in making) or (_leads_on(value) and _any_of(assigned.of_value, found)):
                found.update(assigned.targets)
        return frozenset(found)

    def attaches_to(self, attaching: ast.Call, within: str, held: Collection[str], behind: int) -> bool:
        """Does a call put an adapter on something of this name?

        Args:
            attaching: the call.
            within: the function that it stands in; empty for none.
            held: the names.
            behind: the line of the engine in that function: what is made anew behind it is another model.
        """
        model = _subject(attaching)
        if model is None:
            return False
        handed = self._handed(model, within)
        if handed is not None:
            return any(_any_of(_chains(one), held) for one in handed)
        names = frozenset(_chains(model))
        return _any_of(names, held) and not any(
            behind < assigned.line < attaching.lineno
            and not names.isdisjoint(assigned.targets)
            and not _any_of(assigned.of_value, held)
            for assigned in self._assigned
        )

    def _handed(self, model: ast.expr, within: str) -> list[ast.expr] | None:
        """What the callers of a function hand over for a parameter of it; None for what is none."""
        function = self._functions.get(within)
        root = next(iter(_chains(model)), "").partition(".")[0]
        if function is None:
            return None
        parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        if root not in parameters or root in ("self", "cls"):
            return None
        place = parameters.index(root) - (parameters[0] in ("self", "cls"))
        callers = [call for call in self._calls if last_name(call.func) == within]
        named = [word.value for call in callers for word in call.keywords if word.arg == root]
        return named + [call.args[place] for call in callers if place < len(call.args)]


def _given(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (word.value for word in call.keywords if word.arg != "config")


def _subject(attaching: ast.Call) -> ast.expr | None:
    place = _MODEL.get(last_name(attaching.func))
    if place is None:
        return attaching.func.value if isinstance(attaching.func, ast.Attribute) else None
    if place < len(attaching.args):
        return attaching.args[place]
    return next((word.value for word in attaching.keywords if word.arg == "model"), None)


def _leads_on(value: ast.expr) -> bool:
    """`engine.module`, `accelerator.unwrap_model(model)`: the same model by another name."""
    return isinstance(value, (ast.Name, ast.Attribute)) or (
        isinstance(value, ast.Call) and last_name(value.func) in _UNWRAPPING
    )


def _any_of(names: Iterable[str], held: Collection[str]) -> bool:
    """Is one of the names held, or of something that is?"""
    return any(end in held for name in names for end in _beginnings(name))


def _beginnings(name: str) -> Iterator[str]:
    """``self``, ``self.model`` and ``self.model.encoder`` of the last."""
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _chains(node: ast.expr) -> Iterator[str]:
    """Each name with its attributes: ``self.model`` and ``config`` of ``get_peft_model(self.model, config)``."""
    waiting: list[ast.AST] = [node]
    for one in waiting:
        parts: list[str] = []
        inner: ast.AST = one
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield ".".join((inner.id, *reversed(parts)))
        elif inner is not one:
            waiting.append(inner)
        else:
            waiting.extend(ast.iter_child_nodes(one))
