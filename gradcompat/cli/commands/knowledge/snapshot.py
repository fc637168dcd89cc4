"""``gradcompat knowledge snapshot``."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from gradcompat.cli.console import package_index
from gradcompat.cli.index_parameters import OnlineIndexParameters
from gradcompat.errors import UsageError
from gradcompat.index.snapshot import SHIPPED
from gradcompat.index.snapshot_writer import names_for_snapshot, write_snapshot
from gradcompat.knowledge.load import load
from gradcompat.messages import counted
from gradcompat.renderers.terminal import safe


def command(
    *,
    index: OnlineIndexParameters,
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="FILE", help="Where to write it; without one, the snapshot of this package."),
    ] = None,
) -> int:
    """Write what an index knows of the packages that plans are made of, for `--offline`.

    What pip and uv are configured to use counts here too; a snapshot for others is taken without it.

    Examples:
      env -u PIP_FIND_LINKS PIP_CONFIG_FILE=/dev/null gradcompat knowledge snapshot
    """
    base = load()
    names = names_for_snapshot({*base.by_package, *base.names.families})
    path = SHIPPED if output is None else Path(output)
    with package_index(index.lookup) as catalogue:
        try:
            written = write_snapshot(catalogue, names, path, date.today().isoformat(), _print_progress)
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", path=str(path)) from None
    for what, reason in (*written.missing, *written.unread):
        sys.stderr.write(f"missing: {safe(what)}: {safe(reason)}\n")
    sys.stdout.write(
        f"{counted(written.packages, 'package')}, {counted(written.releases, 'release')} and the requirements of "
        f"{written.requirements} written to {path} ({written.size / 1e6:.2f} MB)\n"
    )
    return 3 if written.missing or written.unread else 0


def _print_progress(name: str, number: int, count: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{number} of {count}: {name}" if number < count else "\r\x1b[K")
        sys.stderr.flush()
