"""``--help`` as a manual has it: what a command is for, its options, then exit statuses, files and examples.

A docstring says all of it. A line that ends with a colon and has indented lines below it begins a section::

    Say what is wrong.

    Exit status:
      0  nothing found
      1  findings

    Try:
      gradcompat explain GC-0004

Two blanks part a term from what is said of it. Lines without them are printed as they stand, so that a command can be
copied.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from gradcompat.cli.option_groups import with_exit_status
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

_TITLE = lazy_pattern(r"^(?P<title>[A-Z][a-z ]+):\n(?=  )", re.MULTILINE)
_TERM = lazy_pattern(r"(?P<term>\S+(?: \S+)*) {2,}(?P<meaning>\S.*)")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a manual behind the options: its title, and either terms with their meanings or lines as they stand."""

    title: str
    terms: tuple[tuple[str, str], ...] = ()
    lines: tuple[str, ...] = ()


def parse_sections(text: str) -> tuple[str, tuple[Section, ...]]:
    """The description and the sections of a docstring."""
    clean = inspect.cleandoc(text)
    starts = list(_TITLE.finditer(clean))
    if not starts:
        return clean, ()
    ends = [*(start.start() for start in starts[1:]), len(clean)]
    return clean[: starts[0].start()].strip(), tuple(
        _section(start["title"], clean[start.end() : end]) for start, end in zip(starts, ends, strict=True)
    )


def _section(title: str, body: str) -> Section:
    lines = inspect.cleandoc(body).splitlines()
    if _TERM.fullmatch(lines[0]) is None:
        return Section(title, lines=tuple(lines))
    terms: list[tuple[str, str]] = []
    for line in lines:
        if (found := _TERM.fullmatch(line)) is not None:
            terms.append((found["term"], found["meaning"]))
        elif line:
            term, meaning = terms[-1]  # a sentence goes on
            terms[-1] = (term, f"{meaning} {line.strip()}")
    return Section(title, terms=tuple(terms))


class Command(TyperCommand):
    """A command whose docstring may have sections, which stand behind its options.

    Attributes:
        sections: what its docstring says below the description.
    """

    def __init__(self, name: str | None, **attributes: Any) -> None:
        """As typer makes it; the sections are taken out of the help text."""
        super().__init__(name, **attributes)
        self.help, self.sections = parse_sections(self.help or "")

    def get_help(self, ctx: Any) -> str:
        """The whole manual of the command."""
        return f"{super().get_help(ctx)}{_written(self.sections, ctx)}"


class LazyCommands(Mapping[str, Any]):
    """Name → command, imported and built when it is asked for: building all of them takes longer than a check."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        """Take the names of the modules, none of which is imported yet."""
        self._modules = modules
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = build_command(name, import_module(self._modules[name]))
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


def build_command(name: str, module: ModuleType) -> Any:
    """The command of a module, or the group of a package."""
    if hasattr(module, "COMMANDS"):
        group = type("Subgroup", (Group,), {"modules": module.COMMANDS})
        return group(name=name, help=module.__doc__, no_args_is_help=True, rich_markup_mode=None)
    info = CommandInfo(name=name, cls=Command, callback=with_exit_status(module.command))
    return get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)


class Group(TyperGroup):
    """Commands, each listed with its first sentence, and sections behind them.

    Attributes:
        modules: name of a command → the module that has it.
        sections: what the help text says below the description.
    """

    modules: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **attributes: Any) -> None:
        """As typer makes it; the sections are taken out of the help text."""
        super().__init__(**attributes)
        self.commands = LazyCommands(self.modules)  # type: ignore[assignment]  # nothing is added later
        self.help, self.sections = parse_sections(self.help or "")

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # as click calls it
        """The names, without building what they stand for."""
        return list(self.commands)

    def get_help(self, ctx: Any) -> str:
        """The list of commands, and what holds for all of them."""
        return f"{super().get_help(ctx)}{_written(self.sections, ctx)}"

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each command with the whole first sentence of its help: a shortened one says little."""
        rows = [(name, first_sentence(self.commands[name].help or "")) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def first_sentence(text: str) -> str:
    """What a command does, without what follows it."""
    return re.split(r"(?<=[.:]) |\n\n", " ".join(text.split("\n\n", 1)[0].split()))[0].rstrip(".:")


def _folded(line: str, columns: int) -> list[str]:
    """A command over as many lines as it takes, before its options; a shell reads it as one."""
    lines = [""]
    for part in re.split(r" (?=--)", line):
        if lines[-1] and len(lines[-1]) + len(part) + 3 > columns:
            lines[-1] += " \\"
            lines.append(f"  {part}")
        else:
            lines[-1] += f" {part}" if lines[-1] else part
    return lines


def _written(sections: tuple[Section, ...], ctx: Any) -> str:
    formatter = ctx.make_formatter()
    for section in sections:
        with formatter.section(section.title):
            if section.terms:
                formatter.write_dl(section.terms)
            for line in section.lines:
                formatter.write("".join(f"  {one}\n" if one else "\n" for one in _folded(line, formatter.width - 2)))
    written: str = formatter.getvalue()
    return f"\n\n{written}".rstrip("\n") if written else ""
