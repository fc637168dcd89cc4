"""What a tool's configuration says about indexes, with the place of each statement; and reading such files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from gradcompat.errors import Malformed, NotFound, UsageError
from gradcompat.formats.document import Document, read_document
from gradcompat.index.credentials import redact_url
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern

Strategy = Literal["all", "first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a setting stands: in a file, in a variable of the environment, in an argument.

    Attributes:
        name: the file, ``PIP_INDEX_URL``, ``--index-url``.
        line: 1-based line of the file, if known.
    """

    name: str
    line: int | None = None

    def __str__(self) -> str:
        return f"`{self.name}`" if self.line is None else f"`{self.name}:{self.line}`"

    def error(self, message: str, *, hint: str | None = None) -> UsageError:
        """That something that stands here makes no sense."""
        return UsageError(message, path=self.name, line=self.line, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedIndex:
    """An index, or a page or folder of files, that a setting names.

    Attributes:
        url: absolute, perhaps with credentials, which is why a repr hides it.
        origin: where it is named.
        name: what uv's settings call it.
        default: it stands in the place of the public index.
        explicit: it is only for the packages that name it.
        project: the folder of the project's own file that names it; None for what the user or the machine says.
    """

    url: str = field(repr=False)
    origin: Origin
    name: str | None = None
    default: bool = False
    explicit: bool = False
    project: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one tool would use.

    Attributes:
        indexes: in the order in which the tool lists them, with explicit ones; of the default ones the first counts.
            The public index is among them only where a setting names it.
        find_links: pages and folders of files.
        no_index: nothing but ``find_links`` is used.
        strategy: whether an index is asked only where those before it do not have the package.
        exclude_newer: the moment from which on releases are not looked at, as RFC 3339 in UTC, and where that stands.
        keyring: credentials may be asked for with the command ``keyring``.
        tied: package → names of the indexes that it may come from, and no other.
        notes: what was found and could not be used, each a sentence.
    """

    indexes: tuple[StatedIndex, ...] = ()
    find_links: tuple[StatedIndex, ...] = ()
    no_index: Origin | None = None
    strategy: Strategy = "all"
    exclude_newer: tuple[str, Origin] | None = None
    keyring: bool = False
    tied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def speak_of_indexes(self) -> bool:
        """They name where packages come from; explicit indexes do not, because everything else comes from elsewhere."""
        implicit = any(not index.explicit for index in self.indexes)
        return implicit or bool(self.find_links) or self.no_index is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where this machine keeps configuration.

    Attributes:
        platform: as ``sys.platform`` has it.
        root: what stands before ``/etc``, and what nothing is searched above; another folder in tests.
        home: the user's folder, if there is one.
        environ: variables of the environment.
    """

    platform: str
    root: Path
    environ: Mapping[str, str] = field(repr=False)

    @property
    def home(self) -> Path | None:
        """The user's folder, if the environment names one."""
        value = self.environ.get("USERPROFILE" if self.windows else "HOME")
        return Path(value) if value else None

    @property
    def windows(self) -> bool:
        return self.platform == "win32"

    def above(self, start: Path) -> tuple[Path, ...]:
        """A folder and what it lies in, up to the root."""
        folders = (start, *start.parents)
        return folders[: folders.index(self.root) + 1] if self.root in folders else folders

    def folders(self, variable: str, *default: str) -> tuple[Path, ...]:
        """The folders that a variable lists, or else those below the root."""
        listed = [part for part in self.environ.get(variable, "").split(os.pathsep) if part]
        return tuple(map(Path, listed)) or tuple(self.root / part for part in default)


def read_settings(path: Path, notes: list[str]) -> Document | None:
    """The text of a file of settings; None where there is none.

    Args:
        path: the file.
        notes: takes a sentence if there is one that cannot be read, because then it is not known what it says.

    Raises:
        UsageError: if it is no text.
    """
    try:
        if os.path.isdir(path):
            notes.append(f"`{path.as_posix()}`: is a folder, not a file")
            return None
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        pass  # reading it says what is wrong with it
    try:
        return read_document(path)
    except NotFound as error:
        notes.append(str(error))
        return None
    except Malformed as error:
        raise UsageError(error.message, path=error.path, line=error.line) from None


def index_url(text: str, origin: Origin, folder: Path) -> str:
    """The address of an index as a setting has it: a URL, or a path that starts at a folder.

    Raises:
        UsageError: if nothing can be fetched from there.
    """
    text = text.strip()
    if not _SCHEME.match(text):
        try:
            if "\0" in text:
                raise ValueError
            return (folder / Path(text).expanduser()).absolute().as_uri()
        except (ValueError, RuntimeError):  # RuntimeError: a `~` where there is no home
            raise origin.error(f"`{redact_url(text)}` is neither a URL nor a path") from None
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise origin.error(f"`{redact_url(text)}` is not a URL") from None
    if parts.scheme not in ("http", "https", "file"):
        raise origin.error(f"`{redact_url(text)}` is not an address of an index: only http, https and file are")
    if parts.scheme != "file" and not host:
        raise origin.error(f"`{redact_url(text)}` names no host")
    if any(ord(sign) <= 0x20 or ord(sign) == 0x7F for sign in text):
        raise origin.error(f"`{redact_url(text)}` is not a URL: it holds a blank or a control character")
    return text


_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://")
