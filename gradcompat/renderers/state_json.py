"""The state of the knowledge as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TextIO

from gradcompat.model.knowledge_state import KnowledgeState


def render(state: KnowledgeState, out: TextIO) -> None:
    """Write one object."""
    out.write(json.dumps(asdict(state), ensure_ascii=False, indent=1) + "\n")
