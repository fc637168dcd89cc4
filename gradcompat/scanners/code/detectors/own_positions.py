"""Data of the program's own in a StatefulDataLoader, which has the state of a stream only where they hand it on.

Of data without a state the loader counts batches, and passes over as many; data that count samples themselves skip
them. A class that calls ``load_state_dict`` of what it reads hands the state on. A plain DataLoader may be one that
accelerate makes a StatefulDataLoader of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import calls_behind
from gradcompat.scanners.code.syntax import argument_of, last_name, nodes_in

_STATEFUL, _PLAIN = "StatefulDataLoader", "DataLoader"
_DEEPEST = 8  # of classes that derive from one another


def loader_of_own_position(call: ast.Call, names: Names, scope: Scope) -> str | None:
    """``StatefulDataLoader.of_own_position`` for ``StatefulDataLoader(Packed(stream))``: Packed hands no state on.

    A loader of the program's own may be derived from that one. None where a stream may be what the loader gets.
    """
    called = last_name(call.func)
    if called in (_STATEFUL, _PLAIN):
        data = argument_of(call, "dataset", 0)
        return f"{called}.of_own_position" if data is not None and _keep_position([data], names, scope) else None
    if any(last_name(base) == _STATEFUL for own in _classes(call, names, scope) for base in own.bases):
        given = [*call.args, *(word.value for word in call.keywords)]
        return f"{_STATEFUL}.of_own_position" if _keep_position(given, names, scope) else None
    return None


def _keep_position(given: Iterable[ast.expr], names: Names, scope: Scope) -> bool:
    for one in given:
        for made in calls_behind(one, names, scope):
            own = list(_classes(made, names, scope))
            if own:  # the outermost, which the loader meets
                return not any(map(_hands_on, own))
            if isinstance(made.func, ast.Attribute):  # a step of a stream, or a function of another package
                break
    return False


def _classes(call: ast.Call, names: Names, scope: Scope) -> Iterator[ast.ClassDef]:
    """The class of the project that a call makes an object of, and those of the project that it derives from."""
    if not last_name(call.func)[:1].isupper():
        return
    waiting = [(names, call.func, scope)]
    for owner, node, within in waiting:
        defined = owner.definition(node, within)
        if defined is not None and isinstance(defined[1], ast.ClassDef):
            yield defined[1]
            if len(waiting) < _DEEPEST:
                waiting += ((defined[0], base, defined[2]) for base in defined[1].bases)


def _hands_on(own: ast.ClassDef) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == "load_state_dict" for node in nodes_in(own))
