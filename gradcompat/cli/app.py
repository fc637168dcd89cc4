"""The commands and their options; each command imports its own feature when it runs."""

from __future__ import annotations

import gc
import signal
import sys
from typing import Annotated

import typer

from gradcompat import __version__
from gradcompat.cli.ending import guarded
from gradcompat.cli.help import App
from gradcompat.errors import UsageError

app = App(
    help="""Finds known training defects in an environment or a lockfile: which versions, under which settings, make
    training wrong, and the smallest change that makes it right.

    `gradcompat COMMAND --help` shows a command in full.

    Exit status:
      0  clean
      1  findings
      2  wrong usage, or nothing could be read
      3  something could not be checked, which is never called clean
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
      COLUMNS                    how wide text is printed
      GRADCOMPAT_TRACEBACK       if set, an error in gradcompat itself is printed with its traceback

    Examples:
      gradcompat check
      gradcompat check uv.lock --context train.yaml
      gradcompat plan uv.lock --context train.yaml
      gradcompat explain GC-0004
    """,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
knowledge = App(
    help="""Work on the records that gradcompat knows.

    Files:
      knowledge/issues.yaml  the records, as text
      knowledge/measured/    what probes measured, release by release

    Examples:
      gradcompat knowledge report
      gradcompat knowledge export --format renovate
    """
)
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
OwnRecords = Annotated[
    list[str] | None,
    typer.Option(
        "--knowledge",
        metavar="FILE|DIR",
        help="Records of your own, beside those that ship with gradcompat. Repeatable.",
    ),
]
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
ProjectIndex = Annotated[
    bool,
    typer.Option(
        "--project-index", help="Also ask the indexes that only a file of the project names (uv.toml, `[tool.uv]`)."
    ),
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
    own: OwnRecords = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Also show the records that speak of a package and do not apply.")
    ] = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="Measure in the environment whether the findings are really there.")
    ] = False,
    device: Annotated[
        str, typer.Option("--device", metavar="auto|cpu|cuda[:N]|mps|xpu[:N]", help="Where --probe trains.")
    ] = "auto",
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="FILE",
            help="An earlier report (--output json=FILE): what it has does not count again.",
        ),
    ] = None,
    diff: Annotated[
        str | None,
        typer.Option(
            "--diff",
            metavar="BASE",
            help="A git revision: only what has come since this branch left it counts. Nothing is checked out.",
        ),
    ] = None,
    config_from: Annotated[
        str | None,
        typer.Option(
            "--config-from",
            metavar="REVISION",
            help="Take the project's options, waivers, records and the baseline from this git revision: what a change "
            "brings of them is named and does not count.",
        ),
    ] = None,
    show_suppressed: Annotated[
        bool | None,
        typer.Option(
            "--show-suppressed/--hide-suppressed",
            show_default=False,
            help="List what is waived or was there before; or leave it out of SARIF, JUnit and HTML, too, as an upload "
            "to GitHub needs it.",
        ),
    ] = None,
) -> None:
    """Say which known training defects an environment or a lockfile has.

    A finding is `affected`, or `conditional` where it hangs on something that no file shows; then --set decides it.
    Nothing of what is checked is run or imported, and no network is used.

    Exit status:
      0  nothing is affected at or above --fail-on
      1  findings; with --strict also conditional ones
      2  wrong usage, or nothing could be read
      3  something could not be checked: a file that could not be read, a missing version

    Files:
      gradcompat.toml  keeps fail-on, strict, only, ignore, settings, knowledge and waivers; the nearest one counts
      pyproject.toml   keeps the same in `[tool.gradcompat]`

    Environment:
      VIRTUAL_ENV, CONDA_PREFIX  the active environment, where no target is named; else ./.venv
      GITHUB_STEP_SUMMARY        --format github appends the report to this file
      COLUMNS                    how wide text is printed

    Examples:
      gradcompat check
      gradcompat check uv.lock --context train.yaml
      gradcompat check uv.lock --set training.gradient_accumulation_steps=8
      gradcompat check . --output sarif=gradcompat.sarif --output github=-
      gradcompat check . --baseline baseline.json
      gradcompat check . --diff origin/main --config-from origin/main
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
            knowledge=own or [],
            show_all=show_all,
            probe=probe,
            device=device,
            baseline=baseline,
            diff=diff,
            config_from=config_from,
            show_suppressed=show_suppressed,
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
    own: OwnRecords = None,
    keep: Keep = None,
    prereleases: Prereleases = False,
    offline: Offline = False,
    index_url: IndexUrl = None,
    extra_index_urls: ExtraIndexUrl = None,
    project_index: ProjectIndex = False,
    exclude_newer: ExcludeNewer = None,
    form: Annotated[
        str, typer.Option("--format", metavar="text|json|markdown", help="How to print the result.")
    ] = "text",
) -> None:
    """Show the smallest change that clears the findings: which versions, which settings, and what was verified.

    A plan is applied to the environment and matched again; requirements, wheels and Python are looked up in the index.
    `--set host.python=3.11` and `--set host.platform=linux` plan for another machine.

    Exit status:
      0  nothing has to change
      1  something has to change
      2  wrong usage, or nothing could be read
      3  something could not be verified

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url counts more
      GRADCOMPAT_CACHE  where answers of an index are kept

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
            knowledge=own or [],
            keep=keep or [],
            prereleases=prereleases,
            lookup=Lookup(offline, index_url, extra_index_urls or [], exclude_newer, project_index),
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
    own: OwnRecords = None,
    keep: Keep = None,
    prereleases: Prereleases = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print a unified diff, and write nothing.")] = False,
    lock: Annotated[
        bool, typer.Option("--lock", help="Have uv or pip-tools write the lockfile afterwards, and build nothing.")
    ] = False,
    offline: Offline = False,
    index_url: IndexUrl = None,
    extra_index_urls: ExtraIndexUrl = None,
    project_index: ProjectIndex = False,
    exclude_newer: ExcludeNewer = None,
) -> None:
    """Write the plan into pyproject.toml, requirements, environment.yml and training configs; comments stay.

    All files are written or none. A lockfile is never edited by hand: the command of its tool is printed.

    Exit status:
      0  everything is written, or there was nothing to write
      1  something is left to do by hand
      2  wrong usage, or nothing could be read
      3  not everything could be verified

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url counts more
      GRADCOMPAT_CACHE  where answers of an index are kept

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
            knowledge=own or [],
            keep=keep or [],
            prereleases=prereleases,
            dry_run=dry_run,
            lock=lock,
            lookup=Lookup(offline, index_url, extra_index_urls or [], exclude_newer, project_index),
        )
    )


@app.command()
def waive(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The record whose findings are accepted.")],
    targets: Targets = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why. A waiver without a reason is none.")
    ] = "",
    until: Annotated[
        str | None, typer.Option("--until", metavar="DATE", help="The last day on which it holds, as 2026-12-31.")
    ] = None,
    until_change: Annotated[
        list[str] | None,
        typer.Option(
            "--until-change", metavar="NAME", help="It ends when this package has another version. Repeatable."
        ),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option("--path", metavar="GLOB", help="Only for these lockfiles; a pattern as in a .gitignore."),
    ] = None,
    proof: Annotated[
        str | None,
        typer.Option(
            "--proof", metavar="FILE", help="A `gradcompat probe --record` that did not reproduce the defect."
        ),
    ] = None,
    python: Python = None,
    own: OwnRecords = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print a unified diff, and write nothing.")] = False,
) -> None:
    """Accept the findings of a record: they no longer count, and are still told as suppressed.

    The targets, or else the file that --path names or the active environment, are where --until-change finds its
    version. A waiver of the same record and path is replaced. docs/waivers.md says how waivers end.

    Exit status:
      0  it is written, or stood there already
      2  wrong usage, or the file cannot be written

    Files:
      gradcompat.toml  is written, if the nearest one keeps the options, or if there is no pyproject.toml
      pyproject.toml   is written otherwise, in `[tool.gradcompat]`

    Examples:
      gradcompat waive GC-0004 --reason "one step of accumulation only" --until 2030-12-31
      gradcompat waive GC-0004 uv.lock --reason "fixed upstream soon" --until-change transformers
      gradcompat waive GC-0004 --reason "does not train" --path "services/*/uv.lock" --dry-run
    """
    from gradcompat.cli.waive import run

    raise typer.Exit(
        run(
            identifier,
            targets or [],
            reason=reason,
            until=until,
            until_change=until_change or [],
            path=path,
            proof=proof,
            python=python,
            knowledge=own or [],
            dry_run=dry_run,
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
    own: OwnRecords = None,
    keep: Keep = None,
    offline: Offline = False,
    index_url: IndexUrl = None,
    extra_index_urls: ExtraIndexUrl = None,
    project_index: ProjectIndex = False,
    exclude_newer: ExcludeNewer = None,
) -> None:
    """Write constraints for `pip install -c` and uv, each with its reason as a comment.

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url counts more
      GRADCOMPAT_CACHE  where answers of an index are kept

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
            knowledge=own or [],
            keep=keep or [],
            lookup=Lookup(offline, index_url, extra_index_urls or [], exclude_newer, project_index),
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
    """Show an environment as gradcompat reads it, with the file and line of each pin.

    Exit status:
      0  everything could be read
      2  wrong usage, or nothing could be read
      3  something could not be read

    Examples:
      gradcompat inspect uv.lock
      gradcompat inspect train.yaml
      gradcompat inspect . --format json
    """
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
    form: Annotated[
        str, typer.Option("--format", metavar="text|markdown", help="How to print a record; a setting is text.")
    ] = "text",
    own: OwnRecords = None,
) -> None:
    """Show a record: what breaks, in which combinations, why we believe it, and what to do.

    Or a setting: what it means, what feeds it, and which records depend on it.

    Exit status:
      0  it is shown
      2  there is no such record or setting

    Examples:
      gradcompat explain GC-0004
      gradcompat explain training.gradient_accumulation_steps
      gradcompat explain settings
    """
    from gradcompat.cli.explain import run

    raise typer.Exit(run(identifier, form, own or []))


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
    own: OwnRecords = None,
    form: Format = "text",
) -> None:
    """Say what a log or a curve probably shows, why, and what would settle it.

    What the log itself says of its versions and settings is used, and counts more than a lockfile or a config does;
    --set counts more than both.

    Exit status:
      0  nothing but what is harmless
      1  something was recognised
      2  wrong usage, or nothing could be read
      3  a part could not be read

    Examples:
      gradcompat diagnose train.log
      gradcompat diagnose train.log uv.lock train.yaml
      gradcompat diagnose train.log trainer_state.json --environment uv.lock
    """
    from gradcompat.cli.diagnose import run

    raise typer.Exit(
        run(
            files,
            target=environment,
            python=python,
            contexts=contexts or [],
            facts=facts or [],
            knowledge=own or [],
            form=form,
        )
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
        int | None,
        typer.Option("--processes", metavar="N", min=2, max=64, help="How many processes a distributed probe has."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The seed of all generators.")] = 0,
    seconds: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=1, help="How long each probe may take.")
    ] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="FILE", help="Keep the raw measurements in this file.")
    ] = None,
    facts: Set = None,
    own: OwnRecords = None,
    form: Format = "text",
) -> None:
    """Measure whether defects are really there: tiny seeded training runs in your own interpreter.

    Nothing is fetched, and nothing of yours is trained: models of a few thousand weights, a step or two each.

    Exit status:
      0  nothing is reproduced
      1  something is reproduced
      2  wrong usage
      3  something could not be measured

    Environment:
      VIRTUAL_ENV, CONDA_PREFIX  the environment to measure in, without --python; else ./.venv

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
            knowledge=own or [],
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
    path: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A file of records.", show_default=ISSUES)
    ] = None,
    own: OwnRecords = None,
) -> None:
    """Check records: schema, examples through the matcher, bounds, references, traps, and what was measured.

    Measurements are read from the folder `measured` beside the file.

    Exit status:
      0  nothing is wrong
      1  something is, and each problem is listed
      2  wrong usage, or the file cannot be read

    Examples:
      gradcompat knowledge lint
    """
    from gradcompat.cli.knowledge import run_lint

    raise typer.Exit(run_lint(path, own or []))


@knowledge.command("new")
def knowledge_new(
    path: Annotated[str, typer.Argument(metavar="[FILE]", help="The file of records.")] = ISSUES,
    identifier: Annotated[
        str | None, typer.Option("--id", metavar="GC-0000", help="Its id; without it, the next free one.")
    ] = None,
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
    level: Annotated[
        str | None, typer.Option("--level", metavar="error|warning|note", help="How much depends on it.")
    ] = None,
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

    Exit status:
      0  the record is right as far as `lint` can tell
      1  it is written, and something is left to do
      2  wrong usage

    Examples:
      gradcompat knowledge new
      gradcompat knowledge new --package 'transformers >=4.49.0,<4.52.1'
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
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The seed of all generators.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, max=64, help="How many releases at a time.")] = 2,
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

    Exit status:
      0  every cell has been measured or is known not to run
      2  wrong usage
      3  something came to nothing; the same command tries that again

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url counts more
      GRADCOMPAT_CACHE  where answers of an index are kept

    Examples:
      gradcompat knowledge measure transformers GC-0004 --python base/bin/python
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
    """Write the records into the package, as the JSON that `check` loads.

    Exit status:
      0  it is written
      2  wrong usage, or the records are not right: `lint` says what is wrong, and nothing is written

    Examples:
      gradcompat knowledge compile
    """
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
      gradcompat knowledge matrix transformers
      gradcompat knowledge matrix transformers gradient_flow --format svg > flow.svg
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

    Exit status:
      0  every bound lies between two releases with a verdict, and none is without one
      2  wrong usage
      3  a release is without a verdict

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
    """Show the state of the records: by package, category and basis, the age of each horizon, what nobody checked.

    Examples:
      gradcompat knowledge report
      gradcompat knowledge report --format markdown
    """
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

    With --looked-at or --update nothing is looked up, and the exit status is 1 where a package is left without one.

    Exit status:
      0  nothing is newer
      1  something is newer
      2  wrong usage
      3  something could not be looked up

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url counts more
      GRADCOMPAT_CACHE  where answers of an index are kept

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
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, max=64, help="How many releases at a time.")] = 2,
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

    Exit status:
      0  every range holds
      1  one does not
      2  wrong usage
      3  something could not be measured

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
    own: OwnRecords = None,
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

    raise typer.Exit(run(form, output, own or []))


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
    own: OwnRecords = None,
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

    raise typer.Exit(run(host, port, conditional=conditional, knowledge=own or []))


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

    What pip and uv are configured to use counts here too; a snapshot for others is taken without it.

    Examples:
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
    raise SystemExit(guarded(lambda: app(standalone_mode=False)))
