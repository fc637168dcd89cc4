"""Training runs with their final values, as text and as data."""

from __future__ import annotations

from typing import Any, TextIO

from gradcompat.audit.final_settings import Run
from gradcompat.messages import counted, value_text
from gradcompat.model.environment import SettingValue
from gradcompat.renderers.terminal import safe


def run_data(run: Run) -> dict[str, Any]:
    """A run as `gradcompat inspect --format json` has it."""
    return {
        "source": run.source,
        "environment": run.environment or None,
        "settings": [
            {
                "key": one.key,
                "value": _plain(one.value),
                "stated": [
                    {
                        "value": _plain(setting.value),
                        "path": setting.location.path,
                        "line": setting.location.line,
                    }
                    for setting in one.stated
                ],
            }
            for one in run.settings
        ],
    }


def _plain(value: SettingValue | None) -> Any:
    return list(value) if isinstance(value, tuple) else value


def write_run(run: Run, out: TextIO) -> None:
    """A run with its final values, and where each comes from."""
    where = f" in {run.environment}" if run.environment else ""
    out.write(safe(f"training run {run.source}{where}: {counted(len(run.settings), 'setting')}") + "\n")
    for one in run.settings:
        stated = [f"{_shown(setting.value)} ({setting.location})" for setting in one.stated]
        out.write(safe(f"  {one.key} = {' or '.join(stated)}") + "\n")


def _shown(value: SettingValue | None) -> str:
    return "set to a computed value" if value is None else value_text(value)
