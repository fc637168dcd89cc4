"""The manual of every command as Markdown, from the options that the commands really have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from gradcompat.cli.app import app
from gradcompat.cli.manual import Command, Group, Section
from gradcompat.renderers.record_markdown import prose


def commands() -> Iterator[tuple[Command | Group, typer.Context]]:
    """Every command as it would be called, a group before what is in it."""
    root = typer.main.get_command(app)
    yield from _below(root, typer.Context(root, info_name="gradcompat", **root.context_settings))


def _below(command: Any, context: typer.Context) -> Iterator[tuple[Command | Group, typer.Context]]:
    if not isinstance(command, (Command, Group)):
        raise TypeError(f"`{context.command_path}` is not of gradcompat.cli.manual")
    yield command, context
    if isinstance(command, Group):
        for name, one in command.commands.items():
            yield from _below(one, typer.Context(one, info_name=name, parent=context))


def manual() -> str:
    """All of them, each under a heading of its own."""
    return "\n".join(_manual(command, context) for command, context in commands())


def _manual(command: Command | Group, context: typer.Context) -> str:
    path = context.command_path
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"## {path}", "", f"`{path} {usage}`", "", _paragraphs(command.help or ""), ""]
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        rows = [
            row
            for parameter in command.get_params(context)
            if parameter.param_type_name == kind and (row := _row(parameter, context)) is not None
        ]
        if rows:
            lines += [f"**{title}**", "", *(f"* `{name}`: {_paragraphs(meaning)}" for name, meaning in rows), ""]
    for section in command.sections:
        lines += [*_section(section), ""]
    return "\n".join(lines)


def _row(parameter: Any, context: typer.Context) -> tuple[str, str] | None:
    row: tuple[str, str] | None = parameter.get_help_record(context)
    return row


def _section(section: Section) -> Iterator[str]:
    yield f"**{section.title}**"
    yield ""
    if section.terms:
        yield from (f"* `{term}`: {_paragraphs(meaning)}" for term, meaning in section.terms)
    else:
        yield from ("```sh", *section.lines, "```")


def _paragraphs(text: str) -> str:
    return "\n\n".join(prose(" ".join(paragraph.split())) for paragraph in text.split("\n\n"))
