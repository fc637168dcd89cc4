"""The command with which a tool moves packages in its own lockfile; lockfiles are never edited by hand.

Only uv and pip-compile can be told an exact version without asking the project for it. Poetry and PDM take the newest
release that the project's requirements allow, so those are edited first; :func:`caveat` says what else to know.
:mod:`gradcompat.edit.lock_run` runs a command where that is safe.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gradcompat.dependency_formats import BY_KIND
from gradcompat.edit.compile_options import CompileCommand, compile_command
from gradcompat.edit.compiled import compiled, folder_of
from gradcompat.edit.pins import PinEdit

_TOOLS = ("pip-compile", "uv pip compile")


@dataclass(frozen=True, slots=True, kw_only=True)
class LockCommand:
    """A command that moves packages in a lockfile.

    Attributes:
        path: the lockfile.
        shown: how it is called to the user.
        arguments: the command, as the user would type it in ``where``.
        where: the folder to run it in.
        compiled: for compiled requirements, what their header says.
        header: for these, the command as the header keeps it.
        left: why it is left to the user, a sentence; None if it is run.
        suspect: the words are those of a file, and nobody should run them without a look.
    """

    path: Path
    shown: str
    arguments: tuple[str, ...]
    where: Path
    compiled: CompileCommand | None = None
    header: tuple[str, ...] | None = None
    left: str | None = None
    suspect: bool = False

    @property
    def hint(self) -> str:
        """How the user runs it."""
        return f"run it yourself: `{shlex.join(self.arguments)}`"


def lock_command(kind: str, path: Path, shown: str, pins: Sequence[PinEdit], *, text: str = "") -> LockCommand | None:
    """The command that moves these packages; None if there is none.

    Args:
        kind: the format, in the words of the readers: ``uv.lock``, ``requirements``, ….
        path: the lockfile.
        shown: how it is called to the user.
        pins: what shall move.
        text: its content, for those where only the header says how they were made.
    """
    if not pins:
        return None
    entry = BY_KIND.get(kind)
    if entry is not None and entry.header:
        return _again(path, shown, pins, text)
    relock = None if entry is None else entry.relock
    if relock is None:
        return None
    words = tuple(word.replace("{file}", path.name) for word in relock.words)
    moved = _exact(pins) if relock.exact else tuple(pin.package for pin in pins)
    arguments = (*words, *(moved if relock.option is None else _each(relock.option, moved)))
    return LockCommand(path=path, shown=shown, arguments=arguments, where=path.parent, left=relock.left)


def command(kind: str, path: Path, pins: Sequence[PinEdit], *, text: str = "") -> tuple[str, ...] | None:
    """The words of such a command; None if there is none, or none that anybody should run without a look at it."""
    found = lock_command(kind, path, path.name, pins, text=text)
    return None if found is None or found.suspect else found.arguments


def caveat(kind: str) -> str | None:
    """What a user should know before running the command, if anything."""
    entry = BY_KIND.get(kind)
    return None if entry is None or entry.relock is None else entry.relock.caveat


def _again(path: Path, shown: str, pins: Sequence[PinEdit], text: str) -> LockCommand | None:
    """The command of a header, for these packages only."""
    made = compiled(text)
    if made is None or made.tool not in _TOOLS or not made.arguments:
        return None
    tool = tuple(made.tool.split())
    moves = _each("--upgrade-package", _exact(pins))
    try:
        found = compile_command(made.tool, made.arguments[len(tool) :])
        output = _output(found, path)
        where = folder_of(path, output)
        if output is None or where is None:
            raise ValueError("writes another file than this")
    except ValueError as error:
        return LockCommand(
            path=path,
            shown=shown,
            arguments=(*made.arguments, *moves),
            where=path.parent,
            left=f"`{shown}`: the command in its header {error}: look at it before you run it",
            suspect=True,
        )
    words = found.words
    if found.output is None and found.tool == "uv pip compile":
        words = (*words, "--output-file", output)
    return LockCommand(
        path=path,
        shown=shown,
        arguments=(*tool, *words, *moves),
        where=where,
        compiled=found,
        header=(*tool, *found.words),
    )


def _output(found: CompileCommand, path: Path) -> str | None:
    """The file that the command writes: what it says, or what the tool does where it says nothing."""
    if found.output is not None:
        return found.output
    if found.tool != "pip-compile":
        return path.name
    stems = [source.removesuffix(".in") for source in found.sources if source.endswith(".in")]
    return f"{stems[0]}.txt" if len(stems) == 1 else None


def _exact(pins: Sequence[PinEdit]) -> tuple[str, ...]:
    return tuple(f"{pin.package}=={pin.version_to}" for pin in pins)


def _each(option: str, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(argument for value in values for argument in (option, value))
