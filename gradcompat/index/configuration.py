"""Which indexes count for a project: those that its own tool would use on this machine.

In this order: arguments of the command line; options in requirements files; the settings of the project's tool, which
is uv where there is a uv.lock, a uv.toml or ``[tool.uv]``, and else pip; where these name no index, those of the other
tool, because a machine that has to use a mirror often says so to one of them only; the public index. What a file of the
project names is asked only where the user says so (``project_indexes.py``). An argument for
one thing leaves the others as they are: ``--index-url`` replaces the main index, and configured extra ones stay, as
they do for pip and for uv.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from gradcompat.index.credentials import Credentials, redact_url
from gradcompat.index.location import IndexLocation
from gradcompat.index.pip_settings import pip_settings
from gradcompat.index.project_indexes import Asking, speaks, without_project
from gradcompat.index.public import public_index
from gradcompat.index.settings import Origin, Places, Settings, StatedIndex, Strategy, index_url
from gradcompat.index.timestamps import moment
from gradcompat.index.uv_settings import UvSettings, uv_settings
from gradcompat.startup.lazy_patterns import lazy_pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementsLine:
    """An option that stands in a requirements file: ``--extra-index-url https://…``.

    Attributes:
        text: the line, with its continuations.
        path: the file.
        line: 1-based.
    """

    text: str = field(repr=False)
    path: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What the user asked for.

    Attributes:
        index_url: in the place of the main index.
        extra_index_urls: beside it.
        find_links: pages and folders of files.
        no_index: nothing but ``find_links``.
        exclude_newer: a date, a time, or a span such as ``7 days``.
        project_indexes: ask what the project's own files name, too.
        lines: options of the requirements files that are read; those that are not about indexes are passed over.
    """

    index_url: str | None = field(default=None, repr=False)
    extra_index_urls: Sequence[str] = field(default=(), repr=False)
    find_links: Sequence[str] = field(default=(), repr=False)
    no_index: bool = False
    exclude_newer: str | None = None
    project_indexes: bool = False
    lines: Sequence[RequirementsLine] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The indexes that count, and how.

    Attributes:
        indexes: in the order of their priority, and then what is no index but a page or a folder of files.
        strategy: ``all`` joins what all indexes have, as pip does; ``first`` takes a package from the first that has
            it, as uv does.
        tied: package → the indexes that it comes from, and from no other; some are only there for such packages.
        held: package → why nobody is asked for it: it comes from an index that only the project names.
        exclude_newer: releases from this moment on do not count; RFC 3339 in UTC.
        credentials: for the indexes, and for other hosts that the user has passwords for.
        where: what was taken from where, each a sentence.
        notes: what was found and could not be used, each a sentence.
    """

    indexes: tuple[IndexLocation, ...]
    strategy: Strategy
    tied: Mapping[str, tuple[IndexLocation, ...]]
    held: Mapping[str, str]
    exclude_newer: str | None
    credentials: Credentials
    where: tuple[str, ...]
    notes: tuple[str, ...]


def configuration(
    start: Path,
    environ: Mapping[str, str],
    *,
    arguments: Arguments = Arguments(),
    prefix: Path | None = None,
    now: datetime | None = None,
    platform: str = sys.platform,
    root: Path = Path("/"),
) -> Configuration:
    """What counts in a folder.

    Args:
        start: the folder of the project; relative paths in arguments and variables start there too.
        environ: variables of the environment.
        arguments: what the user asked for.
        prefix: the environment that is looked at, whose own pip.conf counts; by default the active one.
        now: what spans of time are counted from.
        platform: as ``sys.platform`` has it.
        root: the folder that ``/etc`` lies in; what lies above it is not looked at.

    Raises:
        UsageError: if a file of settings is broken, or something in it or in an argument makes no sense.
    """
    now = now or datetime.now(timezone.utc)
    places = Places(platform=platform, root=root, environ=environ)
    prefix = prefix or next(
        (Path(environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environ.get(name)), None
    )
    # uv's files are read first in any case, because they decide whose project it is.
    uv = uv_settings(start, places, now)
    asking = Asking(settings=uv.settings)
    if not arguments.project_indexes and speaks(uv.settings):
        named = (*arguments.extra_index_urls, *arguments.find_links, arguments.index_url or "", public_index())
        asking = without_project(uv.settings, pip_settings(start, places, prefix, now), named)
        uv = UvSettings(settings=asking.settings, of_project=uv.of_project)
    if uv.of_project and uv.settings.speak_of_indexes:
        consulted = [uv.settings]
    else:
        pip = pip_settings(start, places, prefix, now)
        consulted = [uv.settings, pip] if uv.of_project else [pip, uv.settings]
        if consulted[0].speak_of_indexes:
            consulted = consulted[:1]
    base = next((source for source in consulted if source.speak_of_indexes), consulted[0])
    asked = _asked(arguments, environ, start, base.strategy)
    no_index = asked.no_index or base.no_index
    indexes = () if no_index is not None else _joined(asked, base)
    links = (*asked.find_links, *base.find_links)
    tied = _tied(uv.settings) if uv.of_project and no_index is None else {}
    newest = next(
        (source.exclude_newer for source in (_newest(arguments, now), *consulted) if source.exclude_newer), None
    )
    everything = (*indexes, *(index for several in tied.values() for index in several), *links)
    credentials = Credentials(
        [(index.url, index.name) for index in everything],
        environ,
        keyring=any(source.keyring for source in (uv.settings, *consulted)),
    )
    return Configuration(
        indexes=(
            *(IndexLocation(url=index.url) for index in indexes),
            *(IndexLocation(url=index.url, find_links=True) for index in links),
        ),
        strategy=base.strategy,
        tied={name: tuple(IndexLocation(url=index.url) for index in several) for name, several in tied.items()},
        held=asking.held,
        exclude_newer=newest[0] if newest is not None else None,
        credentials=credentials,
        where=tuple(_sentences(indexes, links, tied, no_index, newest)),
        notes=(*asking.notes, *(note for source in consulted for note in source.notes)),
    )


@dataclass(slots=True)
class _Asked:
    """Arguments and the lines of requirements files in one."""

    main: StatedIndex | None = None
    alone: bool = False
    extra: list[StatedIndex] = field(default_factory=list)
    find_links: list[StatedIndex] = field(default_factory=list)
    no_index: Origin | None = None


def _asked(arguments: Arguments, environ: Mapping[str, str], start: Path, strategy: Strategy) -> _Asked:
    asked = _Asked()
    start = start.absolute()

    def stated(text: str, origin: Origin, folder: Path = start, *, default: bool = False) -> StatedIndex:
        return StatedIndex(url=index_url(text, origin, folder), origin=origin, default=default)

    for line in arguments.lines:
        origin, folder = Origin(name=line.path, line=line.line), (start / line.path).parent
        for option, value in _options(line.text, origin, environ):
            if option == "--index-url":
                asked.main, asked.alone = stated(value, origin, default=True), True
                if strategy == "all":
                    asked.extra.clear()  # what stood before it is forgotten by pip
            elif option == "--extra-index-url":
                asked.extra.append(stated(value, origin))
            elif option == "--find-links":
                beside = "://" not in value and os.path.exists(folder / value)
                asked.find_links.append(stated(value, origin, folder if beside else start))
            else:
                asked.no_index = origin
    if arguments.index_url is not None:
        asked.main, asked.alone = stated(arguments.index_url, Origin(name="--index-url"), default=True), False
    extra, links = Origin(name="--extra-index-url"), Origin(name="--find-links")
    asked.extra = [*(stated(text, extra) for text in arguments.extra_index_urls), *asked.extra]
    asked.find_links = [*(stated(text, links) for text in arguments.find_links), *asked.find_links]
    if arguments.no_index:
        asked.no_index = Origin(name="--no-index")
    return asked


def _options(text: str, origin: Origin, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The options about indexes in one line of a requirements file, under their long names."""
    # Only ${NAME} in capitals, and only what is set, as pip has it.
    text = _VARIABLE.sub(lambda match: environ.get(match[1]) or match[0], text)
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        raise origin.error("has a quotation mark without its other half") from None
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if not word.startswith("--") and word[:2] in _SHORT:
            option, equals, value = word[:2], word[2:], word[2:].removeprefix("=")
        option = _SHORT.get(option, option)
        if option == "--no-index":
            yield option, ""
        elif option in _WITH_VALUE:
            if not equals:
                value = next(rest, "")
            if not value:
                raise origin.error(f"`{option}` has no value")
            yield _WITH_VALUE[option], value


_VARIABLE = lazy_pattern(r"\$\{([A-Z0-9_]+)\}")
_SHORT = {"-i": "--index-url", "-f": "--find-links"}
_WITH_VALUE = {
    "--index-url": "--index-url",
    "--pypi-url": "--index-url",
    "--extra-index-url": "--extra-index-url",
    "--find-links": "--find-links",
}


def _joined(asked: _Asked, base: Settings) -> tuple[StatedIndex, ...]:
    """The indexes that are asked without being named, the default one where the tool asks it."""
    implicit = [index for index in base.indexes if not index.explicit]
    # pip forgets the configured ones where a requirements file has an index of its own.
    extra = [] if asked.alone and base.strategy == "all" else [index for index in implicit if not index.default]
    configured = next((index for index in implicit if index.default), None)
    main = asked.main or configured or StatedIndex(url=public_index(), origin=_PUBLIC, default=True)
    every = [main, *extra, *asked.extra] if base.strategy == "all" else [*asked.extra, *extra, main]
    unique: dict[str, StatedIndex] = {}
    for index in every:
        unique.setdefault(index.url.rstrip("/"), index)
    return tuple(unique.values())


_PUBLIC = Origin(name="default")


def _tied(settings: Settings) -> dict[str, tuple[StatedIndex, ...]]:
    named = {index.name: index for index in settings.indexes if index.name is not None}
    return {package: tuple(named[name] for name in names) for package, names in settings.tied.items()}


def _newest(arguments: Arguments, now: datetime) -> Settings:
    if arguments.exclude_newer is None:
        return Settings()
    origin = Origin(name="--exclude-newer")
    found = moment(arguments.exclude_newer, now, whole_day=True)
    if found is None:
        raise origin.error(
            f"`{arguments.exclude_newer}` is not a point in time", hint="write `2026-11-20T00:00:00Z`, or `7 days`"
        )
    return Settings(exclude_newer=(found, origin))


def _sentences(
    indexes: Sequence[StatedIndex],
    links: Sequence[StatedIndex],
    tied: Mapping[str, Iterable[StatedIndex]],
    no_index: Origin | None,
    newest: tuple[str, Origin] | None,
) -> Iterator[str]:
    if no_index is not None:
        yield f"no index: {no_index}"
    for index in indexes:
        yield f"index `{redact_url(index.url)}`{_from(index.origin)}"
    for index in links:
        yield f"files of `{redact_url(index.url)}`{_from(index.origin)}"
    for package, several in tied.items():
        for index in several:
            yield f"`{package}` only from `{redact_url(index.url)}`{_from(index.origin)}"
    if newest is not None:
        yield f"nothing from {newest[0]} on: {newest[1]}"


def _from(origin: Origin) -> str:
    return ", which is the default" if origin is _PUBLIC else f" from {origin}"
