"""What the verdicts of probes make of a finding, and of the exit status."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from gradcompat.audit.exit_status import exit_status
from gradcompat.audit.options import AuditOptions
from gradcompat.knowledge.load import load
from gradcompat.model.finding import Finding
from gradcompat.model.probe import Measurement, Outcome, ProbeResult, ProbeSpec
from gradcompat.model.report import Audit, ReportedFinding


def finding(status: Literal["affected", "conditional"]) -> Finding:
    issue = load().get("GC-0004")
    assert issue is not None
    return Finding(issue=issue, status=status, source="here", packages=(), because=(), unknown=(), terms=())


def advised(status: Literal["affected", "conditional"], *outcomes: Outcome) -> ReportedFinding:
    measurement = Measurement(spec=ProbeSpec(name="toy"), state="measured")
    results = tuple(ProbeResult(measurement=measurement, outcome=outcome, reason="") for outcome in outcomes)
    return ReportedFinding(finding=finding(status), advice=None, probed=results)


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ((), None),
        (("reproduced", "not_reproduced", "inconclusive"), "reproduced"),
        (("not_reproduced", "inconclusive"), "inconclusive"),
        (("not_reproduced", "skipped"), "skipped"),
        (("not_reproduced", "not_reproduced"), "not_reproduced"),
    ],
)
def test_one_probe_confirms_and_all_refute(outcomes: tuple[Outcome, ...], verdict: Outcome | None) -> None:
    assert advised("conditional", *outcomes).verdict == verdict
    assert advised("conditional", *outcomes).refuted is (verdict == "not_reproduced")


def test_what_is_affected_is_never_refuted() -> None:
    # The probe trains a model of its own; the versions and settings of the record were seen to be there.
    assert advised("affected", "not_reproduced").refuted is False


def test_a_refuted_condition_does_not_fail_a_strict_check() -> None:
    audit = Audit(source="here", kind="installed", packages=1, recognised=1, findings=(), skipped=())
    strict = AuditOptions(strict=True)
    assert exit_status([replace(audit, findings=(advised("conditional"),))], strict) == 1
    assert exit_status([replace(audit, findings=(advised("conditional", "reproduced"),))], strict) == 1
    assert exit_status([replace(audit, findings=(advised("conditional", "skipped"),))], strict) == 1
    assert exit_status([replace(audit, findings=(advised("conditional", "not_reproduced"),))], strict) == 0
