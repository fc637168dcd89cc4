"""What a check says to do about a finding: the line of the plan, made with the snapshot that ships with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from gradcompat.audit.environment_findings import Matched
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.plans import PlanOptions, plan_of, single_move_of
from gradcompat.audit.project_files import project_of
from gradcompat.budget import Budget
from gradcompat.errors import IndexUnavailable
from gradcompat.index.snapshot import Snapshot
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.environment import Environment
from gradcompat.model.finding import Advice, Finding, Status
from gradcompat.model.issue import LEVELS, CodeRemedy, Issue, SettingRemedy, VersionRemedy
from gradcompat.model.plan import Change, Plan, SettingChange
from gradcompat.planner.advice import setting_edit
from gradcompat.planner.single_move import SingleMove
from gradcompat.requirements.versions import VersionSet
from gradcompat.startup.lazy_dataclasses import replace


def planned_advice(
    environment: Environment,
    matched: Matched,
    path: Path | None,
    base: KnowledgeBase,
    catalogue: Snapshot,
    options: AuditOptions,
    budget: Budget,
) -> dict[tuple[str, Status], Advice]:
    """Id of an issue and status of a finding → what the plan of the environment does; nothing for what the plan leaves.

    What is affected below the level is left by the plan that the user would be given; its line is the one of a plan for
    its level and those above, so that no note makes the change for a warning larger.

    Args:
        environment: as it was read.
        matched: the runs and findings.
        path: its file, beside which a project may say what it asks for.
        base: the records.
        catalogue: where releases are looked up; a check asks no network.
        options: what counts.
        budget: the steps of all plans; what they do not suffice for has no line.
    """
    project = project_of(environment, path)
    wishes = PlanOptions(keep=frozenset(name for name, _ in options.replacements))
    try:
        requirers = catalogue.requirers
    except IndexUnavailable:
        requirers = None
    lines: dict[tuple[str, Status], Advice] = {}
    below = () if options.fail_on is None else reversed(LEVELS[: LEVELS.index(options.fail_on)])
    for level_options in (options, *(replace(options, fail_on=level, strict=False) for level in below)):
        left = [
            finding for finding in matched.findings if _key(finding) not in lines and _counts(finding, level_options)
        ]
        if not any(finding.issue.remedies for finding in left):
            continue
        asked = environment, matched, project, base, catalogue, level_options, wishes
        # Most plans move one package, and one that does is found with fewer steps. The others get all that is left, for
        # what looking in vain takes is no more than a third of it.
        share = Budget(max(budget.left, 0) // 3)
        move = single_move_of(*asked, budget=share, requirers=requirers)
        plan = None
        if move is None:
            plan = plan_of(*asked, changes_only=True, budget=budget, requirers=requirers)
        else:
            budget.take(share.used)
        for finding in left:
            advice = (
                _of_move(finding, move)
                if move is not None
                else _advice(finding, matched.run_of(finding), plan)
                if plan is not None
                else None
            )
            if advice is not None:
                lines[_key(finding)] = advice
    return lines


def _key(finding: Finding) -> tuple[str, Status]:
    return finding.issue.id, finding.status


def _counts(finding: Finding, options: AuditOptions) -> bool:
    """Is it one that a plan has to cure?"""
    statuses = ("affected", "conditional") if options.strict else ("affected",)
    least = LEVELS.index(options.fail_on or "note")
    issue = finding.issue
    return finding.status in statuses and not issue.informational and LEVELS.index(issue.level) >= least


def _advice(finding: Finding, run: Environment, plan: Plan) -> Advice | None:
    """The first thing in the plan that cures it, and what goes with that; of several places of a setting the first."""
    issue = finding.issue
    changes = [change for change in plan.changes if issue.id in change.cures]
    if changes:
        return _of_changes(issue, (*changes, *(change for change in plan.changes if not change.cures)), plan.introduced)
    setting = next((change for change in plan.settings if issue.id in change.cures), None)
    if setting is not None:
        remedy = _setting_remedy(setting, issue)
        location, line = (setting.location, setting.line) if setting.location else setting_edit(run, remedy)
        return Advice(remedy=remedy, clears=True, target=None, introduces=plan.introduced, location=location, line=line)
    code = next((change for change in plan.code if issue.id in change.cures), None)
    return None if code is None else Advice(remedy=CodeRemedy(text=code.text), clears=False, target=None, introduces=())


def _of_move(finding: Finding, move: SingleMove) -> Advice | None:
    """The move, if it cures the finding."""
    issue = finding.issue
    return _of_changes(issue, (move.change,), move.introduced) if issue.id in move.change.cures else None


def _of_changes(issue: Issue, changes: tuple[Change, ...], introduced: tuple[str, ...]) -> Advice:
    """Changes of which the first one cures the issue."""
    first = changes[0]
    return Advice(
        remedy=_version_remedy(first, issue),
        clears=True,
        current=first.version_from,
        target=first.version_to,
        package=first.package,
        introduces=introduced,
        changes=changes,
    )


def _version_remedy(change: Change, issue: Issue) -> VersionRemedy:
    """The record's own remedy where it advises the release."""
    only = VersionSet.parse(f"=={change.version_to}")
    remedies = (remedy for remedy in issue.remedies if isinstance(remedy, VersionRemedy) and remedy.kind == change.kind)
    kind: Literal["upgrade", "downgrade"] = "downgrade" if change.kind == "downgrade" else "upgrade"
    return next(
        (remedy for remedy in remedies if only & remedy.versions),
        VersionRemedy(kind=kind, package=change.package, versions=only),
    )


def _setting_remedy(change: SettingChange, issue: Issue) -> SettingRemedy:
    return next(
        remedy
        for remedy in issue.remedies
        if isinstance(remedy, SettingRemedy) and (remedy.key, remedy.value) == (change.key, change.value)
    )
