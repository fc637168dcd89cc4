"""``gradcompat knowledge snapshot``."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcompat.cli.commands.knowledge.records import run_snapshot
from gradcompat.cli.parameters import OnlineIndexParameters


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
    return run_snapshot(output, index.lookup)
