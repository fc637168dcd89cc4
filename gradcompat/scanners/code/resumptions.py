"""Where a program resumes by a function of its own: where it calls that, not where the function loads the state.

``trainer.load(path)`` behind ``if args.resume:`` resumes where the option is given, and a ``load`` that nothing calls
resumes no run, though both have ``accelerator.load_state(path)`` in their body.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence

from gradcompat.model.environment import Setting
from gradcompat.scanners.code.command_functions import Function
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import nodes_in
from gradcompat.scanners.code.uncalled_methods import CALLING, is_elsewhere, is_plain
from gradcompat.scanners.code.walk import Step, walk

# What calls by names that stand in configs, and seldom beside the program's own calls.
_BY_CONFIG = frozenset({"hydra"})


def settle_resumptions(
    facts: Findings, files: Sequence[tuple[ast.Module, Names]], without: Collection[ast.AST]
) -> frozenset[Setting]:
    """Say of each function that resumes what its calls say; the settings that these replace.

    Args:
        facts: what was found in the program; what its calls say is added.
        files: the program, and all modules of its project that it imports, each with its names.
        without: functions that nothing calls.
    """
    resuming = [one for found in (facts, *facts.parts) for one in found.resuming]
    calling = {name for _, names in files for name in CALLING & names.imported.keys()}
    if not resuming or not calling <= _BY_CONFIG or any(names.rewritten for _, names in files):
        return frozenset()
    replaced: set[Setting] = set()
    for name, stated in _by_name(resuming, files).items():
        calls = _calls(name, [function for function, _ in stated], files, without)
        if calls is None or (calling and not calls):
            continue
        if all(step.branch for _, step in calls):
            replaced.update(setting for _, setting in stated)
            known = all(setting.value is not None for _, setting in stated)
            for names, step in calls:
                caller = _caller(facts, names)
                caller.state(step, stated[0][1].key, True if known else None)
                if caller is not facts:
                    facts.settings += caller.settings
                    facts.branches += caller.branches
    return frozenset(replaced)


def _caller(facts: Findings, names: Names) -> Findings:
    """What says something of a call: the program, or for a module of its project something that has its options."""
    place = names.modules.place() if names is not facts.names and names.modules is not None else None
    if place is None:
        return facts
    return Findings(names, place, facts.document, options=facts.options, switches=facts.switches)


def _by_name(
    resuming: Iterable[tuple[Function, Setting]], files: Sequence[tuple[ast.Module, Names]]
) -> dict[str, list[tuple[Function, Setting]]]:
    """The functions that nothing but the program calls: at the top of a file, or methods of plain classes."""
    own: set[ast.AST] = set()
    for tree, names in files:
        for statement in tree.body:
            if isinstance(statement, ast.ClassDef) and not statement.keywords:
                own.update(statement.body if all(is_plain(base, names) for base in statement.bases) else ())
            else:
                own.add(statement)
    found: dict[str, list[tuple[Function, Setting]]] = {}
    for function, setting in resuming:
        found.setdefault(function.name, []).append((function, setting))
    return {
        name: stated
        for name, stated in found.items()
        if all(one in own and not one.decorator_list and not name.startswith("__") for one, _ in stated)
    }


def _calls(
    name: str, functions: Collection[ast.AST], files: Sequence[tuple[ast.Module, Names]], without: Collection[ast.AST]
) -> list[tuple[Names, Step]] | None:
    """The calls of what has a name, outside of itself; None where it is handed on, or named by a text."""
    inside = set(nodes_in(*functions))
    found: list[tuple[Names, Step]] = []
    for tree, names in files:
        called: set[ast.AST] = set()
        for step in walk(tree, names, without):
            node = step.node
            if node in inside:
                continue
            match node:
                case ast.Call(func=ast.Attribute(attr=attribute, value=owner)) if attribute == name:
                    called.add(node.func)
                    if not is_elsewhere(owner, names):
                        found.append((names, step))
                case ast.Call(func=ast.Name(id=identifier)) if identifier == name:
                    called.add(node.func)
                    found.append((names, step))
                case ast.Attribute(attr=attribute, value=owner) if attribute == name and node not in called:
                    if not is_elsewhere(owner, names):
                        return None
                case ast.Name(id=identifier) if identifier == name and node not in called:
                    return None
                case ast.Constant(value=str(text)) if text == name:
                    return None
    return found
