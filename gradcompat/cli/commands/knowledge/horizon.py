"""``gradcompat knowledge horizon``: how far releases were looked at, and what has appeared since."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date
from typing import Annotated

import typer

from gradcompat.cli.console import package_index
from gradcompat.cli.index_parameters import IndexParameters
from gradcompat.cli.parameters import repeatable
from gradcompat.curation.authored_file import ISSUES, authored_file
from gradcompat.curation.horizons import behind, canonical, update_horizon
from gradcompat.errors import IndexUnavailable, UsageError
from gradcompat.knowledge.horizon import unfixed_by_package
from gradcompat.knowledge.load import load
from gradcompat.messages import counted
from gradcompat.model.release import Release
from gradcompat.renderers.terminal import safe


def command(
    *,
    index: IndexParameters,
    packages: Annotated[
        list[str],
        typer.Argument(
            metavar="[PACKAGE]...",
            help="Only these; without one, all with records.",
            default_factory=list,
            show_default=False,
        ),
    ],
    looked_at: Annotated[
        list[str],
        repeatable(
            "--looked-at",
            metavar="NAME==VERSION",
            help="Write into the records that this release was looked at today. Repeatable.",
        ),
    ],
    update: Annotated[
        bool, typer.Option("--update", help="Write into the records what their examples and measurements show of it.")
    ] = False,
    path: Annotated[
        str | None, typer.Option("--records", metavar="FILE", help="The file of records.", show_default=ISSUES)
    ] = None,
) -> int:
    """Show the newest release of each package that was looked at, and what has appeared since.

    With --looked-at or --update nothing is looked up, and the exit status is 1 where a package is left without one.

    Exit status:
      0  nothing is newer
      1  something is newer
      2  wrong usage
      3  something could not be looked up

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url takes precedence
      GRADCOMPAT_CACHE  where answers of an index are kept

    Examples:
      gradcompat knowledge horizon
      gradcompat knowledge horizon --looked-at transformers==5.23.0
    """
    if looked_at or update:
        if packages:
            raise UsageError("--looked-at and --update take no package beside them")
        return _update(authored_file(path), looked_at, update=update)
    base = load()
    names = [canonical(package, base) for package in packages] or sorted(base.horizon)
    stands = unfixed_by_package(base.in_force())
    ahead = unknown = 0
    with package_index(index.lookup) as catalogue:
        catalogue.expect(names)
        width = max(map(len, names))
        for name in names:
            version, day = base.horizon.get(name, ("?", ""))
            try:
                said, some = _since(behind(name, base, catalogue))
                ahead += some
            except IndexUnavailable as error:
                said = f"not looked up: {error.message}"
                unknown += 1
            unfixed = counted(len(stands.get(name, ())), "unfixed defect")
            sys.stdout.write(safe(f"{name:<{width}}  {version:<10}  {day:<10}  {unfixed}; {said}") + "\n")
        found = f"{counted(len(names), 'package')}, {ahead} with unreviewed releases"
        sys.stdout.write(f"{found} ({safe(catalogue.described)})\n")
    if ahead:
        return 1
    return 3 if unknown else 0


def _since(releases: Sequence[Release]) -> tuple[str, bool]:
    """What has appeared since, in a few words; whether it is anything."""
    if not releases:
        return "nothing newer", False
    newest = releases[-1]
    day = "" if newest.uploaded is None else f" of {newest.uploaded[:10]}"
    more = "" if len(releases) == 1 else f", with {counted(len(releases) - 1, 'release')} before it"
    return f"newer: {newest.version}{day}{more}", True


def _update(path: str, stated: Sequence[str], *, update: bool) -> int:
    done = update_horizon(path, stated, date.today().isoformat(), update=update)
    for name, one in sorted(done.changes.items()):
        before = done.before.get(name)
        was = "new" if before is None else f"was {before.version} of {before.date}"
        sys.stdout.write(f"{name} {one.version} of {one.date} ({was})\n")
    for name in done.missing:
        sys.stdout.write(f"{name}: neither a row nor an example names a release: --looked-at {name}==… states it\n")
    sys.stdout.write(f"{counted(len(done.changes), 'line')} written; `gradcompat knowledge compile` is next\n")
    return 1 if done.missing else 0
