"""The journal of a change to several files: what a run that was killed has begun, the next one finishes or undoes.

It stands in the folder that all of the files are in, from before the first new text is on the disk until the last one
is in place. It can name only files of that folder, and put in the place of one only a file beside it, whose digest it
has; so one that somebody has committed does nothing that a commit could not do. A file that is neither what it was nor
what it was to be belongs to somebody who changed it since: then nothing more is written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gradcompat.errors import EditError

if sys.platform != "win32":
    import fcntl

NAME = ".gradcompat-journal"
_NEW = f"{NAME}.tmp"
_FORMAT = 1
_LARGEST = 1_000_000
_STAGED = re.compile(r"\.gradcompat-[0-9a-f]{16}\.tmp")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """One file that is to be replaced.

    Attributes:
        path: the file, without links.
        staged: the name beside it under which the new text is written first.
        back: the name beside it under which the old text is written if all is to be undone.
        before: SHA-256 of the old text.
        after: SHA-256 of the new text.
    """

    path: Path
    staged: str
    back: str
    before: str
    after: str

    @property
    def staged_path(self) -> Path:
        """Where the new text is written first."""
        return self.path.parent / self.staged

    @property
    def back_path(self) -> Path:
        """Where the old text is written if all is to be undone."""
        return self.path.parent / self.back

    def undone(self) -> Replacement:
        """The replacement that gives the file its old text back."""
        return Replacement(path=self.path, staged=self.back, back=self.staged, before=self.after, after=self.before)


def digest(data: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def common_folder(paths: Sequence[Path]) -> Path:
    """The deepest folder that holds all of the files.

    Raises:
        ValueError: if there is none, as for two drives.
    """
    return Path(os.path.commonpath([path.parent for path in paths]))


def begin(folder: Path, replacements: Sequence[Replacement]) -> None:
    """Put a journal on the disk, in the place of one that is there.

    Raises:
        OSError: if it cannot be written.
    """
    entries = [
        {
            "path": replacement.path.relative_to(folder).as_posix(),
            "staged": replacement.staged,
            "back": replacement.back,
            "before": replacement.before,
            "after": replacement.after,
        }
        for replacement in replacements
    ]
    data = json.dumps({"format": _FORMAT, "replacements": entries}, indent=1).encode()
    with suppress(FileNotFoundError):
        os.unlink(folder / _NEW)
    create(folder / _NEW, data)
    os.replace(folder / _NEW, folder / NAME)
    flush_folder(folder)


def pending(folder: Path) -> bool:
    """Is there a journal, of whomever?"""
    return os.path.lexists(folder / NAME)


def end(folder: Path, replacements: Iterable[Replacement]) -> None:
    """Clear away what was written beside the files, and then the journal."""
    for replacement in replacements:
        for path in (replacement.staged_path, replacement.back_path):
            with suppress(OSError):
                os.unlink(path)
    for name in (_NEW, NAME):
        with suppress(OSError):
            os.unlink(folder / name)


def create(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a new file, and have it on the disk.

    Args:
        path: where nothing is yet.
        data: what it holds.
        mode: its rights, less those that the umask takes; this user alone has any without it.

    Raises:
        OSError: if there is something of that name, or it cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, mode)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_in_place(one: Replacement) -> None:
    """Move the new text into place, with the rights of the old one.

    Raises:
        OSError: if that does not work; the file is then as it was.
    """
    status = os.stat(one.path)
    if hasattr(os, "chown"):
        with suppress(OSError):  # only root may give a file away, and only root needs to
            os.chown(one.staged_path, status.st_uid, status.st_gid)
    os.chmod(one.staged_path, stat.S_IMODE(status.st_mode))
    os.replace(one.staged_path, one.path)


def flush_folder(folder: Path) -> None:
    """Have the new names on the disk, too, where the system can be asked for that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """No other run changes files under a journal of this folder meanwhile."""
    if sys.platform == "win32":
        yield
        return
    descriptor = None
    with suppress(OSError):  # a file system without locks
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def recover(paths: Iterable[Path]) -> list[str]:
    """Finish or undo what earlier runs have begun on files of these folders, or of any folder above them.

    Returns:
        What was done, each a sentence.

    Raises:
        EditError: if a journal is none, or what it says cannot be done.
    """
    folders: dict[Path, None] = {}
    for path in paths:
        try:
            real = Path(os.path.realpath(path))
        except (OSError, ValueError):  # who reads it says so
            continue
        folders |= dict.fromkeys((real, *real.parents))
    said: list[str] = []
    for folder in folders:
        if any(_is_ours(folder / name) for name in (NAME, _NEW)):
            with alone(folder):
                said += _recovered(folder)
    return said


def _is_ours(path: Path) -> bool:
    """A file of this user: in a folder that others write to, one of theirs means nothing."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return False
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def _recovered(folder: Path) -> list[str]:
    journal = folder / NAME
    if not _is_ours(journal):  # another run has ended meanwhile, or one was killed before it began
        end(folder, ())
        return []
    replacements = _read(folder)
    now = [
        (replacement, _digest_of(replacement.path), _digest_of(replacement.staged_path)) for replacement in replacements
    ]
    names = ", ".join(f"`{replacement.path.relative_to(folder).as_posix()}`" for replacement in replacements)
    where = f" in `{folder}`"
    if all(current == one.after or (current == one.before and staged == one.after) for one, current, staged in now):
        for one, current, _ in now:
            if current != one.after:
                try:
                    put_in_place(one)
                except OSError as error:
                    reason = f"an earlier change was interrupted, and cannot be finished: {error.strerror}"
                    raise EditError(reason, path=str(one.path), hint="make it writable, and run again") from None
        sentence = f"an earlier run was interrupted: its change to {names}{where} is finished"
    elif all(current == one.before for one, current, _ in now):
        sentence = f"an earlier run was interrupted: its change to {names}{where} is undone"
    else:
        others = [
            one.path.relative_to(folder).as_posix() for one, current, _ in now if current not in (one.before, one.after)
        ]
        changed = " and ".join(f"`{name}`" for name in others) or "files of it"
        sentence = (
            f"an earlier run was interrupted in its change to {names}{where}, and {changed} changed since: look at them"
        )
    for path in {replacement.path.parent for replacement in replacements}:
        flush_folder(path)
    end(folder, replacements)
    return [sentence]


def _read(folder: Path) -> tuple[Replacement, ...]:
    path = folder / NAME
    hint = "delete it, and run again"
    try:
        data = _content(path)
        if data is None:
            raise ValueError("not a file")
        content = json.loads(data)
        if content["format"] != _FORMAT:
            raise ValueError("another format")
        found = tuple(_replacement(entry, folder) for entry in content["replacements"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EditError(f"is not a journal of gradcompat: {error}", path=str(path), hint=hint) from None
    return found


def _replacement(entry: Mapping[str, Any], folder: Path) -> Replacement:
    name = entry["path"]
    path = folder.joinpath(*PurePosixPath(name).parts)
    if PurePosixPath(name).is_absolute() or ".." in path.parts or os.path.realpath(path) != str(path):
        raise ValueError(f"`{name}` is not a file of its folder")
    for key, pattern in (("staged", _STAGED), ("back", _STAGED), ("before", _DIGEST), ("after", _DIGEST)):
        if not pattern.fullmatch(entry[key]):
            raise ValueError(f"`{key}` is `{entry[key]}`")
    return Replacement(
        path=path, staged=entry["staged"], back=entry["back"], before=entry["before"], after=entry["after"]
    )


def _digest_of(path: Path) -> str | None:
    """The digest of a regular file; None where there is none."""
    data = _content(path, largest=None)
    return None if data is None else digest(data)


def _content(path: Path, largest: int | None = _LARGEST) -> bytes | None:
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or (largest is not None and status.st_size > largest):
            return None
        return file.read()
