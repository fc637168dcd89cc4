"""How a command ends: with its status, or with one line of what went wrong; never with a traceback, nor with status 1.

That one stands for findings, and a CI job would take an error for it.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable

from gradcompat._version import __version__
from gradcompat.errors import GradcompatError

WRONG_USAGE = 2
INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h
NOT_WRITTEN = 74  # EX_IOERR
TRACEBACK = "GRADCOMPAT_TRACEBACK"

_UNWRITABLE = frozenset({errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})


def guarded(command: Callable[[], object]) -> int:
    """Run a command of the program; the exit status.

    Args:
        command: returns the status, or something else for 0; it may raise what typer raises outside of its
            standalone mode.
    """
    if sys.stderr is None:  # closed: there is nobody to tell anything
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show "…" is no reason to stop
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        _current_folder()
        status = command()
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except SystemExit as ended:  # typer's, which takes a closed pipe for status 1
        if isinstance(ended.__context__, BrokenPipeError):
            return _not_written(ended.__context__)
        raise
    except OSError as error:
        if error.filename is None and error.errno in _UNWRITABLE:
            return _not_written(error)
        return _internal(error)
    except (KeyboardInterrupt, EOFError):  # as typer ends what it runs
        _say("\nerror: aborted")
        return WRONG_USAGE
    except Exception as error:
        return _failed(error)


def _current_folder() -> None:
    try:
        os.getcwd()
    except OSError as error:
        hint = "change to a folder that is there"
        raise GradcompatError(f"the current folder cannot be found: {error.strerror}", hint=hint) from None


def _failed(error: Exception) -> int:
    """What was wrong, in one line; the report that was begun before is written out."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as unwritten:
        return _not_written(unwritten)
    if isinstance(error, GradcompatError):
        print_error(error)
        return WRONG_USAGE
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] != "gradcompat":
        # Without what `print_error` imports, which may be what is missing.
        _say(f"error: gradcompat depends on `{error.name}`, which is not installed")
        _say("\nhint: `pip install gradcompat` in this environment installs it")
        return INTERNAL_ERROR
    from typer import Abort

    if isinstance(error, Abort):
        _say("error: aborted")
        return WRONG_USAGE
    if hasattr(error, "show") and isinstance(code := getattr(error, "exit_code", None), int):  # typer's, with its usage
        try:
            error.show()
        except OSError:
            _forget(sys.stderr)
        return code
    return _internal(error)


def _internal(error: Exception) -> int:
    import platform

    from gradcompat.renderers.terminal import safe

    if os.environ.get(TRACEBACK):
        import traceback

        _say("".join(traceback.format_exception(type(error), error, error.__traceback__)).rstrip())
    about = " ".join(str(error).split())[:300]
    _say(f"error: internal error: {type(error).__name__}{f': {safe(about)}' if about else ''}")
    _say(
        f"\nhint: please report it with the command, its files and what `{TRACEBACK}=1` prints "
        f"(gradcompat {__version__}, Python {platform.python_version()}, {sys.platform})"
    )
    _forget_unwritten()
    return INTERNAL_ERROR


def _not_written(error: OSError) -> int:
    _say(f"error: standard output cannot be written: {error.strerror}")
    _forget_unwritten()
    return NOT_WRITTEN


def print_error(error: GradcompatError) -> None:
    """``error: `file:line`: what is wrong`` and, below it, what to do."""
    from gradcompat.renderers.terminal import safe

    _say(f"error: {safe(str(error))}")
    if error.hint is not None:
        _say(f"\nhint: {safe(error.hint)}")


def _say(line: str) -> None:
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        _forget(sys.stderr)


def _forget_unwritten() -> None:
    """Python tries once more when it ends, and would make the status another one."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _forget(sys.stdout)


def _forget(stream: object) -> None:
    if isinstance(stream, io.TextIOWrapper):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
