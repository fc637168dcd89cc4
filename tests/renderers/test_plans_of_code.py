"""What a plan says that rests on a change of the code."""

from __future__ import annotations

import io

import pytest

from gradcompat.model.plan import CodeChange, Plan, Verified
from gradcompat.model.plan_report import Planned, PlanReport
from gradcompat.renderers import plan_text


@pytest.mark.parametrize(("remaining", "left"), [(("GC-0650",), False), (("GC-0650", "GC-0651"), True)])
def test_what_a_change_of_code_cures_is_not_left(remaining: tuple[str, ...], left: bool) -> None:
    plan = Plan(
        source="uv.lock",
        complete=False,
        code=(CodeChange(text="Scale the loss", cures=("GC-0650",)),),
        remaining=remaining,
        core=("why",),
        verified=Verified(matched_again=True, requirements=False, wheels=False, smallest=False, against="", target=""),
    )
    out = io.StringIO()
    planned = Planned(source="uv.lock", kind="uv.lock", summaries={}, references={}, plan=plan)
    plan_text.render(PlanReport(planned=(planned,), level="error", exit_status=1), out)
    written = out.getvalue()
    assert "leaves     GC-0650" not in written
    assert ("no known change clears everything; Scale the loss leaves 1 finding" in written) is left
    assert ("leaves     GC-0651" in written) is left
