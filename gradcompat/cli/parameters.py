"""Options that several commands share, each declared once; those that always come together are one group."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gradcompat.curation.authored_file import ISSUES

if TYPE_CHECKING:
    from gradcompat.index.catalog import Lookup

# An option that may be given many times; none is an empty list.
repeatable = partial(typer.Option, default_factory=list, show_default=False)

Targets = Annotated[
    list[str],
    typer.Argument(
        metavar="[TARGET]...",
        help="Lockfiles, requirements, SBOMs, environments' folders, project folders, or `-` for a pasted `pip list` "
        "or environment report. Without one, the active environment.",
        default_factory=list,
        show_default=False,
    ),
]
Python = Annotated[
    str | None, typer.Option("--python", metavar="PATH", help="Read the environment of this interpreter.")
]
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
Format = Annotated[str, typer.Option("--format", metavar="text|json", help="How to print the result.")]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="error|warning|note|never",
        help="The minimum severity that counts: it makes the exit status 1, and a plan clears it.  [default: error]",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Count conditional findings, which depend on a fact that no file shows.")
]
Assume = Annotated[
    str | None,
    typer.Option(
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
Keep = Annotated[
    list[str],
    repeatable("--keep", metavar="NAME", help="A package whose version must not change. Repeatable."),
]
Offline = Annotated[
    bool, typer.Option("--offline", help="Use the index snapshot that ships with gradcompat, and no network.")
]
IndexUrl = Annotated[
    str | None,
    typer.Option("--index-url", metavar="URL", help="The package index. [default: as pip and uv are configured]"),
]
ExtraIndexUrl = Annotated[
    list[str],
    repeatable("--extra-index-url", metavar="URL", help="An additional index. Repeatable."),
]
ProjectIndex = Annotated[
    bool,
    typer.Option(
        "--project-index", help="Also query indexes that only a project file configures (uv.toml, `[tool.uv]`)."
    ),
]
ExcludeNewer = Annotated[
    str | None,
    typer.Option("--exclude-newer", metavar="DATE", help="Ignore releases uploaded on or after DATE."),
]
Prereleases = Annotated[
    bool, typer.Option("--pre", help="Alphas, betas and candidates may be chosen, also where none is used.")
]
RecordsFile = Annotated[str | None, typer.Argument(metavar="[FILE]", help="A file of records.", show_default=ISSUES)]
BasePython = Annotated[
    str | None, typer.Option("--python", metavar="PATH", help="The interpreter under all releases; it has torch.")
]
BaseDevice = Annotated[str, typer.Option("--device", metavar="cpu|cuda[:N]", help="Where to train.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="The seed of all generators.")]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, max=64, help="How many releases at a time.")]
Layers = Annotated[
    str | None, typer.Option("--layers", metavar="DIR", help="Where releases are laid down, and found again.")
]
RowsFolder = Annotated[str, typer.Option("--output", metavar="DIR", help="The folder of the measurements.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print a unified diff, and write nothing.")]
Measured = Annotated[
    str | None,
    typer.Option(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineIndexParameters:
    """The package index, where nothing else will do."""

    index_url: IndexUrl = None
    extra_index_urls: ExtraIndexUrl

    @property
    def lookup(self) -> Lookup:
        """What is said of indexes; what has no option here keeps its default."""
        from gradcompat.index.catalog import Lookup

        known = {field.name for field in fields(Lookup)}
        return Lookup(**{field.name: getattr(self, field.name) for field in fields(self) if field.name in known})


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexParameters(OnlineIndexParameters):
    """Where releases are looked up."""

    offline: Offline = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionParameters(IndexParameters):
    """Where releases are looked up for a plan, and which of them may be chosen."""

    keep: Keep
    exclude_newer: ExcludeNewer = None
    project_index: ProjectIndex = False
