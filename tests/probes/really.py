"""Recipes in the interpreter that whoever runs the tests names, really run.

``GRADCOMPAT_PROBE_PYTHON`` names an interpreter with torch, and ``GRADCOMPAT_PROBE_LAYERS`` folders of packages that go
before its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from gradcompat.model.probe import Measurement, ProbeSpec
from gradcompat.probes.runner import Interpreter, Job, run
from gradcompat.recipes.table import recipe_of

INTERPRETER = os.environ.get("GRADCOMPAT_PROBE_PYTHON", "")
LAYERS = tuple(Path(folder) for folder in os.environ.get("GRADCOMPAT_PROBE_LAYERS", "").split(os.pathsep) if folder)

SKIPPED_WITHOUT = pytest.mark.skipif(not INTERPRETER, reason="GRADCOMPAT_PROBE_PYTHON names no interpreter with torch")
NEEDS_TORCH = [pytest.mark.probe, SKIPPED_WITHOUT]


def ran(specs: Iterable[ProbeSpec], layers: tuple[Path, ...] = LAYERS) -> Mapping[str, Measurement]:
    """All of them by how they are written, in one process as far as it lives and each leaves it as it was."""
    jobs = [Job.of(spec, recipe_of(spec)) for spec in specs]
    return {str(one.spec): one for one in run(jobs, Interpreter(path=Path(INTERPRETER), layers=layers))}
