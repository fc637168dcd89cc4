"""What a check says to do about a finding: the line of the plan, made with the snapshot that ships with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from gradcompat.cli.auditing import Matched, Options
from gradcompat.cli.planning import Wishes, plan_of
from gradcompat.cli.projects import project_of
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.environment import Environment
from gradcompat.model.finding import Advice, Finding
from gradcompat.model.issue import CodeRemedy, Issue, SettingRemedy, VersionRemedy
from gradcompat.model.plan import Change, Plan, SettingChange
from gradcompat.model.release import Catalogue
from gradcompat.renderers.plan_text import moves_text
from gradcompat.versions import VersionSet


def first_lines(
    environment: Environment,
    found: Matched,
    path: Path | None,
    base: KnowledgeBase,
    catalogue: Catalogue,
    options: Options,
) -> dict[str, Advice]:
    """Id of an issue → what the plan of the environment does about it; nothing for what the plan leaves.

    Args:
        environment: as it was read.
        found: the runs and findings.
        path: its file, beside which a project may say what it asks for.
        base: the records.
        catalogue: where releases are looked up; a check asks no network.
        options: what counts.
    """
    project = project_of(environment, path)
    plan = plan_of(environment, found, project, base, catalogue, options, Wishes(), alternatives=False)
    if plan is None:
        return {}
    advised = {finding.issue.id: _advice(finding, plan) for finding in found.findings if finding.status == "affected"}
    return {identifier: advice for identifier, advice in advised.items() if advice is not None}


def _advice(finding: Finding, plan: Plan) -> Advice | None:
    """The first thing in the plan that cures it, and what goes with that."""
    issue = finding.issue
    changes = [one for one in plan.changes if issue.id in one.cures]
    if changes:
        first = changes[0]
        following = [one for one in plan.changes if not one.cures]
        return Advice(
            remedy=_version_remedy(first, issue),
            clears=True,
            current=first.version_from,
            target=first.version_to,
            package=first.package,
            introduces=plan.introduced,
            beside=tuple(moves_text([*changes, *following])[1:]),
        )
    setting = next((one for one in plan.settings if issue.id in one.cures), None)
    if setting is not None:
        return Advice(
            remedy=_setting_remedy(setting, issue),
            clears=True,
            target=None,
            introduces=plan.introduced,
            location=setting.location,
            line=setting.line,
        )
    code = next((one for one in plan.code if issue.id in one.cures), None)
    return None if code is None else Advice(remedy=CodeRemedy(text=code.text), clears=False, target=None, introduces=())


def _version_remedy(change: Change, issue: Issue) -> VersionRemedy:
    """The record's own remedy where it advises the release."""
    only = VersionSet.parse(f"=={change.version_to}")
    remedies = (one for one in issue.remedies if isinstance(one, VersionRemedy) and one.kind == change.kind)
    kind: Literal["upgrade", "downgrade"] = "downgrade" if change.kind == "downgrade" else "upgrade"
    return next(
        (one for one in remedies if only & one.versions),
        VersionRemedy(kind=kind, package=change.package, versions=only),
    )


def _setting_remedy(change: SettingChange, issue: Issue) -> SettingRemedy:
    return next(
        one
        for one in issue.remedies
        if isinstance(one, SettingRemedy) and (one.key, one.value) == (change.key, change.value)
    )
