"""The command with which a tool moves packages in its own lockfile; lockfiles are never edited by hand.

Only uv and pip-compile can be told an exact version without asking the project for it. Poetry and PDM take the newest
release that the project's requirements allow, so those are edited first; :func:`caveat` says what else to know.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gradcompat.edit.compiled import Compiled, compiled, folder_of
from gradcompat.edit.pins import PinEdit
from gradcompat.errors import EditError
from gradcompat.programs import find_program

TOOLS = frozenset({"uv", "poetry", "pdm", "pip-compile"})

_CAVEATS = {
    "poetry.lock": "Poetry takes the newest releases that pyproject.toml allows, which may be newer than the plan's",
    "pdm.lock": "PDM takes the newest releases that pyproject.toml allows, which may be newer than the plan's",
    "Pipfile.lock": "Pipenv writes the exact versions into the Pipfile, too",
    "conda-lock": "conda-lock takes the newest releases that its sources allow, which may be newer than the plan's",
    "pixi.lock": "pixi takes the newest releases that its manifest allows, which may be newer than the plan's",
}
# In the header of a file, these would have the tool read or run something from elsewhere.
_REFUSED = re.compile(r"--(?:directory|project|cache-dir|config|config-file|pip-args|no-config|output-file-prefix)\b")
_INTERPRETER = re.compile(r"(?:-p|--python)(?:=(.*))?")
_UPGRADES_ALL = frozenset({"-U", "--upgrade"})
_UPGRADES_ONE = ("-P", "--upgrade-package")
_PYTHON_VERSION = re.compile(r"\d+(?:\.\d+){0,2}")
_TAIL = 64 * 1024
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_LONGEST_LINE = 300


def command(kind: str, path: Path, pins: Sequence[PinEdit], *, text: str = "") -> tuple[str, ...] | None:
    """The command that moves these packages, to be run in :func:`folder`; None if there is none.

    Args:
        kind: the format, in the words of the readers: ``uv.lock``, ``requirements``, ….
        path: the lockfile.
        pins: what shall move.
        text: its content, for those where only the header says how they were made.
    """
    names = tuple(pin.package for pin in pins)
    exact = tuple(f"{pin.package}=={pin.version_to}" for pin in pins)
    if not pins:
        return None
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
        case "requirements" | "pylock.toml":
            made = compiled(text)
            return None if made is None else _again(made, path, exact)
        case _:
            return None


def folder(path: Path, *, text: str = "") -> Path:
    """Where the command has to be run: beside the lockfile, or where its header says that it was."""
    made = compiled(text)
    output = None if made is None else _output(made, path)
    return (folder_of(path, output) if output is not None else None) or path.parent


def caveat(kind: str) -> str | None:
    """What a user should know before running the command, if anything."""
    return _CAVEATS.get(kind)


def run(arguments: Sequence[str], where: Path, timeout: float) -> None:
    """Run such a command.

    Args:
        arguments: what :func:`command` gave.
        where: what :func:`folder` gave.
        timeout: in seconds.

    Raises:
        EditError: if the tool is none that is run, is not installed, fails, or takes longer.
    """
    shown = shlex.join(arguments)
    if arguments[0] not in TOOLS:
        raise EditError(f"`{arguments[0]}` is not run from here", hint=f"run `{shown}`")
    program = find_program(arguments[0])
    if program is None:
        raise EditError(f"`{arguments[0]}` is not installed", hint=f"run `{shown}` where it is")
    name = " ".join(arguments[:2]) if arguments[0] != "pip-compile" else arguments[0]
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(  # noqa: S603 # a list, no shell; the tool is one of four
                [program, *arguments[1:]],
                cwd=where,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "NO_COLOR": "1", "PDM_CHECK_UPDATE": "0"},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise EditError(f"`{name}` could not be started: {error}", hint=f"run `{shown}`") from None
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise EditError(f"`{name}` did not end within {timeout:g} seconds", hint=f"run `{shown}`") from None
        finally:
            if process.poll() is None:
                _kill(process)
        if status:
            reason = _last_line(output.fileno()) or f"status {status}"
            raise EditError(f"`{name}` failed: {reason}", hint=f"run `{shown}` to see all that it says")


def _each(option: str, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(argument for value in values for argument in (option, value))


def _again(made: Compiled, path: Path, exact: Sequence[str]) -> tuple[str, ...] | None:
    """The command of the header, for these packages only."""
    output = _output(made, path)
    if made.tool not in ("pip-compile", "uv pip compile") or not made.sources or output is None:
        return None
    if folder_of(path, output) is None:
        return None
    length = len(made.tool.split())
    kept: list[str] = []
    rest = iter(made.arguments[length:])
    for argument in rest:
        interpreter = _INTERPRETER.fullmatch(argument)
        if _REFUSED.match(argument):
            return None
        if argument in _UPGRADES_ONE:
            next(rest, None)
        elif argument in _UPGRADES_ALL or argument.startswith("--upgrade-package="):
            continue
        elif interpreter:
            version = interpreter[1] if interpreter[1] is not None else next(rest, "")
            if not _PYTHON_VERSION.fullmatch(version):
                return None
            kept += [argument] if interpreter[1] is not None else [argument, version]
        else:
            kept.append(argument)
    if made.output is None and made.tool == "uv pip compile":
        kept += ["--output-file", output]
    return (*made.arguments[:length], *kept, *_each("--upgrade-package", exact))


def _output(made: Compiled, path: Path) -> str | None:
    """The file that the command writes: what it says, or what the tool does where it says nothing."""
    if made.output is not None:
        return made.output
    if made.tool != "pip-compile":
        return path.name
    stems = [source.removesuffix(".in") for source in made.sources if source.endswith(".in")]
    return f"{stems[0]}.txt" if len(stems) == 1 else None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the tool with whatever it started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass  # it ended by itself in between
    process.wait()


def _last_line(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    os.lseek(descriptor, max(size - _TAIL, 0), os.SEEK_SET)
    text = _CONTROL.sub("", os.read(descriptor, _TAIL).decode("utf-8", "replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:_LONGEST_LINE].rstrip(".") if lines else ""
