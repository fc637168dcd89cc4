"""The whole command line: every command, and the options before it."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcompat.cli.commands import COMMANDS
from gradcompat.cli.console import print_version
from gradcompat.cli.manual import Group
from gradcompat.errors import UsageError


class Root(Group):
    """Every command of ``gradcompat``."""

    modules = COMMANDS


app = typer.Typer(
    cls=Root,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain text starts faster and reads the same in a log
    help="""Finds known training defects in an environment or a lockfile: which versions, under which settings, make
    training wrong, and the smallest change that makes it right.

    `gradcompat COMMAND --help` shows a command in full.

    Exit status:
      0  clean
      1  findings
      2  wrong usage, or nothing could be read
      3  incomplete: something could not be checked
      70  an error in gradcompat itself
      74  what it prints could not be written

    Files:
      gradcompat.toml  the nearest one keeps a project's options
      pyproject.toml   keeps the same in `[tool.gradcompat]`
      knowledge/       the records, in a checkout; what is installed has them inside

    Environment:
      VIRTUAL_ENV, CONDA_PREFIX  the active environment, which is read where no target is named
      GRADCOMPAT_CACHE           where answers of a package index and measured releases are kept
      PIP_*, UV_*                the package index that pip and uv use is used
      GRADCOMPAT_TRACEBACK       if set, an error in gradcompat itself is printed with its traceback
      COLUMNS                    how wide text is printed

    Examples:
      gradcompat check
      gradcompat check uv.lock --context train.yaml
      gradcompat plan uv.lock --context train.yaml
      gradcompat explain GC-0004
    """,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Options that stand before every command."""
    if version:
        print_version()
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise UsageError("no command is given", hint="`gradcompat --help` lists them")
