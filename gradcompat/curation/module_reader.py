"""Reading a module: its syntax alone, nothing of it is run."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gradcompat.curation.getattr_hooks import answered
from gradcompat.curation.given_names import given_names
from gradcompat.curation.lazy_structure import Structure
from gradcompat.curation.model_reader import model_facts
from gradcompat.curation.module_facts import ClassFacts, Import, ModuleFacts, Origin
from gradcompat.curation.module_installs import NONE, installs
from gradcompat.curation.module_outline import Unclosed, outline
from gradcompat.curation.module_pieces import careful_pieces, only_definition, pieces
from gradcompat.curation.rename_reader import WARNING
from gradcompat.curation.signature_reader import class_facts, signature
from gradcompat.curation.word_lines import WordLines

# What every statement has that makes names at import time, and every call that a lazy module is made of.
_MAKING = ("globals", "vars", "locals", "exec", "setattr", "modules", "_lazymodule", "define_import_structure")
_CATCHES_IMPORTS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


@dataclass(frozen=True, slots=True)
class Definition:
    """What a class or a function at the top of a module says, in whatever module it stands.

    Attributes:
        name: its own.
        facts: of a class.
        signatures: its own, or those of the methods, by qualified name.
        exported: ``define_import_structure`` takes it.
        registered: a decorator registers it, and may add it to ``__all__``, as timm's does.
        imports: what the body of a class imports: how many dots, the module, the name, and the line in the definition.
        models: what the class says of a loss.
    """

    name: str
    facts: ClassFacts | None
    signatures: Mapping[str, tuple[str, ...]]
    exported: bool
    registered: bool
    imports: tuple[tuple[int, str, str | None, int], ...]
    models: Mapping[str, str]


class KnownPieces:
    """What was parsed of a module, for the next of its files: most pieces are the same in them."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._definitions: dict[str, Definition] = {}
        # Of the file before this one and of this one alone: syntax trees are many times as large as their text.
        self._last: dict[str, Statements] = {}
        self._now: dict[str, Statements] = {}

    def next_file(self) -> None:
        """Another file begins."""
        self._last, self._now = self._now, {}

    def definition(self, text: str) -> Definition | None:
        """What a class or a function says; None where the text is something else.

        Raises:
            SyntaxError: if it cannot be parsed.
        """
        found = self._definitions.get(text)
        if found is None:
            short = outline(text, keeping_lines=False)
            found = self._definitions.get(short)
            if found is None:
                node = only_definition(ast.parse(short).body)
                if node is None or node.name == "__getattr__":
                    return None
                found = self._definitions[short] = definition(node, WordLines(WARNING, short))
            self._definitions[text] = found
        return found

    def statements(self, text: str) -> Statements:
        """The statements of a piece, on their lines.

        Raises:
            SyntaxError: if it cannot be parsed.
        """
        found = self._now.get(text) or self._last.get(text)
        if found is None:
            short = outline(text, keeping_lines=True)
            found = ast.parse(short).body, WordLines(_MAKING, short)
        self._now[text] = found
        return found


Statements = tuple[list[ast.stmt], WordLines]
"""Statements, and where :data:`_MAKING` stands in them."""


def read_module(source: bytes, name: str, *, package: bool, cache: KnownPieces | None = None) -> ModuleFacts:
    """What a module says.

    Args:
        source: the file, in the encoding that it states.
        name: of the module, absolute.
        package: the file is its ``__init__``.
        cache: what was parsed of other files of the module.

    Raises:
        ValueError: if it is not Python 3, or too deeply nested; the message is a sentence without subject.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in strings
            found = _read_in_pieces(source, name, package, cache) if cache is not None else None
            installed = installs(source)
            found = found or _read_whole(source, name, package)
            if gives := given_names(source, name, package=package):
                found = replace(found, gives=gives)
            return found if installed is NONE else replace(found, installs=installed.paths, finder=installed.finder)
    except (SyntaxError, ValueError, LookupError):
        raise ValueError("is not Python 3 that can be parsed") from None
    except (RecursionError, MemoryError):
        raise ValueError("is nested too deeply") from None


def _read_whole(source: bytes, name: str, package: bool) -> ModuleFacts:
    reader = _Reader(name, package=package)
    reader.read(ast.parse(source).body)
    return reader.facts()


def _read_in_pieces(source: bytes, name: str, package: bool, cache: KnownPieces) -> ModuleFacts | None:
    """The same, without parsing what is known; None where it cannot be taken apart."""
    cache.next_file()
    for apart in (pieces, careful_pieces):
        reader = _Reader(name, package=package)
        found = apart(source)
        if found is None:
            return None
        try:
            for piece in found:
                known = cache.definition(piece.text) if piece.definition else None
                if known is None:
                    body, making = cache.statements(piece.text)
                    reader.read_piece(body, piece.before, making)
                else:
                    reader.define(known, piece.before)
        except (SyntaxError, ValueError, Unclosed):
            continue
        reader.end()
        return reader.facts()
    return None


def definition(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, warning_lines: WordLines | None = None
) -> Definition:
    """What a class or a function says.

    Args:
        node: the class or the function.
        warning_lines: where :data:`WARNING` stands in what it was parsed from, if that was looked for.
    """
    if not isinstance(node, ast.ClassDef):
        return Definition(
            node.name,
            None,
            {node.name: signature(node, warning_lines)},
            _is_exported(node),
            _is_registered(node),
            (),
            {},
        )
    facts, methods = class_facts(node, warning_lines)
    imports: list[tuple[int, str, str | None, int]] = []
    for inner in node.body:
        match inner:
            case ast.Import(names=names):
                imports += [(0, alias.name, None, inner.lineno) for alias in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                imports += [(level, module or "", alias.name, inner.lineno) for alias in names]
    signatures = {f"{node.name}.{method}": found for method, found in methods.items()}
    exported, registered = _is_exported(node), _is_registered(node)
    return Definition(node.name, facts, signatures, exported, registered, tuple(imports), model_facts(node))


class _Reader:
    """Gathers what the statements outside of functions do."""

    def __init__(self, name: str, *, package: bool) -> None:
        self._name = name
        self._package = package
        self._own: set[str] = set()
        self._origins: dict[str, Origin] = {}
        self._imports: list[Import] = []
        self._stars: list[str] = []
        self._listed: list[str] | None = None
        self._unlisted = False
        self._registered: set[str] = set()
        self._open: str | None = None
        self._structure = Structure()
        self._exported: set[str] = set()
        self._raises = False
        self._hook: ast.FunctionDef | None = None
        self._tables: dict[str, ast.expr] = {}
        self._signatures: dict[str, tuple[str, ...]] = {}
        self._classes: dict[str, ClassFacts] = {}
        self._models: dict[str, Mapping[str, str]] = {}
        self._before = 0
        self._making: WordLines | None = None

    def read(self, body: Sequence[ast.stmt]) -> None:
        """Take the statements of the module."""
        self.read_piece(body, 0)
        self.end()

    def read_piece(self, body: Sequence[ast.stmt], before: int, making: WordLines | None = None) -> None:
        """Take some of them, that stand behind so many lines.

        Args:
            body: the statements.
            before: how many lines.
            making: where :data:`_MAKING` stands in what they were parsed from, if that was looked for.
        """
        self._before = before
        self._making = making
        self._block(body, guarded=False, typing=False)

    def define(self, found: Definition, before: int, *, guarded: bool = False) -> None:
        """Take a class or a function, that stands behind so many lines."""
        self._own.add(found.name)
        self._origins.pop(found.name, None)
        self._signatures |= found.signatures
        if found.facts is not None:
            self._classes[found.name] = found.facts
        if found.models:
            self._models[found.name] = found.models
        if found.exported:
            self._exported.add(found.name)
        if found.registered:
            self._registered.add(found.name)
        for level, module, name, line in found.imports:
            self._imports.append(Import(self._resolved(level, module), name, line + before, guarded))

    def end(self) -> None:
        """Look at what all statements together say."""
        if self._hook is not None:
            found = answered(self._hook, self._tables)
            self._own |= found.names
            if not found.closed:
                self._note("a `__getattr__` that answers more than it lists")

    def facts(self) -> ModuleFacts:
        """What was gathered."""
        lazy = {name: self._absolute(target) for name, target in self._structure.names.items()}
        listed = None if self._listed is None or self._unlisted else tuple(sorted({*self._listed, *self._registered}))
        return ModuleFacts(
            package=self._package,
            own=frozenset(self._own),
            origins=self._origins,
            listed=listed,
            open=self._open,
            lazy=lazy,
            whole=tuple(map(self._absolute, self._structure.whole)),
            only_lazy=self._structure.replaces,
            structured=tuple(self._structure.folders),
            stars=tuple(self._stars),
            imports=tuple(self._imports),
            exported=tuple(sorted(self._exported | set(listed or ()))),
            raises=self._raises,
            signatures=self._signatures,
            classes=self._classes,
            models=self._models,
        )

    def _absolute(self, relative: str) -> str:
        return f"{self._name}.{relative}" if relative else self._name

    def _note(self, reason: str) -> None:
        self._open = self._open or reason

    def _block(self, body: Sequence[ast.stmt], *, guarded: bool, typing: bool) -> None:
        for statement in body:
            self._statement(statement, guarded=guarded, typing=typing)

    def _statement(self, node: ast.stmt, *, guarded: bool, typing: bool) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._definition(node, guarded=guarded, typing=typing)
            case ast.Import() | ast.ImportFrom():
                self._import(node, guarded=guarded, typing=typing)
            case ast.If():
                self._if(node, guarded=guarded, typing=typing)
            case ast.Try():
                self._try(node, guarded=guarded, typing=typing)
            case ast.With() | ast.AsyncWith():
                held = any("suppress" in ast.unparse(item.context_expr) for item in node.items)
                for item in node.items:
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, typing)
                self._block(node.body, guarded=guarded or held, typing=typing)
            case ast.For() | ast.AsyncFor():
                self._bind(node.target, typing)
                self._block([*node.body, *node.orelse], guarded=True, typing=typing)
            case ast.While():
                self._block([*node.body, *node.orelse], guarded=True, typing=typing)
            case ast.Match():
                for case in node.cases:
                    self._block(case.body, guarded=True, typing=typing)
            case ast.Raise():
                self._raises = self._raises or not (guarded or typing)
            case _ if not typing:
                self._simple(node)

    def _simple(self, node: ast.stmt) -> None:
        searched = self._making is None or self._making.within(node)
        self._structure.take(node, calls=searched)
        match node:
            case ast.Assign():
                for target in node.targets:
                    self._bind(target, False)
                    self._assigned(target, node.value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._bind(target, False)
                self._assigned(target, value)
            case ast.AugAssign(target=ast.Name(id="__all__"), value=value):
                self._list(value)
            case ast.AugAssign(target=target):
                self._bind(target, False)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="__all__")), args=[value])):
                self._list(value)
            case ast.Expr(value=ast.Call(args=[ast.Name(id="__name__"), ast.Dict(keys=keys)])):
                # timm: `register_model_deprecations(__name__, {"old": "new"})` gives the module these names.
                given = {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
                self._own |= given
                self._registered |= given
            case ast.Delete():
                if any(isinstance(target, ast.Name) for target in node.targets):
                    self._forget(node.targets)
        if searched:
            self._made_at_import(node)

    def _forget(self, targets: Iterable[ast.expr]) -> None:
        """Names that are deleted may be gone, or have stood elsewhere too."""
        for target in targets:
            if isinstance(target, ast.Name):
                self._own.discard(target.id)
                self._origins.pop(target.id, None)

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id="__all__"):
                self._listed, self._unlisted = None, False
                self._list(value)
            case ast.Name(id="__getattr__"):
                self._made_hook(value)
            case ast.Tuple(elts=[ast.Name(id="__getattr__"), *_]):
                if not self._structure.attached(value, self._tables):
                    self._made_hook(value)
            case ast.Name(id=name):
                self._tables[name] = value
                if isinstance(value, ast.Name) and value.id in self._classes:
                    self._origins.setdefault(name, Origin(self._name, value.id))
                if isinstance(value, ast.Lambda):
                    self._signatures[name] = signature(value)

    def _made_hook(self, value: ast.expr) -> None:
        found = answered(value, self._tables)
        self._own |= found.names
        if not found.closed:
            self._note("a `__getattr__` that is made elsewhere")

    def _list(self, value: ast.expr) -> None:
        self._listed = self._listed or []
        for part in _parts(value):
            try:
                found = ast.literal_eval(part)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                self._unlisted = True
                continue
            self._listed += [found] if isinstance(found, str) else [hit for hit in found if isinstance(hit, str)]

    def _made_at_import(self, node: ast.stmt) -> None:
        """Whether names may be made that no statement shows."""
        for inner in ast.walk(node):
            match inner:
                case ast.Lambda():
                    continue
                case ast.Subscript(value=ast.Call(func=ast.Name(id="globals" | "vars" | "locals")), ctx=ast.Store()):
                    self._note("names made at import time")
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Call(func=ast.Name(id="globals" | "vars" | "locals")), attr="update" | "setdefault"
                    )
                ):
                    self._note("names made at import time")
                case ast.Call(func=ast.Name(id="exec")):
                    self._note("names made at import time")
                case ast.Call(
                    func=ast.Name(id="setattr"), args=[ast.Subscript(value=ast.Attribute(attr="modules")), *_]
                ):
                    self._note("names made at import time")
                case ast.Subscript(
                    value=ast.Attribute(value=ast.Name(id="sys" | "_sys"), attr="modules"),
                    slice=ast.Name() | ast.Constant() as key,
                    ctx=ast.Store(),
                ) if not self._structure.replaces and (isinstance(key, ast.Name) or key.value == self._name):
                    self._note("a module that replaces itself")

    def _bind(self, target: ast.expr, typing: bool) -> None:
        if typing:
            return
        if isinstance(target, ast.Name):
            self._own.add(target.id)
            self._origins.pop(target.id, None)
        else:
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self._own.add(node.id)
                    self._origins.pop(node.id, None)

    def _definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, *, guarded: bool, typing: bool
    ) -> None:
        if typing:
            return
        self.define(definition(node), self._before, guarded=guarded)
        if node.name == "__getattr__" and isinstance(node, ast.FunctionDef):
            self._hook = node

    def _if(self, node: ast.If, *, guarded: bool, typing: bool) -> None:
        test = node.test
        if _is_typing(test):
            self._block(node.body, guarded=True, typing=True)
            self._block(node.orelse, guarded=guarded, typing=typing)
            return
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and _is_typing(test.operand):
            self._block(node.body, guarded=guarded, typing=typing)
            self._block(node.orelse, guarded=True, typing=True)
            return
        if _is_main(test):
            return
        self._block(node.body, guarded=True, typing=typing)
        self._block(node.orelse, guarded=guarded or not _is_nightly(test), typing=typing)

    def _try(self, node: ast.Try, *, guarded: bool, typing: bool) -> None:
        held = any(_catches(handler) for handler in node.handlers)
        self._block(node.body, guarded=guarded or held, typing=typing)
        for handler in node.handlers:
            self._block(handler.body, guarded=True, typing=typing)
        self._block(node.orelse, guarded=guarded or bool(node.handlers), typing=typing)
        self._block(node.finalbody, guarded=guarded, typing=typing)

    def _import(self, node: ast.Import | ast.ImportFrom, *, guarded: bool, typing: bool) -> None:
        if typing:
            return
        self._needs(node, guarded=guarded)
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                self._origins[bound] = Origin(alias.name if alias.asname else bound, "")
            return
        module = self._target(node)
        for alias in node.names:
            if alias.name == "*":
                self._stars.append(module)
            else:
                self._origins[alias.asname or alias.name] = Origin(module, alias.name)
                if (alias.asname or alias.name) == "__getattr__":
                    self._note("a `__getattr__` that is made elsewhere")

    def _needs(self, node: ast.Import | ast.ImportFrom, *, guarded: bool) -> None:
        line = node.lineno + self._before
        if isinstance(node, ast.Import):
            self._imports += [Import(alias.name, None, line, guarded) for alias in node.names]
            return
        module = self._target(node)
        self._imports += [Import(module, alias.name, line, guarded) for alias in node.names]

    def _target(self, node: ast.ImportFrom) -> str:
        return self._resolved(node.level, node.module or "")

    def _resolved(self, level: int, module: str) -> str:
        """The absolute name of a module that is named with so many dots."""
        if not level:
            return module
        parts = self._name.split(".")
        up = level - 1 if self._package else level
        parts = parts[: len(parts) - up] if up else parts
        return ".".join([*parts, module] if module else parts)


def _parts(value: ast.expr) -> Iterable[ast.expr]:
    """The summands of a list that is put together with ``+``."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        yield from _parts(value.left)
        yield from _parts(value.right)
    elif isinstance(value, (ast.List, ast.Tuple)):
        yield from value.elts
    else:
        yield value


def _is_typing(test: ast.expr) -> bool:
    match test:
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING") | ast.Constant(value=False):
            return True
        case ast.BoolOp(op=ast.Or(), values=values):
            # transformers: `TYPE_CHECKING or slow_imports`, where the second is an option of developers
            return any(map(_is_typing, values))
    return False


def _is_nightly(test: ast.expr) -> bool:
    """Does a question ask for a nightly build, as torchtune's ``is_nightly and …``? A release is none."""
    match test:
        case ast.Name(id="nightly" | "is_nightly"):
            return True
        case ast.BoolOp(op=ast.And(), values=values):
            return any(map(_is_nightly, values))
    return False


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _catches(handler: ast.ExceptHandler) -> bool:
    """May a failed import end in this handler, without getting out of it again?"""
    caught = {"BaseException"}
    if handler.type is not None:
        caught = {one.rpartition(".")[2] for one in re.findall(r"[\w.]+", ast.unparse(handler.type))}
    if not caught & _CATCHES_IMPORTS and caught & _NO_IMPORT_FAILURE == caught:
        return False
    return not (handler.body and isinstance(handler.body[-1], ast.Raise))


# What a failed import never is. Any other name may be an alias of ImportError.
_NO_IMPORT_FAILURE = {"AttributeError", "KeyError", "ValueError", "TypeError", "NameError", "IndexError"}


def _is_registered(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return any("register" in ast.unparse(decorator) for decorator in node.decorator_list)


def _is_exported(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Is it decorated so that transformers' ``define_import_structure`` takes it?"""
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(called, ast.Name) and called.id in ("export", "requires"):
            return True
    return False
