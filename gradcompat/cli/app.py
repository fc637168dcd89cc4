"""The commands and their options; each command imports its own feature when it runs."""

from __future__ import annotations

import gc
import io
import signal
import sys
from typing import Annotated

import typer

from gradcompat import __version__
from gradcompat.errors import GradcompatError, UsageError

app = typer.Typer(
    help="Finds known training defects in an environment or a lockfile: which versions, under which settings, make "
    "training wrong, and the smallest change that makes it right.",
    epilog="Exit status: 0 clean, 1 findings, 2 wrong usage or unreadable input, 3 something could not be checked.",
    no_args_is_help=True,
    # Rich would be imported for its markup; plain text starts faster and reads the same in a log.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
knowledge = typer.Typer(help="Work on the records that gradcompat knows.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(knowledge, name="knowledge")

Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TARGET]...",
        help="Lockfiles, requirements, SBOMs, environments' folders, project folders, or `-` for a pasted `pip list` "
        "or environment report. Without one, the active environment.",
    ),
]
Python = Annotated[
    str | None, typer.Option("--python", metavar="PATH", help="Read the environment of this interpreter.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A fact that no file shows, e.g. training.gradient_accumulation_steps=8. Repeatable. "
        "`gradcompat explain settings` lists the keys.",
    ),
]
ContextFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="FILE",
        help="A training config, launch script or program that the targets are used with. Repeatable. In a folder they "
        "are found.",
    ),
]
Format = Annotated[str, typer.Option("--format", metavar="text|json", help="How to print the result.")]


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Options that stand before every command."""
    if version:
        sys.stdout.write(f"gradcompat {__version__}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise UsageError("no command is given", hint="`gradcompat --help` lists them")


@app.command()
def check(
    targets: Targets = None,
    python: Python = None,
    contexts: ContextFiles = None,
    facts: Set = None,
    form: Format = "text",
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="error|warning|note|never",
            help="The lowest level that makes the exit status 1.  [default: error]",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Count findings that depend on something unseen as findings.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="Look for these records alone.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option("--ignore", metavar="ID", help="Leave these records out.")] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Also show the records that speak of a package and do not apply.")
    ] = False,
) -> None:
    """Say which known training defects an environment or a lockfile has.

    A finding is `affected`, or `conditional` where it hangs on something that no file shows; then --set decides it.

    Examples:

      gradcompat check

      gradcompat check uv.lock --context train.yaml

      gradcompat check uv.lock --set training.gradient_accumulation_steps=8

      pip list | gradcompat check -
    """
    from gradcompat.cli.check import run

    raise typer.Exit(
        run(
            targets or [],
            python=python,
            contexts=contexts or [],
            facts=facts or [],
            form=form,
            fail_on=fail_on,
            strict=strict,
            only=only or [],
            ignore=ignore or [],
            show_all=show_all,
        )
    )


@app.command()
def inspect(
    targets: Targets = None,
    python: Python = None,
    contexts: ContextFiles = None,
    facts: Set = None,
    form: Format = "text",
) -> None:
    """Show an environment as gradcompat reads it, with the file and line of each pin."""
    from gradcompat.cli.inspect import run

    raise typer.Exit(run(targets or [], python=python, contexts=contexts or [], facts=facts or [], form=form))


@app.command()
def explain(
    identifier: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A record such as GC-0002, a setting such as training.gradient_accumulation_steps, or `settings` for "
            "the list of them.",
        ),
    ],
) -> None:
    """Show a record: what breaks, in which combinations, why we believe it, and what to do.

    Or a setting: what it means, what feeds it, and which records depend on it.
    """
    from gradcompat.cli.explain import run

    raise typer.Exit(run(identifier))


@app.command()
def diagnose(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="What one run has left: logs, tracebacks, trainer_state.json, TensorBoard event files, W&B exports, "
            "or `-` for a pipe.",
        ),
    ],
    environment: Annotated[
        str | None,
        typer.Option("--environment", metavar="TARGET", help="The lockfile, `pip list` or environment of that run."),
    ] = None,
    facts: Set = None,
    form: Format = "text",
) -> None:
    """Say what a log or a curve probably shows, why, and what would settle it.

    Exit status: 0 nothing but what is harmless, 1 something recognised, 2 nothing could be read, 3 a part could not.

    Examples:

      gradcompat diagnose train.log

      gradcompat diagnose train.log trainer_state.json --environment uv.lock
    """
    from gradcompat.cli.diagnose import run

    raise typer.Exit(run(files, target=environment, facts=facts or [], form=form))


@knowledge.command("lint")
def knowledge_lint(
    path: Annotated[str, typer.Argument(metavar="[FILE]", help="A file of records.")] = "knowledge/issues.yaml",
) -> None:
    """Check records: schema, examples through the matcher, bounds, references, remedies that are traps."""
    from gradcompat.cli.knowledge import run_lint

    raise typer.Exit(run_lint(path))


@knowledge.command("compile")
def knowledge_compile(
    path: Annotated[str, typer.Argument(metavar="[FILE]", help="A file of records.")] = "knowledge/issues.yaml",
) -> None:
    """Write the records into the package, as the JSON that `check` loads."""
    from gradcompat.cli.knowledge import run_compile

    raise typer.Exit(run_compile(path))


def main() -> None:
    """The console script: errors become one line and a hint, never a traceback."""
    gc.disable()  # one short run over a few megabytes of tuples: collecting costs more than it frees
    # Ctrl-C and a reader that has gone (`| head`) end the process at once; typer would make the status 1, which
    # stands for findings here.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show "…" is no reason to stop
    try:
        app()
    except GradcompatError as error:
        print_error(error)
        raise SystemExit(2) from None


def print_error(error: GradcompatError) -> None:
    """``error: `file:line`: what is wrong`` and, below it, what to do."""
    from gradcompat.renderers.terminal import safe

    sys.stderr.write(f"error: {safe(str(error))}\n")
    if error.hint is not None:
        sys.stderr.write(f"\nhint: {safe(error.hint)}\n")
