"""Surveys of packages, and the release notes that a user names for them."""

from __future__ import annotations

import sys
from pathlib import Path

from gradcompat.curation.watch.release_notes import Entry, entries
from gradcompat.curation.watch.survey import Survey, last_releases
from gradcompat.errors import UsageError
from gradcompat.index.catalog import Lookup
from gradcompat.index.client import PackageIndex
from gradcompat.index.transport import Transport
from gradcompat.model.release import Catalogue, Release
from gradcompat.regular_files import read_regular
from gradcompat.releases.table import table_of
from gradcompat.renderers.terminal import safe

_MOST_NOTES = 32 * 2**20


def survey_of(
    name: str,
    catalogue: Catalogue,
    count: int,
    rows: Path,
    tag: str,
    notes: tuple[str, list[Entry] | None],
) -> Survey:
    """The survey of one package.

    Args:
        name: of the package, normalised.
        catalogue: where its releases are looked up; modules are compared where it is an index.
        count: how many releases, each with the one before.
        rows: the folder that fetched modules and candidates are kept in.
        tag: how the repository writes the tag of a version.
        notes: where notes are from, and their entries; None for those of the sdist.

    Raises:
        UsageError: if there is no such package.
        IndexUnavailable: if it could not be looked up, or has no two releases.
        KnowledgeError: if another run reads the same package.
    """
    table = table_of(name)
    online = isinstance(catalogue, PackageIndex)
    if online or table is None:
        listed = catalogue.releases(name)
    else:
        listed = tuple(Release(name=name, version=version) for version in table.versions)
    if not listed:
        raise UsageError(f"{catalogue.described} has no package `{name}`")
    survey = Survey(package=name, releases=last_releases(listed, count), rows=rows, say=_say, tag=tag)
    survey.compare_tables(table)
    source, read = notes
    if isinstance(catalogue, PackageIndex):
        survey.look_up_repository(catalogue)
        survey.compare_modules(catalogue)
        if read is None:
            survey.read_changelog(catalogue)
    if read is not None:
        survey.take_notes(read, "standard input" if source == "-" else source)
    survey.rank()
    survey.keep()
    return survey


def entries_named(named: str, lookup: Lookup) -> list[Entry]:
    """The entries of the notes that the user names.

    Raises:
        UsageError: if there are none.
        IndexUnavailable: if they cannot be fetched.
    """
    if named.startswith(("https://", "http://")):
        if lookup.offline:
            raise UsageError(f"`--notes {named}` needs the network", hint="leave out `--offline`, or name a file")
        transport = Transport()
        try:
            content = transport.get(named, limit=_MOST_NOTES, accepted=(200,)).content
        finally:
            transport.close()
    else:
        try:
            content = sys.stdin.buffer.read() if named == "-" else read_regular(named)
        except OSError as error:
            raise UsageError(f"cannot be read: {error.strerror}", path=named) from None
    try:
        found = list(entries(content.decode("utf-8", "replace")))
    except ValueError as error:
        raise UsageError(str(error), path=named) from None
    if not found:
        raise UsageError("has no line of release notes", path=named)
    return found


def _say(sentence: str) -> None:
    sys.stderr.write(safe(sentence) + "\n")
    sys.stderr.flush()
