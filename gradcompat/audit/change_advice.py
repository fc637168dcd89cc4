"""What to do about the findings of one environment: what its plan does, or else the nearest change for each of them.

A plan looks at all findings together and asks every record many times over. The plans of one run share their steps; an
environment whose plan would take more than its share gets the nearest change of each finding, which takes a hundredth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from gradcompat.audit.environment_findings import Matched
from gradcompat.audit.options import AuditOptions
from gradcompat.budget import Budget
from gradcompat.errors import IndexUnavailable
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.matching.alike_runs import questions
from gradcompat.model.environment import Environment, Location, Skipped
from gradcompat.model.finding import Advice, Finding, Status
from gradcompat.model.issue import Issue
from gradcompat.startup.lazy_dataclasses import dataclass, field

# That the plans of one run ask; that of one finding in torch and torchvision takes 1,750.
PLAN_QUESTIONS = 36_000
# Of the nearest changes of one environment.
ADVICE_STEPS = 30_000
_EACH_ALONE = "each clears its finding alone, for the whole change takes longer than a check: run `gradcompat plan`"
_PLAN = 600  # what a plan takes before it asks anything
_ADVICE = 150  # what a nearest change takes at least
_QUESTIONS_ASKED_AGAIN = 4  # of so many, one is asked for each release that is tried


@dataclass(frozen=True, slots=True)
class Advised:
    """What was found to do.

    Attributes:
        advice: by the identity of a finding.
        skipped: the note that something was not looked for.
        steps: that the nearest changes took.
    """

    advice: Mapping[int, Advice] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    steps: int = 0


def advise_findings(
    environment: Environment,
    matched: Matched,
    path: Path | None,
    base: KnowledgeBase,
    options: AuditOptions,
    plan_questions: int = PLAN_QUESTIONS,
) -> Advised:
    """What to do about each finding that is affected, or that counts."""
    fixable = sum(1 for _ in _fixable(matched, options))
    if not options.advise or not (fixable or any(finding.status == "affected" for finding in matched.findings)):
        return Advised()
    asked = sum(questions(matched.listing.counts, matched.issues))
    notes: list[Skipped] = []
    advice: dict[int, Advice] = {}
    if fixable:
        if _PLAN + asked * (1 + fixable) <= plan_questions:
            budget = Budget(options.plan_steps)
            lines = _planned(environment, matched, path, base, options, budget)
            advice = {
                id(finding): line
                for finding in matched.findings
                if (line := lines.get((finding.issue.id, finding.status)))
            }
            if budget.spent:
                notes.append(_note(environment, _EACH_ALONE))
        else:
            notes.append(_note(environment, _EACH_ALONE))
    budget = Budget(ADVICE_STEPS)
    ahead: list[Issue] | None = None  # the tables of releases are asked where something is left
    for finding in matched.findings:
        if finding.status != "affected" or id(finding) in advice or not finding.issue.remedies:
            continue  # trying the remedies of all that may be takes longer than matching
        if not budget.take(max(_ADVICE, asked // _QUESTIONS_ASKED_AGAIN)):
            reason = (
                f"the nearest changes need more than {ADVICE_STEPS:,} steps: some findings have none; "
                "run `gradcompat plan`"
            )
            notes.append(_note(environment, reason))
            break
        if ahead is None:
            ahead = matched.breaks_ahead(base.names)
        if (nearest := _nearest(finding, matched, ahead, base, options)) is not None:
            advice[id(finding)] = nearest
    return Advised(advice, tuple(notes), ADVICE_STEPS if budget.spent else ADVICE_STEPS - budget.left)


def _note(environment: Environment, reason: str) -> Skipped:
    return Skipped(what="fixes", reason=reason, gap=False, location=Location(path=environment.source))


def _fixable(matched: Matched, options: AuditOptions) -> Iterator[Finding]:
    """The findings that count and have a remedy."""
    statuses = ("affected", "conditional") if options.strict else ("affected",)
    return (
        finding
        for finding in matched.findings
        if finding.status in statuses and finding.issue.remedies and not finding.issue.informational
    )


def _planned(
    environment: Environment,
    matched: Matched,
    path: Path | None,
    base: KnowledgeBase,
    options: AuditOptions,
    budget: Budget,
) -> dict[tuple[str, Status], Advice]:
    """What a plan does about each finding."""
    from gradcompat.audit.published_releases import snapshot

    try:
        shipped = snapshot()
    except IndexUnavailable:
        return {}
    # Planning takes as long as all the rest of a check, which most environments need not pay for.
    from gradcompat.audit.fixes import planned_advice

    return planned_advice(environment, matched, path, base, shipped, options, budget)


def _nearest(
    finding: Finding, matched: Matched, ahead: Sequence[Issue], base: KnowledgeBase, options: AuditOptions
) -> Advice | None:
    from gradcompat.audit.published_releases import published
    from gradcompat.planner.advice import advise  # only for what is affected, and no plan cures

    run = matched.run_of(finding)
    held = {base.names.families.get(name, name) for name, _ in options.replacements}
    return advise(
        finding,
        run,
        (*matched.issues, *ahead),
        base.names,
        partial(published, python=run.python),
        held,
        matched.listing,
    )
