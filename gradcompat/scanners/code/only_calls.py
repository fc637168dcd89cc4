"""What a program hands to the functions and classes of its modules, where it calls each of them in one place.

``build_model(name, dropout=0.1)`` says what ``dropout`` is in the module that has ``build_model``. A function that the
program names anywhere else, under another name or in a second call, has no one value for its parameters.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from gradcompat.budget import Budget
from gradcompat.scanners.code.local_modules import Module, Spoken
from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import nodes_in

_Definition = ast.FunctionDef | ast.ClassDef


class Views(NamedTuple):
    """The modules of a program with what it hands to what stands in them.

    Attributes:
        names: those of each module that is handed something, by its file.
        chains: the calls that lead to a definition from what some module does, whatever the program; None where they
            begin in the program.
    """

    names: Mapping[str, Names]
    chains: Mapping[ast.stmt, tuple[ast.Call, ...] | None]


NOTHING_HANDED: Final = Views({}, {})


class _Use(NamedTuple):
    """The place of a call: the module, which is None for the program, and the statement at its top."""

    call: ast.Call
    module: Module | None
    statement: ast.stmt


def views(
    program: ast.Module, names: Names, modules: Sequence[Module], kept: Sequence[Sequence[ast.stmt]], lines: Budget
) -> Views:
    """What a program hands to its modules.

    Args:
        program: the program.
        names: its names.
        modules: those that it imports.
        kept: the statements of each that it runs.
        lines: those that may be read once more for this program alone.
    """
    owners = {
        one: module for module, reached in zip(modules, kept, strict=True) for one in _definitions(module, reached)
    }
    uses = _only_uses(owners, program, names, modules, kept)
    own: dict[str, dict[ast.AST, tuple[ast.Call, Names]]] = {}
    found = {file: names_of.handed(own.setdefault(file, {})) for file, names_of in _files(uses, owners)}
    chains: dict[ast.stmt, tuple[ast.Call, ...] | None] = {}
    for one, use in uses.items():
        chain = _chain(one, uses)
        of_program = chain is not None and chain[-1].module is None
        if chain is not None and (not of_program or lines.take((one.end_lineno or one.lineno) - one.lineno + 1)):
            caller = names if use.module is None else found.get(use.module.file, use.module.names)
            own[owners[one].file][one] = (use.call, caller)
            chains[one] = None if of_program else tuple(step.call for step in chain)
    return Views(found, chains)


def _files(uses: Mapping[_Definition, _Use], owners: Mapping[_Definition, Module]) -> Iterator[tuple[str, Names]]:
    files = {owners[one].file: owners[one].names for one in uses}
    yield from files.items()


def _chain(one: ast.stmt, uses: Mapping[_Definition, _Use]) -> list[_Use] | None:
    """The calls that lead to a definition, the nearest first; None where they go round."""
    chain: list[_Use] = []
    while isinstance(one, _Definition) and one in uses:
        if len(chain) > len(uses):
            return None
        chain.append(uses[one])
        one = uses[one].statement
    return chain


def _definitions(module: Module, kept: Sequence[ast.stmt]) -> Iterator[_Definition]:
    """The functions and classes of a module that take something, and that nothing may have changed or registered."""
    for one in kept:
        if not isinstance(one, _Definition) or one.decorator_list or module.names.module.names.get(one.name) != [one]:
            continue
        function = one if isinstance(one, ast.FunctionDef) else _constructor(one)
        if function is not None and (function.args.args or function.args.kwonlyargs) and not module.names.rewritten:
            yield one


def _constructor(own: ast.ClassDef) -> ast.FunctionDef | None:
    found = (one for one in own.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
    return None if own.keywords else next(found, None)


def _only_uses(
    owners: Mapping[_Definition, Module],
    program: ast.Module,
    names: Names,
    modules: Sequence[Module],
    kept: Sequence[Sequence[ast.stmt]],
) -> dict[_Definition, _Use]:
    """The call of each definition that the program names once, by its own name."""
    named: dict[str, list[_Definition]] = {}
    for one in owners:
        named.setdefault(one.name, []).append(one)
    renamed = names.renamed.union(*(module.names.renamed for module in modules))
    wanted = {name: ones[0] for name, ones in named.items() if len(ones) == 1 and name not in renamed}
    counts: Counter[str] = Counter()
    uses: dict[str, _Use] = {}
    for module, statements in ((None, program.body), *zip(modules, kept, strict=True)):
        for statement in statements:
            spoken = _spoken(statement, names) if module is None else _spoken_in(module, statement)
            for name in spoken.counts.keys() & wanted.keys():
                counts[name] += spoken.counts[name]
                if name in spoken.calls:
                    uses[name] = _Use(spoken.calls[name], module, statement)
    return {wanted[name]: use for name, use in uses.items() if counts[name] == 1 and _leads(use, names, wanted[name])}


def _leads(use: _Use, names: Names, to: _Definition) -> bool:
    """Is it this definition that a call names?"""
    names = names if use.module is None else use.module.names
    found = names.definition(use.call.func, names.scope_of(use.call))
    return found is not None and found[1] is to


def _spoken_in(module: Module, statement: ast.stmt) -> Spoken:
    """What a statement of a module names, asked once for all programs that import it."""
    if statement not in module.spoken:
        module.spoken[statement] = _spoken(statement, module.names)
    return module.spoken[statement]


def _spoken(statement: ast.stmt, names: Names) -> Spoken:
    """The names in a statement and the attributes of what is imported, each with a call of it."""
    counts: Counter[str] = Counter()
    calls: dict[str, ast.Call] = {}
    for node in nodes_in(statement):
        if isinstance(node, ast.Call):
            name = _named(node.func, names)
            if name is not None:
                calls[name] = node
        else:
            name = _named(node, names)
            if name is not None:
                counts[name] += 1
    return Spoken(counts, calls)


def _named(node: ast.AST, names: Names) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner: ast.AST = node.value
        while isinstance(owner, ast.Attribute):
            owner = owner.value
        return node.attr if isinstance(owner, ast.Name) and owner.id in names.imported_as else None
    return None
