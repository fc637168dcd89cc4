"""What a run asks of the disk, and whether the disk would say the same again.

While a run is observed, Python's own audit events tell which files are opened and which folders are listed, and the
functions of :mod:`os` that have no event (``stat``, ``lstat``, ``readlink``, ``access``) tell what they answered. So no
reader has to take part, and what was looked for in vain counts like what was found. What a process learns in another
way (from another process, a connection, a library outside of Python) or writes makes its observations incomplete.

A file is told by its content; one of the interpreter and its packages by size, time and inode, as Python tells whether
a compiled module is current. What was changed shortly before the run is not told at all: the times of a file may be too
coarse to show that it has changed once more.
"""

from __future__ import annotations

import os
import sys
import time

from gradcompat.files.kept_entries import digest

TYPE_CHECKING = False  # typing takes as long to import as all else here
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

Asked = tuple[str, str]  # what was asked, and of which path

_SETTLED = 2_000_000_000  # nanoseconds
_MOST = 4_000
_MOST_BYTES = 64 * 1024 * 1024  # of all contents

_stat, _lstat, _readlink, _access = os.stat, os.lstat, os.readlink, os.access
_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_STANDARD = os.path.dirname(os.__file__) + os.sep
_SITES = ("site-packages", "dist-packages")
_IMPORTS = "<frozen importlib._bootstrap_external>"
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_WITHOUT_TIMES = ("/proc/", "/sys/")  # the kernel makes these files when somebody asks
_UNTOLD = frozenset(
    {
        *("subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.spawn", "os.system"),
        *("os.chdir", "socket.__new__", "ctypes.dlopen", "mmap.__new__", "sqlite3.connect"),
    }
)


class Unrepeatable(Exception):
    """A pipe or a device was asked, which may say something else each time."""


class Observations:
    """What one run asked."""

    def __init__(self) -> None:
        """Begin: what is changed from now on, or was shortly before, is not settled."""
        self._settled = time.time_ns() - _SETTLED
        self._installed = (_PACKAGE, _STANDARD, *(f"{one}{os.sep}" for one in sys.path if _is_site(one)))
        self._answers: dict[Asked, str] = {}
        self._contents: dict[Asked, os.stat_result | None] = {}
        self._complete = True

    def note(self, kind: str, path: object, answer: str) -> None:
        """Something was asked, and this was the answer."""
        named = _named(path)
        if named is None or ("\0" not in named and self._answers.setdefault((kind, named), answer) != answer):
            self.spoil()

    def note_contents(self, path: object, *, listed: bool = False) -> None:
        """A file is opened for reading, or a folder listed; what is in it is told in the end."""
        named = _named(path)
        if named is None:
            self.spoil()
        elif "\0" not in named:
            kind = "names" if listed else "state" if named.startswith(self._installed) else "content"
            status = _status(named)
            before = self._contents.setdefault((kind, named), status)
            if _times(before) != _times(status) and not named.startswith(_WITHOUT_TIMES):
                self.spoil()

    def spoil(self) -> None:
        """Something was asked that nobody can ask again."""
        self._complete = False

    def answers(self) -> dict[Asked, str] | None:
        """All that was asked, and the code that asked it; None if it is not complete, or not settled."""
        # The standard library is replaced as a whole; one of its files stands for it.
        code = dict.fromkeys((os.__file__, *filter(_is_no_standard, (*sys.path, *_modules()))))
        if not self._complete or len(self._answers) + len(self._contents) + len(code) > _MOST:
            return None
        size = 0
        for (kind, path), then in self._contents.items():
            now = _status(path)
            if not path.startswith(_WITHOUT_TIMES):
                if _times(then) != _times(now) or not self._is_settled(now):
                    return None
                size += now.st_size if now is not None and kind == "content" else 0
                if size > _MOST_BYTES:
                    return None
            try:
                self._answers[kind, path] = _state(now) if kind == "state" else answer(kind, path)
            except Unrepeatable:
                return None
        for path in code:
            if ("state", path) not in self._answers:
                now = _status(path)
                if not self._is_settled(now):
                    return None
                self._answers["state", path] = _state(now)
        return self._answers

    def _is_settled(self, status: os.stat_result | None) -> bool:
        return status is None or max(status.st_mtime_ns, status.st_ctime_ns) <= self._settled


def answer(kind: str, path: str) -> str:
    """What is answered now to what was asked then.

    Raises:
        Unrepeatable: if that is no answer for later.
    """
    try:
        match kind:
            case "state":
                return _state(_status(path))
            case "stat":
                return _described(_stat(path))
            case "lstat":
                return _described(_lstat(path))
            case "link":
                return os.fsdecode(_readlink(path))
            case "content":
                return _content(path)
            case "names":
                return _names(path)
        return str(_access(path, int(kind)))
    except OSError as error:
        return f"error {error.errno}"


def _described(status: os.stat_result) -> str:
    """A folder is told from another one by its inode, as :func:`os.path.samefile` does it; no file is."""
    folder = status.st_mode & 0o170000 == 0o040000
    return f"{status.st_mode:o} {f'{status.st_dev} {status.st_ino}' if folder else status.st_size}"


def _content(path: str) -> str:
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_mode & 0o170000 != 0o100000:
            raise Unrepeatable
        return digest(file.read(_MOST_BYTES))


def _names(path: str) -> str:
    """The names in a folder, each with what it is; of a link, also what it leads to."""
    with os.scandir(path) as entries:
        found = sorted((entry.name, entry.is_symlink(), entry.is_dir(), entry.is_file()) for entry in entries)
    return digest(repr(found).encode("utf-8", "surrogatepass"))


def _status(path: str) -> os.stat_result | None:
    try:
        return _stat(path)
    except OSError:
        return None


def _times(status: os.stat_result | None) -> tuple[int, ...] | None:
    """What changes whenever the file does."""
    if status is None:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _state(status: os.stat_result | None) -> str:
    return "" if status is None else f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"


def _named(path: object) -> str | None:
    """The path as text; None for the number of an open folder."""
    if path is None:
        return os.curdir
    return os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else None


def _is_no_standard(path: str) -> bool:
    return bool(path) and (not path.startswith(_STANDARD) or any(f"{os.sep}{site}" in path for site in _SITES))


def _is_site(folder: str) -> bool:
    return os.path.basename(folder) in _SITES


def _modules() -> list[str]:
    """The files of all modules."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return [file for file in files if isinstance(file, str)]


# Who is told: one run at a time

_told: Observations | None = None
_hooked = False


class observed:  # noqa: N801  # used like a function
    """While this is entered, what the process asks is noted."""

    def __init__(self, by: Observations | None) -> None:
        """Take who notes it; None where it makes no difference to the run."""
        self._by = by
        self._before: Observations | None = None

    def __enter__(self) -> None:
        global _hooked, _told  # noqa: PLW0603  # an audit hook is one for the process, and stays
        if self._by is not None and not _hooked:
            _hooked = True
            sys.addaudithook(_hear)
            for function, kind in ((_stat, "stat"), (_lstat, "lstat"), (_readlink, "link"), (_access, "")):
                setattr(os, function.__name__, _Telling(function, kind))
        self._before, _told = _told, self._by

    def __exit__(self, *_: object) -> None:
        global _told  # noqa: PLW0603
        _told = self._before


def spoil() -> None:
    """What is asked in this run is not to be asked again."""
    if _told is not None:
        _told.spoil()


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _told is None:
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, int):  # what is open already was noted when it was opened
            return
        if not flags & _WRITES:
            if not _is_import():
                _told.note_contents(path)
        elif (name := os.fsdecode(path)) != os.devnull and ".pyc." not in os.path.basename(name):  # Python's own
            _told.spoil()
    elif event in ("os.listdir", "os.scandir"):
        if not _is_import():
            _told.note_contents(arguments[0], listed=True)
    elif event in _UNTOLD:
        _told.spoil()


def _is_import() -> bool:
    """Is it Python's import that asks? The files of all modules are noted in the end."""
    return sys._getframe(2).f_code.co_filename == _IMPORTS


class _Telling:
    """A function of :mod:`os` that notes what it was asked and what it answered.

    An instance and no function, since pathlib of Python 3.10 keeps these in a class, where functions become methods.
    """

    def __init__(self, function: Callable[..., Any], kind: str) -> None:
        self._function, self._kind = function, kind

    def __call__(self, path: Any, *more: Any, **ways: Any) -> Any:
        told = _told
        if told is None or isinstance(path, int):  # what is open already was noted when it was opened
            return self._function(path, *more, **ways)
        kind = self._kind or str(*more)
        if ways.keys() - {"follow_symlinks"} or (ways and kind != "stat"):
            told.spoil()
        elif not ways.get("follow_symlinks", True):
            kind = "lstat"
        try:
            found = self._function(path, *more, **ways)
        except OSError as error:
            told.note(kind, path, f"error {error.errno}")
            raise
        told.note(kind, path, _described(found) if isinstance(found, os.stat_result) else str(found))
        return found
