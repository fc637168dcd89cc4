"""The modules of the package as syntax trees, parsed once in a process for all tests that judge the code itself."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "gradcompat"
# A package of its own, which runs in the interpreter that is measured.
INSIDE = PACKAGE / "probes" / "inside"


@cache
def source_trees() -> dict[Path, ast.Module]:
    """The tree of each module of the package, by its path, without those that run in other interpreters."""
    paths = (path for path in sorted(PACKAGE.rglob("*.py")) if not path.is_relative_to(INSIDE))
    return {path: ast.parse(path.read_text("utf-8")) for path in paths}


def module_name(path: Path) -> str:
    """The name of a module without the package: ``cli.commands.check``."""
    return path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
