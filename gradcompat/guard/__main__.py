"""``python -m gradcompat.guard`` prints the folder that a PYTHONPATH needs for ``GRADCOMPAT_GUARD=1`` to count."""

from __future__ import annotations

import sys

from gradcompat.guard.launch import SITE

sys.stdout.write(f"{SITE}\n")
