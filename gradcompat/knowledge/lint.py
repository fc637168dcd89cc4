"""Checks records against themselves and against one another; every problem at once.

The schema is checked on reading. Here: examples through the real matcher, examples on both sides of every bound,
remedies that are traps because they land in the affected range of another record, and ranges that a measurement
contradicts or, where they say that they were measured, does not prove.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from packaging.version import Version

from gradcompat.knowledge.class_readings import disagreements
from gradcompat.knowledge.compile import compile_record, compile_records
from gradcompat.knowledge.evidence import Yardstick, contradictions, explained, unproved
from gradcompat.knowledge.examples import environment_from
from gradcompat.knowledge.load import KnowledgeBase, issue_from, joined, knowledge_from
from gradcompat.knowledge.ranges import verdicts_of
from gradcompat.knowledge.records import Authored, Problem
from gradcompat.knowledge.review_horizon import spoken_of
from gradcompat.knowledge.row_faults import faults
from gradcompat.knowledge.schema import SHIPPED_PREFIX, Record, SettingRemedy, VersionRemedy
from gradcompat.matching.alike_runs import packages_seen
from gradcompat.matching.entries import Names
from gradcompat.matching.matcher import match
from gradcompat.model.environment import Environment, Location
from gradcompat.model.issue import Combination, Issue, PackageAbsentTerm, PackageTerm
from gradcompat.model.probe import Row
from gradcompat.quotation import quoted
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet, parse_version
from gradcompat.terms.class_facts import with_class_facts
from gradcompat.terms.term_keys import key_of


def is_own(authored: Authored) -> bool:
    """Are these somebody's own records, and not those of gradcompat?"""
    return any(not record.id.startswith(SHIPPED_PREFIX) for record in authored.records)


def lint(
    authored: Authored,
    rows: Iterable[Row] = (),
    shipped: KnowledgeBase | None = None,
    only: Collection[str] | None = None,
) -> tuple[Problem, ...]:
    """Every problem of the records, in the order of the file.

    Args:
        authored: the records.
        rows: what was measured; no record may say otherwise.
        shipped: for somebody's own records, those that they stand beside.
        only: the ids of the records that are checked; what the others say still counts, and whether a remedy of theirs
            leads into one of these is not asked.
    """
    base = knowledge_from(compile_records(authored), authored.path)
    issues = {record.id: issue_from(compile_record(record)) for record in authored.records}
    problems = list(authored.problems)
    if shipped is None:
        problems += [
            authored.problem(record.id, "the ids of gradcompat's own records begin with GC-")
            for record in authored.records
            if not record.id.startswith(SHIPPED_PREFIX)
        ]
    else:
        wrong = own_problems(authored, shipped)
        problems += wrong
        if wrong:
            return _in_order(problems)
        base = joined(shipped, base, base.sources[0])
        issues = {**{issue.id: issue for issue in shipped.in_force()}, **issues}
    problems += _horizons(authored, base.names, own=shipped is not None)
    problems += _dated(authored)
    rows = tuple(rows)
    measured = _by_package(rows, base.names)
    if authored.models and shipped is None:
        problems += [Problem(authored.path, None, None, message) for message in _models(authored, base, measured)]
    problems += [Problem(authored.path, None, None, f"measured: {message}") for message in faults(rows)]
    ranges = explained(issues[record.id] for record in authored.records if record.withdrawn is None)
    for record in _checked(authored, only):
        issue = issues[record.id]
        messages = [
            *_names(record, base.names),
            *_examples(record, issue, base),
            *_special(record, issues),
            *_bounds(record, issue, base.names, measured, looked_at=shipped is None),
            *(_careless(record, issue, base) if shipped is None else ()),
            *_remedies(record, issue, issues, base),
            *_setting_remedies(record),
            *contradictions(issue, measured, ranges),
        ]
        problems += [authored.problem(record.id, message) for message in dict.fromkeys(messages)]
    return _in_order(problems)


def _checked(authored: Authored, only: Collection[str] | None) -> Iterator[Record]:
    """The records in force; with ``only``, of these alone."""
    for record in authored.records:
        if record.withdrawn is None and (only is None or record.id in only):
            yield record


def own_problems(authored: Authored, shipped: KnowledgeBase) -> tuple[Problem, ...]:
    """What of somebody's own file would change what the shipped records say, or be taken for one of them."""
    problems = [
        authored.problem(record.id, "ids with GC- are those of gradcompat: take a prefix of your own, like ACME-0001")
        for record in authored.records
        if record.id.startswith(SHIPPED_PREFIX)
    ]
    taken = {record["id"] for record in shipped.records}
    problems += [
        authored.problem(record.id, "the id is already used in another records file")
        for record in authored.records
        if record.id in taken and not record.id.startswith(SHIPPED_PREFIX)
    ]
    families, conda = shipped.names.families, shipped.names.conda
    known = {*shipped.by_package, *families, *families.values(), *conda, *conda.values()}
    for name, facts in authored.packages.items():
        if (facts.also or facts.conda) and (clash := sorted({name, *facts.also, *facts.conda} & known)):
            message = f"packages: {name}: the names of {clash[0]} are defined by gradcompat's own records only"
            problems.append(Problem(authored.path, None, None, message))
    return _in_order(problems)


def unproved_bounds(
    authored: Authored,
    rows: Iterable[Row],
    yardstick: Yardstick | None = None,
    only: Collection[str] | None = None,
) -> tuple[Problem, ...]:
    """Every bound of a record that says ``measured`` and that no rows prove, in the order of the file.

    Args:
        authored: the records.
        rows: what was measured.
        yardstick: what rows are held against besides; without one, how old and how near they are does not count.
        only: the ids of the records that are checked.
    """
    names = knowledge_from(compile_records(authored), authored.path).names
    measured = _by_package(rows, names)
    return _in_order(
        authored.problem(record.id, message)
        for record in _checked(authored, only)
        for message in dict.fromkeys(unproved(issue_from(compile_record(record)), measured, yardstick))
    )


def _dated(authored: Authored) -> Iterator[Problem]:
    """Reports show the date of the records: it is none from before the last check of one."""
    days = {str(record.checked.date): record.id for record in authored.records if record.checked is not None}
    if days and max(days) > authored.date:
        message = f"date: is {authored.date}, and {days[max(days)]} was checked on {max(days)}"
        yield Problem(authored.path, None, None, message)


def _horizons(authored: Authored, names: Names, *, own: bool) -> Iterator[Problem]:
    """Each package has one, so that `check` can tell when nobody has looked at a version."""
    for name in sorted(spoken_of(authored) - authored.horizon.keys()):
        # Another name of a package is a problem of its record.
        if name not in names.families:
            command = f"--records {authored.path} --looked-at {name}==…" if own else "--update"
            message = f"horizon: has no line for {name}: `gradcompat knowledge horizon {command}` writes it"
            yield Problem(authored.path, None, None, message)
    for name in sorted(authored.horizon):
        if name != normalise(name):
            yield Problem(authored.path, None, None, f"horizon: `{name}` is not normalised: write `{normalise(name)}`")
        elif name in names.families:
            message = f"horizon: `{name}` is another name of `{names.families[name]}`: write that one"
            yield Problem(authored.path, None, None, message)


def _models(authored: Authored, base: KnowledgeBase, rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """Facts of classes that contradict one another, or what was measured."""
    for name in sorted({name for model in authored.models for name in model.classes}):
        facts = base.class_facts(name)
        for index, fact in enumerate(facts):
            for other in facts[:index]:
                if (fact.key, fact.package) == (other.key, other.package) and (both := fact.versions & other.versions):
                    yield f"models: {name}: {fact.key} stands twice for {fact.package} {both}"
    yield from (f"models: {message}" for message in disagreements(base.class_facts, rows.get("transformers", ())))


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.line or 0, problem.message)))


def _by_package(rows: Iterable[Row], names: Names) -> dict[str, list[Row]]:
    """Rows by the name that records have for their package: `lightning` is `pytorch-lightning` there."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(names.families.get(row.package, row.package), []).append(row)
    return found


def _status(issue: Issue, environment: Environment, base: KnowledgeBase) -> str:
    findings = match(with_class_facts(environment, base.class_facts), [issue], base.names)
    return findings[0].status if findings else "not_affected"


def _affected(issues: Iterable[Issue], environment: Environment, base: KnowledgeBase) -> set[str]:
    findings = match(with_class_facts(environment, base.class_facts), issues, base.names)
    return {finding.issue.id for finding in findings if finding.status == "affected"}


def _names(record: Record, names: Names) -> Iterator[str]:
    used = {name for combination in record.affected for name in combination.packages}
    used |= {remedy.package for remedy in record.remedies if isinstance(remedy, VersionRemedy)}
    for name in sorted(used & names.families.keys()):
        yield f"`{name}` is another name of `{names.families[name]}`: write that one, it stands for both"


def _special(record: Record, issues: Mapping[str, Issue]) -> Iterator[str]:
    for general in record.instead_of:
        if general not in issues or general == record.id:
            yield f"instead_of: {general} is no other record"


def _examples(record: Record, issue: Issue, base: KnowledgeBase) -> Iterator[str]:
    for expected in ("affected", "conditional", "not_affected"):
        for position, example in enumerate(getattr(record.examples, expected)):
            status = _status(issue, environment_from(example), base)
            if status != expected:
                yield f"examples.{expected}.{position} ({_shown(example)}): should be {expected} and is {status}"


def _bounds(
    record: Record, issue: Issue, names: Names, rows: Mapping[str, Sequence[Row]], *, looked_at: bool
) -> Iterator[str]:
    """Each end of each interval needs an example inside and one beyond it, before the next interval.

    With ``looked_at``, one of those beyond it names a release that somebody has seen: it has a row, or the evidence
    speaks of it.
    """
    for position, combination in enumerate(issue.affected):
        for term in combination.terms:
            if not isinstance(term, PackageTerm):
                continue
            inside = list(_versions_in(record.examples.affected, term.name, names))
            outside = list(_versions_in(record.examples.not_affected, term.name, names))
            known = {version for probe in issue.probes for version in verdicts_of(rows.get(term.name, ()), probe)}
            for index, (low, high) in enumerate(term.versions.intervals):
                interval = VersionSet(((low, high),))
                where = f"affected.{position}: {term.name} {interval}"
                if not any(version in interval for version in inside):
                    yield f"{where}: no affected example is in it"
                before = VersionSet(((term.versions.intervals[index - 1][1] if index else None, low),))
                following = term.versions.intervals[index + 1 :]
                after = VersionSet(((high, following[0][0] if following else None),))
                for cut, beyond, end, side in (
                    (low, before, VersionSet(((low, None),)), "before"),
                    (high, after, VersionSet(((None, high),)), "behind"),
                ):
                    if cut is None:
                        continue
                    there = [version for version in outside if version in beyond]
                    if not there:
                        yield f"{where}: no not_affected example is {side} it"
                    elif looked_at and not any(version in known or _spoken_of(version, record) for version in there):
                        nearest = max(there) if side == "before" else min(there)
                        if _basis(issue, term.name, end) in _LOOKED_AT:
                            yield (
                                f"{where}: nobody has looked at {nearest}, the release {side} it: it has no row, and "
                                "the evidence does not speak of it"
                            )


# How a bound is known whose other side somebody here has seen.
_LOOKED_AT = ("measured", "wheels", "tags")


def _basis(issue: Issue, package: str, end: VersionSet) -> str:
    stated = (bound.basis for bound in issue.bounds if (bound.package, bound.versions) == (package, end))
    return next(stated, issue.range_basis)


def _spoken_of(version: Version, record: Record) -> bool:
    """Does the evidence name this release, as ``2.6.0``, ``2.6`` or by its tag, ``v2.6.0`` or ``core_v2.6.0``?"""
    text = str(version)
    while text.endswith(".0"):
        text = text.removesuffix(".0")
    name = re.compile(rf"(?<![\d.]){re.escape(text)}(?:\.0)*(?!\w|\.\w)")
    return any(name.search(text) for text in record.evidence)


def _careless(record: Record, issue: Issue, base: KnowledgeBase) -> Iterator[str]:
    """What is asked of the records that ship, and of nobody else's."""
    if len(record.affected) > 1:
        for probe in record.probes:
            if not probe.combinations:
                yield f"probes: `{probe.name}`: say in `combinations` which of `affected` it proves"
    if "nan" in record.categories and not record.silent and "crash" not in record.categories and not record.symptoms:
        yield "NaN raises no error: say `silent: true`, or name the message in `symptoms`"
    if record.level == "error":
        yield from _conditions(record, issue, base)
        yield from _undriven(record)


# What can lie beside another framework that drives the run, and does nothing to it then.
_DRIVERS = frozenset({"torchtune", "verl", "mmengine", "megatron-core", "pytorch-lightning"})


def _undriven(record: Record) -> Iterator[str]:
    """Settings that every framework has say nothing about who drives the run."""
    for position, combination in enumerate(record.affected):
        drivers = sorted(_DRIVERS & combination.packages.keys())
        asked = combination.symbols or "training.framework" in combination.settings
        if drivers and combination.settings and not asked:
            yield (
                f"affected.{position}: an environment with {drivers[0]} whose run another framework drives is "
                "told as well: ask for training.framework, or name a symbol"
            )


def _conditions(record: Record, issue: Issue, base: KnowledgeBase) -> Iterator[str]:
    """Each condition needs an example without it: the others hold, and nothing is wrong."""
    examples = [environment_from(example) for example in record.examples.not_affected]
    for position, combination in enumerate(issue.affected):
        for term in combination.terms:
            if isinstance(term, (PackageTerm, PackageAbsentTerm)):
                continue
            others = Combination(terms=tuple(one for one in combination.terms if one is not term))
            if not any(
                _status(replace(issue, affected=(others,)), environment, base) != "not_affected"
                and _status(replace(issue, affected=(combination,)), environment, base) == "not_affected"
                for environment in examples
            ):
                name = key_of(term) or "a condition"
                yield f"affected.{position}: no not_affected example differs in {name} alone: is it really needed?"


def _versions_in(examples: list[dict[str, object]], name: str, names: Names) -> Iterator[Version]:
    for example in examples:
        for package in environment_from(example).packages:
            if names.canonical(package) == name and package.version is not None:
                version = parse_version(package.version)
                if version is not None:
                    yield version


def _remedies(record: Record, issue: Issue, issues: dict[str, Issue], base: KnowledgeBase) -> Iterator[str]:
    """A version remedy is tried on the record's own examples: it has to help, and must not be a trap."""
    for position, remedy in enumerate(record.remedies):
        if not isinstance(remedy, VersionRemedy):
            continue
        target = remedy.target()
        where = f"remedies.{position}: {remedy.package} {target}"
        if target in base.yanked.get(remedy.package, ()):
            yield f"{where} was yanked: name the next release that was not"
        tried = 0
        for number, example in enumerate(record.examples.affected):
            before = environment_from(example)
            after = _with_version(before, remedy.package, target, base.names)
            if after is None or not _direction(before, remedy, target, base.names):
                continue
            tried += 1
            if _status(issue, after, base) != "not_affected":
                yield f"{where} leaves examples.affected.{number} ({_shown(example)}) affected"
            others = [
                other
                for other in base.possible(after)
                if other.id != record.id
                and not other.informational
                and other.id not in remedy.accepts
                and remedy.package in packages_seen(other)
            ]
            now = _affected(others, after, base)
            for other in others:
                if other.id in now and _status(other, before, base) == "not_affected":
                    yield f"{where} lands in the affected range of {other.id} (examples.affected.{number})"
        if not tried:
            yield f"{where}: no affected example can move there"
        for identifier in remedy.accepts:
            if identifier not in issues:
                yield f"{where}: accepts {identifier}, which is no record"


def _setting_remedies(record: Record) -> Iterator[str]:
    """A setting cures only where a term asks for it: otherwise the finding stays for those who follow the advice."""
    if record.informational:
        return
    keys = {key for combination in record.affected for key in combination.settings}
    for position, remedy in enumerate(record.remedies):
        if isinstance(remedy, SettingRemedy) and remedy.key not in keys:
            yield (
                f"remedies.{position}: no combination asks for {remedy.key}, so that who sets it is told the same again"
            )


def _with_version(environment: Environment, package: str, target: str, names: Names) -> Environment | None:
    """The environment after the move; None if it does not have the package."""
    concerned = [entry for entry in environment.packages if names.canonical(entry) == package]
    if not concerned:
        return None
    moved = [replace(entry, version=target, location=Location(path="remedy")) for entry in concerned]
    others = [entry for entry in environment.packages if entry not in concerned]
    return replace(environment, packages=(*others, *moved))


def _direction(environment: Environment, remedy: VersionRemedy, target: str, names: Names) -> bool:
    """Is the move an upgrade or a downgrade as the remedy says? Others of its kind serve the other examples."""
    goal = parse_version(target)
    current = [
        parse_version(entry.version)
        for entry in environment.packages
        if names.canonical(entry) == remedy.package and entry.version is not None
    ]
    if goal is None or not current or current[0] is None:
        return False
    return current[0] < goal if remedy.kind == "upgrade" else current[0] > goal


def _shown(example: dict[str, object]) -> str:
    """By its keys: what it says of them may be somebody's own."""
    return ", ".join(quoted(key, "a key") for key in example)
