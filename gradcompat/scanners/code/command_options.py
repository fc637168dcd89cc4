"""The options of a program's own command line: of a parser, of dataclasses, of functions, and what hangs on them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradcompat.model.context import OptionFile, OptionTest
from gradcompat.scanners.code.arguments import Argument, Place, said
from gradcompat.scanners.code.calls import known
from gradcompat.scanners.code.command_functions import ROOTS, Function, commanded, is_command, parameters
from gradcompat.scanners.code.config_lookups import is_config
from gradcompat.scanners.code.dataclass_parsers import PARSERS
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.names import UNKNOWN, Names, Scope
from gradcompat.scanners.code.option_branches import Switch, switches
from gradcompat.scanners.code.option_defaults import CLIS, Option, fields, option_behind, option_of
from gradcompat.scanners.code.regions import end, start
from gradcompat.scanners.code.syntax import last_name, nodes_in
from gradcompat.scanners.code.walk import Step
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

# When the arguments of a Trainer, as a command line gives them, say that it evaluates: by `do_eval`, or by a strategy.
_EVALUATES = OptionTest(
    kind="any",
    parts=(
        OptionTest(kind="true", flags=("do_eval",), default=False, has_default=True, switched=True),
        *(
            OptionTest(kind="in", flags=(name,), default="no", has_default=True, values=("steps", "epoch"))
            for name in ("eval_strategy", "evaluation_strategy")
        ),
    ),
)
_PARSES_ARGUMENTS = lazy_pattern(r"\b(?:HfArgumentParser|TrlParser|H4ArgumentParser|parse_args_into_dataclasses)\b")
# TRL's dataclass of how a model is loaded, and its fields that programs ask for themselves, off by default.
_OF_MODELS = lazy_pattern(r"trl\.(?:\w+\.)*ModelConfig")
_SWITCHES_OF_MODELS = ("use_peft", "load_in_4bit", "load_in_8bit")
_BY_LAUNCHERS = frozenset({"local_rank"})  # options that torch's and DeepSpeed's launchers add to a command


def read_options(found: Findings, steps: Sequence[Step]) -> None:
    """The options of the program's own command line; of two with one name the defaults have to agree."""
    if not ROOTS.isdisjoint(found.names.imported):
        _commands(found, steps)
    taken_back = {node for step in steps if isinstance(step.node, ast.If) for node in _taken_back(step.node)}
    taken_back.update(node for step in steps if isinstance(step.node, ast.Assign) for node in _copied(step.node))
    found.changed = {
        step.node.attr
        for step in steps
        if isinstance(step.node, ast.Attribute) and _is_stored(step.node) and step.node not in taken_back
    }
    makers = [step for step in steps if isinstance(step.node, ast.Call) and _makes_options(step.node, found, step)]
    for step in makers:
        match step.node:
            case ast.Call(func=ast.Attribute(attr="add_argument")) as call:
                option = option_of(call, found.names, step.scope)
                if option is not None and option.name not in found.changed:
                    if isinstance(option.default, str) and is_config(option.default):
                        found.option_files.append(OptionFile(flags=option.flags, path=option.default))
                    before = found.options.get(option.name)
                    differs = before is not None and before.default != option.default
                    found.options[option.name] = replace(option, default=UNKNOWN) if differs else option
            case ast.Call() as call:
                for of_trainer, known_options in ((False, found.options), (True, found.switches)):
                    for option in _fields_of_classes(found, step, call, of_trainer=of_trainer):
                        if option.name not in found.changed and option.name not in found.options:
                            known_options[option.name] = option


def _copied(assignment: ast.Assign) -> Iterator[ast.Attribute]:
    """``self.moe`` of ``self.moe = args.moe``: an object that holds what an option says, under its name."""
    match assignment:
        case ast.Assign(
            targets=[ast.Attribute(value=ast.Name(id="self"), attr=kept) as target],
            value=ast.Attribute(value=ast.Name(), attr=name),
        ) if kept == name:
            yield target


def join_options(found: Findings) -> None:
    """What options give that another module of the program has: ``from options import get_args``."""
    modules = [found, *found.parts]
    waiting = [(one, argument) for one in modules for argument in one.waiting]
    if not waiting:
        return
    changed = set().union(*(one.changed for one in modules))
    options: dict[str, tuple[Findings, Option]] = {}
    for one in modules:
        for name, option in one.options.items():
            before = options.setdefault(name, (one, option))[1]
            if before.default != option.default:
                options[name] = one, replace(option, default=UNKNOWN)
    for one, (name, meaning, argument, tool) in waiting:
        if name in changed or name not in options:
            continue
        owner, option = options[name]
        default = replace(argument, value=option.default, node=option.node, spelling=None)
        settings, _ = said(meaning, [default], owner.names, owner.names.module, owner.place, branch=False)
        at = one.place(argument.node)
        stated = tuple(told for told in one.settings if told.value is None and told.location == at)
        if stated and option.names is None:
            found.defaults.append(option.for_argument(argument.name, tool, stated, tuple(settings)))


def _commands(found: Findings, steps: Sequence[Step]) -> None:
    """The functions whose parameters the command line gives."""
    for step in steps:
        node = step.node
        function = node if isinstance(node, Function) and is_command(node, found.names, step.scope) else None
        if isinstance(node, ast.Call):
            function = commanded(node, found.names, step.scope)
        if function is not None:
            found.names.commands[function] = parameters(function, found.names, step.scope)


def _makes_options(call: ast.Call, found: Findings, step: Step) -> bool:
    match call.func:
        case ast.Attribute(attr="add_argument"):
            return True
        case ast.Name() | ast.Attribute():
            return _makes_parser(call, found.names, step.scope)
    return False


def read_switches(found: Findings, steps: Sequence[Step]) -> None:
    """The parts that options decide: those of a parser, and names of the module that it lets the command line set."""
    names = found.names
    if _PARSES_ARGUMENTS.search(found.document.text):
        found.switched = [
            switch for step in steps if isinstance(step.node, ast.If) for switch in _evaluations(step.node)
        ]
    if not (found.options or names.rewritten or names.commands):
        return

    def option(scope: Scope, node: ast.expr) -> Option | None:
        known_option = option_behind(node, names, scope, found.options)
        return None if known_option is not None and known_option.name in _BY_LAUNCHERS else known_option

    tests = ((step.node, step.scope) for step in steps if isinstance(step.node, (ast.If, ast.IfExp)))
    found.switched += switches(tests, names, option)


def _evaluations(branch: ast.If) -> Iterator[Switch]:
    """``if training_args.do_eval: metrics = trainer.evaluate()``, by what the arguments of the Trainer say."""
    asks = (
        branch.test.values
        if isinstance(branch.test, ast.BoolOp) and isinstance(branch.test.op, ast.And)
        else [branch.test]
    )
    if any(isinstance(one, ast.Attribute) and one.attr == "do_eval" for one in asks):
        for node in nodes_in(*branch.body):
            if isinstance(node, ast.Call) and last_name(node.func) == "evaluate":
                yield start(node), end(node), _EVALUATES


def _makes_parser(call: ast.Call, names: Names, scope: Scope) -> bool:
    return any(name in CLIS or name.rpartition(".")[2] in PARSERS for name in names.resolve(call.func, scope))


def _fields_of_classes(found: Findings, step: Step, call: ast.Call, *, of_trainer: bool) -> Iterator[Option]:
    """The fields of the dataclasses that a parser takes and that are the arguments of a trainer, or are not."""
    for node in _given_classes(call):
        defined = found.names.definition(node, step.scope)
        named = (*found.names.resolve(node, step.scope), *found.names.bases(node, step.scope))
        if not of_trainer and any(map(_OF_MODELS.fullmatch, named)):
            yield from (Option(name, (name,), False, node, switched=True) for name in _SWITCHES_OF_MODELS)
        trains = any(known(base) is not None for base in found.names.bases(node, step.scope))
        if defined is None or trains is not of_trainer or not isinstance(defined[1], ast.ClassDef):
            continue
        for part in fields(defined[1], defined[0], defined[2]):
            if _place_of(found, part.names) is not None:
                literal = UNKNOWN if part.default is None else part.names.literal(part.default, part.scope)
                switched = True if isinstance(literal, bool) else None
                yield Option(part.name, (part.name,), literal, part.node, switched, part.names)


def _given_classes(call: ast.Call) -> list[ast.expr]:
    words = (word.value for word in call.keywords if word.arg in ("dataclass_types", "config_class"))
    given = call.args[0] if call.args else next(words, None)
    return given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given] if given is not None else []


def _taken_back(asking: ast.If) -> Iterator[ast.Attribute]:
    """``if args.resume_from_checkpoint: … args.resume_from_checkpoint = None``, where there is none to resume from."""
    asked = {node.attr for node in nodes_in(asking.test) if isinstance(node, ast.Attribute)}
    for node in nodes_in(*asking.body) if asked else ():
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=name) as target], value=ast.Constant(value=None)):
                if name in asked:
                    yield target


def _is_stored(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)


def read_parsed_classes(found: Findings, step: Step, call: ast.Call) -> None:
    """``HfArgumentParser((ModelArguments, MyArguments))``: the fields of what derives from TrainingArguments."""
    for node in _given_classes(call):
        defined = found.names.definition(node, step.scope)
        tool = next((base for base in found.names.bases(node, step.scope) if known(base) is not None), "")
        one = known(tool)
        if defined is None or one is None or not isinstance(defined[1], ast.ClassDef):
            continue
        place = _place_of(found, defined[0])
        if place is None:
            continue
        if one.framework is not None:
            found.drivers.setdefault(one.framework, place(defined[1]))
        for part in fields(defined[1], defined[0], defined[2]):
            if part.default is None:
                continue
            literal = part.names.literal(part.default, part.scope)
            argument = Argument(part.name, literal, part.default, None, part.default)
            switched = True if isinstance(literal, bool) else None
            option = Option(part.name, (part.name,), literal, part.default, switched)
            at = _place_of(found, part.names)
            if at is not None:
                found.optional(part.scope, one, argument, option, argument, tool, names=part.names, place=at)


def _place_of(found: Findings, names: Names) -> Place | None:
    """Where the nodes of a module stand; None if the module is not read."""
    if names is found.names:
        return found.place
    return None if names.modules is None else names.modules.place()
