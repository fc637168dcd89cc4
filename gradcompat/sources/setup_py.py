"""``setup.py``, as far as it is literal: ``install_requires``, ``tests_require`` and ``extras_require`` of ``setup()``.

It is parsed and never run. A list counts where it is written out, or under a name that the module binds once; so does
what :mod:`.setup_tables` can look up, and a read of a requirements file beside it
(``open("requirements.txt").read().splitlines()``), which is read as such. So is the file that code makes a list of,
with a note that says so. Whatever else makes a list is a gap.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePath

from gradcompat.budget import Budget
from gradcompat.errors import Malformed, SourceError
from gradcompat.formats.document import Document, read_beside
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.quotation import quoted, reference
from gradcompat.sources import requirements
from gradcompat.sources.joint_ranges import jointly
from gradcompat.sources.requirement import parse_requirement
from gradcompat.sources.setup_files import FilesOfRequirements, asks_for_file
from gradcompat.sources.setup_tables import Tables
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_LONGEST = 1_000_000  # characters; Python's own parser takes a hundred times as much memory
_KEYWORDS = {"install_requires": None, "tests_require": "tests", "extras_require": None}
_LINES_OF = frozenset({"splitlines", "readlines", "split"})
_READS_OF = frozenset({"read", "strip", "rstrip", "read_text", "decode"})
_LINK = lazy_pattern(r"\s*[\w.-]+\s*(?:\[[\w\s,.-]*\])?\s*@\s*(\S*)")
# What stands for a link, or for a part of one.
_SOME_LINK, _SOME_PART = "file:///computed", "computed"
MOST_STEPS = 20_000  # lists and requirements; a list may name another one twice, and that the next
_MOST_NAMES = 100  # from a name to what it is bound to
_PATHS = frozenset({"join", "Path", "open", "resolve", "absolute"})

Result = Package | Skipped


def read(document: Document) -> Environment:
    """Read the requirements that the call of ``setup`` states.

    Raises:
        Malformed: if it is not Python, or calls no ``setup``.
    """
    module = _parsed(document)
    call = next((node for node in ast.walk(module) if isinstance(node, ast.Call) and _is_setup(node.func)), None)
    if call is None:
        raise Malformed("calls no `setup()` as a setup.py does", path=document.path)
    reading = _Reading(document, module, call)
    packages: list[Package] = []
    skipped: list[Skipped] = []
    try:
        for result in reading.requirements(call):
            if isinstance(result, Package):
                packages.append(result)
            else:
                skipped.append(result)
    except RecursionError:
        raise Malformed("nests its lists too deeply", path=document.path) from None
    joint, notes = jointly(packages)
    skipped += notes
    if not packages and not skipped:
        reason = "names no requirements: they stand in pyproject.toml or setup.cfg"
        skipped.append(Skipped(what=document.path, reason=reason, gap=False, location=Location(path=document.path)))
    return Environment(source=document.path, kind="setup.py", packages=joint, closed=False, skipped=tuple(skipped))


def _parsed(document: Document) -> ast.Module:
    if len(document.text) > _LONGEST:
        raise Malformed("is too long for a setup.py", path=document.path)
    try:
        return ast.parse(document.text.removeprefix("\ufeff"))
    except SyntaxError as error:
        raise Malformed("is not Python that can be parsed", path=document.path, line=error.lineno) from None
    except (ValueError, RecursionError, MemoryError):
        raise Malformed("is not Python that can be parsed", path=document.path) from None


def _is_setup(function: ast.expr) -> bool:
    return (isinstance(function, ast.Name) and function.id == "setup") or (
        isinstance(function, ast.Attribute) and function.attr == "setup"
    )


def _is_parse(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    return name == "parse_requirements"


class _Reading:
    """The module, and what its names are bound to once."""

    def __init__(self, document: Document, module: ast.Module, call: ast.Call) -> None:
        self._document = document
        self._module, self._call = module, call
        self._bound = _bound_once(module)
        self._tables = Tables(module, self._bound)
        self._budget = Budget(MOST_STEPS)

    def requirements(self, call: ast.Call) -> Iterator[Result]:
        """What the keywords of the call ask for."""
        keywords = [one for keyword in call.keywords for one in self._unpacked(keyword)]
        stated = {keyword.arg for keyword in keywords}
        for keyword in keywords:
            if keyword.arg is None and {"install_requires", "extras_require"} <= stated:
                continue  # a keyword is given once: what is computed cannot hold these two
            if keyword.arg is None:
                reason = "passes keywords that are computed: requirements among them are not seen"
                yield Skipped(what="setup()", reason=reason, location=self._at(keyword.value))
            elif keyword.arg == "extras_require":
                yield from self._extras(keyword.value)
            elif keyword.arg in _KEYWORDS:
                yield from self._listed(keyword.value, keyword.arg, _KEYWORDS[keyword.arg])

    def _unpacked(self, keyword: ast.keyword) -> list[ast.keyword]:
        """``setup(**options)`` with the keys of a mapping that is only unpacked, as Poetry writes it."""
        value = self._value(keyword.value) if keyword.arg is None else None
        if not isinstance(value, ast.Dict) or not self._is_left_alone(keyword.value):
            return [keyword]
        keys = [key.value if isinstance(key, ast.Constant) else None for key in value.keys]
        if not all(isinstance(key, str) for key in keys):
            return [keyword]
        return [ast.keyword(arg=str(key), value=held) for key, held in zip(keys, value.values, strict=True)]

    def _is_left_alone(self, mapping: ast.expr) -> bool:
        """Is a mapping written in the call, or named nowhere else?"""
        named = [node for node in ast.walk(self._module) if isinstance(node, ast.Name)]
        uses = [node for node in named if isinstance(mapping, ast.Name) and node.id == mapping.id]
        return sum(isinstance(node.ctx, ast.Load) for node in uses) <= 1

    def _extras(self, value: ast.expr) -> Iterator[Result]:
        value = self._value(value)
        if not isinstance(value, ast.Dict):
            yield self._computed("extras_require", value)
            return
        for key, listed in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                extra = key.value.partition(":")[0]  # an old spelling has a marker behind the colon
                yield from self._listed(listed, f"extras_require.{key.value}", extra or None)
            else:
                yield self._computed("extras_require", listed)

    def _listed(self, value: ast.expr, keyword: str, extra: str | None) -> Iterator[Result]:
        self._budget.spend(1, self._document.path)
        value = self._value(value)
        if (name := self._file_read(value)) is not None:
            results = self._included(name, value)
        elif isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            results = self._elements(value.elts, keyword)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            yield from self._listed(value.left, keyword, extra)
            yield from self._listed(value.right, keyword, extra)
            return
        elif isinstance(value, ast.Constant) and isinstance(value.value, str):
            results = self._lines(value)
        elif isinstance(value, ast.Constant) and value.value is None:
            return
        elif self._tables.repeats(value):
            return  # requirements that stand elsewhere in this file
        elif (made := self._made_of(value, keyword)) is not None:
            results = iter(made)
        else:
            yield self._computed(keyword, value)
            return
        for result in results:
            yield replace(result, extras=(extra,)) if isinstance(result, Package) and extra else result

    def _elements(self, elements: Sequence[ast.expr], keyword: str) -> Iterator[Result]:
        computed: list[ast.expr] = []
        for element in elements:
            self._budget.spend(1, self._document.path)
            if isinstance(element, ast.Starred):
                yield from self._listed(element.value, keyword, None)
                continue
            value = self._value(element)
            value = self._formatted(value) if isinstance(value, ast.JoinedStr) else value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield from self._lines(value)
            elif isinstance(value, (ast.List, ast.Tuple)):  # lists in lists count as one
                yield from self._elements(value.elts, keyword)
            else:
                computed.append(element)
        if computed:
            yield self._computed(keyword, computed[0], len(computed))

    def _formatted(self, text: ast.JoinedStr) -> ast.expr:
        """``f"torch=={VERSION}"``; of ``f"trl @ file://{HERE}/trl"`` the name is enough, which no link changes."""
        parts: list[str] = []
        for part in text.values:
            value = self._value(part.value) if isinstance(part, ast.FormattedValue) else part
            plain = not isinstance(part, ast.FormattedValue) or (part.conversion == -1 and part.format_spec is None)
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and plain:
                parts.append(value.value)
            elif (link := _LINK.match("".join(parts))) is not None:
                parts.append(_SOME_PART if link[1] else _SOME_LINK)
            else:
                return text
        return ast.copy_location(ast.Constant("".join(parts)), text)

    def _lines(self, text: ast.Constant) -> Iterator[Result]:
        """The requirements of a text; one in a line of its own has its column."""
        start = self._at(text)
        lines = [line for line in str(text.value).splitlines() if line.strip() and not line.lstrip().startswith("#")]
        for line in lines:
            inside = len(lines) == 1 and text.end_lineno == text.lineno
            location = replace(start, column=(start.column or 0) + 1 if inside else None)
            yield parse_requirement(line, location)

    def _included(self, name: str, node: ast.expr) -> Iterator[Result]:
        try:
            found = requirements.read(read_beside(self._document, name))
        except SourceError as error:
            reason = f"its requirements are those of the project and were not read: {error.message}"
            yield Skipped(what=reference(name), reason=reason, location=self._at(node))
            return
        yield from found.packages
        yield from found.skipped

    @cached_property
    def _files_of_requirements(self) -> FilesOfRequirements:
        return FilesOfRequirements(self._module, self._call)

    def _made_of(self, value: ast.expr, keyword: str) -> tuple[Result, ...] | None:
        """The requirements of the files that code makes a list of; None if there are no such files."""
        names = self._files_of_requirements.of(value)
        try:
            found = [requirements.read(read_beside(self._document, name)) for name in names]
        except SourceError:
            return None
        if not found:
            return None
        files = ", ".join(map(reference, names))
        what = f"{quoted(keyword, 'extras_require')}: made of {files} by code"
        reason = "what that adds or leaves out is not seen"
        note = Skipped(what=what, reason=reason, gap=False, location=self._at(value))
        packages = (one for file in found for one in file.packages)
        return (*packages, *(one for file in found for one in file.skipped), note)

    def _file_read(self, node: ast.expr) -> str | None:
        """The file whose lines an expression is: ``open("a.txt").read().splitlines()``, or a comprehension over it."""
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
            return self._file_read(self._value(node.generators[0].iter)) or self._file(node.generators[0].iter)
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Name) and node.func.id == "list" and len(node.args) == 1:
            return self._file_read(node.args[0]) or self._file(node.args[0])
        if _is_parse(node.func) and node.args:  # of pkg_resources, or of pip
            return self._file_read(node.args[0]) or self._file(node.args[0]) or self._path(node.args[0])
        if isinstance(node.func, ast.Attribute) and node.func.attr in _LINES_OF:
            return self._file(node.func.value)
        return None

    def _file(self, node: ast.expr) -> str | None:
        """The path of a text file that an expression opens or reads, from the project's folder."""
        node = self._value(node)
        if not isinstance(node, ast.Call):
            return None
        function = node.func
        if isinstance(function, ast.Name) and function.id == "open" and node.args:
            return self._path(node.args[0])
        if isinstance(function, ast.Attribute) and function.attr in _READS_OF:
            return self._file(function.value) or self._path(function.value)
        return self._path(function.value) if isinstance(function, ast.Attribute) and function.attr == "open" else None

    def _path(self, node: ast.expr) -> str | None:
        """The last literal part of a path; what stands before it is the folder of the project, as far as is known."""
        node = self._value(node)
        parts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        texts = [part for part in parts if PurePath(part).suffix in (".txt", ".in", ".pip")]
        return texts[0] if len(texts) == 1 else None

    def _value(self, node: ast.expr) -> ast.expr:
        """What a name is bound to, if the module binds it once, and what it looks up in a table."""
        for _ in range(_MOST_NAMES):
            bound = self._bound.get(node.id) if isinstance(node, ast.Name) else None
            found = bound or self._tables.value(node)
            if found is None:
                break
            node = found
        return node

    def _computed(self, keyword: str, node: ast.expr, requirements: int = 1) -> Skipped:
        reason = "is computed when the project is built, which gradcompat never does"
        if requirements > 1:
            reason = f"{requirements} requirements are computed when the project is built, which gradcompat never does"
        return Skipped(what=quoted(keyword, "extras_require"), reason=reason, location=self._at(node))

    def _at(self, node: ast.expr) -> Location:
        return Location(path=self._document.path, line=node.lineno, column=node.col_offset + 1)


def _bound_once(module: ast.Module) -> dict[str, ast.expr]:
    """The names that the module's own level binds, and that are bound or changed nowhere else in it."""
    values: dict[str, ast.expr] = {}
    times: dict[str, int] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            times[node.id] = times.get(node.id, 0) + 1
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = node.func.value
            if isinstance(changed, ast.Name) and node.func.attr in ("append", "extend", "insert", "remove", "update"):
                times[changed.id] = times.get(changed.id, 0) + 2
        elif (
            isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name)
        ):
            times[node.value.id] = times.get(node.value.id, 0) + 2
    values.update(_assignments(module.body))
    for node in module.body:
        if isinstance(node, ast.If) and asks_for_file(node.test):
            for name, value in _assignments(node.body):
                if _is_empty(values.get(name)):
                    times[name] -= 1  # what it is where there is no such file
                values[name] = value
    return {name: value for name, value in values.items() if times.get(name) == 1}


def _assignments(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """The names that statements bind, with what to, in their order; also below ``with``."""
    for node in body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
        elif isinstance(node, ast.With):
            for item in node.items:
                if isinstance(item.optional_vars, ast.Name):
                    yield item.optional_vars.id, item.context_expr
            for name, value in _assignments(node.body):
                yield name, _with_files(value, node)


def _with_files(value: ast.expr, opening: ast.With) -> ast.expr:
    """What is made of an open file, with what opens it: other files may go under the same name."""
    files = {
        item.optional_vars.id: item.context_expr
        for item in opening.items
        if isinstance(item.optional_vars, ast.Name) and not isinstance(item.context_expr, ast.Name)
    }
    return _Opened(files).visit(value)  # type: ignore[no-any-return]


class _Opened(ast.NodeTransformer):
    """Puts what opens a file in the place of the file's name."""

    def __init__(self, files: Mapping[str, ast.expr]) -> None:
        self._files = files

    def visit_Name(self, node: ast.Name) -> ast.expr:  # ast calls it so
        return self._files.get(node.id, node)


def _is_empty(value: ast.expr | None) -> bool:
    return isinstance(value, (ast.List, ast.Tuple)) and not value.elts
