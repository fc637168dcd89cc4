"""Installed environments, which are folders and interpreters, not documents: every distribution that is in them.

A folder is read from its files alone; nothing in it is started, and no file in it is run. Only ``--python`` starts an
interpreter (:mod:`gradcompat.sources.interpreter`), and only to ask where its packages are.

A Python package that conda installed stands in ``conda-meta`` and in site-packages. It is reported once, by its
metadata: under the name and version that Python code sees, with ``source="conda"``.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from gradcompat.errors import NotFound, SourceError
from gradcompat.files.regular_files import read_regular
from gradcompat.model.environment import Environment, Location, Skipped
from gradcompat.sources.conda_prefix import CondaPrefix, merge, read_conda_meta
from gradcompat.sources.distributions import Folder, printable, read
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_PYTHON_FOLDER = lazy_pattern(r"(?:python|pypy)(3(?:\.\d+)?)t?")
_VERSION = lazy_pattern(r"\d+\.\d+(?:\.\d+(?:(?:a|b|rc)\d+)?)?")
_MAX_CONFIG = 64 * 1024


def is_environment(path: Path) -> bool:
    """Is it a virtual environment, a conda prefix, the prefix of a Python, or a site-packages folder?"""
    try:
        if not os.path.isdir(path):
            return False
        if os.path.isfile(path / "pyvenv.cfg") or os.path.isdir(path / "conda-meta") or _is_site_packages(path):
            return True
        has_python = os.path.isdir(path / "bin") or os.path.isfile(path / "python.exe")
        return has_python and any(_site_folders(os.fspath(path)))
    except (OSError, ValueError):
        return False


def read_folder(path: Path, shown: str) -> Environment:
    """The packages of an environment, from its files only.

    Raises:
        NotFound: if there is no such folder.
        SourceError: if it is a folder of another kind.
    """
    prefix = os.fspath(path)
    try:
        os.listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound("there is no such folder", path=shown) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise NotFound(f"cannot be read: {reason}", path=shown) from None
    if not is_environment(path):
        raise SourceError("is not an environment: it has no pyvenv.cfg, no conda-meta and no packages", path=shown)
    if _is_site_packages(path) and not os.path.isfile(path / "pyvenv.cfg") and not os.path.isdir(path / "conda-meta"):
        return _environment(shown, [Folder(prefix, shown)], python=_python_of(path.parent.name))
    skipped: list[Skipped] = []
    config = _config(path / "pyvenv.cfg", shown, skipped)
    version = _VERSION.match(config.get("version") or config.get("version_info") or "")
    python = version[0] if version else None
    found = list(_site_folders(prefix))
    tags = sorted({tag for tag, _ in found if tag is not None and "." in tag})
    own = ".".join(python.split(".")[:2]) if python else None
    forks: dict[str | None, tuple[str, ...]] = {}
    if len(tags) > 1 and own not in tags:
        # Several Pythons share the prefix, as below /usr/local: each sees only its own packages.
        forks = {tag: (f"python{tag}",) for tag in tags}
    elif tags:
        if own is not None and own not in tags:
            reason = f"says that this is Python {own}, and the packages are those of Python {tags[0]}"
            what = _shown("/pyvenv.cfg", "", shown)
            skipped.append(Skipped(what=what, reason=reason, location=Location(path=what)))
        own = own if own in tags else tags[0]
        python = python or own
        for tag, folder in found:
            if tag not in (own, None, "3"):
                what = _shown(folder, prefix, shown)
                reason = f"belongs to Python {tag}; the environment is of Python {own}"
                skipped.append(Skipped(what=what, reason=reason, gap=False, location=Location(path=what)))
        found = [(tag, folder) for tag, folder in found if tag in (own, None, "3")]
    folders = [
        Folder(folder, _shown(folder, prefix, shown), fork)
        for tag, folder in found
        for fork in ([forks[tag]] if tag in forks else list(forks.values()) or [()])
    ]
    if config.get("include-system-site-packages", "").lower() == "true":
        folders.extend(_system_folders(config.get("home", ""), own, shown, skipped))
    conda = read_conda_meta(prefix, shown, skipped)
    if not folders and not conda.records:
        skipped.append(Skipped(what=shown, reason="has no site-packages folder", location=Location(path=shown)))
    return _environment(
        shown,
        folders,
        python=conda.python or python,
        platform=conda.platform or ("win32" if _is_windows(path) else sys.platform if os.name == "posix" else None),
        skipped=skipped,
        conda=conda,
    )


def read_interpreter(executable: str, shown: str) -> Environment:
    """The packages that an interpreter sees, or those of the environment whose folder is named instead.

    Raises:
        NotFound: if there is nothing of that name.
        SourceError: if it is neither a Python that answers nor an environment.
    """
    if os.path.isdir(executable):
        return read_folder(Path(executable), shown)
    # It imports subprocess and more, which a check of a folder or a lockfile does not need.
    from gradcompat.sources.interpreter import describe  # noqa: PLC0415

    found = describe(executable, os.environ, Path(_working_folder()))
    skipped: list[Skipped] = []
    conda = read_conda_meta(found.prefix, printable(found.prefix), skipped)
    return _environment(
        shown,
        [Folder(folder, printable(folder)) for folder in found.folders],
        python=found.version,
        platform=found.platform,
        virtual=_libc(found.libc),
        skipped=skipped,
        conda=conda,
    )


def read_running() -> Environment:
    """The packages that the interpreter that runs us sees, in the order of its ``sys.path``."""
    here = _working_folder()
    # The first entry may be the folder that one happens to stand in.
    paths = [path for path in dict.fromkeys(sys.path) if path and path != here and os.path.isdir(path)]
    major, minor, micro, level, serial = sys.version_info
    suffix = "" if level == "final" else f"{ {'alpha': 'a', 'beta': 'b', 'candidate': 'rc'}[level] }{serial}"
    skipped: list[Skipped] = []
    conda = read_conda_meta(sys.prefix, printable(sys.prefix), skipped)
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", {}) else None
    return _environment(
        f"the interpreter that runs gradcompat ({printable(sys.executable or sys.prefix)})",
        [Folder(path, printable(path)) for path in paths],
        python=f"{major}.{minor}.{micro}{suffix}",
        platform=sys.platform,
        virtual=_libc(libc),
        skipped=skipped,
        conda=conda,
        follow_pth=False,  # they are on sys.path already
    )


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # somebody has removed it
        return os.sep


def active(environ: Mapping[str, str], cwd: Path) -> Environment:
    """The environment that is meant where none is named: the activated one, ``./.venv``, else the one that runs us."""
    skipped: list[Skipped] = []
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        value = environ.get(variable, "")
        if not value:
            continue
        path = cwd / value
        if is_environment(path):
            return _named(read_folder(path, printable(value)), f"{variable} {printable(value)}", skipped)
        reason = f"{variable} names it, but it is not an environment"
        skipped.append(Skipped(what=printable(value), reason=reason, gap=False))
    if is_environment(cwd / ".venv"):
        return _named(read_folder(cwd / ".venv", ".venv"), "./.venv", skipped)
    running = read_running()
    return _named(running, running.source, skipped)


def _named(environment: Environment, source: str, skipped: list[Skipped]) -> Environment:
    return replace(environment, source=source, skipped=(*skipped, *environment.skipped))


def _environment(
    source: str,
    folders: Iterable[Folder],
    *,
    python: str | None = None,
    platform: str | None = None,
    virtual: Mapping[str, str] | None = None,
    skipped: Iterable[Skipped] = (),
    conda: CondaPrefix | None = None,
    follow_pth: bool = True,
) -> Environment:
    distributions, passed_over = read(folders, follow_pth=follow_pth)
    packages = [distribution.package for distribution in distributions]
    if conda is not None and conda.records:
        packages = merge(distributions, conda, passed_over)
    return Environment(
        source=source,
        kind="installed",
        packages=tuple(packages),
        closed=True,
        skipped=(*skipped, *passed_over),
        python=python,
        platform=platform,
        virtual=virtual or {},
    )


# Folders


def _is_site_packages(path: Path) -> bool:
    """By its name, or because there are installed wheels in it, as after ``pip install --target``."""
    if path.name in ("site-packages", "dist-packages"):
        return True
    return any(name.endswith(".dist-info") for name in os.listdir(path))


def _is_windows(path: Path) -> bool:
    return os.path.isdir(path / "Scripts") or (os.path.isdir(path / "Lib") and not os.path.isdir(path / "bin"))


def _site_folders(prefix: str) -> Iterable[tuple[str | None, str]]:
    """The site-packages folders below a prefix, with the Python version in their path, in the order of the search."""
    for library in ("local/lib", "lib", "lib64", "Lib"):
        parent = f"{prefix}/{library}"
        try:
            names = os.listdir(parent)
        except OSError:
            continue
        for name in sorted(names):
            if name == "site-packages" and library in ("Lib", "lib"):
                yield None, f"{parent}/{name}"
            elif match := _PYTHON_FOLDER.fullmatch(name):
                for kind in ("site-packages", "dist-packages"):
                    if os.path.isdir(folder := f"{parent}/{name}/{kind}"):
                        yield match[1], folder
    if os.path.isdir(folder := f"{prefix}/site-packages"):  # PyPy before 3.8
        yield None, folder


def _python_of(folder: str) -> str | None:
    match = _PYTHON_FOLDER.fullmatch(folder)
    return match[1] if match and "." in match[1] else None


def _shown(folder: str, prefix: str, shown: str) -> str:
    relative = printable(folder[len(prefix) :]).replace(os.sep, "/").lstrip("/")
    return relative if shown in (".", "./") else f"{shown.rstrip('/')}/{relative}"


def _config(path: Path, shown: str, skipped: list[Skipped]) -> dict[str, str]:
    """The keys of a pyvenv.cfg; none if there is no such file."""
    name = _shown("/pyvenv.cfg", "", shown)
    if not os.path.isfile(path):
        return {}
    try:
        text = read_regular(path, _MAX_CONFIG).decode("utf-8", "replace")
    except OSError as error:
        skipped.append(Skipped(what=name, reason=f"cannot be read: {error.strerror}", location=Location(path=name)))
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _system_folders(home: str, tag: str | None, shown: str, skipped: list[Skipped]) -> list[Folder]:
    """What ``include-system-site-packages = true`` adds: the user's own packages and those of the base Python."""
    base = os.path.dirname(home.rstrip("/\\")) if os.path.isabs(home) else ""
    found = [folder for own, folder in _site_folders(base) if own in (tag, None, "3")] if base else []
    if not found:
        config = _shown("/pyvenv.cfg", "", shown)
        reason = "includes the packages of the base Python, which were not found"
        what = f"include-system-site-packages of {shown}"
        skipped.append(Skipped(what=what, reason=reason, location=Location(path=config)))
    user = os.path.expanduser(f"~/.local/lib/python{tag}/site-packages")
    if tag is not None and os.path.isdir(user):
        found.insert(0, user)
    return [Folder(folder, printable(folder)) for folder in found]


def _libc(text: str | None) -> dict[str, str]:
    match = re.fullmatch(r"glibc (\d+(?:\.\d+)+)", text or "")
    return {"__glibc": match[1]} if match else {}
