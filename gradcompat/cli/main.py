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
    # What others have set up in this process may have been read before; pathlib of Python 3.10 would not ask `os` anew.
    alone = "atexit" not in sys.modules and (sys.version_info >= (3, 11) or "pathlib" not in sys.modules)
    try:
        main(keep=alone)
    except SystemExit as ended:
        if isinstance(ended.code, int) and "atexit" not in sys.modules:
            with contextlib.suppress(OSError, ValueError, AttributeError):  # Python tells what cannot be written
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(ended.code)
        raise


def main(*, keep: bool = False) -> None:
    """What the console script runs: errors become one line and a hint, never a traceback.

    Args:
        keep: print what was kept of a check, and keep it; only where nothing was read in this process before.
    """
    gc.disable()  # one short run over a few megabytes of tuples: collecting costs more than it frees
    # Ctrl-C and a reader that has gone (`| head`) end the process at once; typer would make the status 1, which
    # stands for findings here.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    raise SystemExit(guarded(_run_or_repeat if keep else _run))


def _run_or_repeat() -> object:
    if sys.argv[1:2] != ["check"] or os.name == "nt":
        return _run()
    from gradcompat.cli.kept_reports import run_kept

    return run_kept(sys.argv[1:], _run)


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
