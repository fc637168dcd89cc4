"""What has been found in a program so far, and what is to be concluded at its end."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar, cast

from gradcompat.formats.document import Document
from gradcompat.model.context import ConfigLookup, DataclassParser, OptionBranch, OptionDefault, OptionFile, OptionTest
from gradcompat.model.environment import Location, Setting, SettingValue, Skipped
from gradcompat.scanners.code.alike_branches import Alternative, is_arguments
from gradcompat.scanners.code.arguments import Argument, Place, arguments, is_sometimes, keys_of, said, unread_options
from gradcompat.scanners.code.calls import Known
from gradcompat.scanners.code.config_lookups import lookup
from gradcompat.scanners.code.dataclass_parsers import ParsedInput
from gradcompat.scanners.code.detectors.ungraded_calls import KERNELS, is_ungraded
from gradcompat.scanners.code.fallbacks import FUNCTIONS, has_fallback
from gradcompat.scanners.code.late_arguments import with_late_arguments
from gradcompat.scanners.code.names import UNKNOWN, Names, Scope
from gradcompat.scanners.code.option_branches import DECIDED, Block, Switch, asked, blocks, switched_by, test_of
from gradcompat.scanners.code.option_defaults import Option, is_option, named_option, option_behind, variable_option
from gradcompat.scanners.code.regions import ALWAYS, Ways, either, ways_to
from gradcompat.scanners.code.version_questions import regions
from gradcompat.scanners.code.walk import Step, taken
from gradcompat.scanners.configs import training_arguments
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace

# The content of a message, among what is mentioned.
PICTURE: Final = "content that is an image"
COMPLETIONS: Final = "samples of a prompt and its completion"

_Told = TypeVar("_Told")


_OF_TRAINER = Known(frozenset(), training_arguments.FEEDS)


@dataclass(frozen=True, slots=True)
class Called:
    """A call by the full names that it may have, one if it is certain; ``?.train`` where nobody knows whose it is."""

    names: tuple[str, ...]
    node: ast.Call


class Waiting(NamedTuple):
    """An argument that an option gives which another module of the program may have.

    Attributes:
        name: the option, by the attribute that has its value.
        known: what the arguments of the call mean.
        argument: the argument as the program passes it on.
        tool: what it is given to, by its full name; empty for a method.
    """

    name: str
    known: Known
    argument: Argument
    tool: str


@dataclass(slots=True)
class Findings:
    """The settings, and what else counts at the end.

    Attributes:
        names: the names of the program.
        place: where a node stands.
        document: the file, for models that lie beside it.
        symbols: the names of other packages that are used, with the first place.
        calls: the calls of them, each as a line (:mod:`gradcompat.terms.calls`), with the first place.
        ways: those of both that some releases alone reach, wherever they stand, and when.
        firm: those names of which a defect asks whether the program can do without, and without which it cannot.
        graded: the kernels of attention that are used where gradients are on.
        refers_to: files that are named.
        drivers: what may drive the training loop, with the first place.
        trainer: an object that runs a training loop is made.
        trains: the program runs a training loop.
        merged: of each such object and each optimizer whether it gets a model that an adapter was merged into.
        checkpointing: calls that enable checkpointing, in the order of the text.
        wrapping: calls that put an adapter on the model.
        hooks: calls that let the output of the embeddings require a gradient.
        hooked_tables: calls that put a hook of the program's own on the embeddings.
        frozen: where the embeddings are frozen.
        masking: where processors are made whose batches bring the mask of cross-attention.
        models: variables that hold a model which the program has loaded.
        mentioned: attributes and methods that occur.
        hidden: a model is given to code of somebody else.
        called: every call whose name is known, and every one of a method ``train``.
        resumed: of each call of ``train`` of a Trainer of transformers or its heirs whether it is given anything.
        resuming: the functions that load the state of a run, each with what that says.
        options: options of the command line, by the attribute that has their value.
        switches: those fields of the arguments of a trainer that the project adds.
        changed: attributes that are set, of whatever object: no option has its value then.
        waiting: arguments that options give which the module itself does not have.
        blocks: the parts of the module that may not be run, once somebody has asked.
        switched: the parts that options of the command line decide.
        options_of: what has to hold for names and calls to be used that are used in such parts alone.
        branches: what is set in branches that options of the command line decide.
        defaults: arguments that options of the command line give.
        alternatives: the arguments of a trainer, in each place that makes them.
        option_files: configs that are read unless an option of the command line names others.
        lookups: what is taken from configs and given to a tool.
        parsed: what is given to parsers of dataclasses besides the command line.
        dynamic: the first import by a name that is computed.
        own_models: the classes of the project that derive from a model of transformers.
        own_module: a class of the project derives from torch's modules alone.
        lightning_module: the first class of the project that derives from Lightning's.
        configured: of each `configure_optimizers` of Lightning's modules whether it may hand a schedule over.
        optional_calls: those that are made where an option of the command line is given, which speaks for them.
        own_losses: each `compute_loss` that a Trainer of the project has instead of the one that it inherits, and
            whether that leaves out the count of the labels; None where it is not seen to have any.
        buffers: the calls that register buffers which no checkpoint holds, and where they stand.
        gammas: the calls that make parameters called gamma or beta, and where these stand.
        added: the class, the kind and the place of each layer that a class of the program adds to one of transformers.
        saved: the folders, as expressions, that models are saved in.
        loaded: the loads of models and tokenizers: what loads, from where as an expression and as a text, the place.
        statements: what stands at the top of the program.
        parts: what was found in the modules of the project that it imports.
        files: itself and the parts, by the file that they were found in.
        told: what readers of the statements have said.
    """

    names: Names
    place: Place
    document: Document
    settings: list[Setting] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    symbols: dict[str, Location] = field(default_factory=dict)
    calls: dict[str, Location] = field(default_factory=dict)
    ways: dict[str, Ways] = field(default_factory=dict)
    firm: set[str] = field(default_factory=set)
    graded: set[str] = field(default_factory=set)
    refers_to: list[str] = field(default_factory=list)
    drivers: dict[str, Location] = field(default_factory=dict)
    trainer: bool = False
    trains: bool = False
    merged: list[bool] = field(default_factory=list)
    checkpointing: list[Step] = field(default_factory=list)
    wrapping: list[Step] = field(default_factory=list)
    hooks: list[Step] = field(default_factory=list)
    hooked_tables: list[Step] = field(default_factory=list)
    frozen: ast.AST | None = None
    masking: list[Location] = field(default_factory=list)
    models: set[str] = field(default_factory=set)
    mentioned: set[str] = field(default_factory=set)
    hidden: bool = False
    called: list[Called] = field(default_factory=list)
    resumed: list[bool] = field(default_factory=list)
    resuming: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Setting]] = field(default_factory=list)
    options: dict[str, Option] = field(default_factory=dict)
    switches: dict[str, Option] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    waiting: list[Waiting] = field(default_factory=list)
    blocks: list[Block] | None = None
    switched: list[Switch] = field(default_factory=list)
    options_of: dict[str, tuple[OptionTest, ...]] = field(default_factory=dict)
    branches: list[OptionBranch] = field(default_factory=list)
    defaults: list[OptionDefault] = field(default_factory=list)
    branched: dict[Location, str] = field(default_factory=dict)
    alternatives: list[Alternative] = field(default_factory=list)
    option_files: list[OptionFile] = field(default_factory=list)
    parsers: list[DataclassParser | None] = field(default_factory=list)
    parsed: list[ParsedInput] = field(default_factory=list)
    lookups: list[ConfigLookup] = field(default_factory=list)
    optional_calls: set[ast.AST] = field(default_factory=set)
    dynamic: Location | None = None
    own_models: list[str] = field(default_factory=list)
    own_module: bool = False
    lightning_module: Location | None = None
    configured: list[bool] = field(default_factory=list)
    own_losses: list[tuple[Location, bool | None]] = field(default_factory=list)
    buffers: list[tuple[ast.Call, Location]] = field(default_factory=list)
    gammas: list[tuple[ast.Call, Location]] = field(default_factory=list)
    added: list[tuple[str, str, Location]] = field(default_factory=list)
    saved: list[ast.expr] = field(default_factory=list)
    loaded: list[tuple[str, ast.expr, str | None, Location]] = field(default_factory=list)
    statements: list[ast.stmt] = field(default_factory=list)
    parts: list[Findings] = field(default_factory=list)
    files: dict[int, list[Findings]] = field(init=False)
    told: dict[object, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files = {id(self.document): [self]}

    def once(self, reader: Callable[[Sequence[ast.stmt]], _Told]) -> _Told:
        """What a reader says of the statements; those of a module are read once for all programs that import it."""
        if reader not in self.told:
            self.told[reader] = reader(self.statements)
        return cast("_Told", self.told[reader])

    def add(self, part: Findings, others: Sequence[Names] = ()) -> None:
        """Take in what was found in a module that the program imports; the other files may set its arguments."""
        self.parts.append(part)
        self.files.setdefault(id(part.document), []).append(part)
        for name, location in part.symbols.items():
            self._reach(name, part.ways.get(name, ALWAYS))
            self._ask(name, part.options_of.get(name))
            self.symbols.setdefault(name, location)
        for written, location in part.calls.items():
            line = with_late_arguments(written, others)
            self._reach(line, part.ways.get(written, ALWAYS))
            self._ask(line, part.options_of.get(written))
            self.calls.setdefault(line, location)
        self.firm |= part.firm
        self.graded |= part.graded
        for name, location in part.drivers.items():
            self.drivers.setdefault(name, location)
        self.refers_to += part.refers_to
        self.defaults += part.defaults
        self.branches += part.branches
        self.branched.update(part.branched)
        self.option_files += part.option_files
        self.parsers += part.parsers
        self.parsed += part.parsed
        self.lookups += part.lookups
        self.skipped += part.skipped
        self.trainer = self.trainer or part.trainer
        self.merged += part.merged
        self.masking += part.masking
        self.mentioned |= part.mentioned
        self.dynamic = self.dynamic or part.dynamic
        self.own_models += part.own_models
        self.own_module = self.own_module or part.own_module
        self.lightning_module = self.lightning_module or part.lightning_module
        self.configured += part.configured
        self.own_losses += part.own_losses
        self.buffers += part.buffers
        self.gammas += part.gammas
        self.added += part.added
        self.saved += part.saved
        self.loaded += part.loaded

    @property
    def runs_modules(self) -> bool:
        """Does anything that the program does stand in a module of its project, and was not read in its own place?"""
        return any(part.statements for part in self.parts)

    @property
    def imported(self) -> set[str]:
        """The top-level packages that the program and its modules import."""
        return {name for of_file in self.files.values() for name in of_file[0].names.imported}

    @property
    def texts(self) -> list[str]:
        """The text of the program and of each module of which something was found, once."""
        return [of_file[0].document.text for of_file in self.files.values()]

    def is_driven_by(self, *frameworks: str) -> bool:
        """Do these frameworks drive the run, one of them or several, and nothing else?"""
        drivers = {setting.value for setting in self.settings if setting.key == "training.framework"}
        return bool(drivers) and drivers.issubset(frameworks)

    def with_text(self, found: Callable[[str], object]) -> list[Findings]:
        """The parts, itself first, of files whose text has something."""
        return [one for of_file in self.files.values() if of_file[0]._has_text(found) for one in of_file]

    def _has_text(self, found: Callable[[str], object]) -> bool:
        has = self.names.has
        if found not in has:
            has[found] = bool(found(self.document.text))
        return has[found]

    def state(
        self,
        step: Step,
        key: str,
        value: SettingValue | None,
        *,
        at: ast.AST | None = None,
        spelling: str | None = None,
    ) -> None:
        """A setting; in a branch it is set, and not known to what."""
        location = self.place(step.node if at is None else at)
        own = Setting(key=key, value=value, location=location, spelling=spelling)
        stated = replace(own, value=None) if step.branch else own
        self.settings.append(stated)
        if step.branch:
            self._branch(step, [(stated, own)])

    def _branch(self, step: Step, told: Sequence[tuple[Setting, Setting]]) -> None:
        """Note what is set in a branch, if options of the command line decide whether it is taken.

        Args:
            step: what sets it.
            told: the settings without their values, and with those that they have there.
        """
        if not told or not (self.options or self.switches or self.names.rewritten or self.names.commands):
            return
        if self.blocks is None:
            self.blocks = blocks(self.names.module.node)

        test = test_of(step.node, self.blocks, lambda condition: self._asked(condition, step.scope))
        if test is not None:
            self.branches += [OptionBranch(test=test, stated=stated, own=own) for stated, own in told]

    def _asked(self, condition: ast.expr, scope: Scope) -> OptionTest | None:
        """What a condition asks of options of the command line; None if it asks none."""

        def option(node: ast.expr) -> Option | None:
            return option_behind(node, self.names, scope, self.options, self.switches)

        decided = taken(condition, scope, self.names)
        return asked(condition, self.names, scope, option) if decided is None else DECIDED[decided]

    def _chosen(self, scope: Scope, known: Known, given: Sequence[Argument], settings: Sequence[Setting]) -> None:
        """Note what options choose between: ``attn_implementation="flash_attention_2" if args.flash else "sdpa"``.

        Args:
            scope: where the arguments are written.
            known: what they mean.
            given: the arguments.
            settings: what they say.
        """
        for argument in given if self.options or self.switches or self.names.commands else ():
            node, within = argument.given, scope
            if isinstance(node, ast.Name):
                node, within = self.names.bound_once(node.id, scope) or (node, scope)
            if argument.value is not UNKNOWN or not isinstance(node, ast.IfExp):
                continue
            test = self._asked(node.test, within)
            stated = [one for one in settings if one.value is None and one.location == self.place(argument.node)]
            if test is None or not stated:
                continue
            for chosen, answer in ((node.body, test), (node.orelse, OptionTest(kind="not", parts=(test,)))):
                single = replace(argument, value=self.names.literal(chosen, within))
                own = {one.key: one for one in said(known, [single], self.names, scope, self.place, branch=False)[0]}
                self.branches += [
                    OptionBranch(test=answer, stated=one, own=own[one.key]) for one in stated if one.key in own
                ]

    def truth(self, step: Step, key: str, literal: object, at: ast.AST, spelling: str | None = None) -> None:
        """A setting that is true or false, and unknown for every other value."""
        self.state(step, key, literal if isinstance(literal, bool) else None, at=at, spelling=spelling)

    def feed(self, step: Step, known: Known, given: list[Argument], tool: str = "") -> None:
        """What arguments say; what an option of the command line gives is not known here, only its default.

        Args:
            step: the call.
            known: what its arguments mean.
            given: the arguments.
            tool: what they are given to, by its full name; empty for a method.
        """
        read = [(argument, is_option(argument.given, self.names, step.scope)) for argument in given]
        if step.branch:
            self.branched.update({self.place(argument.node): name for argument, name in read if name is not None})
            read = [(argument, None) for argument, _ in read]
        options = {id(argument): self._option_of(argument, name, step) for argument, name in read}
        for argument, _ in read:
            option = options[id(argument)]
            if option is not None:
                default = replace(argument, value=option.default, node=option.node, spelling=None)
                owner = option.names if option.names is not self.names else None
                place = owner.modules.place() if owner is not None and owner.modules is not None else None
                self.optional(
                    step.scope,
                    known,
                    default,
                    option,
                    argument,
                    tool,
                    names=owner,
                    place=place,
                    at=self.place(argument.node),
                )
        self.waiting += [
            Waiting(name, known, argument, tool)
            for argument, name in read
            if name is not None and options[id(argument)] is None
        ]
        given = [argument for argument, _ in read if options[id(argument)] is None]
        given = [argument for argument in given if not self._is_said(step.scope, known, argument)]
        if tool and not step.branch:
            given = [argument for argument in given if not self._looked_up(step.scope, known, argument, tool)]
        settings, skipped = said(known, given, self.names, step.scope, self.place, branch=step.branch)
        self.settings += settings
        self.skipped += skipped
        if not step.branch:
            self._chosen(step.scope, known, given, settings)
        if is_arguments(tool):
            told = said(known, given, self.names, step.scope, self.place, branch=False)[0] if step.branch else settings
            known_here = tuple(setting for setting in told if setting.value is not None)
            self.alternatives.append(Alternative(step.branch, tuple(settings), known_here))
        if step.branch:
            own = {one.key: one for one in said(known, given, self.names, step.scope, self.place, branch=False)[0]}
            passed = [one for one in settings if self.branched.get(one.location) not in self.options]
            self._branch(step, [(one, own.get(one.key, one)) for one in passed])

    def _option_of(self, argument: Argument, name: str | None, step: Step) -> Option | None:
        """The option that gives an argument, by its name where it is read of what a parser returns."""
        if name is not None or step.branch:
            return self.options.get(name or "")
        option = named_option(argument.given, self.names, step.scope)
        return option or (
            variable_option(argument.given, self.names, step.scope) if argument.value is UNKNOWN else None
        )

    def _is_said(self, scope: Scope, known: Known, argument: Argument) -> bool:
        """Is it a field of the Trainer's arguments, passed on to what means the same by it? Its value stands there.

        So it does where it is passed on if there is any: TRL's trainers fill the options of
        ``prepare_model_for_kbit_training`` so.
        """
        given = argument.given
        match given.body if isinstance(given, ast.IfExp) and is_sometimes(given) else given:
            case ast.Attribute(value=ast.Name() as owner, attr=name) if name not in self.options:
                if owner.id != "training_args" and not any(map(is_arguments, self.names.type_of(owner, scope))):
                    return False
                keys = keys_of(known, argument.name)
                return known.framework is None and bool(keys) and keys == keys_of(_OF_TRAINER, name)
        return False

    def _looked_up(self, scope: Scope, known: Known, argument: Argument, tool: str) -> bool:
        """Note an argument that comes from a config, if it does."""
        path = lookup(argument.given, self.names, scope) if argument.value is UNKNOWN else None
        keys = keys_of(known, argument.name)
        if path is None or not keys or (not path and self._changed(argument.given)):
            return False
        at = self.place(argument.node)
        stated = tuple(Setting(key=key, value=None, location=at, spelling=argument.spelling) for key in keys)
        self.settings += stated
        self.lookups.append(ConfigLookup(path=path, tool=tool, argument=argument.name, stated=stated))
        return True

    def _changed(self, config: ast.expr) -> bool:
        """Does the program set something in a config that it hands on as a whole?"""
        if not isinstance(config, ast.Name):
            return not isinstance(config, ast.Call)
        for store in self.names.stores:
            target: ast.expr = store.func if isinstance(store, ast.Call) else store
            while isinstance(target, (ast.Attribute, ast.Subscript)):
                target = target.value
            if isinstance(target, ast.Name) and target.id == config.id:
                return True
        return False

    def optional(
        self,
        scope: Scope,
        known: Known,
        default: Argument,
        option: Option,
        written: Argument,
        tool: str,
        *,
        names: Names | None = None,
        place: Place | None = None,
        at: Location | None = None,
    ) -> None:
        """An argument that an option of the command line gives.

        Args:
            scope: where it is written.
            known: what the arguments of the call mean.
            default: the argument with the option's default.
            option: the option.
            written: the argument as the program passes it on.
            tool: what it is given to, by its full name.
            names: those of the module that has the default, if it is another one.
            place: where the nodes of that module stand.
            at: where the argument is passed on, if that is in another module than the default.
        """
        place = place or self.place
        settings, skipped = said(known, [default], names or self.names, scope, place, branch=False)
        self.skipped += skipped
        keys = dict.fromkeys((*keys_of(known, written.name), *(setting.key for setting in settings)))
        at = at or place(written.node)
        stated = tuple(Setting(key=key, value=None, location=at, spelling=written.spelling) for key in keys)
        self.settings += stated
        self.defaults.append(option.for_argument(written.name, tool, stated, tuple(settings)))

    def arguments(self, step: Step, call: ast.Call, positional: tuple[str, ...] = ()) -> list[Argument]:
        """The arguments of a call; of those that cannot be read it is noted that they are there."""
        found, unread = arguments(call, self.names, step.scope, positional)
        self.skipped += unread_options(unread, self.place)
        return found

    def freeze(self, step: Step, at: ast.AST) -> None:
        """The embeddings get no gradient from here on."""
        self.state(step, "training.frozen_embeddings", True, at=at)
        if not step.branch:
            self.frozen = self.frozen or at

    def symbol(
        self,
        name: str,
        node: ast.AST,
        *,
        by_variable: bool = False,
        shown: ast.AST | None = None,
        by: ast.AST | None = None,
    ) -> None:
        """A name that is used, maybe by way of a variable that stands for it.

        Args:
            name: the name.
            node: what uses it.
            by_variable: it is used by way of a variable.
            shown: what a report shows, where that is not the use.
            by: what the program does before, and the name says.
        """
        if FUNCTIONS.fullmatch(name) and not has_fallback(node, self.names):
            self.firm.add(name)
        if KERNELS.fullmatch(name) and not is_ungraded(node, self.names):
            self.graded.add(name)
        self._reach(name, ways_to(node, regions(self.names, self.document.text)))
        self._ask(name, self._tests(node, by), by_variable=by_variable)
        if name not in self.symbols:
            self.symbols[name] = self.place(node if shown is None else shown)

    def call(self, line: str, node: ast.AST, *, by_variable: bool = False, by: ast.AST | None = None) -> None:
        """A call, by its line, maybe by way of a variable that stands for the function; ``by`` as of a symbol."""
        self._reach(line, ways_to(node, regions(self.names, self.document.text)))
        self._ask(line, self._tests(node, by), by_variable=by_variable)
        if line not in self.calls:
            self.calls[line] = self.place(node)

    def _tests(self, node: ast.AST, by: ast.AST | None) -> tuple[OptionTest, ...] | None:
        if not self.switched:
            return None
        test = switched_by(node, self.switched)
        if test is None and by is not None and by in self.names.nodes(type(by)):  # and stands in this file
            test = switched_by(by, self.switched)
        return None if test is None else (test,)

    def _ask(self, use: str, tests: tuple[OptionTest, ...] | None, *, by_variable: bool = False) -> None:
        """One more place of a name or a call, and what options have to say for it; None for nothing.

        What a variable stands for only where an option is set is used by way of it only there, too.
        """
        known = use in self.symbols or use in self.calls
        behind = self._set_behind(use) if by_variable else None
        if behind is not None and (not known or use in self.options_of):
            self.options_of[use] = behind
            return
        if tests is None or (known and use not in self.options_of):
            self.options_of.pop(use, None)
        else:
            self.options_of[use] = tuple(dict.fromkeys((*self.options_of.get(use, ()), *tests)))

    def _set_behind(self, use: str) -> tuple[OptionTest, ...] | None:
        """What options have to say for the class or the function that a use begins with."""
        parts = use.partition("(")[0].split(".")
        begins = (".".join(parts[:end]) for end in range(len(parts), 1, -1))
        return next((self.options_of[one] for one in begins if one in self.options_of), None)

    def _reach(self, name: str, ways: Ways) -> None:
        """One more place of a name or a call, which is reached in some ways."""
        if name not in self.symbols and name not in self.calls:
            if ways != ALWAYS:
                self.ways[name] = ways
        elif name in self.ways:
            joined = either(self.ways[name], ways)
            if joined == ALWAYS:
                del self.ways[name]
            else:
                self.ways[name] = joined
