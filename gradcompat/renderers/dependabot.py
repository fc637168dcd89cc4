"""The list of releases that Dependabot must not propose, to be put into `.github/dependabot.yml`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from gradcompat.renderers.terminal import safe


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """One package: ranges of which each is left out, and why."""

    package: str
    ranges: tuple[str, ...]
    reasons: tuple[str, ...]


def write(head: Sequence[str], entries: Sequence[Ignored], out: TextIO) -> None:
    """Write the list as YAML; what comes from elsewhere cannot leave its comment or its string."""
    for sentence in head:
        out.write(f"# {safe(sentence)}\n")
    if not entries:
        out.write("ignore: []\n")
        return
    out.write("ignore:\n")
    for entry in entries:
        for reason in entry.reasons:
            out.write(f"  # {safe(reason)}\n")
        # A string of JSON is one of YAML.
        out.write(f"  - dependency-name: {json.dumps(entry.package)}\n")
        out.write(f"    versions: {json.dumps(list(entry.ranges))}\n")
