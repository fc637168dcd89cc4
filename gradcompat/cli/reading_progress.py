"""Reading releases with its progress on standard error; Ctrl-C keeps what was fetched and parsed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from gradcompat.cli.console import package_index
from gradcompat.curation.executors import executor_of
from gradcompat.curation.reading_campaign import Reading, releases_to_read
from gradcompat.errors import IndexUnavailable, UsageError
from gradcompat.files.user_folders import cache_folder
from gradcompat.index.catalog import Lookup
from gradcompat.releases.table import FOLDER
from gradcompat.renderers.terminal import safe
from gradcompat.requirements.names import normalise

SINCE = "2023-01-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is read, and where it is kept.

    Attributes:
        packages: whose releases are read.
        since: only those that were uploaded from this day on.
        again: read what the tables have, too.
        jobs: how many batches of modules are parsed at a time.
        rows: the folder of what was fetched and parsed; None for that in the user's cache.
        tables: the folder of the tables; None for that of this package.
        scheduler: the address of a Dask scheduler, in the place of local processes.
    """

    packages: Sequence[str]
    since: str = SINCE
    again: bool = False
    jobs: int = 2
    rows: str | None = None
    tables: str | None = None
    scheduler: str | None = None


def read_releases(wanted: Wanted, lookup: Lookup) -> int:
    """Read what is wanted.

    Returns:
        The exit status: 3 if some releases could not be fetched.

    Raises:
        UsageError: if there is no folder for rows, or a package has no release.
        KnowledgeError: if a table cannot be read or written, or another run reads the same package.
    """
    cache = cache_folder(os.environ, sys.platform)
    if wanted.rows is None and cache is None:
        raise UsageError("there is no folder for rows", hint="name one with `--rows`")
    kept = Path(wanted.rows) if wanted.rows is not None else Path(cache or "") / "releases"
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    lost = False
    try:
        with package_index(lookup) as catalogue, executor_of(wanted.jobs, wanted.scheduler) as executor:
            names = [normalise(name) for name in dict.fromkeys(wanted.packages)]
            catalogue.expect(names)
            for name in names:
                reading = Reading(
                    package=name,
                    releases=releases_to_read(name, catalogue, wanted.since),
                    catalogue=catalogue,
                    rows=kept,
                    folder=Path(wanted.tables) if wanted.tables is not None else FOLDER,
                    say=_say,
                )
                reading.run(wanted.jobs, executor, local=wanted.scheduler is None, again=wanted.again)
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
