"""The guard: it sits in the training process and verifies the first optimizer steps.

It needs the standard library and what trains, and imports no framework that the process has not loaded.
"""

from __future__ import annotations

from importlib import import_module

_HERE = "gradcompat.guard"
_NAMES = {
    "Guard": f"{_HERE}.guard",
    "GuardStop": f"{_HERE}.findings",
    "Finding": f"{_HERE}.findings",
    "GuardCallback": f"{_HERE}.trainer_callback",
    "LightningGuard": f"{_HERE}.lightning_callback",
}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradcompat.guard.findings import Finding as Finding
    from gradcompat.guard.findings import GuardStop as GuardStop
    from gradcompat.guard.guard import Guard as Guard
    from gradcompat.guard.lightning_callback import LightningGuard as LightningGuard
    from gradcompat.guard.trainer_callback import GuardCallback as GuardCallback


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_NAMES[name]), name)
