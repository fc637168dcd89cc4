"""How a command is started so that every Python process below it is guarded."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gradcompat.guard.options import ALSO, ENABLED, ON_DEFECT, PYTHON, REPORT, STEPS, Options

# Python imports the `sitecustomize` of the first folder on its path that has one.
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sitecustomize")


def environment(options: Options, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a guarded command.

    Args:
        options: of the guard.
        environ: the environment of this process.
    """
    inherited = environ.get("PYTHONPATH")
    return {
        **environ,
        "PYTHONPATH": SITE if not inherited else os.pathsep.join((SITE, inherited)),
        ENABLED: "1",
        STEPS: str(options.steps),
        ON_DEFECT: options.on_defect,
        REPORT: os.path.abspath(options.report) if options.report else "",
        PYTHON: options.python,
        ALSO: ",".join(options.also),
    }
