"""The modules of a project that a program imports: found as Python finds them, read, and never run.

A module lies beside the program, in a package, or in a `src` layout of a folder above it, and never outside of the
root. A name of the standard library, of a library for training or of a requirement that the project declares belongs
to that package, also where a file of the project has the same name; but not where a package of that name lies beside a
program that is no part of one itself, since Python looks there first.
"""

from __future__ import annotations

import ast
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath

from gradcompat.budget import Budget
from gradcompat.errors import SourceError
from gradcompat.files.root import Root, root_of_file
from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import Location
from gradcompat.scanners.code.configuration_objects import ProgramNames
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.lazy_attachments import attached
from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import parse, places_in
from gradcompat.scanners.code.uses import ModuleUses
from gradcompat.scanners.registry import LIBRARIES
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

MAX_MODULES = 100  # of one program
_STAR = 10
# Steps in which the programs of one root follow the modules that they share.
FOLLOWED = 25_000
# Lines of modules that are read once more for what a program of the same root hands to them.
HANDED = 12_000
_CHARACTERS_EACH = 12  # of a module that is read, for one more
_TOO_OFTEN = "is part of this project, whose programs import one another too often: what it uses is not seen here"
_MAX_PARTS = 20  # of a dotted name
_LARGEST_DECLARATION = 256 * 1024  # bytes; a larger file is a lockfile of which the first part will do

_DECLARATIONS = lazy_pattern(
    r"requirements[\w.-]*\.txt|(?:pyproject|Pipfile)(?:\.toml)?|uv\.lock|poetry\.lock|setup\.cfg"
)
_DECLARED = lazy_pattern(r"""^[ \t]*(?:-[ \t]+|["']|name[ \t]*=[ \t]*")?([A-Za-z][\w.-]*)""", re.MULTILINE)
_OWN_NAME = lazy_pattern(r"""^[ \t]*name[ \t]*=[ \t]*["']?([A-Za-z][\w.-]*)""", re.MULTILINE)


@lru_cache(maxsize=4096)  # asked for every import of every module, again for each program
def _folder_of(file: str) -> str:
    return os.path.dirname(file)


@dataclass(frozen=True, slots=True)
class Mentioned:
    """What the names in a statement lead to.

    Attributes:
        definitions: functions and classes of the same module.
        imported: the full names of what is imported, with their attributes.
    """

    definitions: tuple[ast.stmt, ...]
    imported: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spoken:
    """The names in a statement.

    Attributes:
        counts: how often it has each plain name, and each attribute of something that is imported.
        calls: a call of each that is called.
    """

    counts: Mapping[str, int]
    calls: Mapping[str, ast.Call]


@dataclass(slots=True)
class Module:
    """One module of the project.

    Attributes:
        file: where it lies.
        document: its text.
        tree: its syntax tree.
        names: its names, which lead on into other modules of the project.
        facts: what its statements say, without the methods that a program does not call, and with what calls that lead
            to it hand on, as far as that was asked.
        mentioned: what the names in its statements lead to, as far as that was asked.
        spoken: these names themselves, likewise.
        statements: those of its top level that are no imports.
        beside: what is found in it without any of them: what it imports.
        place: where its nodes stand.
        uses: what it takes from others; None as long as nobody has asked.
        replaced: what of others it puts something in the place of; None likewise.
        optional: the modules of others that it can do without; None likewise.
    """

    file: str
    document: Document
    tree: ast.Module
    names: Names
    facts: dict[tuple[ast.stmt, frozenset[ast.AST], tuple[ast.Call, ...]], Findings] = field(default_factory=dict)
    mentioned: dict[ast.stmt, Mentioned] = field(default_factory=dict)
    spoken: dict[ast.stmt, Spoken] = field(default_factory=dict)
    uses: ModuleUses | None = None
    replaced: tuple[tuple[str, Location], ...] | None = None
    optional: tuple[str, ...] | None = None
    statements: tuple[ast.stmt, ...] = field(init=False)
    place: Callable[[ast.AST], Location] = field(init=False)
    beside: Findings = field(init=False)

    def __post_init__(self) -> None:
        self.statements = tuple(
            statement for statement in self.tree.body if not isinstance(statement, (ast.Import, ast.ImportFrom))
        )
        self.place = places_in(self.document)
        self.beside = Findings(self.names, self.place, self.document)

    @property
    def cost(self) -> int:
        """The steps that following it takes; a name that ``import *`` may bring is looked for in each such module."""
        return 1 + len(self.statements) + len(self.names.imports) + _STAR * len(self.names.stars)


class Project:
    """The modules below one root, each of which is read once.

    Args:
        root: what may be read.
        shown: how the folder of the root is called to the user.
    """

    def __init__(self, root: Root, shown: str) -> None:
        self.root = root
        self.shown = shown
        self.following = Budget(FOLLOWED)
        self.handing = Budget(HANDED)
        self._modules: dict[str, Module | SourceError] = {}
        self._places: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._packages: dict[str, tuple[str, ...]] = {}
        self._passed_on: dict[str, frozenset[str]] = {}
        self._files: dict[str, bool] = {}
        self._copies: dict[tuple[str, str], bool] = {}
        self._folders: dict[tuple[str, bool], tuple[str, ...]] = {}
        self._foreign: dict[str, frozenset[str]] = {}
        self._declarations: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def label(self, path: str) -> str:
        """How a file is called to the user."""
        relative = os.path.relpath(path, self.root.folder).replace(os.sep, "/")
        return os.path.normpath(PurePosixPath(self.shown, relative)).replace(os.sep, "/")

    def find(self, name: str, importer: str) -> tuple[str, str] | None:
        """The file of the module that a full name leads into, and the rest of the name; None if it is of no project."""
        folder = _folder_of(importer)
        key = (folder, name)
        if key not in self._places:
            self._places[key] = self._find(name, folder, program=importer not in self._modules)
        found = self._places[key]
        return found if found is None or found[1] else self._hidden(found[0], importer)

    def _hidden(self, file: str, importer: str) -> tuple[str, str]:
        """A module, or what hides it in its package: with ``from .train import train`` there, that is the function."""
        package = os.path.join(_folder_of(file), "__init__.py")
        if package in (file, importer) or not self._is_module(package):
            return file, ""
        name = os.path.basename(file).removesuffix(".py")
        if package not in self._passed_on:
            module = self.module(package)
            tree = None if isinstance(module, SourceError) else module.tree
            self._passed_on[package] = frozenset(_of_their_module(tree)) if tree is not None else frozenset()
        return file, name if name in self._passed_on[package] else ""

    def _find(self, name: str, folder: str, *, program: bool) -> tuple[str, str] | None:
        bare = name.lstrip(".")
        level = len(name) - len(bare)
        parts = bare.split(".") if bare else []
        if len(parts) > _MAX_PARTS:
            return None
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._below(folder, parts)
        if not parts:
            return None
        if parts[0] in self._others(folder):
            return self._below(folder, parts) if program and self._stands_before(parts[0], folder) else None
        for above in self._search_path(folder, program):
            found = self._below(above, parts)
            if found is not None and found[0] != os.path.join(above, "__init__.py"):
                return found
        return None

    def _stands_before(self, top: str, folder: str) -> bool:
        """Does a package beside a program hide the one of the same name, wherever that is installed?"""
        return (
            top not in sys.stdlib_module_names
            and self._is_module(os.path.join(folder, top, "__init__.py"))
            and not self._is_module(os.path.join(folder, "__init__.py"))
        )

    def has_copy(self, top: str, importer: str) -> bool:
        """Has the project a module of this name on the path of a file, whatever package it belongs to otherwise?"""
        folder = os.path.dirname(importer)
        key = (folder, top)
        if key not in self._copies:
            above = self._search_path(folder, importer not in self._modules)
            self._copies[key] = any(
                self._is_module(os.path.join(one, f"{top}.py"))
                or self._is_module(os.path.join(one, top, "__init__.py"))
                for one in above
            )
        return self._copies[key]

    def _below(self, folder: str, parts: list[str]) -> tuple[str, str] | None:
        package = os.path.join(folder, "__init__.py")
        best = (package, ".".join(parts)) if self._is_module(package) else None
        for index, part in enumerate(parts):
            rest = ".".join(parts[index + 1 :])
            inner, module = os.path.join(folder, part), os.path.join(folder, f"{part}.py")
            package = os.path.join(inner, "__init__.py")
            if self._is_module(package):
                best, folder = (package, rest), inner
            elif self._is_module(module):
                return module, rest
            elif os.path.isdir(inner):
                folder = inner
            else:
                break
        return best

    def _is_module(self, path: str) -> bool:
        """Is there a module? What may not be looked at, and a link that leads out of the root, count as one."""
        if path not in self._files:
            self._files[path] = self._looks_like_module(path)
        return self._files[path]

    def _looks_like_module(self, path: str) -> bool:
        if self.root.leads_outside(path):
            return os.path.islink(path)
        try:
            return stat.S_ISREG(os.stat(path).st_mode)
        except PermissionError:
            return True
        except (OSError, ValueError):
            return False

    def _search_path(self, folder: str, program: bool) -> tuple[str, ...]:
        """The folders that imports are looked for in; the modules of a package do not see each other by bare names."""
        key = (folder, program)
        if key not in self._folders:
            above = [folder]
            while above[-1] != self.root.folder and os.path.dirname(above[-1]) != above[-1]:
                above.append(os.path.dirname(above[-1]))
            above = above if above[-1] == self.root.folder else [folder]
            seen = [one for one in above if program or not self._is_module(os.path.join(one, "__init__.py"))]
            paths = (path for one in seen for path in (one, os.path.join(one, "src")))
            self._folders[key] = tuple(path for path in paths if os.path.isdir(path))
        return self._folders[key]

    def _others(self, folder: str) -> frozenset[str]:
        """The top-level names that belong to other packages."""
        if folder not in self._foreign:
            (required, own), (of_root, own_of_root) = self._declared(folder), self._declared(self.root.folder)
            foreign = (LIBRARIES | required | of_root) - own - own_of_root
            self._foreign[folder] = foreign | sys.stdlib_module_names
        return self._foreign[folder]

    def _declared(self, folder: str) -> tuple[frozenset[str], frozenset[str]]:
        if folder not in self._declarations:
            self._declarations[folder] = _declared(folder)
        return self._declarations[folder]

    def module(self, file: str) -> Module | SourceError:
        """A module, or why it cannot be read."""
        if file not in self._modules:
            try:
                document = read_document(Path(file), self.label(file), self.root)
                tree = parse(document.text, document.path)
                tree.body += attached(tree)
                names = ProgramNames(tree, Links(self, file), imported=True)
                self._modules[file] = Module(file, document, tree, names)
                self.following.left += len(document.text) // _CHARACTERS_EACH
            except SourceError as error:
                self._modules[file] = error
        return self._modules[file]

    def known(self, file: str) -> Module | None:
        """A module that was read already."""
        module = self._modules.get(file)
        return module if isinstance(module, Module) else None

    def packages(self, file: str) -> tuple[str, ...]:
        """The packages around a module, which Python runs first."""
        if file not in self._packages:
            self._packages[file] = tuple(self._packages_around(file))
        return self._packages[file]

    def _packages_around(self, file: str) -> Iterator[str]:
        folder = os.path.dirname(file)
        for _ in range(_MAX_PARTS):
            package = os.path.join(folder, "__init__.py")
            if not self._is_module(package):
                return
            yield package
            folder = os.path.dirname(folder)


@dataclass(frozen=True, slots=True)
class Links:
    """The modules of the project as one of its files sees them."""

    project: Project
    importer: str

    def find(self, name: str) -> tuple[Names, str] | None:
        """The names of the module that a full name leads into, and the rest of it."""
        found = self.project.find(name, self.importer)
        if found is None or found[0] == self.importer:
            return None
        module = self.project.module(found[0])
        return None if isinstance(module, SourceError) else (module.names, found[1])

    def has_copy(self, top: str) -> bool:
        """Has the project a module of this name on the path of the file?"""
        return self.project.has_copy(top, self.importer)

    def place(self) -> Callable[[ast.AST], Location] | None:
        """Where the nodes of the file stand; None if it is no module that was read."""
        module = self.project.known(self.importer)
        return None if module is None else module.place


def project_of(document: Document) -> tuple[Project, str] | None:
    """The project of a program, and the file of the program in it; None if it lies nowhere."""
    if document.file is None:
        return None
    root = document.root or root_of_file(document.file)
    here = os.path.realpath(document.file.parent)
    shared = {} if document.shared is None else document.shared
    project = shared.get("project")
    if not isinstance(project, Project) or project.root != root:
        inside = here == root.folder or here.startswith(root.folder.rstrip(os.sep) + os.sep)
        # A file that was named may lie outside of the root of others: its own folder is all that it sees.
        root = root if inside else replace(root, folder=here)
        up = os.path.relpath(root.folder, here).replace(os.sep, "/")
        shown = os.path.normpath(PurePosixPath(PurePosixPath(document.path).parent, up)).replace(os.sep, "/")
        project = Project(root, shown)
        if inside:
            shared["project"] = project
    return project, os.path.join(here, document.file.name)


def _of_their_module(package: ast.Module) -> Iterator[str]:
    """What a package takes from the module of the same name."""
    for statement in package.body:
        if isinstance(statement, ast.ImportFrom) and statement.level == 1:
            yield from (one.name for one in statement.names if one.name == statement.module and one.asname is None)


def _declared(folder: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names that the files of a folder require, as they would be imported, and the project's own."""
    required: set[str] = set()
    own: set[str] = set()
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    for name in names:
        if _DECLARATIONS.fullmatch(name) is None or not os.path.isfile(os.path.join(folder, name)):
            continue
        try:
            with open(os.path.join(folder, name), "rb") as file:
                text = file.read(_LARGEST_DECLARATION).decode("utf-8", "replace")
        except OSError:
            continue
        if name in ("pyproject.toml", "setup.cfg"):
            own.update(_import_name(match) for match in _OWN_NAME.findall(text)[:1])
        required.update(map(_import_name, _DECLARED.findall(text)))
    return frozenset(required), frozenset(own)


def _import_name(distribution: str) -> str:
    return distribution.lower().replace("-", "_").partition(".")[0]


@dataclass(slots=True)
class Followed:
    """What a program imports of its own project.

    Attributes:
        modules: those that were read, nearest first.
        unread: each that was not, as it is imported, with the line of the import, the file that has it, and why.
    """

    modules: list[Module] = field(default_factory=list)
    unread: list[tuple[str, int, str, str]] = field(default_factory=list)


def follow(document: Document, names: Names, project: Project, program: str) -> Followed:
    """Read every module of the project that a program imports, directly or through others."""
    followed = Followed()
    seen = {program}
    waiting: list[tuple[Names, str, str]] = [(names, program, document.path)]
    while waiting:
        importing, importer, shown = waiting.pop(0)
        for name, line in sorted(importing.imports.items(), key=lambda pair: pair[1]):
            found = project.find(name, importer)
            for file in () if found is None else (found[0], *project.packages(found[0])):
                if file in seen:
                    continue
                seen.add(file)
                if len(followed.modules) >= MAX_MODULES:
                    reason = f"is one of more than {MAX_MODULES} modules of this project: what it uses is not seen here"
                    followed.unread.append((name, line, shown, reason))
                    return followed
                module = project.module(file)
                if isinstance(module, SourceError):
                    reason = f"is part of this project and cannot be read: {module.message}"
                    followed.unread.append((name, line, shown, reason))
                elif not project.following.take(module.cost):
                    followed.unread.append((name, line, shown, _TOO_OFTEN))
                    return followed
                else:
                    followed.modules.append(module)
                    waiting.append((module.names, file, module.document.path))
            if name in importing.relative and not _exists(project, name, importing, importer):
                reason = "is part of this project, and is not found in it"
                followed.unread.append((name, line, shown, reason))
    return followed


def _exists(project: Project, name: str, importing: Names, importer: str) -> bool:
    """Is there a module at a relative import, or below it, as for `from . import helper` in a folder?"""
    inside = (one for one in importing.imports if one.startswith(name))
    return any(project.find(one, importer) is not None for one in inside)
