"""Remedies that move no package: settings, which are tried by matching again, and code, which cannot be tried."""

from __future__ import annotations

from gradcompat.matching.run_terms import STRATEGY_KEY
from gradcompat.messages import line_with
from gradcompat.model.environment import Environment
from gradcompat.model.issue import CodeRemedy, Issue, SettingRemedy
from gradcompat.model.plan import CodeChange, SettingChange
from gradcompat.planner.assignment_issues import Assignment, Judge, applied
from gradcompat.planner.remedy_settings import is_taken, with_setting
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.terms.term_keys import key_of

Runs = tuple[Environment, ...]


@dataclass(frozen=True, slots=True)
class SettingTried:
    """A setting that clears a finding and brings none, with the training runs as they are then."""

    change: SettingChange
    runs: Runs


def setting_for(issue: Issue, judge: Judge, assignment: Assignment, *, first_only: bool = False) -> SettingTried | None:
    """The first setting of the record that clears it.

    Args:
        issue: what has to go.
        judge: with the runs as they are.
        assignment: where packages move at the same time.
        first_only: only settings that the record puts before everything else.
    """
    for remedy in issue.remedies:
        if isinstance(remedy, SettingRemedy):
            tried = _tried(issue, remedy, judge, assignment)
            if tried is not None:
                return tried
        elif first_only:
            return None
    return None


def settings_for(issue: Issue, judge: Judge) -> list[SettingTried]:
    """Every setting of the record that clears it alone."""
    tried = (_tried(issue, remedy, judge, {}) for remedy in issue.remedies if isinstance(remedy, SettingRemedy))
    return [attempt for attempt in tried if attempt is not None]


def code_for(issue: Issue, *, first_only: bool = False) -> CodeChange | None:
    """The first change of code that the record names; with ``first_only`` if nothing stands before it."""
    remedies = issue.remedies[:1] if first_only else issue.remedies
    return next(
        (CodeChange(text=remedy.text, cures=(issue.id,)) for remedy in remedies if isinstance(remedy, CodeRemedy)), None
    )


def _speaks_of(issue: Issue, key: str) -> bool:
    """Can the setting make a difference to the issue?"""
    # What stands for the strategy decides about the settings of every other one.
    return key == STRATEGY_KEY or any(
        key_of(term) == key for combination in issue.affected for term in combination.terms
    )


def _tried(issue: Issue, remedy: SettingRemedy, judge: Judge, assignment: Assignment) -> SettingTried | None:
    planned = (applied(run, assignment, judge.universe) if remedy.packages else run for run in judge.runs)
    if not all(is_taken(remedy, run, judge.universe.names.canonical) for run in planned):
        return None
    runs = tuple(with_setting(run, remedy) for run in judge.runs)
    after = Judge(judge.universe, runs)
    request = judge.universe.request
    if after.verdict(issue, assignment).packages(request.conditional) is not None:
        return None
    for other in judge.issues:
        if (
            request.counts(other)
            and _speaks_of(other, remedy.key)
            and after.verdict(other, assignment).packages(request.conditional) is not None
            and judge.verdict(other, assignment).packages(request.conditional) is None
        ):
            return None
    there = judge.runs_with(issue, assignment)
    places = {setting.location: setting for run in there for setting in run.settings if setting.key == remedy.key}
    stated = list(places.values())
    line = line_with(stated[0], remedy.value) if len(stated) == 1 else None
    change = SettingChange(
        key=remedy.key,
        value=remedy.value,
        cures=(issue.id,),
        location=None if line is None else stated[0].location,
        line=line,
        note=remedy.note,
    )
    return SettingTried(change, runs)
