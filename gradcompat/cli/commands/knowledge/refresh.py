"""``gradcompat knowledge refresh``: looks at the releases of a package that nobody has looked at."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from gradcompat.cli.commands.knowledge import measure
from gradcompat.cli.commands.knowledge.horizon import behind, canonical
from gradcompat.cli.console import package_index
from gradcompat.cli.parameters import IndexParameters
from gradcompat.index.catalog import Lookup
from gradcompat.knowledge.load import load
from gradcompat.knowledge.measured import read_rows
from gradcompat.knowledge.refreshed import refreshed, speaks_of
from gradcompat.messages import counted
from gradcompat.renderers.terminal import safe, width, wrapped
from gradcompat.versions import parse_version


def command(
    *,
    index: IndexParameters,
    package: Annotated[str, typer.Argument(metavar="PACKAGE", help="The package whose new releases are reviewed.")],
    python: Annotated[
        str | None, typer.Option("--python", metavar="PATH", help="The interpreter under all releases; it has torch.")
    ] = None,
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda[:N]", help="The device to train on.")] = "cpu",
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="N", min=1, max=64, help="The number of releases measured in parallel.")
    ] = 2,
    layers: Annotated[
        str | None,
        typer.Option("--layers", metavar="DIR", help="The folder in which releases are installed and reused."),
    ] = None,
    folder: Annotated[
        str, typer.Option("--output", metavar="DIR", help="The folder of the measurements.")
    ] = "knowledge/measured",
) -> int:
    """Review new releases: run the probes of a package in every release after its horizon, and list what changes.

    Measurements are kept as `knowledge measure` keeps them. A record that one contradicts is listed with what was
    measured: its range ends there, or has to be longer. Open records without a probe are listed, too: somebody has to
    read them.

    Exit status:
      0  every range holds
      1  one does not
      2  wrong usage
      3  something could not be measured

    Examples:
      gradcompat knowledge refresh transformers --python base/bin/python
    """
    return run(
        package,
        python=python,
        device=device,
        jobs=jobs,
        layers=layers,
        folder=folder,
        lookup=index.lookup,
    )


def run(
    package: str, *, python: str | None, device: str, jobs: int, layers: str | None, folder: str, lookup: Lookup
) -> int:
    """Measure the package's probes in its new releases, and print what that changes.

    Args:
        package: whose releases are looked at.
        python: the interpreter of the base, which has torch.
        device: where to train.
        jobs: how many releases at a time.
        layers: the folder of all layers.
        folder: where the rows are kept.
        lookup: where releases are looked up.

    Returns:
        0 if every range holds and every probe gave a verdict, 1 if a measurement says otherwise than a range, 3 if
        something could not be measured.

    Raises:
        UsageError: if no record mentions the package, or an option makes no sense.
        IndexUnavailable: if the releases could not be looked up.
    """
    base = load()
    name = canonical(package, base)
    with package_index(lookup) as catalogue:
        new = behind(name, base, catalogue)
    last = base.horizon.get(name, ("nothing", ""))[0]
    if not new:
        sys.stdout.write(f"no release of {name} is newer than {last}\n")
        return 0
    listed = ", ".join(str(one.version) for one in new)
    sys.stdout.write(f"{counted(len(new), 'release')} of {name} behind {last}: {safe(listed)}\n")
    sys.stdout.flush()  # it stands above what measuring says
    issues = base.in_force()
    status = 0
    if any(issue.probes and speaks_of(issue, name) for issue in issues):
        status = measure.run(
            name,
            probes=(),
            versions=" || ".join(f"=={one.version}" for one in new),
            bisect=False,
            again=False,
            python=python,
            device=device,
            seed=0,
            jobs=jobs,
            beside=(),
            layers=layers,
            folder=folder,
            scheduler=None,
            lookup=lookup,
        )
    kept = Path(folder)
    versions = {one.version for one in new}
    rows = [
        row
        for row in (read_rows(kept) if os.path.isdir(kept) else ())
        if base.names.families.get(row.package, row.package) == name
        and parse_version(row.version) in versions
        and not row.beside
    ]
    newest = new[-1].version
    found = refreshed(name, newest, issues, rows)
    for sentence, ids in found.contradicted.items():
        _say(f"change {', '.join(ids)}: ", sentence)
    for label, ids in (("stands", found.stands), ("right", found.right), ("no verdict", found.undecided)):
        if ids:
            _say(f"{label}: ", ", ".join(ids))
    if found.unread:
        _say("no probe, read them: ", ", ".join(found.unread))
    _say("", f"when all of it was looked at: gradcompat knowledge horizon --looked-at {name}=={newest}")
    if found.contradicted:
        return 1
    return 3 if found.undecided else status


def _say(label: str, text: str) -> None:
    sys.stdout.write(wrapped(text, width(), label, "  ") + "\n")
