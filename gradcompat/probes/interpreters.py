"""Which interpreter is meant: one that is named, or that of the active environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gradcompat.errors import ProbeUnavailable
from gradcompat.processes.executables import find_program


def interpreter_of(named: str | None) -> Path:
    """The executable to run probes in.

    Args:
        named: an executable or an environment's folder; None for the active environment: ``VIRTUAL_ENV``,
            ``CONDA_PREFIX``, ``.venv`` here, or else the Python that runs gradcompat.

    Raises:
        ProbeUnavailable: if there is no such interpreter.
    """
    if named is None:
        prefixes = [os.environ.get("VIRTUAL_ENV"), os.environ.get("CONDA_PREFIX"), ".venv"]
        found = next((one for prefix in prefixes if prefix and (one := _in_prefix(Path(prefix)))), None)
        return found or Path(sys.executable)
    path = Path(named)
    if os.path.isdir(path):
        inside = _in_prefix(path)
        if inside is None:
            raise ProbeUnavailable("is a folder without an interpreter", path=named, hint="name a Python")
        return inside
    if os.path.dirname(named):
        command = os.path.abspath(named) if os.path.exists(named) else None
    else:
        command = find_program(named)  # a file of that name in the current folder is not meant
    if command is None:
        raise ProbeUnavailable("there is no such interpreter", path=named, hint="name a Python with torch")
    return Path(command)


def _in_prefix(prefix: Path) -> Path | None:
    candidates = (prefix / "bin" / "python", prefix / "Scripts" / "python.exe", prefix / "python.exe")
    return next((candidate.absolute() for candidate in candidates if os.path.exists(candidate)), None)
