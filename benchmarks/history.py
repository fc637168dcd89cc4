"""What earlier runs of a benchmark came to: a line of JSON for each, and what has become worse since.

A line has the commit, the machine in words and the ratios, which are those of one run and so can be compared with those
of another. Nothing fails here: machines are noisy.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

HISTORY = Path(__file__).parent / "history.jsonl"
_RUNS = 10  # that a new one is compared with
_WORSE = 4 / 3


def record(ratios: Mapping[str, float], history: Path = HISTORY) -> list[str]:
    """Add a run to the history, and say what became a third worse than the best of the last ten on such a machine.

    Args:
        ratios: name of a measurement → what it came to; less is better.
        history: the file; it is made where there is none.
    """
    python = ".".join(platform.python_version_tuple()[:2])
    machine = f"{os.cpu_count()} processors, {platform.machine()}, Python {python}"
    lines = history.read_text("utf-8").splitlines() if history.exists() else []
    earlier = [run for run in map(json.loads, lines) if run["machine"] == machine][-_RUNS:]
    run = {
        "date": date.today().isoformat(),
        "commit": _commit(),
        "machine": machine,
        "ratios": {name: round(ratio, 3) for name, ratio in ratios.items()},
    }
    history.write_text("\n".join([*lines, json.dumps(run)]) + "\n", "utf-8")
    return list(_worse(ratios, earlier))


def _worse(ratios: Mapping[str, float], earlier: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for name, ratio in ratios.items():
        known = [(run["ratios"][name], run["commit"]) for run in earlier if name in run["ratios"]]
        if known and ratio > min(known)[0] * _WORSE:
            best, commit = min(known)
            yield f"warning: {name}: {ratio:.2f}, and {best:.2f} at {commit}"


def _commit() -> str:
    """The commit that is measured, marked where files differ from it."""
    command = ["git", "-C", str(HISTORY.parent), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip() or "unknown"
