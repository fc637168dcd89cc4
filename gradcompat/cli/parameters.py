"""Options that several commands share, each declared once; those that always come together are one group.

What is declared is read while gradcompat starts; annotations that are texts would be compiled for that, one by one.
"""

from functools import partial
from typing import Annotated

from gradcompat.cli.declarations import Argument, Option
from gradcompat.startup.lazy_dataclasses import dataclass

# An option that may be given many times; none is an empty list.
repeatable = partial(Option, default_factory=list, show_default=False)

Targets = Annotated[
    list[str],
    Argument(
        metavar="[TARGET]...",
        help="Lockfiles, requirements, SBOMs, environments' folders, project folders, or `-` for a pasted `pip list` "
        "or environment report. Without one, the active environment.",
        default_factory=list,
        show_default=False,
    ),
]
Python = Annotated[str | None, Option("--python", metavar="PATH", help="Read the environment of this interpreter.")]
Set = Annotated[
    list[str],
    repeatable(
        "--set",
        metavar="KEY=VALUE",
        help="A fact that no file shows, e.g. training.gradient_accumulation_steps=8. Repeatable. "
        "`gradcompat explain settings` lists the keys.",
    ),
]
ContextFiles = Annotated[
    list[str],
    repeatable(
        "--context",
        metavar="FILE",
        help="A training config, launch script or program that the targets are used with. Repeatable. In a folder they "
        "are found.",
    ),
]
Format = Annotated[str, Option("--format", metavar="text|json", help="How to print the result.")]
TableFormat = Annotated[str, Option("--format", metavar="text|svg|html", help="How to print the table.")]
FailOn = Annotated[
    str | None,
    Option(
        "--fail-on",
        metavar="error|warning|note|never",
        help="The minimum severity that counts: it makes the exit status 1, and a plan clears it.  [default: error]",
    ),
]
Strict = Annotated[
    bool, Option("--strict", help="Count conditional findings, which depend on a fact that no file shows.")
]
Assume = Annotated[
    str | None,
    Option(
        "--assume",
        metavar="usual|none",
        help="What no file states: presume what is usual, and say so, or presume nothing.  [default: usual]",
    ),
]
Only = Annotated[
    list[str],
    repeatable("--only", metavar="ID", help="Check only these records."),
]
Ignore = Annotated[
    list[str],
    repeatable("--ignore", metavar="ID", help="Skip these records."),
]
OwnRecords = Annotated[
    list[str],
    repeatable(
        "--knowledge",
        metavar="FILE|DIR",
        help="Records of your own, beside those that ship with gradcompat. Repeatable.",
    ),
]
BasePython = Annotated[
    str | None, Option("--python", metavar="PATH", help="The interpreter under all releases; it has torch.")
]
BaseDevice = Annotated[str, Option("--device", metavar="cpu|cuda[:N]", help="Where to train.")]
Seed = Annotated[int, Option("--seed", metavar="N", help="The seed of all generators.")]
Jobs = Annotated[int, Option("--jobs", metavar="N", min=1, max=64, help="How many releases at a time.")]
Layers = Annotated[str | None, Option("--layers", metavar="DIR", help="Where releases are laid down, and found again.")]
ReleaseRows = Annotated[
    str | None, Option("--rows", metavar="DIR", help="Where fetched modules, and what was read of them, are kept.")
]
Tables = Annotated[
    str | None,
    Option("--tables", metavar="DIR", help="The folder of the tables; without one, that of this package."),
]
RowsFolder = Annotated[str, Option("--output", metavar="DIR", help="The folder of the measurements.")]
Scheduler = Annotated[
    str | None, Option("--scheduler", metavar="ADDRESS", help="A Dask scheduler, in place of local processes.")
]
DryRun = Annotated[bool, Option("--dry-run", help="Print a unified diff, and write nothing.")]
Measured = Annotated[
    str | None,
    Option(
        "--measured", metavar="DIR", help="A folder of measurements to use instead of those that ship with gradcompat."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetParameters:
    """What is read, and what else is known of it."""

    targets: Targets
    python: Python = None
    contexts: ContextFiles
    facts: Set


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditParameters(TargetParameters):
    """What is audited, and what counts."""

    fail_on: FailOn = None
    strict: Strict = False
    assume: Assume = None
    only: Only
    ignore: Ignore
    knowledge: OwnRecords
