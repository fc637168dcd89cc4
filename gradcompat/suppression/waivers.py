"""Waivers at work: which findings they set aside, and which of them do nothing any more."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gradcompat.audit.options import AuditOptions
from gradcompat.config.project_file import OWN, as_seen_from_here, project_file_at
from gradcompat.config.schema import options_in, waivers_in
from gradcompat.config.waiver_tables import pattern
from gradcompat.files.root import root_of_file
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.messages import joined
from gradcompat.model.issue import is_break
from gradcompat.model.report import Audit, Remark, ReportedFinding, Suppression
from gradcompat.model.waiver import VersionBound, Waiver, Waivers
from gradcompat.requirements.versions import locate
from gradcompat.suppression.apply import RuleBuilder, SuppressionRules
from gradcompat.truth import Truth

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from gradcompat.suppression.waiver_evidence import Proof

Lapse = Literal["expired", "unknown", "unproved", "unused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A waiver with all that it names read."""

    waiver: Waiver
    spec: GitIgnoreSpec | None
    proof: Proof | None


def build_waiver_rule(
    waivers: Waivers, base: KnowledgeBase, options: AuditOptions, today: date, targets: Sequence[str] = ()
) -> tuple[AuditOptions, RuleBuilder]:
    """What the waivers say of the findings of a run, and options with which the audits tell what they ask after.

    Args:
        waivers: as the project has them.
        base: the records.
        options: of the check; what is not looked for does not make a waiver unused.
        today: a waiver's last day is the last one on which it holds.
        targets: what is checked; a folder that holds the waivers' file is looked at as a whole.

    Raises:
        UsageError: if a file that is to be a proof cannot be read.
    """
    ready = [_ready(waiver) for waiver in waivers.waivers]
    names = {_canonical(bound.name, base) for waiver in ready for bound in waiver.waiver.packages}
    names |= {base.names.families.get(name, name) for waiver in ready if waiver.proof for name in waiver.proof.packages}
    whole = [Path(os.path.realpath(target)) for target in targets if os.path.isdir(target)]

    def judged(audits: Sequence[Audit]) -> SuppressionRules:
        outcomes = [_outcome(waiver, audits, base, today) for waiver in ready]
        # Of several waivers of one finding the first one is told.
        reasons = {key: said for outcome in reversed(outcomes) for key, said in outcome.suppressed.items()}
        remarks = [
            remark
            for one, outcome in zip(ready, outcomes, strict=True)
            if (lapse := _lapse(one, outcome, audits, base, options, today, whole)) is not None
            and (remark := _remark(one.waiver, *lapse, waivers)) is not None
        ]
        return SuppressionRules(judge=lambda _, advised: reasons.get(id(advised)), remarks=tuple(remarks))

    return replace(options, versions_of=frozenset(names)), judged


def waivers_at(path: str) -> Waivers:
    """The waivers of one file.

    Raises:
        UsageError: if it is not there, or not right.
    """
    return waivers_in(options_in(project_file_at(Path(path).absolute()))) or Waivers()


def _ready(waiver: Waiver) -> _Ready:
    proof = None
    if waiver.proof is not None:
        # The recipes are loaded where one has to be judged.
        from gradcompat.suppression.waiver_evidence import read_proof

        path = Path(waiver.folder) / waiver.proof
        proof = read_proof(path, as_seen_from_here(path), root_of_file(Path(waiver.folder) / OWN))
    return _Ready(waiver=waiver, spec=None if waiver.path is None else pattern(waiver.path), proof=proof)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one waiver does in a run.

    Attributes:
        suppressed: ``id()`` of a finding → why it does not count.
        objections: what keeps it from findings that it would be about.
        met: a finding that it is about, and that does not count anyhow: refuted by a probe, or dormant.
    """

    suppressed: dict[int, Suppression]
    objections: list[tuple[Lapse, str]]
    met: bool


def _outcome(one: _Ready, audits: Sequence[Audit], base: KnowledgeBase, today: date) -> _Outcome:
    suppressed: dict[int, Suppression] = {}
    objections: list[tuple[Lapse, str]] = []
    met = False
    for audit in audits:
        for advised in audit.findings:
            if (
                advised.finding.issue.id != one.waiver.id
                or advised.finding.status == "not_affected"
                or not _covers(one, audit, advised)
            ):
                continue
            if advised.refuted or advised.finding.status == "dormant":
                met = True
                continue
            said = _objection(one, audit, advised, base, today)
            if said is None:
                suppressed[id(advised)] = suppression_of(one.waiver)
            else:
                objections.append(said)
    return _Outcome(suppressed, objections, met)


def suppression_of(waiver: Waiver) -> Suppression:
    """What a waiver says of a finding, and when it ends."""
    ends = [] if waiver.until is None else [waiver.until]
    ends += [f"{bound.name} is no longer {bound.text}" for bound in waiver.packages]
    return Suppression(
        kind="waiver",
        reason=waiver.reason if waiver.proof is None else f"{waiver.reason} (proof: {waiver.proof})",
        location=waiver.location,
        until=joined(tuple(ends)) if ends else None,
    )


def _objection(
    one: _Ready, audit: Audit, advised: ReportedFinding, base: KnowledgeBase, today: date
) -> tuple[Lapse, str] | None:
    """Why a waiver that is about a finding does not hold; None if it does."""
    if one.waiver.until is not None and one.waiver.until < today.isoformat():
        return "expired", _over(one.waiver.until)
    for bound in one.waiver.packages:
        if (said := _ended(bound, audit, advised, base)) is not None:
            return "expired", said
    if one.proof is not None:
        from gradcompat.suppression.waiver_evidence import objection

        said = objection(one.proof, advised.finding, audit.source, audit.versions, base)
        if said is not None:
            return "unproved", said
    return None


def _over(until: str) -> str:
    return f"its last day was {until}"


def _ended(bound: VersionBound, audit: Audit, advised: ReportedFinding, base: KnowledgeBase) -> str | None:
    """What the environment has instead of the versions that the waiver holds for."""
    name = _canonical(bound.name, base)
    taking_part = [package.version for package in advised.finding.packages if base.names.canonical(package) == name]
    for version in taking_part or audit.versions.get(name) or (None,):
        if version is None:
            return f"no version of {bound.name} is known in {audit.source}, and it is for {bound.text}"
        if not _holds(bound, version):
            return f"{bound.name} is {version} in {audit.source}, and no longer {bound.text}"
    return None


def _holds(bound: VersionBound, version: str) -> bool:
    """Is it certainly one of the versions? A build of some commit is, if it is written out."""
    if bound.text.lstrip("= ") == version:
        return True
    window = locate(version)
    return window is not None and bound.versions.truth(window) is Truth.YES


def _canonical(name: str, base: KnowledgeBase) -> str:
    """``pytorch`` is what conda calls torch; no other package goes by that name here."""
    name = name if base.knows(name) else base.names.conda.get(name, name)
    return base.names.families.get(name, name)


def _covers(one: _Ready, audit: Audit, advised: ReportedFinding | None = None) -> bool:
    """Is the waiver about this environment, or about the files in which the entries of the finding stand?"""
    if one.spec is None:
        return True
    paths = [audit.source]
    if advised is not None:
        paths += [package.location.path for package in advised.finding.packages]
    return any(_matches(one.spec, path, one.waiver.folder) for path in dict.fromkeys(paths))


def _matches(spec: GitIgnoreSpec, path: str, folder: str) -> bool:
    if path == "-" or "\0" in path:
        return False
    try:
        relative = Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return False
    if relative == ".." or relative.startswith("../"):
        return False
    return bool(spec.match_file(relative) or spec.match_file(f"{relative}/"))


def _lapse(
    one: _Ready,
    outcome: _Outcome,
    audits: Sequence[Audit],
    base: KnowledgeBase,
    options: AuditOptions,
    today: date,
    whole: Sequence[Path],
) -> tuple[Lapse, str] | None:
    """Why a waiver does not do what it is there for; None if it does, or if that cannot be told here."""
    issue = base.get(one.waiver.id)
    if issue is None and not is_break(one.waiver.id):
        return "unknown", "there is no such record"
    if issue is not None and issue.withdrawn is not None:
        return "unknown", f"the record is withdrawn: {issue.withdrawn}"
    if one.waiver.until is not None and one.waiver.until < today.isoformat():
        return "expired", _over(one.waiver.until)
    if outcome.suppressed or outcome.met:
        return None
    if outcome.objections:
        return outcome.objections[0]
    if _may_be_used_elsewhere(one, audits, options, whole):
        return None
    return "unused", "no finding here needs it"


def _remark(waiver: Waiver, lapse: Lapse, said: str, levels: Waivers) -> Remark | None:
    level = {
        "expired": levels.expired,
        "unknown": levels.unknown,
        "unproved": levels.unproved,
        "unused": levels.unused,
    }[lapse]
    if level is None:
        return None
    text = f"{lapse} waiver of {waiver.id}: {said}"
    return Remark(kind=f"{lapse}-waiver", level=level, text=text, location=waiver.location)


def _may_be_used_elsewhere(one: _Ready, audits: Sequence[Audit], options: AuditOptions, whole: Sequence[Path]) -> bool:
    """Was something left out of this run that it could be about?"""
    if (options.only and one.waiver.id not in options.only) or one.waiver.id in options.ignore:
        return True
    covered = [audit for audit in audits if _covers(one, audit)]
    if any(audit.kind is None for audit in covered) or not audits:
        return True
    if covered or one.spec is None:
        return False
    # Its files were not among those that were checked; that says something only if all of the project was.
    return not any(Path(os.path.realpath(one.waiver.folder)).is_relative_to(folder) for folder in whole)
