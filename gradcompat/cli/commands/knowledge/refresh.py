"""``gradcompat knowledge refresh``: looks at the releases of a package that nobody has looked at."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from gradcompat.cli.console import package_index
from gradcompat.cli.index_parameters import IndexParameters
from gradcompat.cli.measurement_progress import Measuring, measure
from gradcompat.cli.parameters import BaseDevice, BasePython, Jobs, Layers, RowsFolder, Tables
from gradcompat.cli.reading_progress import Wanted, read_releases
from gradcompat.curation.horizons import behind, canonical
from gradcompat.knowledge.load import load
from gradcompat.knowledge.measured import read_rows
from gradcompat.knowledge.refreshed import refreshed, speaks_of
from gradcompat.messages import counted
from gradcompat.releases.table import tabled_packages
from gradcompat.renderers.terminal import safe, width, wrapped
from gradcompat.requirements.versions import parse_version


def command(
    *,
    index: IndexParameters,
    package: Annotated[str, typer.Argument(metavar="PACKAGE", help="The package whose new releases are reviewed.")],
    python: BasePython = None,
    device: BaseDevice = "cpu",
    jobs: Jobs = 2,
    layers: Layers = None,
    folder: RowsFolder = "knowledge/measured",
    tables: Tables = None,
) -> int:
    """Review new releases: run the probes of a package in every release after its horizon, and list what changes.

    The table of what its releases export is extended to the new ones, as `knowledge read` does it.
    Measurements are kept as `knowledge measure` keeps them. A record that one contradicts is listed with what was
    measured: its range ends there, or has to be longer. Open records without a probe are listed, too: somebody has to
    read them.

    Exit status:
      0  every range holds
      1  one does not
      2  wrong usage
      3  something could not be measured or fetched

    Examples:
      gradcompat knowledge refresh transformers --python base/bin/python
    """
    base = load()
    name = canonical(package, base)
    unfetched = (
        read_releases(Wanted(packages=[name], jobs=jobs, tables=tables), index.lookup)
        if name in tabled_packages()
        else 0
    )
    with package_index(index.lookup) as catalogue:
        new = behind(name, base, catalogue)
    last = base.horizon.get(name, ("nothing", ""))[0]
    if not new:
        sys.stdout.write(f"no release of {name} is newer than {last}\n")
        return unfetched
    listed = ", ".join(str(release.version) for release in new)
    sys.stdout.write(f"{counted(len(new), 'release')} of {name} behind {last}: {safe(listed)}\n")
    sys.stdout.flush()  # it stands above what measuring says
    issues = base.in_force()
    status = 0
    if any(issue.probes and speaks_of(issue, name) for issue in issues):
        wanted = Measuring(
            package=name,
            versions=" || ".join(f"=={release.version}" for release in new),
            python=python,
            device=device,
            jobs=jobs,
            layers=layers,
            folder=folder,
        )
        status = measure(wanted, index.lookup)
    kept = Path(folder)
    versions = {release.version for release in new}
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
    _say("", f"what else changed, ranked: gradcompat knowledge watch {name} --releases {len(new)}")
    _say("", f"when all of it was looked at: gradcompat knowledge horizon --looked-at {name}=={newest}")
    if found.contradicted:
        return 1
    return 3 if found.undecided else status or unfetched


def _say(label: str, text: str) -> None:
    sys.stdout.write(wrapped(text, width(), label, "  ") + "\n")
