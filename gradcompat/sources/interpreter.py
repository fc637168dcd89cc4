"""Asks a Python interpreter which it is and where its packages are; the packages are then read from their files.

This is the only place where something of the user's is started, and only what they name with ``--python``. It has to be
called like Python and to be a native program: a script may do anything before it comes to Python, if it ever does. The
shims of pyenv are such scripts; what they would start is found without them.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from gradcompat.errors import NotFound, SourceError
from gradcompat.files.regular_files import read_regular
from gradcompat.processes.executables import find_program
from gradcompat.startup.lazy_patterns import lazy_pattern

TIME_LIMIT = 10.0  # seconds; a cold start from a network file system takes two

_SCRIPT = Path(__file__).with_name("describe_interpreter.py")
_MAX_REPORT = 1024 * 1024
_NAME = lazy_pattern(r"(?:python|pypy|graalpy)[\w.-]*", re.IGNORECASE)
# ELF, PE, and Mach-O in both byte orders, with 32 and 64 bits, and for several processors.
_NATIVE = (
    b"\x7fELF", b"MZ",
    b"\xfe\xed\xfa\xce", b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe",
)  # fmt: skip
_PYENV_ROOT = lazy_pattern(rb'^export PYENV_ROOT="([^"\n]+)"$', re.MULTILINE)
# What an interpreter needs to start and to find its user's folder; PYTHONPATH and the like are not among it.
_KEPT = ("PATH", "HOME", "LD_LIBRARY_PATH", "SYSTEMROOT", "APPDATA", "USERPROFILE", "PYTHONUSERBASE", "LANG", "LC_ALL")


class Description(NamedTuple):
    """An interpreter as it describes itself."""

    version: str
    platform: str
    executable: str
    prefix: str
    folders: tuple[str, ...]
    libc: str | None


def describe(executable: str, environ: Mapping[str, str], cwd: Path) -> Description:
    """Start the interpreter on our script, isolated and for a limited time.

    Raises:
        NotFound: if there is no such program.
        SourceError: if it is not a Python that answers.
    """
    program = _program(executable, environ, cwd)
    with tempfile.TemporaryDirectory(prefix="gradcompat-", ignore_cleanup_errors=True) as folder:
        output = Path(folder) / "description.json"
        work = Path(folder) / "empty"
        work.mkdir()
        user_site = "0" if environ.get("PYTHONNOUSERSITE") else "1"
        command = [program, "-I", "-S", "-E", "-B", os.fspath(_SCRIPT), os.fspath(output), user_site]
        try:
            process = subprocess.Popen(  # noqa: S603  # the program is what the user named, checked above
                command,
                cwd=work,
                env={key: environ[key] for key in _KEPT if key in environ},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise SourceError(f"cannot be started: {reason}", path=executable) from None
        try:
            status = process.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            raise SourceError(f"did not report its version within {TIME_LIMIT:.0f} seconds", path=executable) from None
        finally:
            _end(process)
        return _report(output, executable, status)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let nothing that was started outlive the question."""
    with suppress(OSError):  # it has ended, as it should
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _report(output: Path, executable: str, status: int) -> Description:
    no_answer = SourceError(
        f"is not a usable Python: it ended with status {status} and did not report its version",
        path=executable,
        hint="Python 3.8 and later can be read",
    )
    try:
        with output.open("rb") as file:
            content: Any = json.loads(file.read(_MAX_REPORT))
    except (OSError, ValueError, RecursionError):
        raise no_answer from None
    match content:
        case {
            "version": str(version),
            "platform": str(platform),
            "executable": str(own),
            "prefix": str(prefix),
            "folders": list(folders),
            "libc": str() | None as libc,
        } if all(isinstance(folder, str) for folder in folders):
            return Description(version, platform, own, prefix, tuple(folders), libc)
    raise no_answer


def _program(executable: str, environ: Mapping[str, str], cwd: Path) -> str:
    """The native program behind what the user named.

    Raises:
        NotFound: if there is no such file.
        SourceError: if it is not a program that is called like Python, or a script.
    """
    found = executable if os.path.dirname(executable) else find_program(executable, environ.get("PATH"))
    if found is None:
        raise NotFound("there is no such program on the PATH", path=executable)
    path = os.path.abspath(os.path.join(cwd, found))
    head = _head(path, executable)
    shim = _PYENV_ROOT.search(head) if head.startswith(b"#!") else None
    if shim is not None:
        root = Path(os.fsdecode(shim[1]))
        behind = _behind_pyenv(root, os.path.basename(path), environ, cwd)
        if behind is None:
            raise SourceError(
                "is a shim of pyenv, and the Python behind it could not be determined",
                path=executable,
                hint="name the interpreter itself, as `pyenv which python` prints it",
            )
        path = behind
        head = _head(path, executable)
    if not head.startswith(_NATIVE):
        raise SourceError(
            "is not a Python interpreter but a script or a text, and is not started",
            path=executable,
            hint="name the interpreter itself: `python -c 'import sys; print(sys.executable)'` prints it",
        )
    # Any other program would be started with our options, and `rm` would understand some of them.
    if not any(_NAME.fullmatch(os.path.basename(name)) for name in (path, os.path.realpath(path))):
        raise SourceError("is not named like a Python interpreter, and is not started", path=executable)
    if not os.access(path, os.X_OK):
        raise SourceError("may not be executed", path=executable)
    return path


def _head(path: str, shown: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            return os.read(descriptor, 4096)
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound("there is no such file or folder", path=shown) from None
    except ValueError:
        raise NotFound("cannot be read: the path holds a NUL", path=shown) from None
    except OSError as error:
        raise NotFound(f"cannot be read: {error.strerror}", path=shown) from None


def _behind_pyenv(root: Path, program: str, environ: Mapping[str, str], cwd: Path) -> str | None:
    """What pyenv would start: of the version in PYENV_VERSION, else ``.python-version``, else the global one."""
    versions = environ.get("PYENV_VERSION", "").replace(":", " ").split()
    files = [*(folder / ".python-version" for folder in (cwd, *cwd.parents)), root / "version"]
    for file in files:
        if versions:
            break
        with suppress(OSError, UnicodeDecodeError):
            lines = read_regular(file).decode("utf-8").splitlines()
            versions = [word for line in lines for word in line.partition("#")[0].split()]
    for version in versions:
        if version == "system" or "/" in version or version.startswith("."):
            continue
        candidate = root / "versions" / version / "bin" / program
        if os.path.isfile(candidate):
            return os.fspath(candidate)
    return None
