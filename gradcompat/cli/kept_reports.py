"""Reports that an earlier check has printed, for one that is asked the same while nothing that it read has changed.

The key of an entry (:mod:`gradcompat.files.kept_entries`) is what a check is asked and where: words, folder, variables,
day, terminal, interpreter, machine. The entry has all that the check asked of the disk, its own code included
(:mod:`gradcompat.files.observations`), and what it printed. Where each question has the same answer again, the same is
printed again. A report that hangs on something else is not kept: on standard input, another process, a clock.

Finding one may take as long as saying the version does, so nothing is imported here that takes long.
"""

from __future__ import annotations

import os
import sys
import time

from gradcompat._version import __version__
from gradcompat.files.kept_entries import key_of, place_of, read_entry, write_entry
from gradcompat.files.observations import Observations, Unrepeatable, answer, observed
from gradcompat.files.user_folders import cache_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

Printed = list[tuple[str, str]]  # stream, text

_FORM = "reports-1"
_KEPT = (0, 1, 3)  # exit statuses
_WITHOUT_TEXT = frozenset({"encoding", "errors", "fileno", "flush", "isatty"})  # of a stream
_OF_THE_SHELL = frozenset({b"_", b"OLDPWD"})  # what it has run, and where it was before
# These ask what time it is, or draw lots; and typer has its own ways to write.
OF_THE_MOMENT = frozenset(
    {
        *("gradcompat.files.abandoned_files", "gradcompat.edit.atomic_write", "gradcompat.index.cache"),
        *("gradcompat.index.configuration", "gradcompat.index.transport", "gradcompat.probes.overlay_environments"),
        *("gradcompat.probes.runner", "gradcompat.renderers.vex", "typer"),
    }
)


def run_kept(words: Sequence[str], run: Callable[[], object]) -> object:
    """Print again what a check with these words has printed; or else run it, and keep what it prints.

    Only in a process in which nothing was read before.

    Args:
        words: of the command line.
        run: runs the command; the exit status.
    """
    cache = cache_place(os.environ, sys.platform)
    if cache is None or "HOME" not in os.environ or "--no-cache" in words or "-" in words:
        return run()
    key = _key(words)
    place = place_of(os.path.join(cache, _FORM), key)
    kept = _kept(place, key)
    if kept is not None:
        status, printed = kept
        for stream, text in printed:
            getattr(sys, stream).write(text)
        return status
    observations, printed = Observations(), []
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        _Copied(one, name, printed, observations) for name, one in (("stdout", out), ("stderr", err))
    )
    try:
        with observed(observations):
            ended = run()
    finally:
        sys.stdout, sys.stderr = out, err
    out.flush()
    if isinstance(ended, int) and ended in _KEPT and _key(words) == key and OF_THE_MOMENT.isdisjoint(sys.modules):
        _keep(place, key, ended, observations, printed)
    return ended


def _key(words: Sequence[str]) -> str:
    """What a report hangs on, but for what is on the disk."""
    now = time.localtime()
    glibc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    about = (
        words,
        (os.getcwd(), now.tm_year, now.tm_yday, os.getuid(), os.geteuid(), os.getgroups()),
        [(stream.encoding, stream.isatty()) for stream in (sys.stdin, sys.stdout, sys.stderr) if stream is not None],
        (_columns(), os.uname().sysname, os.uname().machine, glibc),
        (__version__, sys.version, sys.executable, sys.prefix, sys.flags, sys.warnoptions, sys.path),
        sorted(one for one in os.environb.items() if one[0] not in _OF_THE_SHELL),
    )
    return key_of(repr(part).encode("utf-8", "surrogatepass") for part in about)


def _columns() -> int | None:
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # no terminal
        return None


def _kept(place: str, key: str) -> tuple[int, Printed] | None:
    """The status and what was printed under that key, if all that the check asked has the same answer again."""
    body = read_entry(place)
    if body is None:
        return None
    try:
        said, status, count, *fields = body.decode("utf-8", "surrogatepass").split("\0")
        end = 3 * int(count)
        if said != key or any(
            answer(kind, path) != then
            for kind, path, then in zip(fields[0:end:3], fields[1:end:3], fields[2:end:3], strict=True)
        ):
            return None
        return int(status), list(zip(fields[end::2], fields[end + 1 :: 2], strict=True))
    except (ValueError, Unrepeatable):
        return None


def _keep(place: str, key: str, status: int, observations: Observations, printed: Printed) -> None:
    answers = observations.answers()
    if answers is None:
        return
    fields = [key, str(status), str(len(answers))]
    for (kind, path), said in answers.items():
        fields += (kind, path, said)
    for one in printed:
        fields += one
    if not any("\0" in field for field in fields):
        write_entry(place, "\0".join(fields).encode("utf-8", "surrogatepass"))


class _Copied:
    """A stream of which a copy is kept."""

    def __init__(self, stream: Any, name: str, printed: Printed, observations: Observations) -> None:
        self._stream, self._name, self._printed, self._observations = stream, name, printed, observations

    def write(self, text: str) -> int:
        """Write it, and keep it."""
        self._printed.append((self._name, text))
        written: int = self._stream.write(text)
        return written

    def __getattr__(self, name: str) -> Any:
        if name not in _WITHOUT_TEXT:
            self._observations.spoil()
        return getattr(self._stream, name)
