"""``gradcompat waive``: writes down that a finding is accepted, why, and until when."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gradcompat.cli.console import known_records
from gradcompat.cli.parameters import DryRun, OwnRecords, Python, Targets, repeatable
from gradcompat.cli.project_file import write_project_file
from gradcompat.config.project_file import OWN
from gradcompat.config.schema import options_in
from gradcompat.edit.waivers import with_waiver
from gradcompat.suppression.new_waiver import WaiverRequest, new_waiver, waiver_file


def command(
    *,
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The record whose findings are accepted.")],
    targets: Targets,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, which is required.")] = "",
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="DATE", help="The last day on which it applies, such as 2026-12-31."),
    ] = None,
    until_change: Annotated[
        list[str],
        repeatable("--until-change", metavar="NAME", help="It ends when this package has another version. Repeatable."),
    ],
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
    knowledge: OwnRecords,
    dry_run: DryRun = False,
) -> int:
    """Accept the findings of a record: they no longer count, and are still reported as suppressed.

    The targets, or else the file that --path names or the active environment, are where --until-change finds its
    version. A waiver of the same record and path is replaced. docs/waivers.md says how waivers end.

    Exit status:
      0  it is written, or was there already
      2  wrong usage, or the file cannot be written

    Files:
      gradcompat.toml  is written, if the nearest one keeps the options, or if there is no pyproject.toml
      pyproject.toml   is written otherwise, in `[tool.gradcompat]`

    Examples:
      gradcompat waive GC-0004 --reason "one step of accumulation only" --until 2030-12-31
      gradcompat waive GC-0004 uv.lock --reason "fixed upstream soon" --until-change transformers
      gradcompat waive GC-0004 --reason "does not train" --path "services/*/uv.lock" --dry-run
    """
    asked = WaiverRequest(
        identifier=identifier,
        targets=targets,
        reason=reason,
        until=until,
        until_change=until_change,
        path=path,
        proof=proof,
        python=python,
    )
    place, file = waiver_file(Path.cwd())
    waiver = new_waiver(asked, place.parent, known_records(knowledge), date.today())
    if file is not None:
        options_in(file)  # a file that is broken already is not made worse
    keys = () if place.name == OWN else ("tool", "gradcompat")
    change = partial(with_waiver, keys=keys, waiver=waiver)
    write_project_file(place, change, unchanged="has this waiver", dry_run=dry_run)
    return 0
