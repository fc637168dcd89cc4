"""Python source as a syntax tree, which is all that is ever done with it: it is neither imported nor run.

The parser of CPython is not made for hostile text: a chain of 100,000 attributes crashes Python 3.10, so that chains
are measured before anything is parsed.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import Location
from gradcompat.quotation import parser_reason
from gradcompat.scanners.code.newer_strings import respelled
from gradcompat.startup.lazy_patterns import lazy_pattern

MAX_CHARACTERS = 512 * 1024
# Of the nodes of names: what each is in the module that it is imported from.
_IMPORTED = "imported"
LEAVES = (ast.Name, ast.Constant, ast.Import, ast.ImportFrom)
LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)  # behind one of these nothing of a block is reached
TRIES = tuple(getattr(ast, name) for name in ("Try", "TryStar") if hasattr(ast, name))
# The fields that hold text, operators and contexts, which are half of a tree and lead to nothing.
_TEXTS = frozenset({"id", "attr", "arg", "asname", "level", "type_comment", "kind", "conversion", "is_async", "simple"})
_MARKS = frozenset({"ctx", "op", "ops"})
_LONGEST_CHAIN = 1000
_DEEPEST = 200

# A string that is not closed ends with the line or the text, so that each sign is looked at once.
_LONG_STRING = r"""'{3}(?:[^'\\]|\\.|'(?!''))*(?:'{3})?|"{3}(?:[^"\\]|\\.|"(?!""))*(?:"{3})?"""
_SHORT_STRING = r"""'(?:[^'\\\n]|\\.)*'?|"(?:[^"\\\n]|\\.)*"?"""
# Each with all that stands in front of it: one always matches behind that, so that no place is tried twice.
_TOKEN = lazy_pattern(
    rf"""[^#\\"'()\[\]{{}},;\n.+\-*/%|^&@<>]*(?:(?P<skip>\#[^\n]*|\\(?:\r?\n)?|\Z)|(?P<string>{_LONG_STRING}|{_SHORT_STRING})"""
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>[,;\n])|(?P<chain>[.+\-*/%|^&@<>]+))",
    re.DOTALL,
)
# `self.loader: DataLoader = make()`, at the begin of a line.
_TYPED = lazy_pattern(r"^[ \t]*[\w.]+[ \t]*:[ \t]*[\w'\"][^=\n]*=(?!=)", re.MULTILINE)
_FORMAT = lazy_pattern(r"\b(?:[rR]?[fFtT]|[fFtT][rR])\Z")  # what stands in front of an f-string
_LONGEST_PREFIX = 2
_OPERATOR = lazy_pattern(r"[.+\-*/%|^&@<>(\[]")


def parse(text: str, path: str) -> ast.Module:
    """The syntax tree of a program, in which `loader: DataLoader = make()` is the same as without the type.

    The fields of classes keep theirs.

    Raises:
        Malformed: if it is no Python that this interpreter knows, with the line; or too long or nested too deeply.
    """
    if len(text) > MAX_CHARACTERS:
        raise Malformed(f"is longer than {MAX_CHARACTERS // 2**10} KiB, which is too long to read", path=path)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise Malformed("not valid Python: holds a null byte", path=path, line=line)
    deep = _too_deep(text)
    if deep is not None:
        raise Malformed("nested too deeply", path=path, line=deep)
    try:
        return _with_imported_names(_without_types(_parsed(text), text))
    except SyntaxError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise Malformed(
            f"not valid Python {version}: {parser_reason(error.msg)}", path=path, line=error.lineno or None
        ) from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise Malformed("not valid Python: holds half a character", path=path, line=line) from None
    except (RecursionError, MemoryError):
        raise Malformed("nested too deeply", path=path) from None


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of "\d", which is their business
        try:
            return ast.parse(text)
        except SyntaxError:
            if sys.version_info >= (3, 12) or (older := respelled(text)) == text:
                raise
            with suppress(SyntaxError):
                return ast.parse(older)
            raise


def _without_types(tree: ast.Module, text: str) -> ast.Module:
    if _TYPED.search(text) is None:
        return tree
    waiting: list[ast.AST] = [tree]
    for node in waiting:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            block = getattr(node, name, None)
            if not isinstance(block, list):  # a lambda's is an expression
                continue
            waiting += block
            for place, one in enumerate(() if isinstance(node, ast.ClassDef) else block):
                if isinstance(one, ast.AnnAssign) and one.value is not None:
                    block[place] = ast.copy_location(ast.Assign(targets=[one.target], value=one.value), one)
    return tree


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below a node but operators and contexts, which are half of a tree and hold nothing."""
    kind = type(node)
    if kind in _OFTEN:
        return _OFTEN[kind](node)
    found: list[ast.AST] = []
    for name in _INNER_FIELDS[kind]:
        value = getattr(node, name, None)
        if not value:  # as most fields are
            continue
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def nodes_in(*trees: ast.AST) -> list[ast.AST]:
    """Trees with all nodes below them, breadth first as :func:`ast.walk` has them, but operators and contexts."""
    found: list[ast.AST] = []
    for tree in trees:
        waiting = [tree]
        for node in waiting:
            waiting += children(node)
        found += waiting
    return found


def argument_of(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """What a call is given under a name, or at a position; None where it is given neither.

    Args:
        call: any call.
        name: of the parameter.
        position: where it may come without its name; None where it does not, or does not matter.
    """
    named = next((word.value for word in call.keywords if word.arg == name), None)
    if named is not None or position is None or len(call.args) <= position:
        return named
    return call.args[position]


def defaults_of(parameters: ast.arguments) -> dict[str, ast.expr]:
    """The defaults of a function's parameters, by their names."""
    ordered = [one.arg for one in (*parameters.posonlyargs, *parameters.args)]
    found = dict(zip(reversed(ordered), reversed(parameters.defaults), strict=False))
    by_name = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    return found | {one.arg: default for one, default in by_name if default is not None}


def calls_in(
    statements: Sequence[ast.stmt], functions: tuple[type[ast.AST], ...]
) -> Iterator[tuple[ast.Call, ast.AST | None]]:
    """The calls in the order of the text, each with the innermost of such functions that it stands in."""
    waiting: list[tuple[ast.AST, ast.AST | None]] = [(one, None) for one in reversed(statements)]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.Call):
            yield node, function
        within = node if isinstance(node, functions) else function
        waiting.extend((child, within) for child in reversed(children(node)))


def _with_imported_names(tree: ast.Module) -> ast.Module:
    """A tree whose names know what they are imported as, where that is another name and they mean nothing else."""
    renamed: dict[str, str] = {}
    waiting: list[ast.stmt] = list(tree.body)
    for statement in waiting:
        if isinstance(statement, ast.ImportFrom):
            others = {one.asname: one.name for one in statement.names if one.asname is not None}
            renamed |= {own: name for own, name in others.items() if own != name}
        elif isinstance(statement, (ast.If, *TRIES)):
            waiting += getattr(statement, "body", ())
    if not renamed:
        return tree
    used: list[ast.Name] = []
    for node in nodes_in(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name in renamed:
                used.append(node)
            case (
                ast.Name(id=name)
                | ast.arg(arg=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                renamed.pop(name, None)
    for node in used:
        if node.id in renamed:
            setattr(node, _IMPORTED, renamed[node.id])
    return tree


def last_name(node: ast.AST) -> str:
    """``prepare`` of ``accelerator.prepare``, and of ``ready`` that is imported as that; empty for what has no name."""
    match node:
        case ast.Attribute(attr=name):
            return name
        case ast.Name(id=name):
            return str(getattr(node, _IMPORTED, name))
    return ""


def is_on_lines_of(node: ast.AST, outer: ast.stmt) -> bool:
    """Does a node stand in a statement, by its line?"""
    return outer.lineno <= getattr(node, "lineno", 0) <= (outer.end_lineno or 0)


def names_beside(call: ast.Call, assignments: Iterable[ast.Assign]) -> Iterator[ast.expr]:
    """The names that a call is given, and the targets that one of some assignments puts its value into."""
    given = (*call.args, *(word.value for word in call.keywords))
    yield from (one for one in given if isinstance(one, ast.Name))
    for assignment in assignments:
        if assignment.value is call:
            yield from assignment.targets


class _InnerFields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each kind of node in which others stand."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        named = () if issubclass(kind, LEAVES) else kind._fields
        self[kind] = tuple(name for name in named if name not in _TEXTS and name not in _MARKS)
        return self[kind]


_INNER_FIELDS = _InnerFields()
# The same for what most of a tree consists of.
_OFTEN: dict[type[ast.AST], Callable[[Any], list[ast.AST]]] = {
    **dict.fromkeys((ast.Name, ast.Constant), lambda _: []),
    **dict.fromkeys((ast.Attribute, ast.keyword, ast.Expr), lambda node: [node.value]),
    ast.Call: lambda node: [node.func, *node.args, *node.keywords],
    ast.Subscript: lambda node: [node.value, node.slice],
    ast.Assign: lambda node: [*node.targets, node.value],
    ast.BinOp: lambda node: [node.left, node.right],
}


def asks_for_main(test: ast.expr) -> bool:
    """``__name__ == "__main__"``, whichever stands first."""
    match test:
        case ast.Compare(left=one, ops=[ast.Eq()], comparators=[other]):
            names = {side.id for side in (one, other) if isinstance(side, ast.Name)}
            words = {side.value for side in (one, other) if isinstance(side, ast.Constant)}
            return names == {"__name__"} and words == {"__main__"}
    return False


def _too_deep(text: str) -> int | None:
    """The line in which operators, attributes and calls follow one another without end, if there is one."""
    levels = [0]
    total = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "chain":
            levels[-1] += 1
            total += 1
        elif kind == "open":
            levels[-1] += 1  # a call or an index, which may be followed by the next
            total += 1
            levels.append(0)
        elif kind == "close":
            if len(levels) > 1:
                total -= levels.pop()
        elif kind == "end":
            if len(levels) > 1 and match["end"] == "\n":
                continue
            total -= levels[-1]
            levels[-1] = 0
        elif kind == "string" and match.end() - match.start("string") > _LONGEST_CHAIN:
            # Braces of f-strings hold expressions; outside of them there is prose.
            start = match.start("string")
            if _FORMAT.search(text, max(0, start - _LONGEST_PREFIX), start):
                total_here = sum(len(_OPERATOR.findall(part)) for part in _braces(match["string"]))
                if total_here > _LONGEST_CHAIN:
                    return text.count("\n", 0, start) + 1
        if total > _LONGEST_CHAIN or len(levels) > _DEEPEST:
            return text.count("\n", 0, match.start()) + 1
    return None


def _braces(string: str) -> list[str]:
    return [piece for piece in re.split(r"[{}]", string)[1::2] if len(piece) > _LONGEST_CHAIN]


def places_in(document: Document) -> Callable[[ast.AST], Location]:
    """Where the nodes of a file's tree stand."""
    lines = re.split(r"\r\n|\r|\n", document.text)

    def place(node: ast.AST) -> Location:
        line = getattr(node, "lineno", None)
        if line is None:
            return Location(path=document.path)
        # The tree counts bytes.
        before = lines[line - 1].encode()[: node.col_offset] if line <= len(lines) else b""  # type: ignore[attr-defined]
        return Location(path=document.path, line=line, column=len(before.decode(errors="ignore")) + 1)

    return place
