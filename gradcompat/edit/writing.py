"""Writing changed files: all of them or none, each whole or not at all, and the same as a unified diff.

A file is written beside itself and moved into place, so that whoever reads it sees the old text or the new one. What
surprises: a symbolic link stays one, and the file behind it changes; a file with several hard links is changed under
the one name that was given; a file without any right to write stays as it is, although its folder would allow it.
"""

from __future__ import annotations

import difflib
import json
import os
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gradcompat.edit.encoding import decoded
from gradcompat.errors import EditError
from gradcompat.regular_files import open_regular

_NOTHING = "nothing was written"
_CONTEXT = 3
_COMPARISONS = 5_000_000  # of lines; a second's work


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """One file and what it shall hold.

    Attributes:
        path: where it is.
        shown: how it is called to the user.
        before: what it held when the plan was made.
        after: what it shall hold.
    """

    path: Path
    shown: str
    before: bytes
    after: bytes


def edited(path: Path, shown: str, before: bytes, edit: Callable[[str], str]) -> FileEdit:
    """The edit of a file through a function over its text; encoding and byte order mark stay.

    Raises:
        EditError: if the bytes are no text, or as ``edit`` raises it.
    """
    text = decoded(before, shown)
    return FileEdit(path=path, shown=shown, before=before, after=text.encoded(edit(text.text)))


def diff(edit: FileEdit) -> str:
    """The edit as a unified diff; empty if nothing changes.

    A carriage return before the end of every line is not shown. Where only some lines have one, it is ``^M``.
    """
    if edit.before == edit.after:
        return ""
    old, new = decoded(edit.before, edit.shown).text, decoded(edit.after, edit.shown).text
    both = old + new
    everywhere = both.count("\r\n") == both.count("\n")
    a, b = (_shown_lines(text, everywhere) for text in (old, new))
    name = edit.shown.replace("\\", "/").lstrip("/")
    lines = [f"--- {_quoted('a/' + name)}\n", f"+++ {_quoted('b/' + name)}\n"]
    for line in _hunks(a, b):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def write(edits: Sequence[FileEdit]) -> None:
    """Write all of the edits.

    Every file is checked, and every new text is on the disk beside it, before the first one is moved into place. If
    moving a later one fails, the earlier ones get their old text back.

    Raises:
        EditError: if a file is no longer what it was, or something could not be written. The message says what was
            written, as a rule nothing.
    """
    wanted = [edit for edit in edits if edit.before != edit.after]
    places: dict[Path, _Place] = {}
    for edit in wanted:
        place = _checked(edit)
        if place.path in places:
            raise EditError(f"is to be changed twice at once; {_NOTHING}", path=edit.shown)
        places[place.path] = place
    staged: list[tuple[FileEdit, _Place, str]] = []
    try:
        for edit, place in zip(wanted, places.values(), strict=True):
            staged.append((edit, place, _staged(edit.after, place, edit.shown)))
        for edit in wanted:
            _checked(edit)  # writing to the disk may have taken a while
        for done, (edit, place, temporary) in enumerate(staged):
            try:
                os.replace(temporary, place.path)
            except OSError as error:
                kept = _restored([(edit, place) for edit, place, _ in staged[:done]])
                raise EditError(f"could not be replaced: {_reason(error)}; {kept}", path=edit.shown) from None
    finally:
        for _, _, temporary in staged:
            with suppress(OSError):
                os.unlink(temporary)
    for folder in {place.path.parent for place in places.values()}:
        _flush_folder(folder)


@dataclass(frozen=True, slots=True)
class _Place:
    """A file behind all links, and what its inode says."""

    path: Path
    status: os.stat_result


def _checked(edit: FileEdit) -> _Place:
    """The file that an edit is about, if it still holds what the plan was made for."""
    try:
        path = Path(os.path.realpath(edit.path, strict=True))
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise EditError(f"is not a file; {_NOTHING}", path=edit.shown)
        if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
            raise EditError(f"is read-only; {_NOTHING}", path=edit.shown)
        with open_regular(path) as file:
            now = file.read(len(edit.before) + 1)
    except FileNotFoundError:
        raise EditError(f"is no longer there; {_NOTHING}", path=edit.shown) from None
    except (OSError, ValueError) as error:
        raise EditError(f"cannot be read: {_reason(error)}; {_NOTHING}", path=edit.shown) from None
    if now != edit.before:
        hint = "run the command again"
        raise EditError(f"changed while the plan was made; {_NOTHING}", path=edit.shown, hint=hint)
    return _Place(path, status)


def _staged(data: bytes, place: _Place, shown: str) -> str:
    """A new file beside the place, with the data and the rights of the old one; returns its name."""
    temporary: str | None = None
    complete = False
    try:
        descriptor, temporary = tempfile.mkstemp(dir=place.path.parent, prefix=".gradcompat-", suffix=".tmp")
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if hasattr(os, "chown"):
            with suppress(OSError):  # only root may give a file away, and only root needs to
                os.chown(temporary, place.status.st_uid, place.status.st_gid)
        os.chmod(temporary, stat.S_IMODE(place.status.st_mode))
        complete = True
    except OSError as error:
        raise EditError(f"cannot be written: {_reason(error)}; {_NOTHING}", path=shown) from None
    finally:
        if temporary is not None and not complete:
            with suppress(OSError):
                os.unlink(temporary)
    return temporary


def _restored(done: Sequence[tuple[FileEdit, _Place]]) -> str:
    """Give these files their old text back; the sentence about what is written now."""
    changed: list[str] = []
    for edit, place in done:
        try:
            temporary = _staged(edit.before, place, edit.shown)
        except EditError:
            changed.append(edit.shown)
            continue
        try:
            os.replace(temporary, place.path)
        except OSError:
            changed.append(edit.shown)
            with suppress(OSError):
                os.unlink(temporary)
    if not changed:
        return _NOTHING
    names = ", ".join(f"`{name}`" for name in changed)
    return f"{names} {'was' if len(changed) == 1 else 'were'} written and could not be put back"


def _flush_folder(folder: Path) -> None:
    """Have the new names on the disk, too, where the system can be asked for that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _shown_lines(text: str, carriage_returns_everywhere: bool) -> list[str]:
    """The lines with their ends, split as an editor does: not at form feeds and the like."""
    text = text.replace("\r\n", "\n" if carriage_returns_everywhere else "^M\n")
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]


def _hunks(a: list[str], b: list[str]) -> Iterator[str]:
    counts = Counter(b)
    if sum(counts[line] for line in a) <= _COMPARISONS:
        # The two header lines are made by the caller.
        yield from list(difflib.unified_diff(a, b, n=_CONTEXT))[2:]
        return
    # A file of endlessly repeated lines: everything between the first difference and the last is one hunk.
    shorter = min(len(a), len(b))
    head = next((index for index in range(shorter) if a[index] != b[index]), shorter)
    tail = next((index for index in range(shorter - head) if a[-1 - index] != b[-1 - index]), shorter - head)
    first = max(head - _CONTEXT, 0)
    behind = min(tail, _CONTEXT)
    lengths = (len(a) - tail + behind - first, len(b) - tail + behind - first)
    yield f"@@ -{first + 1},{lengths[0]} +{first + 1},{lengths[1]} @@\n"
    yield from (f" {line}" for line in a[first:head])
    yield from (f"-{line}" for line in a[head : len(a) - tail])
    yield from (f"+{line}" for line in b[head : len(b) - tail])
    yield from (f" {line}" for line in a[len(a) - tail : len(a) - tail + behind])


def _quoted(name: str) -> str:
    """The name as git shows it: in quotes if a character would break the line."""
    return name if name.isprintable() else json.dumps(name)
