"""The interpreter and the machine that a plan has to fit, from what the environment, the user and this machine say."""

from __future__ import annotations

import platform
import sys

from gradcompat.errors import UsageError
from gradcompat.model.environment import Environment
from gradcompat.model.release import Target
from gradcompat.startup.lazy_patterns import lazy_pattern

_PYTHON = lazy_pattern(r"(\d+)\.(\d+)(?:\.(\d+))?\S*")
_OLDEST_GLIBC = "2.28"  # what manylinux_2_28 needs: every Linux that current torch runs on


def target_of(environment: Environment) -> Target:
    """Where the packages of an environment are to be installed.

    What the environment states counts, ``--set host.*`` included; the rest is taken from the machine that runs this.

    Raises:
        UsageError: if the stated Python is no version.
    """
    system = environment.platform or sys.platform
    here = system == sys.platform
    return Target(
        python=_full(environment.python) if environment.python is not None else platform.python_version(),
        platform=system,
        machine=platform.machine() if here else _usual_machine(system),
        glibc=_glibc(environment, here=here) if system == "linux" else None,
        implementation="pp" if here and sys.implementation.name == "pypy" else "cp",
    )


def _full(python: str) -> str:
    """``3.11`` is taken as 3.11.0: markers speak of full versions."""
    match = _PYTHON.fullmatch(python.strip())
    if match is None:
        raise UsageError(f"`{python}` is no version of Python", hint="write it as `--set host.python=3.11`")
    return f"{match[1]}.{match[2]}.{match[3] or 0}"


def _usual_machine(system: str) -> str:
    return {"darwin": "arm64", "win32": "AMD64"}.get(system, "x86_64")


def _glibc(environment: Environment, *, here: bool) -> str:
    stated = environment.virtual.get("__glibc")
    if stated is not None:
        return stated
    name, version = platform.libc_ver() if here else ("", "")
    return version if name == "glibc" and version else _OLDEST_GLIBC
