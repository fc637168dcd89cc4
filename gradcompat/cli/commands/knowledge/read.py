"""``gradcompat knowledge read``: reads what releases export, need and accept out of their wheels."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import typer

from gradcompat.cli.index_parameters import IndexParameters
from gradcompat.cli.parameters import Jobs, ReleaseRows, Scheduler, Tables
from gradcompat.cli.reading_progress import SINCE, Wanted, read_releases
from gradcompat.errors import UsageError


def command(
    *,
    index: IndexParameters,
    packages: Annotated[list[str], typer.Argument(metavar="PACKAGE...", help="The packages whose releases are read.")],
    since: Annotated[
        str, typer.Option("--since", metavar="DATE", help="Only releases that were uploaded from this day on.")
    ] = SINCE,
    reread: Annotated[bool, typer.Option("--reread", help="Also read again what the table has.")] = False,
    jobs: Jobs = 2,
    rows: ReleaseRows = None,
    folder: Tables = None,
    scheduler: Scheduler = None,
) -> int:
    """Read the releases of packages: names, signatures, what is imported, and facts of models.

    Wheels are parsed, and nothing of them is run. Of a large one only the modules are fetched, and only those that no
    release before it had. What is fetched or parsed already stays so, from run to run.

    Exit status:
      0  every release is in the table, or said to be unreadable
      2  wrong usage
      3  some releases could not be fetched; rerun to retry

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url takes precedence
      GRADCOMPAT_CACHE  where answers of an index and what was fetched and parsed are kept

    Examples:
      gradcompat knowledge read peft transformers
    """
    try:
        date.fromisoformat(since)
    except ValueError:
        raise UsageError(f"`--since {since}` is not a day", hint="write it as `--since 2023-01-01`") from None
    wanted = Wanted(
        packages=packages,
        since=since,
        again=reread,
        jobs=jobs,
        rows=rows,
        tables=folder,
        scheduler=scheduler,
    )
    return read_releases(wanted, index.lookup)
