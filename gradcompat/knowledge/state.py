"""Counts the records: by package, category and basis, how old each horizon is, which bounds nobody has checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from packaging.version import Version

from gradcompat.knowledge.compile import compile_record, compile_records
from gradcompat.knowledge.horizon import unfixed_by_package
from gradcompat.knowledge.lint import unproved_bounds
from gradcompat.knowledge.load import issue_from, knowledge_from
from gradcompat.knowledge.ranges import verdicts_of
from gradcompat.knowledge.records import Authored
from gradcompat.knowledge.review_horizon import named, packages_of
from gradcompat.knowledge.schema import Horizon, Record
from gradcompat.matching.entries import Names
from gradcompat.model.issue import LEVELS, Issue, PackageTerm
from gradcompat.model.knowledge_state import KnowledgeState, PackageState, Unchecked
from gradcompat.model.probe import Row
from gradcompat.requirements.versions import ALL, VersionSet, parse_version

# From the strongest to the weakest; the last two are what others say.
BASES = ("measured", "wheels", "tags", "release-notes", "reported")
_SAID_BY_OTHERS = ("release-notes", "reported")


def state_of(authored: Authored, rows: Sequence[Row], today: date) -> KnowledgeState:
    """The state of these records."""
    names = knowledge_from(compile_records(authored), authored.path).names
    records = [record for record in authored.records if record.withdrawn is None]
    issues = {record.id: issue_from(compile_record(record)) for record in records}
    by_package: dict[str, list[Record]] = {}
    for record in records:
        for name in sorted(packages_of(record)):
            by_package.setdefault(name, []).append(record)
    measured: dict[str, list[Row]] = {}
    for row in rows:
        measured.setdefault(names.families.get(row.package, row.package), []).append(row)
    shown = {record.id: _shown(record, issues[record.id], names, measured) for record in records}
    unfixed = unfixed_by_package(issues.values())
    packages = [
        _package(name, group, authored.horizon.get(name), unfixed.get(name, ()), shown, today)
        for name, group in sorted(by_package.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return KnowledgeState(
        date=authored.date,
        records=len(records),
        withdrawn=len(authored.records) - len(records),
        silent=sum(record.silent for record in records),
        levels=_counted((record.level for record in records), reversed(LEVELS)),
        bases=_counted((record.range_basis for record in records), BASES),
        categories=_counted(category for record in records for category in record.categories),
        probed=sum(bool(record.probes) for record in records),
        measured=sum(_measured(issue, measured) for issue in issues.values()),
        checked=sum(record.checked is not None for record in records),
        rows=len(rows),
        packages=tuple(packages),
        unchecked=_unchecked(authored, records, issues, rows),
    )


def _package(
    name: str,
    records: Sequence[Record],
    horizon: Horizon | None,
    unfixed: Sequence[Issue],
    shown: Mapping[str, Mapping[str, set[Version]]],
    today: date,
) -> PackageState:
    last = None if horizon is None else parse_version(horizon.version)
    return PackageState(
        name=name,
        records=len(records),
        silent=sum(record.silent for record in records),
        bases=_counted((record.range_basis for record in records), BASES),
        probed=sum(bool(record.probes) for record in records),
        horizon=None if horizon is None else horizon.version,
        date=None if horizon is None else horizon.date,
        age=None if horizon is None else (today - date.fromisoformat(horizon.date)).days,
        unfixed=tuple(issue.id for issue in unfixed),
        unseen=tuple(issue.id for issue in unfixed if last not in shown[issue.id].get(name, set())),
    )


def _counted(words: Iterable[str], order: Iterable[str] | None = None) -> dict[str, int]:
    """Word → how often, in this order or from the most frequent to the rarest; what does not occur is left out."""
    counts = Counter(words)
    ordered = sorted(counts, key=lambda word: (-counts[word], word)) if order is None else order
    return {word: counts[word] for word in ordered if counts[word]}


def _shown(record: Record, issue: Issue, names: Names, rows: Mapping[str, Sequence[Row]]) -> dict[str, set[Version]]:
    """Package → the versions that this very record was looked at in, as its examples and measurements show."""
    found: dict[str, set[Version]] = {}
    for name, version in named(record, names):
        found.setdefault(name, set()).add(version)
    for name in packages_of(record):
        for probe in issue.probes:
            found.setdefault(name, set()).update(verdicts_of(rows.get(name, ()), probe))
    return found


def _measured(issue: Issue, rows: Mapping[str, Sequence[Row]]) -> bool:
    names = {term.name for combination in issue.affected for term in combination.terms if isinstance(term, PackageTerm)}
    return any(
        outcome in ("reproduced", "not_reproduced")
        for name in names
        for probe in issue.probes
        for outcome in verdicts_of(rows.get(name, ()), probe).values()
    )


def _unchecked(
    authored: Authored, records: Iterable[Record], issues: Mapping[str, Issue], rows: Sequence[Row]
) -> tuple[Unchecked, ...]:
    """Bounds that others state, and those that say that they were measured and have no measurement on either side."""
    unproved: dict[str, list[str]] = {}
    for problem in unproved_bounds(authored, rows):
        if problem.record is not None:
            unproved.setdefault(problem.record, []).append(problem.message)
    found = []
    for record in records:
        bounds = [*_said_by_others(issues[record.id]), *unproved.get(record.id, [])]
        if bounds:
            found.append(Unchecked(record=record.id, basis=record.range_basis, bounds=tuple(bounds)))
    return tuple(found)


def _said_by_others(issue: Issue) -> list[str]:
    """``transformers <5.0.0`` for each end of an interval that nobody here has checked, once."""
    known = {(bound.package, bound.versions): bound.basis for bound in issue.bounds}
    ends = [
        (term.name, end)
        for combination in issue.affected
        for term in combination.terms
        if isinstance(term, PackageTerm)
        for low, high in term.versions.intervals
        for end in (VersionSet(((low, None),)), VersionSet(((None, high),)))
        if end != ALL
    ]
    return [
        f"{name} {end}"
        for name, end in dict.fromkeys(ends)
        if known.get((name, end), issue.range_basis) in _SAID_BY_OTHERS
    ]
