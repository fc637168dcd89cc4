"""Indexes that only a file of the project names: they are not asked, unless the user says so.

A checkout of somebody else would make a machine connect to an address of its choice, and take the requirements of
packages from there. What the user, the machine or an argument names too is asked; so is a folder inside the project.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from gradcompat.errors import IndexUnavailable
from gradcompat.index.credentials import redact_url
from gradcompat.index.folders import path_of
from gradcompat.index.location import IndexLocation
from gradcompat.index.settings import Settings, StatedIndex
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace

_ASKED_WITH = "`--project-index` or `--index-url` asks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Settings without what is not asked.

    Attributes:
        settings: what is left.
        held: package → why nobody is asked for it.
        notes: one sentence that names the indexes that are not asked.
    """

    settings: Settings
    held: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def speaks(settings: Settings) -> bool:
    """Does a file of the project name an index, or a page or folder of files?"""
    return any(link.project is not None for link in (*settings.indexes, *settings.find_links))


def without_project(settings: Settings, others: Settings, named: Iterable[str]) -> Asking:
    """The settings without the indexes that only the project names.

    Args:
        settings: of the project, the user and the machine.
        others: of another tool of this machine.
        named: addresses that arguments name, and the public index.
    """
    every = (*settings.indexes, *settings.find_links, *others.indexes, *others.find_links)
    trusted = {_plain(index.url) for index in every if index.project is None} | {_plain(text) for text in named}

    def asked(index: StatedIndex) -> bool:
        return index.project is None or _plain(index.url) in trusted or _is_inside(index.url, index.project)

    left_out = [link for link in (*settings.indexes, *settings.find_links) if not asked(link)]
    if not left_out:
        return Asking(settings=settings)
    gone = {location.name: location for location in left_out if location.name is not None}
    tied = {name: tuple(index for index in names if index not in gone) for name, names in settings.tied.items()}
    held = {
        name: f"it comes from `{_shown(gone[settings.tied[name][0]])}`, which only the project names: {_ASKED_WITH} it"
        for name, names in tied.items()
        if not names
    }
    several = list(dict.fromkeys(f"`{_shown(location)}` ({location.origin})" for location in left_out))
    counted = f", and for {len(held)} of its packages no index is queried" if held else ""
    note = f"the project names {', '.join(several)}, which is not queried{counted}: {_ASKED_WITH} it"
    return Asking(
        settings=replace(
            settings,
            indexes=tuple(filter(asked, settings.indexes)),
            find_links=tuple(filter(asked, settings.find_links)),
            tied={name: names for name, names in tied.items() if names},
        ),
        held=held,
        notes=(note,),
    )


def _shown(index: StatedIndex) -> str:
    return redact_url(index.url)


def _plain(url: str) -> str:
    """The address without credentials and the slash at its end."""
    return IndexLocation(url=url).url.rstrip("/")


def _is_inside(url: str, folder: Path) -> bool:
    if not IndexLocation(url=url).local:
        return False
    try:
        return Path(os.path.realpath(path_of(url))).is_relative_to(os.path.realpath(folder))
    except (IndexUnavailable, OSError, ValueError):
        return False
