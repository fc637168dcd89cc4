"""Surveys of packages, and the release notes that a user names for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from gradcompat.curation.watch.release_notes import Entry, entries
from gradcompat.curation.watch.survey import Survey, last_releases
from gradcompat.errors import IndexUnavailable, UsageError
from gradcompat.files.regular_files import read_regular
from gradcompat.index.catalog import Lookup
from gradcompat.index.client import PackageIndex
from gradcompat.index.transport import Transport
from gradcompat.model.release import Catalogue, Release
from gradcompat.releases.table import table_of
from gradcompat.renderers.terminal import safe

_MOST_NOTES = 32 * 2**20


def surveys_of(
    names: Sequence[str],
    catalogue: Catalogue,
    count: int,
    rows: Path,
    tag: str,
    notes: tuple[str, list[Entry] | None],
) -> tuple[list[Survey], list[str]]:
    """The surveys of packages, and why there is none of some.

    Args:
        names: of the packages, normalised.
        catalogue: where their releases are looked up.
        count: how many releases of each, with the one before them.
        rows: the folder that fetched modules and candidates are kept in.
        tag: how the repository writes the tag of a version.
        notes: where notes are from, and their entries; None for those of the sdist.

    Raises:
        UsageError: if there is a survey of none of them.
        IndexUnavailable: if there is a survey of none of them.
        KnowledgeError: if another run reads one of them.
    """
    surveys: list[Survey] = []
    lost: list[UsageError | IndexUnavailable] = []
    for name in names:
        try:
            surveys.append(survey_of(name, catalogue, count, rows, tag, notes))
        except (UsageError, IndexUnavailable) as error:
            lost.append(error)
    if not surveys:
        raise lost[0]
    return surveys, [str(error) for error in lost]


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
        for look in (
            survey.look_up_repository,
            survey.compare_modules,
            *([survey.read_changelog] if read is None else []),
        ):
            try:
                look(catalogue)
            except IndexUnavailable as error:
                survey.gaps.append(str(error))
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
