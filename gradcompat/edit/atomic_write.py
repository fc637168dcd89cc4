"""Writing changed files: all of them or none, each whole or not at all, and the same as a unified diff.

A file is written beside itself and moved into place, so that whoever reads it sees the old text or the new one. What
surprises: a symbolic link stays one, and the file behind it changes, unless it is outside of ``root``; a file with
several hard links is changed under the one name that was given; a file without any right to write stays as it is,
although its folder would allow it.
"""

from __future__ import annotations

import difflib
import errno
import json
import os
import secrets
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gradcompat.edit import journal
from gradcompat.edit.encoding import decoded
from gradcompat.errors import EditError
from gradcompat.files.regular_files import open_regular

OUTSIDE = "is a link to a file outside of its project"
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
        root: the folder that the file has to be in, links followed; None if it may be anywhere.
    """

    path: Path
    shown: str
    before: bytes
    after: bytes
    root: Path | None = None


def edited(path: Path, shown: str, before: bytes, edit: Callable[[str], str], root: Path | None = None) -> FileEdit:
    """The edit of a file through a function over its text; encoding and byte order mark stay.

    Raises:
        EditError: if the bytes are no text, or as ``edit`` raises it.
    """
    text = decoded(before, shown)
    return FileEdit(path=path, shown=shown, before=before, after=text.encoded(edit(text.text)), root=root)


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
    moving a later one fails, the earlier ones get their old text back. If the process is killed, the next call that
    has to do with one of the files finishes or undoes what this one began (:mod:`gradcompat.edit.journal`).

    Raises:
        EditError: if a file is no longer what it was, or something could not be written. The message says what was
            written, as a rule nothing.
    """
    wanted = [edit for edit in edits if edit.before != edit.after]
    if not wanted:
        return
    journal.recover(edit.path for edit in wanted)
    places: dict[Path, FileEdit] = {}
    for edit in wanted:
        path = _checked(edit)
        if path in places:
            raise EditError(f"is to be changed twice at once; {_NOTHING}", path=edit.shown)
        places[path] = edit
    first = wanted[0]
    try:
        folder = journal.common_folder(list(places))
    except ValueError:
        hint = "change one of them at a time"
        raise EditError(f"has no folder in common with the others; {_NOTHING}", path=first.shown, hint=hint) from None
    replacements = {path: _replacement(path, edit) for path, edit in places.items()}
    with journal.alone(folder):
        if journal.pending(folder):  # of a run that was killed while this one waited
            hint = "run the command again"
            raise EditError(f"is part of another change; {_NOTHING}", path=first.shown, hint=hint)
        try:
            journal.begin(folder, list(replacements.values()))
        except OSError as error:
            journal.end(folder, ())
            shown = first.shown if folder == next(iter(places)).parent else str(folder)
            advice = None if shown == first.shown else "name the files of one project at a time"
            raise EditError(f"cannot be written: {_reason(error)}; {_NOTHING}", path=shown, hint=advice) from None
        try:
            _write(folder, places, replacements)
        except EditError:
            journal.end(folder, replacements.values())
            raise
        # Anything else that ends this leaves the journal to the next run.
        journal.end(folder, replacements.values())


def write_new(edit: FileEdit) -> None:
    """Write a file that is not there yet; it is whole or not there.

    Raises:
        EditError: if there is one, or it cannot be written.
    """
    # One name for each file, so that the next run clears away what a kill has left.
    staged = edit.path.with_name(f".gradcompat-{journal.digest(edit.path.name.encode())[:16]}.tmp")
    try:
        with suppress(FileNotFoundError):
            os.unlink(staged)
        journal.create(staged, edit.after, mode=0o666)
        try:
            if os.path.lexists(edit.path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            os.rename(staged, edit.path)
        except OSError:
            os.unlink(staged)
            raise
    except (OSError, ValueError) as error:
        raise EditError(f"cannot be written: {_reason(error)}", path=edit.shown) from None
    journal.flush_folder(edit.path.parent)


def leads_outside(path: Path, root: Path) -> bool:
    """Is the file, links followed, in another place than below the folder?"""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _write(folder: Path, places: Mapping[Path, FileEdit], replacements: Mapping[Path, journal.Replacement]) -> None:
    for path, edit in places.items():
        try:
            journal.create(replacements[path].staged_path, edit.after)
        except OSError as error:
            raise EditError(f"cannot be written: {_reason(error)}; {_NOTHING}", path=edit.shown) from None
    for parent in {path.parent for path in places}:
        journal.flush_folder(parent)
    for edit in places.values():
        _checked(edit)  # writing to the disk may have taken a while
    for done, (path, edit) in enumerate(places.items()):
        try:
            journal.put_in_place(replacements[path])
        except OSError as error:
            kept = _restored(folder, places, replacements, done)
            raise EditError(f"could not be replaced: {_reason(error)}; {kept}", path=edit.shown) from None
    for parent in {path.parent for path in places}:
        journal.flush_folder(parent)


def _replacement(path: Path, edit: FileEdit) -> journal.Replacement:
    staged, back = (f".gradcompat-{secrets.token_hex(8)}.tmp" for _ in range(2))
    return journal.Replacement(
        path=path, staged=staged, back=back, before=journal.digest(edit.before), after=journal.digest(edit.after)
    )


def _checked(edit: FileEdit) -> Path:
    """The file that an edit is about, behind all links, if it still holds what the plan was made for."""
    try:
        path = Path(os.path.realpath(edit.path, strict=True))
        if edit.root is not None and leads_outside(path, edit.root):
            raise EditError(f"{OUTSIDE}; {_NOTHING}", path=edit.shown)
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
    return path


def _restored(
    folder: Path, places: Mapping[Path, FileEdit], replacements: Mapping[Path, journal.Replacement], done: int
) -> str:
    """Give the files that are done their old text back; the sentence about what is written now."""
    changed: list[str] = []
    back: dict[Path, journal.Replacement] = {}
    for path in list(places)[:done]:
        try:
            journal.create(replacements[path].back_path, places[path].before)
            back[path] = replacements[path].undone()
        except OSError:
            changed.append(places[path].shown)
    if not changed:
        with suppress(OSError):
            journal.begin(folder, [replacement.undone() for replacement in replacements.values()])
    for path, one in back.items():
        try:
            journal.put_in_place(one)
        except OSError:
            changed.append(places[path].shown)
    if not changed:
        return _NOTHING
    names = ", ".join(f"`{name}`" for name in changed)
    return f"{names} {'was' if len(changed) == 1 else 'were'} written and could not be put back"


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
