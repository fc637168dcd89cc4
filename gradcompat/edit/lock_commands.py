"""The command with which a tool moves packages in its own lockfile; lockfiles are never edited by hand.

Only uv and pip-compile can be told an exact version without asking the project for it. Poetry and PDM take the newest
release that the project's requirements allow, so those are edited first; :func:`caveat` says what else to know.
:mod:`gradcompat.edit.locking` runs a command where that is safe.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gradcompat.edit.compile_options import CompileCommand, compile_command
from gradcompat.edit.compiled import compiled, folder_of
from gradcompat.edit.pins import PinEdit

_CAVEATS = {
    "poetry.lock": "Poetry takes the newest releases that pyproject.toml allows, which may be newer than the plan's",
    "pdm.lock": "PDM takes the newest releases that pyproject.toml allows, which may be newer than the plan's",
    "Pipfile.lock": "Pipenv writes the exact versions into the Pipfile, too",
    "conda-lock": "conda-lock takes the newest releases that its sources allow, which may be newer than the plan's",
    "pixi.lock": "pixi takes the newest releases that its manifest allows, which may be newer than the plan's",
}
_LEFT = {
    "poetry": "Poetry is left to you: it builds packages to learn what they need, and installs the project's plugins",
    "pdm": "PDM is left to you: it builds packages to learn what they need, and runs the project's hooks",
}
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
    if kind in ("requirements", "pylock.toml"):
        return _again(path, shown, pins, text)
    arguments = _arguments(kind, path, pins)
    if arguments is None:
        return None
    other = None if kind == "uv.lock" else f"`{arguments[0]}` is left to you"
    return LockCommand(
        path=path, shown=shown, arguments=arguments, where=path.parent, left=_LEFT.get(arguments[0], other)
    )


def command(kind: str, path: Path, pins: Sequence[PinEdit], *, text: str = "") -> tuple[str, ...] | None:
    """The words of such a command; None if there is none, or none that anybody should run without a look at it."""
    found = lock_command(kind, path, path.name, pins, text=text)
    return None if found is None or found.suspect else found.arguments


def caveat(kind: str) -> str | None:
    """What a user should know before running the command, if anything."""
    return _CAVEATS.get(kind)


def _arguments(kind: str, path: Path, pins: Sequence[PinEdit]) -> tuple[str, ...] | None:
    names = tuple(pin.package for pin in pins)
    exact = _exact(pins)
    match kind:
        case "uv.lock":
            return ("uv", "lock", *_each("--upgrade-package", exact))
        case "poetry.lock":
            return ("poetry", "update", "--lock", *names)
        case "pdm.lock":
            return ("pdm", "update", "--no-sync", "--update-reuse", *names)
        case "Pipfile.lock":
            return ("pipenv", "upgrade", *exact)
        case "conda-lock":
            return ("conda-lock", "lock", "--lockfile", path.name, *_each("--update", names))
        case "pixi.lock":
            return ("pixi", "update", *names)
        case _:
            return None


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
