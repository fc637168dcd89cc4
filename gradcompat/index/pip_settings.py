"""The indexes that ``pip install`` would use: its variables of the environment and its files.

Weakest first, as pip has it: the files of the machine, of the user, of the virtual environment, and the one that
PIP_CONFIG_FILE names; in all of them together ``[install]`` beats ``[global]``; PIP_… beat them all. What a stronger
place says replaces what a weaker one says, also for options that take several values. Surprises: with PIP_CONFIG_FILE
the file of the user is not read, with ``PIP_CONFIG_FILE=/dev/null`` none is; ``[download]`` is not for installing.
"""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from gradcompat.index.settings import Origin, Places, Settings, StatedIndex, index_url, read_settings
from gradcompat.index.timestamps import moment
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern

_SECTIONS = ("global", "install")
_TRUE, _FALSE = ("y", "yes", "t", "true", "on", "1"), ("n", "no", "f", "false", "off", "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    value: str = field(repr=False)
    origin: Origin


def pip_settings(start: Path, places: Places, prefix: Path | None, now: datetime) -> Settings:
    """What pip would use.

    Args:
        start: the folder that relative paths start from.
        places: the machine and its variables.
        prefix: the virtual environment that is installed into, which may have a file of its own.
        now: what spans of time are counted from.

    Raises:
        UsageError: if a file or a value makes no sense.
    """
    notes: list[str] = []
    stated: dict[str, _Stated] = {}
    by_section: dict[tuple[str, str], _Stated] = {}
    for path in _files(places, prefix, notes):
        by_section.update(_read(path, notes))
    for wanted in _SECTIONS:
        stated.update({option: value for (section, option), value in by_section.items() if section == wanted})
    stated.update(_variables(places.environ))
    main = stated.get("index-url")
    indexes = [*_urls(main, start, default=True)] if main is not None else []
    indexes += _urls(stated.get("extra-index-url"), start)
    keyring = stated.get("keyring-provider")
    return Settings(
        indexes=tuple(indexes),
        find_links=tuple(_urls(stated.get("find-links"), start)),
        no_index=_flag(stated.get("no-index")),
        strategy="all",
        exclude_newer=_moment(stated.get("uploaded-prior-to"), now),
        keyring=keyring is not None and keyring.value.strip() == "subprocess",
        notes=tuple(notes),
    )


def _files(places: Places, prefix: Path | None, notes: list[str]) -> Iterator[Path]:
    """Its files, weakest first."""
    name = "pip.ini" if places.windows else "pip.conf"
    home, environ = places.home, places.environ
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return
    if places.windows:
        machine = places.folders("PROGRAMDATA", "ProgramData")
    elif places.platform == "darwin":
        machine = (places.root / "Library/Application Support",)
    else:
        machine = places.folders("XDG_CONFIG_DIRS", "etc/xdg")
    yield from (folder / "pip" / name for folder in machine)
    if not places.windows and places.platform != "darwin":
        yield places.root / "etc" / name
    if home is not None and not (named and os.path.exists(Path(named))):
        yield home / ("pip" if places.windows else ".pip") / name
        yield _of_user(places, home) / "pip" / name
    if prefix is not None:
        yield prefix / name
    if named:
        if not os.path.exists(Path(named)):
            notes.append(f"`PIP_CONFIG_FILE` names `{named}`, which does not exist")
        yield Path(named)


def _of_user(places: Places, home: Path) -> Path:
    if places.windows:
        return Path(places.environ.get("APPDATA") or home / "AppData/Roaming")
    if places.platform == "darwin" and os.path.isdir(home / "Library/Application Support/pip"):
        return home / "Library/Application Support"
    return Path(places.environ.get("XDG_CONFIG_HOME") or home / ".config")


def _read(path: Path, notes: list[str]) -> dict[tuple[str, str], _Stated]:
    """The values of a file by section and option."""
    document = read_settings(path, notes)
    if document is None:
        return {}
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(document.text, document.path)
    except configparser.Error as error:
        # Its own message quotes the line, in which a password may stand.
        places = getattr(error, "errors", None)
        line = places[0][0] if places else getattr(error, "lineno", None)
        raise Origin(name=document.path, line=line).error(f"is not a configuration of pip: {_wrong(error)}") from None
    found = {}
    for section in parser.sections():
        for key, value in parser.items(section):
            line = _line_of(document.text, section, key)
            if value is not None and value.strip():  # pip passes over empty ones
                found[section, _option(key)] = _Stated(value=value, origin=Origin(name=document.path, line=line))
    return found


def _wrong(error: configparser.Error) -> str:
    if isinstance(error, configparser.MissingSectionHeaderError):
        return "a setting comes before the first `[section]`"
    if isinstance(error, configparser.DuplicateOptionError):
        return f"`{error.option}` appears twice in `[{error.section}]`"
    if isinstance(error, configparser.DuplicateSectionError):
        return f"the section `[{error.section}]` stands twice"
    return "this line is neither a section nor a setting"


def _line_of(text: str, section: str, key: str) -> int | None:
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header is not None:
            inside = header[1] == section
        elif inside and line[:1].strip() and re.split(r"[=:]", line, maxsplit=1)[0].strip().lower() == key:
            return number
    return None


def _option(key: str) -> str:
    return key.lower().replace("_", "-").removeprefix("--")


def _variables(environ: Mapping[str, str]) -> dict[str, _Stated]:
    return {
        _option(key[4:]): _Stated(value=value, origin=Origin(name=key))
        for key, value in sorted(environ.items())
        if key.startswith("PIP_") and value.strip()
    }


def _urls(stated: _Stated | None, start: Path, *, default: bool = False) -> Iterator[StatedIndex]:
    """One index, or several between blanks."""
    if stated is None:
        return
    for text in [stated.value] if default else stated.value.split():
        yield StatedIndex(url=index_url(text, stated.origin, start), origin=stated.origin, default=default)


def _flag(stated: _Stated | None) -> Origin | None:
    if stated is None:
        return None
    value = stated.value.strip().lower()
    if value not in (*_TRUE, *_FALSE):
        raise stated.origin.error(f"`{value}` is neither true nor false")
    return stated.origin if value in _TRUE else None


def _moment(stated: _Stated | None, now: datetime) -> tuple[str, Origin] | None:
    if stated is None:
        return None
    found = moment(stated.value, now, whole_day=False)
    if found is None:
        raise stated.origin.error(
            f"`{stated.value.strip()}` is not a point in time", hint="write `2026-11-20T00:00:00Z`"
        )
    return found, stated.origin


_HEADER = lazy_pattern(r"\[(.+)\]")
