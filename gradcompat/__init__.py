"""Version-compatibility resolver and advisor for deep-learning training stacks.

:func:`check` is the whole of the Python interface::

    report = gradcompat.check("uv.lock", contexts=["train.yaml"])
    for one in report.findings:
        print(one.finding.issue.id, one.finding.status, one.advice)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcompat._version import __version__ as __version__

if TYPE_CHECKING:
    from gradcompat.api import check as check


def __getattr__(name: str) -> Any:
    # Whoever only wants the version, as every command does, loads nothing else.
    if name == "check":
        from gradcompat.api import check

        return check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
