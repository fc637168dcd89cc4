"""Where a program goes only with some releases of a package: behind ``if Version(torch.__version__) < Version("2.0")``.

So it is with ``if platform.system() == "Windows"``, which asks for the system as for a release. Which way the program
goes is decided where a version is known, by the matcher. A question is read off its text, also through a
name that is bound once and a function of the project that only returns the answer. Everything else in a condition may
be true or not.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradcompat.model.release_question import PLATFORM, Operator, ReleaseQuestion
from gradcompat.requirements.names import normalise
from gradcompat.scanners.code.names import Imported, Names, Scope
from gradcompat.scanners.code.regions import ALWAYS, Region, Ways, around, both, either, ways_to
from gradcompat.scanners.code.syntax import LEAVES, LEAVING, children
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

# A text without any of these words asks nothing itself.
# Each begins with a letter that is written out, by which a search is fast.
_ASKING = lazy_pattern(r"__version__|metadata|get_distribution|is_\w+_version|compare_versions|platform|os\.name")
_PARSING = frozenset({"Version", "parse", "parse_version", "LooseVersion", "StrictVersion", "TorchVersion"})
_PARSERS = frozenset({"packaging", "distutils", "pkg_resources", "setuptools", "looseversion", "torch"})
_METADATA = frozenset({"importlib.metadata.version", "importlib_metadata.version"})
# Functions of libraries that compare: of torch's version, and of the package that they are told.
_OF_TORCH = lazy_pattern(r"(?:accelerate|transformers|diffusers)\.(?:\w+\.)*is_torch_version")
_OF_ANY = lazy_pattern(r"(?:accelerate|transformers|diffusers)\.(?:\w+\.)*(?:compare_versions|is_\w+_version)")
_NAMED_IN_IT = lazy_pattern(r"is_(\w+)_version")
_OPERATORS: dict[type[ast.cmpop], Operator] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_TURNED: dict[Operator, Operator] = {"<": ">", "<=": ">=", "==": "==", "!=": "!=", ">": "<", ">=": "<="}
_BY_TEXT: dict[str, Operator] = {text: text for text in _OPERATORS.values()}
_FIELDS = {"major": (0, 1), "minor": (1, 2), "micro": (2, 3), "release": None}
# What the system is called by what asks for it, and by sys.platform.
_SYSTEMS = {
    "sys.platform": {"linux": "linux", "linux2": "linux", "darwin": "darwin", "win32": "win32"},
    "platform.system": {"linux": "linux", "darwin": "darwin", "windows": "win32"},
    "os.name": {"nt": "win32"},
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEEPEST = 8
_ROUNDS = 3  # of functions that are only called by such ones

_Part = tuple["int | None", "int | None"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What an expression takes of a version: the text of it, or what is made of that.

    Attributes:
        package: whose version it is.
        reading: ``raw`` for the text as it is, ``parsed``, ``texts`` and ``numbers`` for parts between dots; of the
            system what gives its name.
        part: which of the parts, or of the characters of a text.
        single: one part, and no list of them.
    """

    package: str
    reading: str
    part: _Part | None = None
    single: bool = False


def regions(names: Names, text: str) -> tuple[Region, ...]:
    """The parts of a module that some releases alone reach."""
    if names.regions is None:
        names.regions = tuple(_Walk(names).run()) if _ASKING.search(text) or _takes_from_project(names) else ()
    return names.regions


def _takes_from_project(names: Names) -> bool:
    """Does a module import another one of the project, which may have the question or the answer?"""
    modules = names.modules
    return bool(names.relative) or (
        modules is not None and any(modules.find(name) is not None for name in names.imported)
    )


class _Walk:
    """Looks for the conditions of a module."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._found: list[Region] = []

    def run(self) -> list[Region]:
        """The regions of the module."""
        tree = self._names.module.node
        functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        waiting: list[tuple[ast.AST, Scope]] = [(tree, self._names.module)]
        while waiting:
            node, scope = waiting.pop()
            if isinstance(node, LEAVES):
                continue
            inner = self._names.scopes.get(node, scope)
            if isinstance(node, _FUNCTIONS) and not isinstance(scope.node, ast.ClassDef) and not node.decorator_list:
                functions.append(node)
            self._look(node, inner)
            waiting += [(child, inner) for child in children(node)]
        if self._found and not (self._names.is_imported or self._names.rewritten):
            self._follow_calls(tree, functions)
        return self._found

    def _look(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.IfExp(test=test, body=then, orelse=instead):
                yes, no = self._ways(test, scope)
                self._under(yes, [then])
                self._under(no, [instead])
            case ast.BoolOp(op=operator, values=values):
                for index, value in enumerate(values[:-1]):
                    yes, no = self._ways(value, scope)
                    self._under(yes if isinstance(operator, ast.And) else no, values[index + 1 :])
            case ast.expr():
                return  # holds no statements
            case _:
                for name in ("body", "orelse", "finalbody"):
                    block = getattr(node, name, None)
                    if isinstance(block, list):
                        self._look_into(block, scope)

    def _look_into(self, block: Sequence[ast.stmt], scope: Scope) -> None:
        for index, statement in enumerate(block):
            rest = block[index + 1 :]
            match statement:
                case ast.If(test=test, body=body, orelse=otherwise):
                    yes, no = self._ways(test, scope)
                    self._under(yes, body)
                    self._under(no, otherwise)
                    if _leaves(body):
                        self._under(no, rest)
                    if otherwise and _leaves(otherwise):
                        self._under(yes, rest)
                case ast.Assert(test=test):
                    self._under(self._ways(test, scope)[0], rest)

    def _under(self, ways: Ways, nodes: Sequence[ast.AST]) -> None:
        if nodes and ways != ALWAYS:
            self._found.append(around(nodes, ways))

    def _follow_calls(self, tree: ast.AST, functions: Sequence[ast.FunctionDef | ast.AsyncFunctionDef]) -> None:
        """What a function does that only such places mention is reached as they are; methods others may call."""
        mentions: dict[str, list[ast.AST]] = {}
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                    mentions.setdefault(name, []).append(node)
        once = [one for one in functions if [two.name for two in functions].count(one.name) == 1]
        for _ in range(_ROUNDS):
            before = len(self._found)
            for function in list(once):
                ways: Ways = ()
                for mention in mentions.get(function.name, ()):
                    if not around([function]).holds(mention):
                        ways = either(ways, ways_to(mention, self._found))
                if ways and ways != ALWAYS:
                    once.remove(function)
                    self._under(ways, function.body)
            if len(self._found) == before:
                break

    # Conditions

    def _ways(self, test: ast.AST, scope: Scope, depth: int = 0) -> tuple[Ways, Ways]:
        """When a condition may be true, and when it may be false."""
        if depth >= _DEEPEST:
            return ALWAYS, ALWAYS
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yes, no = self._ways(operand, scope, depth + 1)
                return no, yes
            case ast.BoolOp(op=operator, values=values):
                parts = [self._ways(value, scope, depth + 1) for value in values]
                if isinstance(operator, ast.Or):
                    parts = [(no, yes) for yes, no in parts]
                all_of, any_not = parts[0]
                for yes, no in parts[1:]:
                    all_of, any_not = both(all_of, yes), either(any_not, no)
                return (any_not, all_of) if isinstance(operator, ast.Or) else (all_of, any_not)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                question = self._compared(left, _OPERATORS.get(type(operator)), right, scope)
            case ast.Call():
                question = self._called(test, scope)
                if question is None:
                    return self._of_function(test, scope, depth)
            case ast.Name() | ast.Attribute():
                bound = self._bound(test, scope)
                if bound is None:
                    return ALWAYS, ALWAYS
                return _Walk(bound[0])._ways(bound[1], bound[2], depth + 1)
            case _:
                question = None
        return (ALWAYS, ALWAYS) if question is None else (((question,),), ((question.opposite,),))

    def _of_function(self, call: ast.Call, scope: Scope, depth: int) -> tuple[Ways, Ways]:
        """``def is_new(): return Version(torch.__version__) >= Version("2.0")``."""
        defined = None if call.args or call.keywords else self._names.definition(call.func, scope)
        if defined is None or not isinstance(defined[1], ast.FunctionDef):
            return ALWAYS, ALWAYS
        owner, function, _ = defined
        body = [one for one in function.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
        match body:
            case [ast.Return(value=ast.expr() as answer)]:
                return _Walk(owner)._ways(answer, owner.scopes.get(function, owner.module), depth + 1)
        return ALWAYS, ALWAYS

    def _called(self, call: ast.Call, scope: Scope) -> ReleaseQuestion | None:
        """``torch.__version__.startswith("1.")``, ``is_torch_version("<", "2.0")``."""
        match call:
            case ast.Call(func=ast.Attribute(value=owner, attr="startswith"), args=[given]):
                asked = self._asked(owner, scope)
                start = self._names.literal(given, scope)
                if asked is not None and asked.reading == "sys.platform" and isinstance(start, str):
                    return ReleaseQuestion(package=PLATFORM, operator="startswith", literal=start, reading="text")
                if asked is None or asked.reading != "raw" or asked.part is not None or not isinstance(start, str):
                    return None
                return ReleaseQuestion(package=asked.package, operator="startswith", literal=start, reading="text")
        given_texts = [self._names.literal(given, scope) for given in call.args]
        if call.keywords or not given_texts or not all(isinstance(text, str) for text in given_texts):
            return None
        for name in self._names.resolve(call.func, scope):
            if _OF_TORCH.fullmatch(name):
                given_texts.insert(0, "torch")
            elif not _OF_ANY.fullmatch(name):
                continue
            elif (of := _NAMED_IN_IT.fullmatch(name.rpartition(".")[2])) is not None:
                given_texts.insert(0, of.group(1))
            match given_texts:
                case [package, text, release] if text in _BY_TEXT:
                    return ReleaseQuestion(package=normalise(package), operator=_BY_TEXT[text], literal=release)
        return None

    def _compared(
        self, left: ast.expr, operator: Operator | None, right: ast.expr, scope: Scope
    ) -> ReleaseQuestion | None:
        if operator is None:
            return None
        asked, other = self._asked(left, scope), right
        if asked is None:
            asked, other, operator = self._asked(right, scope), left, _TURNED[operator]
        if asked is None:
            return None
        literal = self._literal(other, scope)
        if asked.package == PLATFORM:
            return _of_system(asked.reading, operator, literal)
        match asked, literal:
            case _Asked(reading="raw", part=None), str():
                # torch's own is compared as a version, whatever with.
                reading = "release" if asked.package == "torch" else "text"
                question = ReleaseQuestion(package=asked.package, operator=operator, literal=literal)
                return question if reading == "release" else replace(question, reading="text")
            case _Asked(reading="raw"), str():
                return ReleaseQuestion(
                    package=asked.package, operator=operator, literal=literal, reading="text", part=asked.part
                )
            case _Asked(reading="parsed"), str():
                return ReleaseQuestion(package=asked.package, operator=operator, literal=literal)
            case _Asked(reading="texts", single=True), str() if literal.isdigit() and operator in ("==", "!="):
                numbers = (int(literal),)
            case _Asked(reading="numbers", single=True), int():
                numbers = (literal,)
            case _Asked(reading="numbers", single=False), list() if all(type(one) is int for one in literal):
                numbers = tuple(literal)
            case _:
                return None
        return ReleaseQuestion(
            package=asked.package, operator=operator, literal=numbers, reading="numbers", part=asked.part
        )

    def _literal(self, node: ast.expr, scope: Scope) -> object:
        """``Version("2.0")`` is "2.0"; what is not known is no text and no number."""
        found = self._followed(node, scope)
        if isinstance(found[0], ast.Call) and self._parses(found[0], found[1], found[2]):
            return found[1].literal(found[0].args[0], found[2])
        return self._names.literal(node, scope)

    def _parses(self, call: ast.Call, names: Names, scope: Scope) -> bool:
        full = names.resolve(call.func, scope)
        return (
            len(call.args) == 1
            and not call.keywords
            and bool(full)
            and all(name.rpartition(".")[2] in _PARSING and name.partition(".")[0] in _PARSERS for name in full)
        )

    def _asked(self, node: ast.AST, scope: Scope, depth: int = 0) -> _Asked | None:
        """What an expression takes of the version of a package; None if it is something else."""
        if depth >= _DEEPEST:
            return None
        match node:
            case ast.Attribute(value=owner, attr=("major" | "minor" | "micro" | "release") as field):
                inner = self._asked(owner, scope, depth + 1)
                if inner is None or inner.reading != "parsed":
                    return None
                return replace(inner, reading="numbers", part=_FIELDS[field], single=field != "release")
            case ast.Attribute(value=owner, attr="base_version" | "public"):
                inner = self._asked(owner, scope, depth + 1)
                if inner is not None and inner.reading == "parsed":
                    return replace(inner, reading="raw")
            case ast.Attribute(value=ast.Call(func=called, args=[given]), attr="version"):
                if self._names.resolve(called, scope) == ("pkg_resources.get_distribution",):
                    return self._of_distribution(given, scope)
            case ast.Subscript(value=owner, slice=chosen):
                return self._part(self._asked(owner, scope, depth + 1), chosen)
            case ast.ListComp(elt=element, generators=[made]) | ast.GeneratorExp(elt=element, generators=[made]):
                match element, made:
                    case ast.Call(func=ast.Name(id="int"), args=[ast.Name(id=one)]), ast.comprehension(
                        target=ast.Name(id=other), iter=over, ifs=[]
                    ) if one == other:
                        return _as_numbers(self._asked(over, scope, depth + 1))
            case ast.Call():
                return self._of_call(node, scope, depth)
        return self._of_name(node, scope, depth)

    def _of_call(self, call: ast.Call, scope: Scope, depth: int) -> _Asked | None:
        match call:
            case ast.Call(
                func=ast.Attribute(value=owner, attr="split"), args=[ast.Constant(value=("." | "+") as sign), *_]
            ):
                inner = self._asked(owner, scope, depth + 1)
                if inner is None or inner.reading != "raw" or inner.part is not None:
                    return None
                # Of `2.5.1+cu124` what stands before the sign is the whole version.
                return replace(inner, reading="texts" if sign == "." else "with build")
            case ast.Call(func=ast.Name(id="int"), args=[given]):
                inner = _as_numbers(self._asked(given, scope, depth + 1))
                return inner if inner is not None and inner.single else None
            case ast.Call(func=ast.Name(id="tuple" | "list"), args=[given]):
                return self._asked(given, scope, depth + 1)
            case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="int"), given]):
                return _as_numbers(self._asked(given, scope, depth + 1))
            case ast.Call(func=ast.Name(id="str"), args=[given]):
                return self._asked(given, scope, depth + 1)
            case ast.Call(func=ast.Attribute(value=owner, attr="lower"), args=[], keywords=[]):
                inner = self._asked(owner, scope, depth + 1)
                return inner if inner is not None and inner.package == PLATFORM else None
        if not (call.args or call.keywords) and self._names.resolve(call.func, scope) == ("platform.system",):
            return _Asked(PLATFORM, "platform.system")
        if self._names.resolve(call.func, scope) in {(name,) for name in _METADATA} and call.args:
            return self._of_distribution(call.args[0], scope)
        if self._parses(call, self._names, scope):
            inner = self._asked(call.args[0], scope, depth + 1)
            if inner is not None and inner.reading in ("raw", "parsed") and inner.part is None:
                return replace(inner, reading="parsed")
        return None

    def _part(self, inner: _Asked | None, chosen: ast.expr) -> _Asked | None:
        """``[0]``, ``[:2]`` of a list of parts, of a text, of what stands around the build."""
        if inner is None or inner.part is not None or inner.single:
            return None
        match chosen:
            case ast.Constant(value=0) if inner.reading == "with build":
                return replace(inner, reading="raw")
            case ast.Constant(value=int(index)) if index >= 0 and inner.reading in ("texts", "numbers", "raw"):
                return replace(inner, part=(index, index + 1), single=inner.reading != "raw")
            case ast.Slice(lower=None | ast.Constant(value=0), upper=ast.Constant(value=int(stop)), step=None):
                return replace(inner, part=(0, stop)) if stop > 0 and inner.reading != "parsed" else None
        return None

    def _of_name(self, node: ast.AST, scope: Scope, depth: int) -> _Asked | None:
        """``torch.__version__``, or a name that is bound once to something of a version."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        full = self._names.resolve(node, scope)
        if full in (("sys.platform",), ("os.name",)):
            return _Asked(PLATFORM, full[0])
        if len(full) == 1 and full[0].endswith(".__version__") and not full[0].startswith("."):
            root, *inside = full[0].split(".")[:-1]
            if not inside or (root, inside) in (("lightning", ["pytorch"]), ("torch", ["version"])):
                return _Asked(normalise(root), "raw")
            return None
        bound = self._bound(node, scope)
        return None if bound is None else _Walk(bound[0])._asked(bound[1], bound[2], depth + 1)

    def _of_distribution(self, given: ast.expr, scope: Scope) -> _Asked | None:
        name = self._names.literal(given, scope)
        return _Asked(normalise(name), "raw") if isinstance(name, str) else None

    def _followed(self, node: ast.expr, scope: Scope) -> tuple[ast.AST, Names, Scope]:
        """What a name that is bound once stands for."""
        bound = self._bound(node, scope)
        return (node, self._names, scope) if bound is None else (bound[1], bound[0], bound[2])

    def _bound(self, node: ast.AST, scope: Scope) -> tuple[Names, ast.expr, Scope] | None:
        """The one expression that a name is bound to, here or in the module of the project that it comes from."""
        if isinstance(node, ast.Name):
            found = self._names.bindings(node.id, scope)
            match found:
                case [ast.expr() as value], owner if not self._names.rewritten:
                    return self._names, value, owner
                case [Imported(name=full)], _ if self._names.modules is not None:
                    elsewhere = self._names.modules.find(full)
                    if elsewhere is not None and not elsewhere[0].rewritten:
                        match elsewhere[0].module.names.get(elsewhere[1]):
                            case [ast.expr() as value]:
                                return elsewhere[0], value, elsewhere[0].module
        return None


def _as_numbers(asked: _Asked | None) -> _Asked | None:
    return replace(asked, reading="numbers") if asked is not None and asked.reading == "texts" else None


def _of_system(by: str, operator: Operator, literal: object) -> ReleaseQuestion | None:
    """``platform.system() == "Windows"``, by the name that ``sys.platform`` has for the system."""
    if not isinstance(literal, str) or operator not in ("==", "!="):
        return None
    if by == "os.name" and literal == "posix":  # whatever is not Windows
        literal, operator = "nt", "!=" if operator == "==" else "=="
    name = _SYSTEMS[by].get(literal.lower())
    if name is None:
        return None
    return ReleaseQuestion(package=PLATFORM, operator=operator, literal=name, reading="text")


def _leaves(body: Sequence[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return ast.unparse(last.value.func) in ("exit", "quit", "sys.exit", "os._exit")
    return isinstance(last, LEAVING)
