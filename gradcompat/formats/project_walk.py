"""The files of a project: every file below a folder but those of environments, caches, trackers and version control.

What is passed over is told by what is in it. A name alone, or an empty marker, hides nothing, and the files of a
project that share their folder with an environment are found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gradcompat.model.environment import Location, Skipped
from gradcompat.startup.lazy_patterns import lazy_pattern

# What stands in these folders if they are what they are called.
_STORES = {
    ".git": frozenset({"HEAD"}),
    ".hg": frozenset({"requires", "store"}),
    ".svn": frozenset({"wc.db", "entries"}),
    ".mypy_cache": frozenset({"CACHEDIR.TAG"}),
    ".ruff_cache": frozenset({"CACHEDIR.TAG"}),
    ".pytest_cache": frozenset({"CACHEDIR.TAG"}),
    "node_modules": frozenset({".package-lock.json", ".yarn-integrity", ".yarn-state.yml", ".modules.yaml", ".bin"}),
}
# The folders of a Python's prefix, in lower case, on every platform.
_LAYOUT = frozenset(
    [
        *("bin", "sbin", "scripts", "lib", "lib32", "lib64", "libexec", "libs", "include", "share", "etc", "ssl"),
        *("man", "var", "doc", "dlls", "library", "tools", "tcl", "conda-meta", "condabin", "compiler_compat"),
        *("pkgs", "shell"),
    ]
)
# What wandb keeps of a run that is over, with a list of what was installed then.
_TRACKED_RUN = lazy_pattern(r"(?:offline-)?run-\d{8}_\d{6}-\w+")
# Where Jupyter keeps the last saved state of each file that it edits, as train-checkpoint.py of train.py.
_SAVED_STATES = ".ipynb_checkpoints"
_SAVED_STATE = "-checkpoint"
_SOURCES = frozenset({"src"})  # where pip checks out what is installed with `-e git+…`
_PYTHON_FOLDER = lazy_pattern(r"(?:python|pypy)3(?:\.\d+)?t?")
_OF_ENVIRONMENTS = frozenset({"pyvenv.cfg", ".gitignore", "CACHEDIR.TAG", ".lock"})  # what venv and uv write beside
_HOME = lazy_pattern(rb"^\s*home\s*=\s*\S", re.MULTILINE | re.IGNORECASE)
_MAX_CONFIG = 64 * 1024


def files(
    folder: Path, unreadable: Callable[[OSError], None], passed_over: Callable[[Path], None] = lambda _: None
) -> Iterator[tuple[Path, list[str]]]:
    """Each folder with the names of its files, in a stable order; links to folders are not followed.

    Args:
        folder: where to begin.
        unreadable: is told of each folder that cannot be listed.
        passed_over: is told of each installed environment below the folder, whose own folders are not searched.
    """
    top = os.fspath(folder)
    for parent, folders, names in os.walk(top, onerror=unreadable):
        if parent != top and _is_store(parent, folders, names):
            folders.clear()
            continue
        if _holds_distributions(parent, folders):
            folders.clear()
        elif is_prefix(parent, folders, names):
            own = _LAYOUT if parent == top else _LAYOUT | _SOURCES
            folders[:] = sorted(name for name in folders if name.lower() not in own)
        else:
            folders.sort()
            yield Path(parent), sorted(names)
            continue
        if parent != top:
            passed_over(Path(parent))
        yield Path(parent), sorted(names)


def label(path: Path, folder: Path, shown: str) -> str:
    """A file below a folder, as the user would call it who calls the folder ``shown``."""
    relative = path.relative_to(folder).as_posix()
    return relative if shown in (".", "./") else f"{shown.rstrip('/')}/{relative}"


def unlisted(error: OSError, folder: Path, shown: str) -> Skipped:
    """The gap that a folder leaves which cannot be listed."""
    path = label(Path(error.filename), folder, shown)
    return Skipped(what=path, reason=f"cannot be read: {error.strerror}", location=Location(path=path))


def is_installed(path: Path) -> bool:
    """Is it an environment that is really there: a prefix with a site-packages folder, or a folder of distributions?"""
    try:
        parent, folders, names = next(os.walk(path))
    except (StopIteration, ValueError):
        return False
    return _holds_distributions(parent, folders) or is_prefix(parent, folders, names)


def is_bare_environment(path: Path) -> bool:
    """Is there nothing below a folder but an installed environment, and all of it can be listed?"""
    failed: list[OSError] = []
    found = (name for _, names in files(path, failed.append) for name in names)
    return all(name in _OF_ENVIRONMENTS for name in found) and not failed


def is_prefix(parent: str, folders: Sequence[str], names: Sequence[str]) -> bool:
    """Is it the prefix of a Python (a virtual environment, conda's, or a system's), and not only called like one?"""
    if "conda-meta" in folders and any(name.endswith(".json") for name in _listed(os.path.join(parent, "conda-meta"))):
        return True
    started = "bin" in folders or "python.exe" in names
    return (started or ("pyvenv.cfg" in names and _has_home(parent))) and _has_site_packages(parent, folders)


def _has_home(prefix: str) -> bool:
    path = os.path.join(prefix, "pyvenv.cfg")
    if not os.path.isfile(path):  # opening a pipe would wait
        return False
    try:
        with open(path, "rb") as file:
            return _HOME.search(file.read(_MAX_CONFIG)) is not None
    except OSError:
        return False


def _has_site_packages(prefix: str, folders: Sequence[str]) -> bool:
    for library in ("lib", "lib64", "Lib"):
        if library in folders:
            path = os.path.join(prefix, library)
            kinds = ("site-packages", "dist-packages")
            pythons = [name for name in _listed(path) if _PYTHON_FOLDER.fullmatch(name)]
            places = [os.path.join(path, python, kind) for python in pythons for kind in kinds]
            if any(map(os.path.isdir, (*places, os.path.join(path, "site-packages")))):
                return True
    return False


def _holds_distributions(parent: str, folders: Sequence[str]) -> bool:
    """Are there installed wheels in it, as in site-packages and after ``pip install --target``?"""
    return any(
        name.endswith(".dist-info") and os.path.isfile(os.path.join(parent, name, "METADATA")) for name in folders
    )


def _is_store(parent: str, folders: Sequence[str], names: Sequence[str]) -> bool:
    """Does it belong to version control or to a tool, and hold nothing that anybody wrote?"""
    name = os.path.basename(parent)
    if name in _STORES and not _STORES[name].isdisjoint((*folders, *names)):
        return True
    if "files" in folders and _TRACKED_RUN.fullmatch(name):
        return os.path.basename(os.path.dirname(parent)) == "wandb"
    if name == _SAVED_STATES:
        return not folders and all(os.path.splitext(one)[0].endswith(_SAVED_STATE) for one in names)
    if name == "node_modules":
        return any(os.path.isfile(os.path.join(parent, folder, "package.json")) for folder in folders)
    return name.endswith(".egg") and "EGG-INFO" in folders


def _listed(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []
