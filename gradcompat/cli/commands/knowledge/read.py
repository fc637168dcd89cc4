"""``gradcompat knowledge read``: reads what releases export, need and accept out of their wheels."""

from __future__ import annotations

import os
import signal
import sys
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from gradcompat.cli.console import package_index
from gradcompat.cli.index_parameters import IndexParameters
from gradcompat.cli.parameters import Jobs, Scheduler
from gradcompat.curation.executors import executor_of
from gradcompat.curation.reading_campaign import Reading, releases_to_read
from gradcompat.errors import IndexUnavailable, UsageError
from gradcompat.names import normalise
from gradcompat.releases.table import FOLDER
from gradcompat.renderers.terminal import safe
from gradcompat.user_folders import cache_folder


def command(
    *,
    index: IndexParameters,
    packages: Annotated[list[str], typer.Argument(metavar="PACKAGE...", help="The packages whose releases are read.")],
    since: Annotated[
        str, typer.Option("--since", metavar="DATE", help="Only releases that were uploaded from this day on.")
    ] = "2023-01-01",
    reread: Annotated[bool, typer.Option("--reread", help="Also read again what the table has.")] = False,
    jobs: Jobs = 2,
    rows: Annotated[
        str | None, typer.Option("--rows", metavar="DIR", help="Where rows are kept until the table has them.")
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option("--tables", metavar="DIR", help="The folder of the tables; without one, that of this package."),
    ] = None,
    scheduler: Scheduler = None,
) -> int:
    """Read the releases of packages: names, signatures, what is imported, and facts of models.

    Wheels are parsed, and nothing of them is run; of a large one only the modules are fetched, and only those that the
    release before does not have. What is read already is not read again.

    Exit status:
      0  every release is in the table, or said to be unreadable
      2  wrong usage
      3  some releases could not be fetched; rerun to retry

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url takes precedence
      GRADCOMPAT_CACHE  where answers of an index and rows are kept

    Examples:
      gradcompat knowledge read peft transformers
    """
    try:
        date.fromisoformat(since)
    except ValueError:
        raise UsageError(f"`--since {since}` is not a day", hint="write it as `--since 2023-01-01`") from None
    cache = cache_folder(os.environ, sys.platform)
    if rows is None and cache is None:
        raise UsageError("there is no folder for rows", hint="name one with `--rows`")
    kept = Path(rows) if rows is not None else Path(cache or "") / "releases"
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    lost = False
    try:
        with package_index(index.lookup) as catalogue, executor_of(jobs, scheduler) as executor:
            names = [normalise(one) for one in dict.fromkeys(packages)]
            catalogue.expect(names)
            for name in names:
                reading = Reading(
                    package=name,
                    releases=releases_to_read(name, catalogue, since),
                    lookup=index.lookup,
                    rows=kept,
                    folder=Path(folder) if folder is not None else FOLDER,
                    say=_say,
                )
                reading.run(jobs, executor, local=scheduler is None, again=reread)
                lost = lost or bool(reading.lost)
    except IndexUnavailable as error:
        _say(f"stopped: {error}")
        lost = True
    except KeyboardInterrupt:
        _say(f"stopped: what was read is kept in {kept}; the same command goes on from there")
        lost = True
    return 3 if lost else 0


def _stop(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _say(sentence: str) -> None:
    sys.stderr.write(safe(sentence) + "\n")
    sys.stderr.flush()
