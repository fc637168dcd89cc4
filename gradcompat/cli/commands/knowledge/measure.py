"""``gradcompat knowledge measure``: runs probes over the releases of a package, and keeps what came back."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcompat.cli.index_parameters import IndexParameters
from gradcompat.cli.measurement_progress import Measuring, measure
from gradcompat.cli.parameters import (
    BaseDevice,
    BasePython,
    Jobs,
    Layers,
    RowsFolder,
    Scheduler,
    Seed,
    repeatable,
)


def command(
    *,
    index: IndexParameters,
    package: Annotated[str, typer.Argument(metavar="PACKAGE", help="The package whose releases are varied.")],
    probes: Annotated[
        list[str],
        typer.Argument(
            metavar="[PROBE]...",
            help="Ids of records, or names of recipes with all their variants.",
            default_factory=list,
            show_default=False,
        ),
    ],
    versions: Annotated[
        str, typer.Option("--versions", metavar="RANGE", help="Which releases: '>=4.34,<5', '==4.49.0'.")
    ] = "*",
    newest: Annotated[
        bool,
        typer.Option(
            "--newest",
            help="Only the newest release, beside what an install of today brings, with every variant of each recipe "
            "that uses it: all model families. A probe that did not run is named with the reason.",
        ),
    ] = False,
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
    python: BasePython = None,
    device: BaseDevice = "cpu",
    seed: Seed = 0,
    jobs: Jobs = 2,
    beside: Annotated[
        list[str],
        repeatable(
            "--with", metavar="NAME==VERSION", help="Also install this version, overriding requirements. Repeatable."
        ),
    ],
    layers: Layers = None,
    folder: RowsFolder = "knowledge/measured",
    scheduler: Scheduler = None,
) -> int:
    """Run probes over the releases of a package. What is measured already is not measured again.

    Exit status:
      0  every cell has been measured or is known not to run
      2  wrong usage
      3  some cells failed; rerun to retry

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url takes precedence
      GRADCOMPAT_CACHE  where answers of an index are kept

    Examples:
      gradcompat knowledge measure transformers GC-0004 --python base/bin/python
      gradcompat knowledge measure transformers --newest --python base/bin/python
    """
    wanted = Measuring(
        package=package,
        probes=probes,
        versions=versions,
        newest=newest,
        bisect=bisect,
        again=again,
        python=python,
        device=device,
        seed=seed,
        jobs=jobs,
        beside=beside,
        layers=layers,
        folder=folder,
        scheduler=scheduler,
    )
    return measure(wanted, index.lookup)
