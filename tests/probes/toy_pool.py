"""The toy's recipe in the table, which does not have it, in whatever process measures."""

from __future__ import annotations

from dataclasses import replace

from gradcompat.model.probe import Row
from gradcompat.probes import pool
from gradcompat.probes.matrix import Task
from gradcompat.recipes.table import BY_NAME
from tests.probes.toys import TOY_RECIPE

BY_NAME["toy"] = replace(TOY_RECIPE, parameters={"skip": (False, True)}, controls=(), variants=({},))


def work(task: Task) -> tuple[Row, ...]:
    """As the pool does it, in a process that has imported this module."""
    return pool.work(task)
