"""Maintain the records of known defects.

Files:
  knowledge/issues.yaml  the records, as text
  knowledge/measured/    what probes measured, release by release

Examples:
  gradcompat knowledge report
  gradcompat knowledge export --format renovate
"""

from __future__ import annotations

_HERE = "gradcompat.cli.commands.knowledge"
_NAMES = (
    *(
        "lint",
        "new",
        "measure",
        "read",
        "watch",
        "compile",
        "matrix",
        "pairs",
        "ranges",
        "report",
        "horizon",
        "refresh",
        "export",
        "serve",
    ),
    "snapshot",
)

# Name → module, in the order of `--help`.
COMMANDS = {name: f"{_HERE}.{name}" for name in _NAMES}
