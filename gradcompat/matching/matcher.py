"""Matches an environment against issues: pure, and the only thing that decides what is affected.

An issue is any of its combinations, a combination all of its terms. A combination is looked at only where at least one
of its packages is listed: what might be installed besides is no news about an environment that was read. Facts decide
in three values; where the environment may be presumed upon, :mod:`gradcompat.presumptions` decides what is left open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from gradcompat.matching.alike_runs import packages_seen
from gradcompat.matching.combinations import Match, matches_of
from gradcompat.matching.entries import Names
from gradcompat.matching.forks import Forks
from gradcompat.matching.package_terms import choices_of
from gradcompat.matching.verdict import Verdict
from gradcompat.matching.view import View
from gradcompat.model.assumption import Assumption
from gradcompat.model.environment import Environment
from gradcompat.model.finding import Finding, Reason, Status, Unknown
from gradcompat.model.issue import Issue
from gradcompat.truth import Certainty

_STATUS: dict[Certainty, Status] = {
    Certainty.YES: "affected",
    Certainty.PRESUMED_YES: "affected",
    Certainty.OPEN: "conditional",
    Certainty.PRESUMED_NO: "dormant",
    Certainty.NO: "not_affected",
}


def match(
    environment: Environment, issues: Iterable[Issue], names: Names, forks: Forks | None = None
) -> tuple[Finding, ...]:
    """Every issue that could be decided for this environment, and every one that could not.

    Args:
        environment: what is matched.
        issues: the records to match it with.
        names: under which names packages go.
        forks: of the environment, where it is matched several times; it remembers which entries go together.

    Returns:
        Findings in the order of the issues; ``not_affected`` ones are among them where a package of the issue is
        listed. An issue none of whose packages is listed has no finding. An issue has one finding for each status
        other than ``not_affected`` that some fork of the environment gives it. Where a special record of a defect is
        affected, the general one has none.
    """
    return match_in(View(environment, names, Forks(environment.conflicts) if forks is None else forks), issues)


def match_in(view: View, issues: Iterable[Issue]) -> tuple[Finding, ...]:
    """The same in a view, which remembers it."""
    return _without_general([finding for issue in issues for finding in _found(issue, view)])


def is_about(
    issue: Issue, view: View, entries: Collection[int], statuses: Collection[Status] = ("affected", "conditional")
) -> bool:
    """Is there a finding of the issue, of one of these statuses, with one of these entries, by identity?"""
    return any(
        _STATUS[found.certainty] in statuses and any(id(package) in entries for package in found.packages)
        for combination in issue.affected
        for found in matches_of(combination, issue, view)
    )


def _without_general(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    special: dict[str, set[int]] = {}
    for finding in findings:
        if finding.status == "affected":
            for general in finding.issue.instead_of:
                special.setdefault(general, set()).update(map(id, finding.packages))
    if not special:
        return tuple(findings)
    return tuple(
        finding
        for finding in findings
        if finding.issue.id not in special or not special[finding.issue.id].issuperset(map(id, finding.packages))
    )


def ruled_out(issue: Issue, view: View) -> bool:
    """Do versions alone keep an issue from applying, whatever the run? That is what most versions do."""
    return all(any(not choices_of(term, view).possible for term in one.packages) for one in issue.affected)


def _found(issue: Issue, view: View) -> tuple[Finding, ...]:
    """What is found of an issue; a view remembers it."""
    known = view.found.get(id(issue))
    if known is None:
        stays = view.unmoved is not None and packages_seen(issue).isdisjoint(view.moved_names)
        found = _found(issue, view.unmoved) if view.unmoved and stays else tuple(_findings(issue, view))
        known = view.found[id(issue)] = (issue, found)
    return known[1]


def _findings(issue: Issue, view: View) -> Iterator[Finding]:
    matches = [found for combination in issue.affected for found in matches_of(combination, issue, view)]
    if not matches:
        return
    certainties: set[Certainty] = {found.certainty for found in matches if found.certainty is not Certainty.NO}
    told: set[int] = set()  # entries of what is more certain
    for certainty in sorted(certainties or {Certainty.NO}, reverse=True):
        # What is affected anyhow is not also "affected if", and what is open is not also dormant.
        chosen = [
            found
            for found in matches
            if found.certainty is certainty and not (told and told.issuperset(map(id, found.packages)))
        ]
        if not chosen:
            continue
        packages = {id(package): package for found in chosen for package in found.packages}
        told.update(packages)
        verdicts = {id(verdict): verdict for found in chosen for verdict in found.verdicts}  # forks share most of them
        guesses = certainty in (Certainty.OPEN, Certainty.PRESUMED_YES)
        yield Finding(
            issue=issue,
            status=_STATUS[certainty],
            source=view.environment.source,
            packages=tuple(packages.values()),
            because=tuple(dict.fromkeys(_reasons(verdicts.values()))),
            unknown=tuple(dict.fromkeys(map(_unknown, chosen))) if certainty is Certainty.OPEN else (),
            # The presumptions of one combination are enough for it.
            assumed=min(map(_assumed, chosen), key=len) if guesses else (),
            # What is not used in the combination of which least is presumed not to hold.
            dormant=min(map(_dormant, chosen), key=len) if certainty is Certainty.PRESUMED_NO else (),
            terms=chosen[0].terms,
        )


def _reasons(verdicts: Iterable[Verdict]) -> Iterator[Reason]:
    for verdict in verdicts:
        if verdict.certainty is Certainty.YES and verdict.sentence:
            yield Reason(sentence=verdict.sentence, location=verdict.location)


def _unknown(found: Match) -> tuple[Unknown, ...]:
    """What is open in a match."""
    return tuple(_question(verdict) for verdict in found.verdicts if verdict.certainty is Certainty.OPEN)


def _question(verdict: Verdict) -> Unknown:
    if verdict.presumed is None:
        return Unknown(key=verdict.key, sentence=verdict.sentence, unlisted=verdict.unlisted)
    return Unknown(
        key=verdict.key,
        sentence=verdict.sentence,
        unlisted=verdict.unlisted,
        plain=verdict.presumed.condition,
        asks=verdict.presumed.asks,
        likelihood=verdict.presumed.likelihood,
    )


def _assumed(found: Match) -> tuple[Assumption, ...]:
    """What is presumed to hold in a match."""
    return tuple(
        Assumption(key=verdict.key, sentence=verdict.presumed.taking, location=verdict.presumed.location)
        for verdict in found.verdicts
        if verdict.certainty is Certainty.PRESUMED_YES and verdict.presumed is not None
    )


def _dormant(found: Match) -> tuple[str, ...]:
    """What is presumed not to hold in a match."""
    return tuple(
        dict.fromkeys(
            verdict.presumed.feature
            for verdict in found.verdicts
            if verdict.certainty is Certainty.PRESUMED_NO and verdict.presumed is not None
        )
    )
