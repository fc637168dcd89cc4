"""Plans as JSON: for one environment the object of the contract, for several a list under ``plans``."""

from __future__ import annotations

from typing import Any, TextIO

from gradcompat.audit.report_parts import parts_of, ranges
from gradcompat.model.plan import Alternative, Change, CodeChange, Plan, SettingChange, Verified
from gradcompat.model.plan_report import Planned, PlanReport
from gradcompat.renderers.json_output import json_output, place_data, questions_data, skipped_data

SCHEMA_VERSION = 1


def render(report: PlanReport, out: TextIO) -> None:
    """Write the report as one JSON object."""
    plans = [_planned(planned) for planned in report.planned]
    data: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "level": report.level}
    data |= plans[0] if len(plans) == 1 else {"plans": plans}
    parts = parts_of(report.open)
    data["informational"] = list(dict.fromkeys(one.finding.issue.id for one in parts.informational))
    data["could_apply"] = [one.finding.issue.id for one in parts.possible]
    data["questions"] = questions_data(parts)
    data["dormant"] = [{"feature": feature, "ids": list(ids)} for feature, ids in parts.dormant]
    data["exit_status"] = report.exit_status
    out.write(json_output(data))


def _planned(planned: Planned) -> dict[str, Any]:
    plan = planned.plan
    return {
        "source": planned.source,
        "kind": planned.kind,
        "asked_in": planned.asked_in,
        "command": list(planned.command),
        "assumed": [
            {
                "id": identifier,
                "key": assumption.key,
                "sentence": assumption.sentence,
                **place_data(assumption.location),
            }
            for identifier, assumed in planned.assumed.items()
            for assumption in assumed
        ],
        "possible": list(planned.possible),
        **(_plan(plan) if plan is not None else _NOTHING),
        "skipped": [skipped_data(skipped) for skipped in planned.skipped],
        "ranges": [
            {"name": skipped.what, "newest": skipped.newest, "ids": list(ids), **place_data(skipped.location)}
            for skipped, ids in ranges(planned.open, planned.ranges)
        ],
    }


_NOTHING: dict[str, Any] = {
    "complete": True,
    "changes": [],
    "settings": [],
    "code": [],
    "fixed": [],
    "introduced": [],
    "remaining": [],
    "tolerated": [],
    "core": [],
    "cost": "",
    "alternatives": [],
    "verified": None,
}


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "complete": plan.complete,
        **_ways(plan),
        "fixed": list(plan.fixed),
        "introduced": list(plan.introduced),
        "remaining": list(plan.remaining),
        "tolerated": list(plan.tolerated),
        "core": list(plan.core),
        "cost": plan.cost,
        "alternatives": [_alternative(alternative) for alternative in plan.alternatives],
        "verified": _verified(plan.verified),
    }


def _alternative(alternative: Alternative) -> dict[str, Any]:
    return {
        **_ways(alternative),
        "fixed": list(alternative.fixed),
        "remaining": list(alternative.remaining),
        "cost": alternative.cost,
        "blocked": list(alternative.blocked),
    }


def _ways(way: Plan | Alternative) -> dict[str, Any]:
    return {
        "changes": [_change(change) for change in way.changes],
        "settings": [_setting(setting) for setting in way.settings],
        "code": [_code(code) for code in way.code],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "package": change.package,
        "version_from": change.version_from,
        "version_to": change.version_to,
        "direct": change.direct,
        "kind": change.kind,
        "cures": list(change.cures),
        "because": list(change.because),
        "locations": [place_data(location) for location in change.locations],
    }


def _setting(setting: SettingChange) -> dict[str, Any]:
    value = list(setting.value) if isinstance(setting.value, tuple) else setting.value
    return {
        "key": setting.key,
        "value": value,
        "cures": list(setting.cures),
        **place_data(setting.location),
        "text": setting.line,
        "note": setting.note,
    }


def _code(code: CodeChange) -> dict[str, Any]:
    return {"text": code.text, "cures": list(code.cures)}


def _verified(verified: Verified) -> dict[str, Any]:
    return {
        "matched_again": verified.matched_again,
        "requirements": verified.requirements,
        "wheels": verified.wheels,
        "smallest": verified.smallest,
        "against": verified.against,
        "target": verified.target,
        "unverified": list(verified.unverified),
        "notes": list(verified.notes),
    }
