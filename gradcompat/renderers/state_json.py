"""The state of the knowledge as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TextIO

from gradcompat.model.knowledge_state import KnowledgeState
from gradcompat.renderers.json_output import json_output


def render(state: KnowledgeState, out: TextIO) -> None:
    """Write one object."""
    out.write(json_output(asdict(state)))
