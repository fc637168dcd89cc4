"""``gradcompat-guard.json``: versions, configuration and measurements, and nothing of data or paths."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gradcompat.guard.findings import Finding
from gradcompat.guard.judgement import Judgement
from gradcompat.guard.matched_records import Record
from gradcompat.guard.measurement import Step
from gradcompat.guard.screen import explaining

SCHEMA_VERSION = 1
MOST_RUNS = 100


def report(
    judgement: Judgement,
    steps: Sequence[Step],
    records: Sequence[Record],
    *,
    facts: Mapping[str, Any],
    packages: Mapping[str, str],
    change: str,
    stopped: bool,
    first_batches: Sequence[Sequence[int]] = (),
) -> dict[str, Any]:
    """The report as JSON has it.

    Args:
        judgement: what was found.
        steps: that were measured.
        records: that apply.
        facts: settings by the keys of the records.
        packages: name → version.
        change: what ``gradcompat plan`` changes.
        stopped: the run was ended.
        first_batches: a checksum of 20 bits of the first batch, a list a run with one entry a rank.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "stopped": stopped,
        "steps": len(steps),
        "first_batches": list(first_batches),
        "findings": [_finding(one, records) for one in judgement.findings],
        "verified": judgement.clean,
        "unverified": [{"what": what, "reason": why} for what, why in judgement.unverified.items()],
        "measured": [_step(one) for one in steps],
        "records": [asdict(one) for one in records],
        "change": change,
        "settings": dict(facts),
        "packages": dict(packages),
    }


def first_batches(path: str) -> list[list[int]]:
    """What the reports of earlier runs say of their first batches; nothing where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)["first_batches"]
        return [[int(one) for one in batches] for batches in found][-MOST_RUNS:]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def write(path: str, content: Mapping[str, Any]) -> None:
    """Write it by rename, so that a reader never sees half of it.

    Raises:
        OSError: if the file cannot be written.
    """
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
    os.replace(temporary, path)


def _finding(finding: Finding, records: Sequence[Record]) -> dict[str, Any]:
    return {
        "detector": finding.detector,
        "level": finding.level,
        "text": finding.text,
        "measured": dict(finding.measured),
        "categories": list(finding.categories),
        "records": [one.id for one in explaining(finding, records)],
    }


def _step(step: Step) -> dict[str, Any]:
    gradients = step.gradients
    return {
        "loss": step.loss,
        "objective_weight": step.first,
        "total_weight": step.total,
        "micro_batches": len(step.micro_batches),
        "ranks": len(step.ranks),
        "gradient_norm": gradients.norm if gradients is not None else None,
        "kept": [one.kept for one in gradients.samples] if gradients is not None else [],
    }
