"""Verdicts for people: what was measured, in which versions, on which device, and what that shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from gradcompat.messages import counted
from gradcompat.renderers.terminal import width, wrapped

if TYPE_CHECKING:
    from gradcompat.model.probe import ProbeResult

_SIGNS = {"reproduced": "x", "not_reproduced": "o", "inconclusive": "?", "skipped": "-"}
_SHOWN = ("torch", "transformers", "accelerate", "peft", "trl", "pytorch_lightning", "lightning", "deepspeed")


def render(results: Sequence[ProbeResult], exit_status: int, out: TextIO) -> None:  # noqa: ARG001  # one signature
    """Write all results."""
    columns = width()
    if not results:
        out.write("no record that applies to this environment has a probe\n")
        return
    for result in results:
        measurement = result.measurement
        subject = f"{', '.join(result.issues)} {measurement.spec}" if result.issues else str(measurement.spec)
        head = f"{result.outcome.replace('_', ' ')}: {subject}"
        out.write(wrapped(head, columns, f"{_SIGNS[result.outcome]} ", "    ") + "\n")
        out.write(wrapped(result.reason, columns, "    ", "    ") + "\n")
        out.write(wrapped(ran(result), columns, "    ", "    ") + "\n\n")
    counts = [(outcome, sum(result.outcome == outcome for result in results)) for outcome in _SIGNS]
    text = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in counts if count)
    out.write(f"{counted(len(results), 'verdict')}: {text}\n")


def ran(result: ProbeResult) -> str:
    """Where it ran: "torch 2.13.0+cpu, transformers 4.49.0 on cpu, Python 3.11.7, seed 0, 0.5 s"."""
    measurement = result.measurement
    versions = [f"{name} {measurement.packages[name]}" for name in _SHOWN if name in measurement.packages]
    text = f"{', '.join(versions) or 'nothing imported'} on {measurement.device}"
    return f"{text}, Python {measurement.python}, seed {measurement.seed}, {measurement.seconds:.1f} s"
