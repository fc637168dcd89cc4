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

ISSUES = "knowledge/issues.yaml"

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
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="error|warning|note|never",
        help="The lowest level of findings that have to go.  [default: error]",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Count findings that depend on something unseen as findings.")]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="ID", help="Look for these records alone.")]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", metavar="ID", help="Leave these records out.")]
Keep = Annotated[
    list[str] | None, typer.Option("--keep", metavar="NAME", help="A package that must not move. Repeatable.")
]
Offline = Annotated[
    bool, typer.Option("--offline", help="Use the snapshot of the index that ships with gradcompat, and no network.")
]
IndexUrl = Annotated[
    str | None,
    typer.Option("--index-url", metavar="URL", help="The package index; without it, as pip and uv are configured."),
]
ExtraIndexUrl = Annotated[
    list[str] | None, typer.Option("--extra-index-url", metavar="URL", help="An index beside it. Repeatable.")
]
ExcludeNewer = Annotated[
    str | None,
    typer.Option("--exclude-newer", metavar="DATE", help="Releases from this moment on do not count."),
]
Prereleases = Annotated[
    bool, typer.Option("--pre", help="Alphas, betas and candidates may be chosen, also where none is used.")
]


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
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="How to print the result: text, json, markdown, html, sarif, github, gitlab, junit, cyclonedx-vex or "
            "openvex.  [default: text]",
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            "--output", metavar="FORMAT=FILE", help="Write the result into a file as well; `-` prints it. Repeatable."
        ),
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="error|warning|note|never",
            help="The lowest level that makes the exit status 1.  [default: error]",
        ),
    ] = None,
    strict: Strict = False,
    only: Only = None,
    ignore: Ignore = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Also show the records that speak of a package and do not apply.")
    ] = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="Measure in the environment whether the findings are really there.")
    ] = False,
    device: Annotated[
        str, typer.Option("--device", metavar="auto|cpu|cuda[:N]|mps|xpu[:N]", help="Where --probe trains.")
    ] = "auto",
) -> None:
    """Say which known training defects an environment or a lockfile has.

    A finding is `affected`, or `conditional` where it hangs on something that no file shows; then --set decides it.

    Examples:

      gradcompat check

      gradcompat check uv.lock --context train.yaml

      gradcompat check uv.lock --set training.gradient_accumulation_steps=8

      gradcompat check . --output sarif=gradcompat.sarif --output github=-

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
            outputs=outputs or [],
            fail_on=fail_on,
            strict=strict,
            only=only or [],
            ignore=ignore or [],
            show_all=show_all,
            probe=probe,
            device=device,
        )
    )


@app.command()
def plan(
    targets: Targets = None,
    python: Python = None,
    contexts: ContextFiles = None,
    facts: Set = None,
    fail_on: FailOn = None,
    strict: Strict = False,
    only: Only = None,
    ignore: Ignore = None,
    keep: Keep = None,
    prereleases: Prereleases = False,
    offline: Offline = False,
    index_url: IndexUrl = None,
    extra_index_urls: ExtraIndexUrl = None,
    exclude_newer: ExcludeNewer = None,
    form: Annotated[
        str, typer.Option("--format", metavar="text|json|markdown", help="How to print the result.")
    ] = "text",
) -> None:
    """Show the smallest change that clears the findings: which versions, which settings, and what was verified.

    A plan is applied to the environment and matched again; requirements, wheels and Python are looked up in the index.
    `--set host.python=3.11` and `--set host.platform=linux` plan for another machine.

    Exit status: 0 nothing has to change, 1 something has to, 2 wrong usage, 3 something could not be verified.

    Examples:

      gradcompat plan uv.lock --context train.yaml

      gradcompat plan requirements.txt --offline --format json
    """
    from gradcompat.cli.catalogues import Lookup
    from gradcompat.cli.plan import run

    raise typer.Exit(
        run(
            targets or [],
            python=python,
            contexts=contexts or [],
            facts=facts or [],
            fail_on=fail_on,
            strict=strict,
            only=only or [],
            ignore=ignore or [],
            keep=keep or [],
            prereleases=prereleases,
            lookup=Lookup(offline, index_url, extra_index_urls or [], exclude_newer),
            form=form,
        )
    )


@app.command()
def fix(
    targets: Targets = None,
    python: Python = None,
    contexts: ContextFiles = None,
    facts: Set = None,
    fail_on: FailOn = None,
    strict: Strict = False,
    only: Only = None,
    ignore: Ignore = None,
    keep: Keep = None,
    prereleases: Prereleases = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print a unified diff, and write nothing.")] = False,
    lock: Annotated[
        bool, typer.Option("--lock", help="Run the lockfile's own tool afterwards: uv, poetry, pdm, pip-tools.")
    ] = False,
    offline: Offline = False,
    index_url: IndexUrl = None,
    extra_index_urls: ExtraIndexUrl = None,
    exclude_newer: ExcludeNewer = None,
) -> None:
    """Write the plan into pyproject.toml, requirements, environment.yml and training configs; comments stay.

    All files are written or none. A lockfile is never edited by hand: the command of its tool is printed.

    Exit status: 0 everything is written, 1 something is left to do by hand, 2 wrong usage, 3 not everything verified.

    Examples:

      gradcompat fix . --dry-run

      gradcompat fix uv.lock --context train.yaml --lock
    """
    from gradcompat.cli.catalogues import Lookup
    from gradcompat.cli.fix import run

    raise typer.Exit(
        run(
            targets or [],
            python=python,
            contexts=contexts or [],
            facts=facts or [],
            fail_on=fail_on,
            strict=strict,
            only=only or [],
            ignore=ignore or [],
            keep=keep or [],
            prereleases=prereleases,
            dry_run=dry_run,
            lock=lock,
            lookup=Lookup(offline, index_url, extra_index_urls or [], exclude_newer),
        )
    )


@app.command()
def constraints(
    targets: Targets = None,
    wanted: Annotated[
        list[str] | None,
        typer.Option("--for", metavar="NAME,…", help="A known-good set of these packages for a new project."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="The releases that are wrong without any condition, as exclusions.")
    ] = False,
    python: Python = None,
    python_version: Annotated[
        str | None, typer.Option("--python-version", metavar="3.11", help="The Python that a new set is for.")
    ] = None,
    contexts: ContextFiles = None,
    facts: Set = None,
    fail_on: FailOn = None,
    strict: Strict = False,
    only: Only = None,
    ignore: Ignore = None,
    keep: Keep = None,
    offline: Offline = False,
    index_url: IndexUrl = None,
    extra_index_urls: ExtraIndexUrl = None,
    exclude_newer: ExcludeNewer = None,
) -> None:
    """Write constraints for `pip install -c` and uv, each with its reason as a comment.

    Examples:

      gradcompat constraints uv.lock --context train.yaml > constraints.txt

      gradcompat constraints --for transformers,peft,trl --python-version 3.11

      gradcompat constraints --all
    """
    from gradcompat.cli.catalogues import Lookup
    from gradcompat.cli.constraints import run

    raise typer.Exit(
        run(
            targets or [],
            wanted=wanted or [],
            every=every,
            python=python,
            python_version=python_version,
            contexts=contexts or [],
            facts=facts or [],
            fail_on=fail_on,
            strict=strict,
            only=only or [],
            ignore=ignore or [],
            keep=keep or [],
            lookup=Lookup(offline, index_url, extra_index_urls or [], exclude_newer),
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
            "or `-` for a pipe. A lockfile or a training config among them counts as if given with its option.",
        ),
    ],
    environment: Annotated[
        str | None,
        typer.Option("--environment", metavar="TARGET", help="The lockfile, `pip list` or environment of that run."),
    ] = None,
    python: Python = None,
    contexts: ContextFiles = None,
    facts: Set = None,
    form: Format = "text",
) -> None:
    """Say what a log or a curve probably shows, why, and what would settle it.

    What the log itself says of its versions and settings is used, and counts more than a lockfile or a config does;
    --set counts more than both.

    Exit status: 0 nothing but what is harmless, 1 something recognised, 2 nothing could be read, 3 a part could not.

    Examples:

      gradcompat diagnose train.log

      gradcompat diagnose train.log trainer_state.json --environment uv.lock --context train.yaml

      gradcompat diagnose train.log uv.lock train.yaml
    """
    from gradcompat.cli.diagnose import run

    raise typer.Exit(
        run(files, target=environment, python=python, contexts=contexts or [], facts=facts or [], form=form)
    )


@app.command()
def probe(
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Records whose probes to run; without one, those that apply here."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run every probe there is.")] = False,
    python: Annotated[
        str | None,
        typer.Option("--python", metavar="PATH", help="The interpreter to measure in; without it, the active one."),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", metavar="auto|cpu|cuda[:N]|mps|xpu[:N]", help="Where to train.")
    ] = "auto",
    processes: Annotated[
        int | None, typer.Option("--processes", min=2, max=64, help="How many processes a distributed probe has.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The seed of all generators.")] = 0,
    seconds: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=1, help="How long each probe may take.")
    ] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="FILE", help="Keep the raw measurements in this file.")
    ] = None,
    facts: Set = None,
    form: Format = "text",
) -> None:
    """Measure whether defects are really there: tiny seeded training runs in your own interpreter.

    Nothing is fetched, and nothing of yours is trained: models of a few thousand weights, a step or two each.

    Exit status: 0 nothing reproduced, 1 something reproduced, 2 wrong usage, 3 something could not be measured.

    Examples:

      gradcompat probe

      gradcompat probe GC-0004 --python .venv/bin/python --device cuda
    """
    from gradcompat.cli.probe import run

    raise typer.Exit(
        run(
            identifiers or [],
            every=every,
            python=python,
            device=device,
            processes=processes,
            seed=seed,
            seconds=seconds,
            record=record,
            facts=facts or [],
            form=form,
        )
    )


Measured = Annotated[
    str | None,
    typer.Option(
        "--measured", metavar="DIR", help="A folder of rows, in the place of those that ship with gradcompat."
    ),
]


@knowledge.command("lint")
def knowledge_lint(
    path: Annotated[str, typer.Argument(metavar="[FILE]", help="A file of records.")] = ISSUES,
) -> None:
    """Check records: schema, examples through the matcher, bounds, references, traps, and what was measured.

    Measurements are read from the folder `measured` beside the file.
    """
    from gradcompat.cli.knowledge import run_lint

    raise typer.Exit(run_lint(path))


@knowledge.command("new")
def knowledge_new(
    path: Annotated[str, typer.Argument(metavar="[FILE]", help="The file of records.")] = ISSUES,
    identifier: Annotated[str | None, typer.Option("--id", metavar="GC-0000")] = None,
    packages: Annotated[
        list[str] | None, typer.Option("--package", metavar="'NAME RANGE'", help="An affected package. Repeatable.")
    ] = None,
    conditions: Annotated[
        list[str] | None,
        typer.Option("--condition", metavar="KEY=VALUE", help="A setting, class or fact of the host. Repeatable."),
    ] = None,
    summary: Annotated[
        str | None, typer.Option("--summary", metavar="TEXT", help="The symptom in one sentence.")
    ] = None,
    details: Annotated[str | None, typer.Option("--details", metavar="TEXT", help="The mechanism.")] = None,
    categories: Annotated[
        list[str] | None, typer.Option("--category", metavar="WORD", help="What it does. Repeatable.")
    ] = None,
    silent: Annotated[
        bool | None, typer.Option("--silent/--loud", help="Does the run go on, wrong, without an error?")
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option("--basis", metavar="measured|wheels|tags|release-notes|reported", help="How bounds are known."),
    ] = None,
    level: Annotated[str | None, typer.Option("--level", metavar="error|warning|note")] = None,
    informational: Annotated[
        bool | None, typer.Option("--informational/--defect", help="Is a note about a change that is no defect?")
    ] = None,
    symptoms: Annotated[
        list[str] | None, typer.Option("--symptom", metavar="REGEX", help="What a log shows of it. Repeatable.")
    ] = None,
    references: Annotated[
        list[str] | None, typer.Option("--reference", metavar="'KIND URL'", help="Where it is shown. Repeatable.")
    ] = None,
    remedies: Annotated[
        list[str] | None, typer.Option("--remedy", metavar="TEXT", help="The best one first. Repeatable.")
    ] = None,
    evidence: Annotated[
        list[str] | None, typer.Option("--evidence", metavar="TEXT", help="What was run or read. Repeatable.")
    ] = None,
) -> None:
    """Write a new record behind the last one, with examples on both sides of each bound; what is not given is asked.

    A remedy is `upgrade NAME RANGE`, `downgrade NAME RANGE`, `set KEY=VALUE`, `code WHAT TO DO` or `install WHAT GOES
    TOGETHER`.

    Exit status: 0 the record is right as far as `lint` can tell, 1 it is written and something is left, 2 wrong usage.

    Examples:

      gradcompat knowledge new

      gradcompat knowledge new --package 'transformers >=4.49.0,<4.52.1' --condition training.packing=true
    """
    from gradcompat.cli.new_record import Given, run

    given = Given(
        id=identifier,
        packages=packages or None,
        conditions=conditions or None,
        summary=summary,
        details=details,
        categories=categories or None,
        silent=silent,
        basis=basis,
        level=level,
        informational=informational,
        symptoms=symptoms or None,
        references=references or None,
        remedies=remedies or None,
        evidence=evidence or None,
    )
    raise typer.Exit(run(path, given))


@knowledge.command("measure")
def knowledge_measure(
    package: Annotated[str, typer.Argument(metavar="PACKAGE", help="The package whose releases are varied.")],
    probes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROBE]...", help="Ids of records, or names of recipes with all their variants."),
    ] = None,
    versions: Annotated[
        str, typer.Option("--versions", metavar="RANGE", help="Which releases: '>=4.34,<5', '==4.49.0'.")
    ] = "*",
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect",
            help="Only the ends, and then between neighbours whose verdicts differ. A hole between two that agree is "
            "missed.",
        ),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Also measure again what was tried and could not be measured.")
    ] = False,
    python: Annotated[
        str | None, typer.Option("--python", metavar="PATH", help="The interpreter below all releases; it has torch.")
    ] = None,
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda[:N]", help="Where to train.")] = "cpu",
    seed: Annotated[int, typer.Option("--seed", help="The seed of all generators.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="How many releases at a time.")] = 2,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="NAME==VERSION", help="Lay this down beside every release, whatever that asks for."
        ),
    ] = None,
    layers: Annotated[
        str | None, typer.Option("--layers", metavar="DIR", help="Where releases are laid down, and found again.")
    ] = None,
    folder: Annotated[
        str, typer.Option("--output", metavar="DIR", help="Where the measurements are kept.")
    ] = "knowledge/measured",
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A Dask scheduler that runs the cells.")
    ] = None,
    offline: Offline = False,
    index_url: IndexUrl = None,
    extra_index_urls: ExtraIndexUrl = None,
) -> None:
    """Run probes over the releases of a package. What is measured already is not measured again.

    Exit status: 0 every cell has been measured or is known not to run, 2 wrong usage, 3 something came to nothing; the
    same command then tries that again.

    Examples:

      gradcompat knowledge measure transformers accumulation_equivalence --versions '>=4.34' --python base/bin/python
    """
    from gradcompat.cli.catalogues import Lookup
    from gradcompat.cli.measure import run

    raise typer.Exit(
        run(
            package,
            probes=probes or [],
            versions=versions,
            bisect=bisect,
            again=again,
            python=python,
            device=device,
            seed=seed,
            jobs=jobs,
            beside=beside or [],
            layers=layers,
            folder=folder,
            scheduler=scheduler,
            lookup=Lookup(offline=offline, index_url=index_url, extra_index_urls=extra_index_urls or []),
        )
    )


@knowledge.command("compile")
def knowledge_compile(
    path: Annotated[str, typer.Argument(metavar="[FILE]", help="A file of records.")] = ISSUES,
) -> None:
    """Write the records into the package, as the JSON that `check` loads."""
    from gradcompat.cli.knowledge import run_compile

    raise typer.Exit(run_compile(path))


@knowledge.command("matrix")
def knowledge_matrix(
    package: Annotated[
        str | None, typer.Argument(metavar="[PACKAGE]", help="Only the releases of this package.")
    ] = None,
    recipe: Annotated[str | None, typer.Argument(metavar="[RECIPE]", help="Only what this recipe measured.")] = None,
    form: Annotated[str, typer.Option("--format", metavar="text|svg|html", help="How to print the table.")] = "text",
    measured: Measured = None,
) -> None:
    """Show what was measured: releases against the variants of a recipe.

    Examples:

      gradcompat knowledge matrix transformers accumulation_equivalence --format html > matrix.html
    """
    from gradcompat.cli.knowledge import run_matrix

    raise typer.Exit(run_matrix(package, recipe, form, measured))


@knowledge.command("ranges")
def knowledge_ranges(
    package: Annotated[str, typer.Argument(metavar="PACKAGE", help="The package whose releases were measured.")],
    probe: Annotated[
        str | None, typer.Argument(metavar="[PROBE]", help="The id of a record, or the name of a recipe.")
    ] = None,
    measured: Measured = None,
) -> None:
    """Print the ranges that measurements make, with their holes and with what is not known.

    Exit status: 0 every bound lies between two releases with a verdict, and none is without one; 2 wrong usage; 3 else.

    Examples:

      gradcompat knowledge ranges transformers GC-0004
    """
    from gradcompat.cli.knowledge import run_ranges

    raise typer.Exit(run_ranges(package, probe, measured))


@knowledge.command("report")
def knowledge_report(
    path: Annotated[str, typer.Argument(metavar="[FILE]", help="A file of records.")] = ISSUES,
    form: Annotated[
        str, typer.Option("--format", metavar="text|markdown|json", help="How to print the report.")
    ] = "text",
) -> None:
    """Show the state of the records: by package, category and basis, the age of each horizon, what nobody checked."""
    from gradcompat.cli.knowledge_report import run

    raise typer.Exit(run(path, form))


@knowledge.command("horizon")
def knowledge_horizon(
    packages: Annotated[
        list[str] | None, typer.Argument(metavar="[PACKAGE]...", help="Only these; without one, all with records.")
    ] = None,
    looked_at: Annotated[
        list[str] | None,
        typer.Option(
            "--looked-at",
            metavar="NAME==VERSION",
            help="Write into the records that this release was looked at today. Repeatable.",
        ),
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write into the records what their examples and measurements show of it.")
    ] = False,
    path: Annotated[str, typer.Option("--records", metavar="FILE", help="The file of records.")] = ISSUES,
    offline: Offline = False,
    index_url: IndexUrl = None,
    extra_index_urls: ExtraIndexUrl = None,
) -> None:
    """Show the newest release of each package that was looked at, and what has appeared since.

    Exit status: 0 nothing is newer, 1 something is, 2 wrong usage, 3 something could not be looked up. With --looked-at
    or --update nothing is looked up: 0 everything has a horizon now, 1 a package has none.

    Examples:

      gradcompat knowledge horizon

      gradcompat knowledge horizon --looked-at transformers==5.23.0
    """
    from gradcompat.cli.catalogues import Lookup
    from gradcompat.cli.horizon import run, run_write

    if looked_at or update:
        if packages:
            raise UsageError("--looked-at and --update take no package beside them")
        raise typer.Exit(run_write(path, looked_at or [], update=update))
    lookup = Lookup(offline=offline, index_url=index_url, extra_index_urls=extra_index_urls or [])
    raise typer.Exit(run(packages or [], lookup))


@knowledge.command("refresh")
def knowledge_refresh(
    package: Annotated[str, typer.Argument(metavar="PACKAGE", help="The package whose new releases are looked at.")],
    python: Annotated[
        str | None, typer.Option("--python", metavar="PATH", help="The interpreter below all releases; it has torch.")
    ] = None,
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda[:N]", help="Where to train.")] = "cpu",
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="How many releases at a time.")] = 2,
    layers: Annotated[
        str | None, typer.Option("--layers", metavar="DIR", help="Where releases are laid down, and found again.")
    ] = None,
    folder: Annotated[
        str, typer.Option("--output", metavar="DIR", help="Where the measurements are kept.")
    ] = "knowledge/measured",
    offline: Offline = False,
    index_url: IndexUrl = None,
    extra_index_urls: ExtraIndexUrl = None,
) -> None:
    """Look at new releases: run the probes of a package in all that nobody has looked at, and list what that changes.

    Measurements are kept as `knowledge measure` keeps them. A record that one contradicts is listed with what was
    measured: its range ends there, or has to be longer. Open records without a probe are listed, too: somebody has to
    read them.

    Exit status: 0 every range holds, 1 one does not, 2 wrong usage, 3 something could not be measured.

    Examples:

      gradcompat knowledge refresh transformers --python base/bin/python
    """
    from gradcompat.cli.catalogues import Lookup
    from gradcompat.cli.refresh import run

    raise typer.Exit(
        run(
            package,
            python=python,
            device=device,
            jobs=jobs,
            layers=layers,
            folder=folder,
            lookup=Lookup(offline=offline, index_url=index_url, extra_index_urls=extra_index_urls or []),
        )
    )


@knowledge.command("export")
def knowledge_export(
    form: Annotated[
        str, typer.Option("--format", metavar="osv|renovate|dependabot", help="For which tool.", show_default=False)
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", metavar="DIR|FILE|-", help="A folder for the records of OSV, a file for the others; `-` prints."
        ),
    ] = "-",
) -> None:
    """Write the records for other tools: OSV advisories, a Renovate preset, or a list for Dependabot to ignore.

    Those tools know versions and nothing of a training. So they are told of a release only where it is wrong whatever
    else there is; what hangs on a setting, a model or another package stands in the advisory, in words and as data.

    Examples:

      gradcompat knowledge export --format osv --output advisories

      gradcompat knowledge export --format renovate > renovate-preset.json

      gradcompat knowledge export --format dependabot
    """
    from gradcompat.cli.export import run

    raise typer.Exit(run(form, output))


@knowledge.command("serve")
def knowledge_serve(
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on, of this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 8573,
    conditional: Annotated[
        bool,
        typer.Option("--conditional", help="Also answer with records that hang on something else, and say on what."),
    ] = False,
) -> None:
    """Answer auditors of this machine as osv.dev does: `uv audit`, `pip-audit` and the like.

    A query is about one version of one package, so it gets the records whose range claims that version whatever the
    training and the other packages are. Most defects hang on more: with --conditional a query also gets those, and
    their summary ends with the condition. Whether it holds, `gradcompat check` finds out, and no auditor.

    `/v1/query`, `/v1/querybatch` and `/v1/vulns/ID` are answered. The address is printed in one line; Ctrl-C ends it.

    Examples:

      gradcompat knowledge serve

      uv audit --no-cache --service-url http://127.0.0.1:8573

      pip-audit -r requirements.txt -s osv --osv-url http://127.0.0.1:8573/v1/query
    """
    from gradcompat.cli.serve import run

    raise typer.Exit(run(host, port, conditional=conditional))


@knowledge.command("snapshot")
def knowledge_snapshot(
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="FILE", help="Where to write it; without one, the snapshot of this package."),
    ] = None,
    index_url: IndexUrl = None,
    extra_index_urls: ExtraIndexUrl = None,
) -> None:
    """Write what an index knows of the packages that plans are made of, for `--offline`.

    What pip and uv are configured to use counts here too. A snapshot for others is taken without:

      env -u PIP_FIND_LINKS PIP_CONFIG_FILE=/dev/null gradcompat knowledge snapshot
    """
    from gradcompat.cli.catalogues import Lookup
    from gradcompat.cli.knowledge import run_snapshot

    raise typer.Exit(run_snapshot(output, Lookup(index_url=index_url, extra_index_urls=extra_index_urls or [])))


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
