"""The interpreter that a project names in ``.python-version``, which uv, pyenv and hatch start."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gradcompat.files.regular_files import read_regular
from gradcompat.files.root import Root, root_of_file
from gradcompat.model.environment import Environment, Location
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

FILE = ".python-version"
_LONGEST = 4096
# What lists packages of a project and leaves the interpreter to whoever installs them.
_OF_PROJECTS = frozenset(
    {
        *("requirements", "pyproject.toml", "setup.cfg", "setup.py"),
        *("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock"),
    }
)
_VERSION = lazy_pattern(r"(?:cpython[-@]?|python)?(3\.\d{1,2}(?:\.\d{1,3})?)(?:[+-].*)?")


def with_named_python(environment: Environment, path: Path, root: Root | None) -> Environment:
    """The environment with the Python that is named beside its file, if the file names none itself.

    Of several versions the first is the one that is started. Another interpreter than CPython says nothing.

    Args:
        environment: as it was read.
        path: its file.
        root: what may be read; None for the root that the file itself has.
    """
    if environment.python is not None or environment.kind not in _OF_PROJECTS:
        return environment
    beside = path.parent / FILE
    text = ""
    with suppress(OSError):
        if not (root or root_of_file(path)).leads_outside(beside):
            text = read_regular(beside, _LONGEST).decode("utf-8", "replace")
    words = (line.partition("#")[0].strip() for line in text.splitlines())
    first = next(((number, word) for number, word in enumerate(words, 1) if word), None)
    named = None if first is None else _VERSION.fullmatch(first[1])
    if first is None or named is None:
        return environment
    shown = os.path.join(os.path.dirname(environment.source), FILE).replace(os.sep, "/")
    origin = Location(path=shown, line=first[0])
    return replace(environment, python=named[1], origins={"python": origin, **environment.origins})
