"""Every format that can be read, in one table: its kind, the module that reads it, the file names it goes by.

A module is imported when a file of its kind is met, so that reading a uv.lock does not cost a YAML parser.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Reader:
    """One format.

    Attributes:
        kind: the word for the format, as ``inspect`` shows it.
        module: the module of this package whose ``read`` reads it.
        names: lower-case patterns of file names. A folder is searched for these.
        lock: a lockfile of a project: the ranges in a pyproject.toml beside it are what it resolves.
        text: free text without a format of its own. The name alone says little, so the content decides.
    """

    kind: str
    module: str
    names: tuple[str, ...] = ()
    lock: bool = False
    text: bool = False


READERS = (
    Reader("uv.lock", "uv_lock", ("*uv.lock",), lock=True),
    Reader("poetry.lock", "poetry_lock", ("*poetry.lock",), lock=True),
    Reader("pdm.lock", "pdm_lock", ("*pdm.lock", "pdm.*.lock"), lock=True),
    Reader("Pipfile.lock", "pipfile_lock", ("*pipfile.lock",), lock=True),
    Reader("pylock.toml", "pylock", ("*pylock.toml", "*pylock.*.toml"), lock=True),
    Reader("pixi.lock", "pixi_lock", ("*pixi.lock",), lock=True),
    Reader("conda-lock", "conda_lock", ("*conda-lock.yml", "*conda-lock.yaml"), lock=True),
    Reader("conda-environment", "conda_environment", ("*environment*.yml", "*environment*.yaml", "*conda*.y*ml")),
    Reader("conda-explicit", "conda_explicit", ("*conda*.lock", "*spec-file*.txt", "*explicit*.txt"), text=True),
    Reader("conda-list", "conda_list"),
    Reader("pyproject.toml", "pyproject", ("*pyproject.toml",)),
    Reader("setup.cfg", "setup_cfg", ("*setup.cfg",)),
    Reader("pip-inspect", "pip_inspect", ("*pip-inspect*.json", "*pip_inspect*.json")),
    Reader("pip-list", "pip_list", ("*pip-list*", "*pip_list*"), text=True),
    Reader("report", "report", ("*collect_env*.txt", "*env_report*.txt"), text=True),
    Reader(
        "requirements",
        "requirements",
        ("*requirement*.txt", "*requirement*.in", "*constraint*.txt", "*freeze*.txt"),
        text=True,
    ),
    Reader("cyclonedx", "cyclonedx", ("*.cdx.json", "*bom*.json", "*cyclonedx*.json")),
    Reader("spdx", "spdx", ("*.spdx", "*.spdx.json", "*.spdx.yml")),
    Reader("dockerfile", "dockerfile", ("dockerfile*", "*.dockerfile", "*__dockerfile*", "containerfile*")),
    Reader("notebook", "notebook", ("*.ipynb",)),
    Reader("script", "inline_script", ("*.py",)),
)

BY_KIND = {reader.kind: reader for reader in READERS}


def by_name(name: str) -> Reader | None:
    """The reader for a file of that name, if the name says enough."""
    lower = name.lower()
    for reader in READERS:
        if any(fnmatchcase(lower, pattern) for pattern in reader.names):
            return reader
    return None
