"""What every command prints in the same way."""

from __future__ import annotations

import sys

from gradcompat.errors import GradcompatError


def print_error(error: GradcompatError) -> None:
    """``error: `file:line`: what is wrong`` and, below it, what to do."""
    from gradcompat.renderers.terminal import safe

    sys.stderr.write(f"error: {safe(str(error))}\n")
    if error.hint is not None:
        sys.stderr.write(f"\nhint: {safe(error.hint)}\n")
