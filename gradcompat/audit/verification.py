"""``check --probe``: measures in the environments that were checked whether their findings are really there."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gradcompat.cli.commands.probe import measured, of_issues
from gradcompat.errors import UsageError
from gradcompat.model.probe import ProbeResult
from gradcompat.model.report import Advised, Audit
from gradcompat.probes.interpreters import interpreter_of
from gradcompat.probes.runner import Interpreter


def probed(audits: Sequence[Audit], *, targets: Sequence[str], python: str | None, device: str) -> list[Audit]:
    """The audits with the verdicts of the probes of what was found.

    Args:
        audits: of environments that are installed here; a lockfile cannot be measured.
        targets: as the user named them.
        python: the interpreter that the user named.
        device: where to train.

    Raises:
        UsageError: if something else than an installed environment was checked.
        ProbeUnavailable: if its interpreter cannot be used.
    """
    elsewhere = next((audit for audit in audits if audit.kind not in (None, "installed")), None)
    if elsewhere is not None:
        hint = "name an environment's folder or `--python`, or leave `--probe` out"
        raise UsageError(f"`{elsewhere.source}` is not installed here, so nothing can be measured in it", hint=hint)
    # The terminal's Ctrl-C does not reach the other interpreter; it is ended on the way out.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return [_probed(audit, _interpreter(audit, targets, python), device) for audit in audits]


def _interpreter(audit: Audit, targets: Sequence[str], python: str | None) -> Path:
    if python is not None and audit.source == python:
        return interpreter_of(python)
    return interpreter_of(audit.source if audit.source in targets else None)


def _probed(audit: Audit, interpreter: Path, device: str) -> Audit:
    issues = [one.finding.issue for one in audit.findings if one.finding.status != "not_affected"]
    wanted = of_issues([issue for issue in issues if issue.probes])
    if not wanted:
        return audit
    results = measured(wanted, Interpreter(path=interpreter), device=device)
    return replace(audit, findings=tuple(_with(one, results) for one in audit.findings))


def _with(advised: Advised, results: Sequence[ProbeResult]) -> Advised:
    own = tuple(result for result in results if advised.finding.issue.id in result.issues)
    return replace(advised, probed=own)
