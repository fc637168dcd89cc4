"""Parsers that fill dataclasses: ``HfArgumentParser((ModelArguments, TrainingArguments))`` and TRL's ``TrlParser``."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradcompat.model.context import DataclassParser, LaunchOption
from gradcompat.scanners.code.arguments import Place
from gradcompat.scanners.code.called_classes import full_name
from gradcompat.scanners.code.names import PARSING, Names, Scope
from gradcompat.scanners.code.syntax import argument_of
from gradcompat.startup.lazy_dataclasses import dataclass, replace

PARSERS = frozenset({"HfArgumentParser", "TrlParser"})
_CONFIG_READERS = frozenset({"TrlParser"})
_PACKAGES = ("transformers.", "trl.")
_DEEPEST = 8  # of dataclasses that inherit from one another
_DATACLASS = ("dataclasses.dataclass",)
# In the text of a program: its parsers take more than the fields of dataclasses, or pass over what they do not know.
_LENIENT = (
    "add_argument",
    "parse_known_args",
    "return_remaining_strings",
    "fail_with_unknown_args",
    "allow_extra_keys",
)


# The methods that fill the dataclasses with something else than the command line, and their first argument.
_METHODS = {"parse_dict": "args", "parse_yaml_file": "yaml_file", "parse_json_file": "json_file"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedInput:
    """What a program gives to a parser of dataclasses besides its command line.

    Attributes:
        files: the paths of configs.
        keys: those of a literal mapping.
        argument: the config that stands alone on the command line.
    """

    files: tuple[str, ...] = ()
    keys: tuple[LaunchOption, ...] = ()
    argument: bool = False


def is_lenient(text: str) -> bool:
    """May a parser of this program take an option that is no field of a dataclass?"""
    return any(word in text for word in _LENIENT)


def dataclass_parser(call: ast.Call, scope: Scope, names: Names) -> DataclassParser | None:
    """The parser that a call makes; None where one of its dataclasses is not seen as a whole.

    Args:
        call: of ``HfArgumentParser`` or ``TrlParser``.
        scope: where it stands.
        names: of the module.
    """
    parser = full_name(call.func, scope, names)
    words = (word.value for word in call.keywords if word.arg == "dataclass_types")
    given = call.args[0] if call.args else next(words, None)
    if parser is None or not parser.startswith(_PACKAGES) or given is None:
        return None
    nodes = _elements(given, scope, names)
    classes: dict[str, None] = {}
    own: set[str] = set()
    if nodes is None or not all(_gather(node, scope, names, classes, own, 0) for node in nodes) or not classes:
        return None
    last = parser.rpartition(".")[2]
    return DataclassParser(classes=tuple(classes), own=frozenset(own), reads_config=last in _CONFIG_READERS)


def filled_class(node: ast.expr, scope: Scope, names: Names) -> tuple[str, ...]:
    """The class of what a parser of dataclasses fills: ``_, args = parser.parse_args_into_dataclasses()``.

    Args:
        node: the name that is used.
        scope: where it stands.
        names: of the module.
    """
    bound = names.bindings(node.id, scope) if isinstance(node, ast.Name) else None
    if bound is None or not isinstance(node, ast.Name):
        return ()
    values, within = bound
    place = within.parsed.get(node.id)
    calls = within.unpacked.get(node.id, [])
    match values:
        case [ast.Subscript(value=whole, slice=ast.Constant(value=int(place)))]:
            calls = [whole]
    for call in calls:
        match call:
            case ast.Call(func=ast.Attribute(value=parser, attr=method)) if method in PARSING and place is not None:
                nodes = _filled(parser, within, names)
                if place < len(nodes):
                    return names.resolve(nodes[place], within) or tuple(names.bases(nodes[place], within))
    return ()


def _filled(parser: ast.expr, scope: Scope, names: Names) -> list[ast.expr]:
    """The dataclasses of ``HfArgumentParser((A, B))``, or of a name that is bound to it alone."""
    if isinstance(parser, ast.Name):
        bound = names.bindings(parser.id, scope)
        match None if bound is None else bound[0]:
            case [ast.Call() as made]:
                parser = made
    if not isinstance(parser, ast.Call) or not any(
        name.startswith(_PACKAGES) and name.rpartition(".")[2] in PARSERS for name in names.resolve(parser.func, scope)
    ):
        return []
    given = argument_of(parser, "dataclass_types", 0)
    return (_elements(given, scope, names) or []) if given is not None else []


def fills_own_alone(call: ast.Call, scope: Scope, names: Names) -> bool:
    """Are all dataclasses that a parser fills those of the program, which inherit no field of a library?

    Args:
        call: of ``HfArgumentParser`` or ``TrlParser``.
        scope: where it stands.
        names: of the module.
    """
    given = argument_of(call, "dataclass_types", 0)
    nodes = _elements(given, scope, names) if given is not None else None
    classes: dict[str, None] = {}
    return bool(nodes) and all(_gather(node, scope, names, classes, set(), 0) for node in nodes or ()) and not classes


def parsed_input(call: ast.Call, scope: Scope, names: Names, place: Place) -> ParsedInput | None:
    """What a call gives to a parser of dataclasses; None for any other call, and where that is not literal.

    Args:
        call: of a method.
        scope: where it stands.
        names: of the module.
        place: where its nodes stand.
    """
    word = _METHODS.get(call.func.attr) if isinstance(call.func, ast.Attribute) else None
    words = (keyword.value for keyword in call.keywords if keyword.arg == word)
    given = call.args[0] if call.args else next(words, None)
    if word is None or given is None:
        return None
    if any(isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.argv" for node in ast.walk(given)):
        return ParsedInput(argument=True)
    match _literal(given, scope, names):
        case ast.Constant(value=str(path)):
            return ParsedInput(files=(path,))
        case ast.Dict(keys=keys) if word == "args":
            return ParsedInput(
                keys=tuple(
                    LaunchOption(name=key.value, value=None, location=place(key))
                    for key in keys
                    if isinstance(key, ast.Constant) and isinstance(key.value, str)
                )
            )
    return None


def with_inputs(parser: DataclassParser, inputs: Iterable[ParsedInput]) -> DataclassParser:
    """The parser with all that calls give to it."""
    for given in inputs:
        parser = replace(
            parser,
            files=(*parser.files, *given.files),
            keys=(*parser.keys, *given.keys),
            reads_argument=parser.reads_argument or given.argument,
        )
    return parser


def _literal(node: ast.expr, scope: Scope, names: Names) -> ast.expr:
    """The one value of a name; the node itself where there is none."""
    if isinstance(node, ast.Name):
        bound = names.bindings(node.id, scope)
        match None if bound is None else bound[0]:
            case [ast.expr() as value]:
                return value
    return node


def _elements(node: ast.expr, scope: Scope, names: Names) -> list[ast.expr] | None:
    if isinstance(node, ast.Name):
        bound = names.bindings(node.id, scope)
        match None if bound is None else bound[0]:
            case [(ast.Tuple() | ast.List()) as several]:
                return several.elts
            case [ast.expr()]:
                return None
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]


def _gather(node: ast.AST, scope: Scope, names: Names, classes: dict[str, None], own: set[str], depth: int) -> bool:
    """Take in the fields of a dataclass and of what it inherits from; False where they are not all seen."""
    if depth > _DEEPEST:
        return False
    full = full_name(node, scope, names)
    if full is not None:
        classes[full] = None
        return True
    defined = names.definition(node, scope)
    match defined:
        case (owner, ast.ClassDef(bases=bases, keywords=[], decorator_list=decorators, body=body), within):
            written = (one.func if isinstance(one, ast.Call) else one for one in decorators)
            if any(owner.resolve(one, within) != _DATACLASS for one in written):
                return False
            for statement in body:
                match statement:
                    case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                        own.add(name)
                    case ast.FunctionDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
                        continue
                    case _:
                        return False
            return all(_gather(base, within, owner, classes, own, depth + 1) for base in bases)
    return False
