"""Arguments of a trainer that a program sets once they are made.

``args.save_steps = args.eval_steps``, ``setattr(args, name, value)``, ``dataclasses.replace(args, save_steps=200)``.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from gradcompat.scanners.code.alike_branches import is_arguments
from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import last_name
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.calls import Unread, read_call

# Calls in one line are numbered from 1 by what cannot be read of them, and have fewer arguments than that.
_FIRST_OF_OTHERS = 1000


def set_later(
    name: str, given: Collection[str], names: Names, scope: Scope | None = None
) -> Iterator[tuple[str, ast.expr, bool]]:
    """The arguments that a file sets on such an object, with the values, and whether it does so in any case.

    Of an object whose class is not known only what the call is given counts, as where a function takes the arguments.
    What a branch or another function sets may be set or not.

    Args:
        name: the class of the arguments.
        given: what the call that makes them is given by name.
        names: those of the file.
        scope: where the call stands, if it stands in this file.
    """
    assigned = ((target, one, one.value) for one in names.nodes(ast.Assign) for target in one.targets)
    for target, statement, value in (*assigned, *((one.target, one, None) for one in names.nodes(ast.AugAssign))):
        if not isinstance(target, ast.Attribute) or (isinstance(target.value, ast.Name) and target.value.id == "self"):
            continue
        within = names.scope_of(target)
        kinds = names.type_of(target.value, within)
        if name in kinds or (not kinds and target.attr in given):
            always = scope is within and statement in getattr(within.node, "body", ())
            yield target.attr, value or target, value is not None and always and bool(kinds)
    for call in names.nodes(ast.Call):
        match call:
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, attribute, value]):
                within = names.scope_of(call)
                if name in names.type_of(owner, within):
                    named = names.literal(attribute, within)
                    # By a name that is computed it may be any of those that the call is given.
                    yield from ((one, value, False) for one in ([named] if isinstance(named, str) else given))
            case ast.Call(args=[owner, *_], keywords=keywords) if last_name(call.func) == "replace":
                within = names.scope_of(call)
                if names.resolve(call.func, within) == ("dataclasses.replace",) and name in names.type_of(
                    owner, within
                ):
                    yield from ((one.arg, one.value, False) for one in keywords if one.arg is not None)


def with_late_arguments(line: str, files: Sequence[Names]) -> str:
    """The line of a call with what other files of the program set afterwards, as values that cannot be read."""
    if not is_arguments(line.partition("(")[0]):
        return line
    call = read_call(line)
    late = dict.fromkeys(attribute for names in files for attribute, _, _ in set_later(call.name, call.named, names))
    unread = {attribute: Unread(f"_{number}") for number, attribute in enumerate(late, _FIRST_OF_OTHERS)}
    return str(replace(call, named={**call.named, **unread})) if late else line
