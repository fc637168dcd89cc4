"""Verdicts as JSON, with the raw measurements: what was run long ago can be judged again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from gradcompat.model.probe import ProbeResult
from gradcompat.renderers.json_output import json_output

SCHEMA_VERSION = 1


def render(results: Sequence[ProbeResult], exit_status: int, out: TextIO) -> None:
    """Write all results as one JSON object."""
    out.write(json_output(data(results, exit_status)))


def data(results: Sequence[ProbeResult], exit_status: int) -> dict[str, Any]:
    """The object of the contract."""
    return {
        "schema_version": SCHEMA_VERSION,
        "results": [result_data(result) for result in results],
        "exit_status": exit_status,
    }


def result_data(result: ProbeResult) -> dict[str, Any]:
    """One verdict."""
    measurement = result.measurement
    return {
        "probe": measurement.spec.name,
        "parameters": dict(measurement.spec.parameters),
        "issues": list(result.issues),
        "references": list(result.references),
        "outcome": result.outcome,
        "reason": result.reason,
        "state": measurement.state,
        "measurements": dict(measurement.values),
        "packages": dict(measurement.packages),
        "python": measurement.python,
        "device": measurement.device,
        "seed": measurement.seed,
        "seconds": round(measurement.seconds, 3),
        "output": measurement.output,
    }
