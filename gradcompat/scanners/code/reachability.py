"""Which functions and classes of a project a program may run, by the names that lead to them.

What a module does when it is imported counts, and so do decorated definitions, which may be registered somewhere. A
function that nothing reached names is never called from the program: what it says belongs to another run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeGuard

from gradcompat.scanners.code.local_modules import Mentioned, Module, Project
from gradcompat.scanners.code.names import Imported, Names
from gradcompat.scanners.code.syntax import asks_for_main, children, nodes_in

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LONGEST_CHAIN = 20
# What makes commands of the functions that a module has.
_FINDING = frozenset({"fire", "jsonargparse", "plac", "defopt", "invoke"})


def reached(
    program: ast.Module, names: Names, file: str, modules: Iterable[Module], project: Project
) -> list[list[ast.stmt]]:
    """What a program runs of the modules that it imports: the statements of each."""
    by_file = {module.file: module for module in modules}
    walk = _Walk(project, by_file)
    walk.visit(file, names, program.body)
    for module in by_file.values():
        loaded = [
            statement
            for statement in _imported(module)
            if not isinstance(statement, _DEFINITIONS) or statement.decorator_list
        ]
        walk.visit(module.file, module.names, _imported(module) if module.names.rewritten else loaded)
    walk.run()
    return [[statement for statement in module.statements if statement in walk.kept] for module in by_file.values()]


def _imported(module: Module) -> list[ast.stmt]:
    """What a module does when it is imported, beside importing: that is followed by the names that it binds."""
    return [statement for statement in module.statements if not is_main_guard(statement)]


def without_uncalled(program: ast.Module, names: Names) -> ast.Module:
    """A program without the functions at its top that nothing in it names, as a script that was taken over has them.

    A program is what starts under ``if __name__ == "__main__":``; the functions of other modules are called from
    elsewhere. Classes stay, since configs name them, and so does what a tool may find by its name.
    """
    if not any(map(is_main_guard, program.body)) or names.rewritten or not _FINDING.isdisjoint(names.imported):
        return program
    mentioned = [(statement, _words(statement)) for statement in program.body]
    while True:
        named = {word for _, words in mentioned for word in words}
        left = [(one, words) for one, words in mentioned if not _is_plain_function(one) or one.name in named]
        if len(left) == len(mentioned):
            break
        mentioned = left
    if len(left) == len(program.body):
        return program
    return ast.Module(body=[statement for statement, _ in left], type_ignores=program.type_ignores)


def _is_plain_function(statement: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(statement, ast.FunctionDef) and not statement.decorator_list


def _words(statement: ast.stmt) -> set[str]:
    """The names in a statement, and the texts that may be one: ``_target_="train.build"``."""
    found: set[str] = set()
    for node in nodes_in(statement):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value.rpartition(".")[2].rpartition(":")[2])
    return found


def is_main_guard(statement: ast.stmt) -> bool:
    """Is it ``if __name__ == "__main__":``?"""
    return isinstance(statement, ast.If) and asks_for_main(statement.test)


class _Walk:
    """Follows names from what is run to what they mean."""

    def __init__(self, project: Project, modules: Mapping[str, Module]) -> None:
        self.project = project
        self.modules = modules
        self.kept: set[ast.AST] = set()
        self._waiting: list[tuple[str, Names, ast.stmt]] = []
        self._seen: set[tuple[str, str]] = set()

    def visit(self, file: str, names: Names, statements: Iterable[ast.stmt]) -> None:
        """Count some statements of a module as run."""
        for statement in statements:
            if statement not in self.kept:
                self.kept.add(statement)
                self._waiting.append((file, names, statement))

    def run(self) -> None:
        """Follow what was counted, until nothing is new."""
        while self._waiting:
            file, names, statement = self._waiting.pop()
            module = self.modules.get(file)
            if module is None:
                mentioned = _mentioned(statement, names)
            else:  # asked once for all programs that import it
                if statement not in module.mentioned:
                    module.mentioned[statement] = _mentioned(statement, names)
                mentioned = module.mentioned[statement]
                self.visit(file, names, mentioned.definitions)
            for full in mentioned.imported:
                self._reach(full, file)

    def _reach(self, name: str, importer: str) -> None:
        if (importer, name) in self._seen:
            return
        self._seen.add((importer, name))
        found = self.project.find(name, importer)
        if found is not None and found[0] in self.modules and found[1]:
            self._reach_in(self.modules[found[0]], found[1])

    def _reach_in(self, module: Module, rest: str) -> None:
        first, dot, behind = rest.partition(".")
        for binding in module.names.module.names.get(first, ()):
            if isinstance(binding, _DEFINITIONS):
                self.visit(module.file, module.names, [binding])
            elif isinstance(binding, Imported) and self._behind(binding.name, module.file) <= 1:
                self._reach(f"{binding.name}{dot}{behind}", module.file)
        if first not in module.names.module.names:
            for star, _ in module.names.stars:
                if not self._behind(star, module.file):
                    self._reach(_joined(star, rest), module.file)

    def _behind(self, name: str, importer: str) -> int:
        """How many parts of a name are no modules of the project.

        A module that is not there leads into the package above it, and from there to itself, by ever longer names.
        """
        found = self.project.find(name, importer)
        return 0 if found is None or not found[1] else 1 + found[1].count(".")


def _mentioned(statement: ast.stmt, names: Names) -> Mentioned:
    """What the names in a statement lead to."""
    definitions: dict[ast.stmt, None] = {}
    imported: set[str] = set()
    for first, rest in frozenset(_chains(statement)):
        imported.update(f"{full}{rest}" for full in names.imported_as.get(first, ()))
        imported.update(_joined(star, f"{first}{rest}") for star, _ in names.stars)
        bound = names.module.names.get(first, ())
        definitions.update((one, None) for one in bound if isinstance(one, _DEFINITIONS))
    return Mentioned(tuple(definitions), tuple(imported))


def _joined(module: str, name: str) -> str:
    return f"{module}{'' if module.endswith('.') else '.'}{name}"


def _chains(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Every name with the attributes behind it: ``("helper", ".models.make")``."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        waiting.extend(children(node))
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute) and len(parts) < _LONGEST_CHAIN:
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield inner.id, "".join(f".{part}" for part in reversed(parts))
