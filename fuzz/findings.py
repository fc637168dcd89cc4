"""Findings on disk: one file for each that is unlike all others, with the smallest input that was seen to cause it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fuzz.inputs import Input, loads
from fuzz.oracles import Finding


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, "utf-8", "surrogateescape")
    os.replace(temporary, path)


@dataclass(frozen=True, slots=True)
class Stored:
    """A finding, how often it was seen, and an input that causes it."""

    finding: Finding
    count: int
    input: Input
    file: Path


class Findings:
    """The findings of a campaign."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, finding: Finding, cause: Input, count: int = 1) -> None:
        """Count a finding; its input is kept if it is the first or the smallest."""
        file = self.folder / f"{sha256(finding.signature.encode('utf-8', 'replace')).hexdigest()[:16]}.json"
        if file.exists():
            known = self.read(file)
            count += known.count
            if known.input.size <= cause.size:
                finding, cause = known.finding, known.input
        data = {
            "oracle": finding.oracle,
            "where": finding.where,
            "detail": finding.detail,
            "count": count,
            "input": json.loads(cause.dumps()),
        }
        write(file, json.dumps(data, indent=1))

    def read(self, file: Path) -> Stored:
        """One finding."""
        data = json.loads(file.read_text("utf-8"))
        finding = Finding(data["oracle"], data["where"], data["detail"])
        return Stored(finding, data["count"], loads(json.dumps(data["input"])), file)

    def all(self) -> list[Stored]:
        """Every finding, by its signature."""
        return sorted((self.read(file) for file in self.folder.glob("*.json")), key=lambda one: one.finding.signature)
