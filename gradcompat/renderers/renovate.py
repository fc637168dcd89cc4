"""A preset for Renovate: packages that move together in one pull request, and releases that it must not propose."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from gradcompat.renderers.constraints import Line

SCHEMA = "https://docs.renovatebot.com/renovate-schema.json"


def write(head: Sequence[str], groups: Mapping[str, Sequence[str]], lines: Sequence[Line], out: TextIO) -> None:
    """Write the preset as JSON."""
    rules: list[dict[str, Any]] = [
        {"matchDatasources": ["pypi"], "matchPackageNames": list(names), "groupName": group}
        for group, names in groups.items()
    ]
    rules += [
        {
            "description": list(line.reasons),
            "matchDatasources": ["pypi"],
            "matchPackageNames": [line.package],
            "allowedVersions": line.specifier,
        }
        for line in lines
    ]
    preset = {"$schema": SCHEMA, "description": list(head), "packageRules": rules}
    out.write(json.dumps(preset, indent=2) + "\n")
