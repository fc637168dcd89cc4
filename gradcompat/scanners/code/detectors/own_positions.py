"""Data of the program's own in a StatefulDataLoader, which has the state of a stream only where they hand it on.

Of data without a state the loader counts batches, and passes over as many; data that count samples themselves skip
them. A class that calls ``load_state_dict`` of what it reads hands the state on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import calls_behind
from gradcompat.scanners.code.syntax import argument_of, last_name, nodes_in

SYMBOL = "StatefulDataLoader.of_own_position"
_LOADER = "StatefulDataLoader"
_DEEPEST = 8  # of classes that derive from one another


def has_own_position(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``StatefulDataLoader(Packed(stream))``, where Packed hands no state on; a loader may be derived from that one."""
    if last_name(call.func) == _LOADER:
        data = argument_of(call, "dataset", 0)
        given = [] if data is None else [data]
    elif any(last_name(base) == _LOADER for own in _classes(call, names, scope) for base in own.bases):
        given = [*call.args, *(word.value for word in call.keywords)]
    else:
        return False
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
