"""``gradcompat knowledge horizon``: how far releases were looked at, and what has appeared since."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import typer
from packaging.version import Version

from gradcompat.cli.authored_file import authored_file
from gradcompat.cli.console import package_index
from gradcompat.cli.parameters import ISSUES, IndexParameters, repeatable
from gradcompat.edit.writing import FileEdit, write
from gradcompat.errors import IndexUnavailable, KnowledgeError, UsageError
from gradcompat.index.catalog import Lookup
from gradcompat.index.snapshot import Snapshot
from gradcompat.knowledge.compile import compile_records
from gradcompat.knowledge.horizon import unfixed_by_package
from gradcompat.knowledge.load import KnowledgeBase, knowledge_from, load
from gradcompat.knowledge.measured import FOLDER, read_rows
from gradcompat.knowledge.records import read
from gradcompat.knowledge.review_horizon import advance_horizon, seen, spoken_of, with_horizon
from gradcompat.knowledge.schema import Horizon
from gradcompat.messages import counted
from gradcompat.model.release import Catalogue, Release
from gradcompat.names import normalise
from gradcompat.regular_files import read_regular
from gradcompat.renderers.terminal import safe
from gradcompat.versions import parse_version


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
        return run_write(path, looked_at, update=update)
    lookup = index.lookup
    return run(packages, lookup)


def run(packages: Sequence[str], lookup: Lookup) -> int:
    """Print the horizon of each package, and the releases behind it.

    Args:
        packages: only these; all that records speak of where none is named.
        lookup: where releases are looked up.

    Returns:
        0 if nothing is newer than what was looked at, 1 if something is, 3 if something could not be looked up.

    Raises:
        UsageError: if no record mentions a package.
    """
    base = load()
    names = [canonical(one, base) for one in packages] or sorted(base.horizon)
    stands = unfixed_by_package(base.in_force())
    ahead = unknown = 0
    with package_index(lookup) as catalogue:
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


def behind(name: str, base: KnowledgeBase, catalogue: Catalogue) -> list[Release]:
    """The final releases behind the horizon of a package that are not withdrawn; all of them where it has none.

    Raises:
        IndexUnavailable: if the package could not be looked up.
    """
    horizon = base.horizon.get(name)
    last = None if horizon is None else parse_version(horizon[0])
    every = catalogue.releases(name)
    if not every:
        raise IndexUnavailable(f"{catalogue.described} has no release of `{name}`")
    return [
        one
        for one in every
        if not one.yanked and not one.version.is_prerelease and (last is None or one.version > last)
    ]


def canonical(package: str, base: KnowledgeBase) -> str:
    """The name that records have for a package.

    Raises:
        UsageError: if none speaks of it.
    """
    name = normalise(package)
    name = base.names.families.get(name, name)
    if not base.knows(name):
        raise UsageError(f"no record mentions `{package}`")
    return name


def _since(releases: Sequence[Release]) -> tuple[str, bool]:
    """What has appeared since, in a few words; whether it is anything."""
    if not releases:
        return "nothing newer", False
    newest = releases[-1]
    day = "" if newest.uploaded is None else f" of {newest.uploaded[:10]}"
    more = "" if len(releases) == 1 else f", with {counted(len(releases) - 1, 'release')} before it"
    return f"newer: {newest.version}{day}{more}", True


def run_write(named: str | None, stated: Sequence[str], *, update: bool) -> int:
    """Write how far releases were looked at into the file of records.

    Args:
        named: the file; None for the one of the checkout that is the working folder.
        stated: ``NAME==VERSION``, what somebody has looked at today, whatever the file says now.
        update: also raise what rows and examples show to have been looked at.

    Raises:
        KnowledgeError: if the file or the rows cannot be read, or the section has another form.
        UsageError: if something stated is no release of a package that records speak of.
        EditError: if the file cannot be written.
    """
    path = authored_file(named)
    authored = read(Path(path))
    base = knowledge_from(compile_records(authored), path)
    today = date.today().isoformat()
    changes: dict[str, Horizon] = {}
    if update:
        rows = read_rows(Path(path).parent / FOLDER)
        changes = advance_horizon(authored.horizon, seen(authored, rows, base.names, _released))
    for text in stated:
        name, _, version = text.partition("==")
        known = canonical(name, base)
        if parse_version(version) is None:
            raise UsageError(f"`--looked-at {text}` names no release", hint=f"write `--looked-at {known}==1.2.3`")
        changes[known] = Horizon(version=version.strip(), date=today)
    _write(path, changes)
    for name, one in sorted(changes.items()):
        before = authored.horizon.get(name)
        was = "new" if before is None else f"was {before.version} of {before.date}"
        sys.stdout.write(f"{name} {one.version} of {one.date} ({was})\n")
    missing = sorted(spoken_of(authored) - base.names.families.keys() - authored.horizon.keys() - changes.keys())
    for name in missing:
        sys.stdout.write(f"{name}: neither a row nor an example names a release: --looked-at {name}==… states it\n")
    sys.stdout.write(f"{counted(len(changes), 'line')} written; `gradcompat knowledge compile` is next\n")
    return 1 if missing else 0


def _write(path: str, changes: Mapping[str, Horizon]) -> None:
    if not changes:
        return
    try:
        before = read_regular(path)
        text = before.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KnowledgeError(f"cannot be read: {error}", path=path) from None
    after = with_horizon(text, changes, path).encode()
    write([FileEdit(path=Path(path), shown=path, before=before, after=after)])


@lru_cache(maxsize=256)
def _released(name: str) -> Mapping[Version, str]:
    """The final releases that the snapshot has of a package, and their days; none where it does not have it."""
    try:
        releases = _snapshot().releases(name)
    except IndexUnavailable:
        return {}
    return {one.version: (one.uploaded or "")[:10] for one in releases if not one.version.is_prerelease}


@lru_cache(maxsize=1)
def _snapshot() -> Snapshot:
    return Snapshot()
