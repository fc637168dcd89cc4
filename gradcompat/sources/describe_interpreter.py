"""Says of the interpreter that runs it which it is and where its packages are; for ``python -I -S -E -B``.

Standard library only, and old enough for Python 3.8, because it runs in other people's interpreters. Nothing of theirs
runs with it: without ``site`` there is no sitecustomize, no .pth file and no package on the path. The module is
imported here only for its functions; it does nothing at import.

Usage: describe_interpreter.py OUTPUT USER_SITE   (a file to write, and 1 if the user's own folder counts)
"""

from __future__ import annotations

import json
import os
import platform
import site
import sys


def main() -> None:
    executable = sys.executable or sys.argv[0]
    config, venv = virtual_environment(executable)
    with_system = venv is None or config.get("include-system-site-packages", "").lower() == "true"
    base = sys.base_prefix
    folders = []
    if venv is not None:
        # Without site, sys.prefix is that of the base before Python 3.14; Debian's getsitepackages looks at it.
        sys.prefix = sys.exec_prefix = venv
        folders += site.getsitepackages([venv])
    if with_system:
        if sys.argv[2] == "1":
            folders += user_folders()
        sys.prefix = sys.exec_prefix = base
        folders += site.getsitepackages([base])
    report = {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": sys.platform,
        "executable": executable,
        "prefix": venv or base,
        "base_prefix": base,
        "folders": [folder for folder in folders if os.path.isdir(folder)],
        "libc": libc(),
    }
    with open(sys.argv[1], "w", encoding="ascii") as output:
        json.dump(report, output)


def virtual_environment(executable: str) -> tuple[dict[str, str], str | None]:
    """The keys of pyvenv.cfg and its folder, if the executable is that of a virtual environment."""
    near = os.path.dirname(os.path.abspath(executable))
    for folder in (near, os.path.dirname(near)):
        try:
            with open(os.path.join(folder, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
                pairs = [line.partition("=") for line in file]
        except OSError:
            continue
        return {key.strip().lower(): value.strip() for key, _, value in pairs}, folder
    return {}, None


def user_folders() -> list[str]:
    try:
        return [site.getusersitepackages()]
    except Exception:  # no home, no user: then there is no such folder
        return []


def libc() -> str | None:
    """``glibc 2.35`` of the running process; platform.libc_ver would say what the executable asks for at least."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        return None


if __name__ == "__main__":
    main()
