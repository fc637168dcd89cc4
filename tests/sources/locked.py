"""Helpers of the tests of lockfile readers: a fixture as a document, an environment as plain rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import Environment

FIXTURES = Path(__file__).parents[1] / "fixtures"


def fixture(relative: str) -> Document:
    path = FIXTURES / relative
    return read_document(path, path.name)


def pins(environment: Environment) -> list[tuple[Any, ...]]:
    """Each package with what tells it apart, and the place of its pin."""
    return [
        (one.name, one.version, one.source, one.marker, one.extras, one.unreleased, one.location.line)
        for one in environment.packages
    ]


def notes(environment: Environment) -> list[tuple[Any, ...]]:
    return [
        (one.what, one.reason, one.gap, one.location.line if one.location is not None else None)
        for one in environment.skipped
    ]
