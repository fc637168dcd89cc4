"""Runs a lock tool over copies of a project's requirements, in a folder of its own, and hands back what it wrote.

A tool that starts in the folder of a project obeys what lies there: uv runs the interpreter in ``.venv`` and takes the
indexes of uv.toml, pip-compile reads its configuration from pyproject.toml. In a folder of its own it finds the
requirements (:mod:`gradcompat.edit.lock_inputs`) and the user's own settings. Nothing is built: packages without a
wheel are an error, which the user is told.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradcompat.edit.atomic_write import FileEdit
from gradcompat.edit.lock_commands import LockCommand
from gradcompat.edit.lock_inputs import inputs_of_compile, inputs_of_uv_lock, python_of
from gradcompat.errors import EditError
from gradcompat.files.regular_files import read_regular
from gradcompat.processes.executables import find_program

# uv looks for these in the folders above its own, too.
_OBEYED = (".python-version", ".python-versions", ".venv", "pyproject.toml", "pyvenv.cfg", "uv.toml")
_TAIL = 64 * 1024
_LONGEST_LINE = 300
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_REGISTRY = re.compile(rb'registry = "([^"]*)"')
_OPTION = re.compile(rb"^(-[^\r\n]*)", re.MULTILINE)
_ONLY_WHEELS = b"--only-binary :all:\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexes:
    """Where packages come from, beside what the user's own settings of the tool say.

    Attributes:
        url: in the place of the main index.
        extra: beside it.
        offline: nothing is asked for.
    """

    url: str | None = None
    extra: Sequence[str] = ()
    offline: bool = False


def locked(command: LockCommand, indexes: Indexes, timeout: float) -> FileEdit:
    """The lockfile as its tool writes it; it is not written yet.

    Args:
        command: what :func:`gradcompat.edit.lock_commands.lock_command` gave.
        indexes: what the user said of them.
        timeout: in seconds.

    Raises:
        EditError: if the command is left to the user, or the tool is not there, fails, or takes longer.
    """
    if command.left is not None:
        raise EditError(command.left, hint=command.hint)
    tool = _installed(command.arguments[0], command.hint)
    if indexes.offline and command.arguments[0] != "uv":
        raise EditError(f"`{command.arguments[0]}` cannot be kept from the network", hint=command.hint)
    try:
        if command.compiled is None:
            inputs = inputs_of_uv_lock(command.path, command.shown)
            output = "uv.lock"
        else:
            inputs = inputs_of_compile(command.compiled, command.where, command.path, command.shown)
            output = command.path.relative_to(command.where).as_posix()
        before = read_regular(command.path)
    except EditError as error:
        raise EditError(error.message, path=error.path, line=error.line, hint=command.hint) from None
    except OSError as error:
        raise EditError(f"cannot be read: {error.strerror}", path=command.shown) from None
    with tempfile.TemporaryDirectory(prefix="gradcompat-lock-") as name:
        folder = Path(os.path.realpath(name))
        _check_above(folder)
        for relative, data in inputs.items():
            file = folder / relative
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        _run(tool, command, folder, _environment(command, indexes), timeout)
        after = read_regular(folder / output)
    if command.arguments[0] == "pip-compile" and _ONLY_WHEELS not in before.replace(b"\r\n", b"\n"):
        after = after.replace(_ONLY_WHEELS, b"", 1)
    _check_result(command, indexes, before, after)
    return FileEdit(path=command.path, shown=command.shown, before=before, after=after, root=command.path.parent)


def _check_result(command: LockCommand, indexes: Indexes, before: bytes, after: bytes) -> None:
    """The packages come from where they came from, as far as the file says that."""
    pattern = _REGISTRY if command.compiled is None else _OPTION
    old, new = set(pattern.findall(before)), set(pattern.findall(after))
    lost = sorted((new - old if command.compiled is None else old - new) if indexes.url is None else ())
    if lost:
        verb = "would take packages from" if command.compiled is None else "would no longer have"
        problem = f"{verb} `{lost[0].decode('utf-8', 'replace')}`"
        raise EditError(problem, path=command.shown, hint=command.hint)


def _installed(name: str, hint: str) -> Path:
    """The program of that name in a folder of PATH that is named in full."""
    found = find_program(name)
    if found is not None:
        return Path(found)
    raise EditError(f"`{name}` is not installed", hint=hint)


def _check_above(folder: Path) -> None:
    for parent in folder.parents:
        for name in _OBEYED:
            if os.path.lexists(parent / name):
                problem = "lies above the folder for temporary files, and would be obeyed"
                raise EditError(problem, path=str(parent / name), hint="name another folder with TMPDIR")


def _environment(command: LockCommand, indexes: Indexes) -> Mapping[str, str]:
    uv = command.arguments[0] == "uv"
    said: dict[str, str] = {"NO_COLOR": "1"}
    if indexes.url is not None:
        said["UV_DEFAULT_INDEX" if uv else "PIP_INDEX_URL"] = indexes.url
    if indexes.extra:
        said["UV_INDEX" if uv else "PIP_EXTRA_INDEX_URL"] = " ".join(indexes.extra)
    if uv and indexes.offline:
        said["UV_OFFLINE"] = "1"
    if command.header is not None:
        said["UV_CUSTOM_COMPILE_COMMAND" if uv else "CUSTOM_COMPILE_COMMAND"] = shlex.join(command.header)
    return {**os.environ, **said}


def _run(tool: Path, command: LockCommand, folder: Path, environment: Mapping[str, str], timeout: float) -> None:
    words = command.arguments
    if words[0] == "uv":
        safe = ("--no-python-downloads",) if "--no-build" in words else ("--no-build", "--no-python-downloads")
        if command.compiled is not None and not _chooses_python(words) and (version := python_of(command.where)):
            safe = (*safe, "--python-version", version)
    else:
        safe = ("--pip-args", "--only-binary=:all:")
    name = " ".join(words[:2]) if words[0] == "uv" else words[0]
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(  # noqa: S603 # a list, no shell; the tool is one of two
                [str(tool), *words[1:], *safe],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise EditError(f"`{name}` could not be started: {error}", hint=command.hint) from None
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise EditError(f"`{name}` did not end within {timeout:g} seconds", hint=command.hint) from None
        finally:
            if process.poll() is None:
                _kill(process)
        if status:
            reason = _last_line(output.fileno()) or f"status {status}"
            raise EditError(f"`{name}`, which was to build nothing, failed: {reason}", hint=command.hint)


def _chooses_python(words: Sequence[str]) -> bool:
    return any(word.partition("=")[0] in ("-p", "--python", "--python-version", "--universal") for word in words)


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
