"""Builds `gradcompat-knowledge`: the compiled records, with their date as the version.

In the repository the compiled records lie in gradcompat's own package; an sdist has a copy of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_INSIDE = "gradcompat_knowledge/compiled.json"


def _compiled(root: str) -> Path:
    """Where the compiled records are.

    Raises:
        FileNotFoundError: if they are neither in the repository nor in an sdist.
    """
    places = (Path(root, _INSIDE), Path(root).parent / "gradcompat" / "knowledge" / "compiled.json")
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError("compiled.json is missing: build from the repository, or from an sdist")


class CustomMetadataHook(MetadataHookInterface):
    """The version is the date of the records: 2026-11-05 is 2026.11.5."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set it."""
        day = json.loads(_compiled(self.root).read_bytes())["date"]
        metadata["version"] = ".".join(str(int(part)) for part in day.split("-"))


class CustomBuildHook(BuildHookInterface[Any]):
    """Puts the compiled records into the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the file, wherever it is."""
        build_data["force_include"][str(_compiled(self.root))] = _INSIDE
