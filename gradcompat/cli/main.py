"""The console script: a plain command at once, everything else by way of typer; and what an error looks like."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys

from gradcompat.cli.command_end import guarded
from gradcompat.cli.console import print_version


def console_script() -> None:
    """:func:`main` as a process of its own, which ends without taking its modules and objects apart one by one.

    Taking apart is a sixth of a small check. Where the standard library's `atexit` was imported, something may be
    registered that has to run, and the process ends in the regular way.
    """
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, int) and "atexit" not in sys.modules:
            with contextlib.suppress(OSError, ValueError, AttributeError):  # Python tells what cannot be written
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(ended.code)
        raise


def main() -> None:
    """What the console script runs: errors become one line and a hint, never a traceback."""
    gc.disable()  # one short run over a few megabytes of tuples: collecting costs more than it frees
    # Ctrl-C and a reader that has gone (`| head`) end the process at once; typer would make the status 1, which
    # stands for findings here.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    raise SystemExit(guarded(_run))


def _run() -> object:
    words = sys.argv[1:]
    if words == ["--version"]:
        print_version()
        return 0
    from gradcompat.cli.plain import run_plainly

    status = run_plainly(words)
    if status is not None:
        return status
    from gradcompat.cli.app import app

    return app(standalone_mode=False)
