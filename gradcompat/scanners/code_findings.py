"""What has been found in a program so far, and what is to be concluded at its end."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Any

from gradcompat.formats.document import Document
from gradcompat.model.context import OptionDefault
from gradcompat.model.environment import Location, Setting, SettingValue, Skipped
from gradcompat.scanners.code_arguments import Argument, Place, arguments, said, unread_options
from gradcompat.scanners.code_calls import Known
from gradcompat.scanners.code_names import Names
from gradcompat.scanners.code_walk import Step
from gradcompat.scanners.option_defaults import is_option


@dataclass(frozen=True, slots=True)
class Called:
    """A call by the full names that it may have, one if it is certain; ``?.train`` where nobody knows whose it is."""

    names: tuple[str, ...]
    node: ast.Call


@dataclass(slots=True)
class Findings:
    """The settings, and what else counts at the end.

    Attributes:
        names: the names of the program.
        place: where a node stands.
        document: the file, for models that lie beside it.
        symbols: the names of other packages that are used, with the first place.
        refers_to: files that are named.
        drivers: what may drive the training loop, with the first place.
        trainer: an object that runs a training loop is made.
        trains: the program runs a training loop.
        checkpointing: calls that enable checkpointing, in the order of the text.
        wrapping: calls that put an adapter on the model.
        frozen: where the embeddings are frozen.
        models: variables that hold a model which the program has loaded.
        mentioned: attributes and methods that occur.
        hidden: a model is given to code of somebody else.
        called: every call whose name is known, and every one of a method ``train``.
        options: options of the command line, with their defaults and where these stand.
        defaults: settings that options of the command line give.
        decided: functions in calls that give the argument which counts instead of the default.
        dynamic: the first import by a name that is computed.
        parts: what was found in the modules of the project that it imports.
    """

    names: Names
    place: Place
    document: Document
    settings: list[Setting] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    symbols: dict[str, Location] = field(default_factory=dict)
    refers_to: list[str] = field(default_factory=list)
    drivers: dict[str, Location] = field(default_factory=dict)
    trainer: bool = False
    trains: bool = False
    checkpointing: list[Step] = field(default_factory=list)
    wrapping: list[Step] = field(default_factory=list)
    frozen: ast.AST | None = None
    models: set[str] = field(default_factory=set)
    mentioned: set[str] = field(default_factory=set)
    hidden: bool = False
    called: list[Called] = field(default_factory=list)
    options: dict[str, tuple[Any, ast.expr]] = field(default_factory=dict)
    defaults: list[OptionDefault] = field(default_factory=list)
    decided: set[ast.AST] = field(default_factory=set)
    dynamic: Location | None = None
    parts: list[Findings] = field(default_factory=list)

    def add(self, part: Findings) -> None:
        """Take in what was found in a module that the program imports."""
        self.parts.append(part)
        for name, location in part.symbols.items():
            self.symbols.setdefault(name, location)
        for name, location in part.drivers.items():
            self.drivers.setdefault(name, location)
        self.refers_to += part.refers_to
        self.defaults += part.defaults
        self.skipped += part.skipped
        self.trainer = self.trainer or part.trainer
        self.mentioned |= part.mentioned
        self.dynamic = self.dynamic or part.dynamic

    @property
    def imported(self) -> set[str]:
        """The top-level packages that the program and its modules import."""
        return set(self.names.imported).union(*(part.imported for part in self.parts))

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
        known = None if step.branch else value
        self.settings.append(Setting(key=key, value=known, location=location, spelling=spelling))

    def truth(self, step: Step, key: str, literal: object, at: ast.AST, spelling: str | None = None) -> None:
        """A setting that is true or false, and unknown for every other value."""
        self.state(step, key, literal if isinstance(literal, bool) else None, at=at, spelling=spelling)

    def feed(self, step: Step, known: Known, given: list[Argument]) -> None:
        """What arguments say; what an option of the command line gives is not known here, only its default."""
        read = [(one, None if step.branch else is_option(one.given, self.names, step.scope)) for one in given]
        for argument, option in read:
            if option in self.options:
                value, at = self.options[option]
                default = replace(argument, value=value, node=at, spelling=None)
                self.optional(step, known, default, option, argument)
        given = [argument for argument, option in read if option not in self.options]
        settings, skipped = said(known, given, self.names, step.scope, self.place, branch=step.branch)
        self.settings += settings
        self.skipped += skipped

    def optional(self, step: Step, known: Known, argument: Argument, option: str, written: Argument) -> None:
        """An argument that an option of the command line gives, with its default and as the program passes it on."""
        settings, skipped = said(known, [argument], self.names, step.scope, self.place, branch=False)
        self.skipped += skipped
        for setting in settings:
            place = self.place(written.node)
            stated = Setting(key=setting.key, value=None, location=place, spelling=written.spelling)
            self.settings.append(stated)
            self.defaults.append(OptionDefault(option=option, stated=stated, default=setting))

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

    def symbol(self, name: str, node: ast.AST) -> None:
        """A name that is used."""
        if name not in self.symbols:
            self.symbols[name] = self.place(node)
