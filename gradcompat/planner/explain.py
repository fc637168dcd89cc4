"""Why a plan is as it is, in sentences: what moves for what, what stands in the way, what has to be known besides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradcompat.messages import condition, counted, joined
from gradcompat.model.issue import Issue, PackageTerm
from gradcompat.model.plan import Change, ChangeKind
from gradcompat.planner.assignment_issues import Assignment, Judge
from gradcompat.planner.cost import rebuilt, versions
from gradcompat.planner.families import RELEASED_WITH_TORCH, new_interface, relatives
from gradcompat.planner.requirements import Need, allows
from gradcompat.planner.search import Fact
from gradcompat.planner.target import described
from gradcompat.planner.universe import Candidate, Universe

_MOST_NAMED = 4


def changes_of(chosen: Mapping[str, Candidate], judge: Judge, cured: Iterable[Issue]) -> tuple[Change, ...]:
    """The changes of an assignment, in the order of their names."""
    universe = judge.universe
    assignment = versions(chosen)
    cured = tuple(cured)
    found = []
    for name, candidate in sorted(chosen.items()):
        entries = universe.entries.get(name, ())
        others = {other: version for other, version in assignment.items() if other != name}
        kind: ChangeKind = "add" if not entries else "downgrade" if candidate.down else "upgrade"
        written = dict.fromkeys(entry.version for entry in entries if entry.version is not None)
        direct = None if universe.request.direct is None else name in universe.request.direct
        cures = tuple(issue.id for issue in cured if takes_part(issue, name, others, judge))
        found.append(
            Change(
                package=entries[0].name if entries else name,
                version_from=joined(tuple(written), "and") if written else None,
                version_to=str(candidate.version),
                kind=kind,
                direct=direct,
                cures=cures,
                because=() if cures else tuple(dict.fromkeys(reasons(name, chosen, universe))),
                locations=tuple(dict.fromkeys(entry.location for entry in entries)),
            )
        )
    return tuple(found)


def takes_part(issue: Issue, name: str, others: Assignment, judge: Judge) -> bool:
    """Is the finding about this package, and there again if only the others move, or cured by several at once?"""
    conditional = judge.universe.request.conditional
    before = judge.verdict(issue, {}).packages(conditional) or judge.verdict(issue, {}).affected
    if before is None or name not in before:
        return False
    after = judge.verdict(issue, others)
    return after.packages(conditional) is not None or not before & others.keys()


def reasons(name: str, chosen: Mapping[str, Candidate], universe: Universe) -> Iterable[str]:
    """What else than a finding made it move."""
    assignment = versions(chosen)
    for other, version in sorted(assignment.items()):
        for asking, need in universe.asked_by(other, version, assignment):
            if need.name == name != other and (not universe.listed(name) or not universe.allows_current(need)):
                extra = "" if asking == other else f", which {other} {version} asks for"
                yield f"{_named(asking, need, assignment, universe)} requires {need}{extra}"
    for other, version in sorted(assignment.items()):
        for written, needs in universe.needs_now(name):
            for need in needs:
                if need.name == other != name and not allows(need.specifier, version):
                    yield f"{name} {written} requires {need}"
        if other in relatives(name):
            first, second = sorted((name, other))
            yield f"{first} and {second} are one project and have one version"


def _named(asking: str, need: Need, assignment: Assignment, universe: Universe) -> str:
    version = str(assignment[asking]) if asking in assignment else _shown(asking, universe)
    return f"{asking}[{need.extra}] {version}" if need.extra else f"{asking} {version}"


def needs_between(name: str, version: str, wanted: str, universe: Universe) -> list[Need]:
    """What one release requires of another package."""
    needs = universe.needs(name, version)
    if needs is None:
        return []
    return [need for need in needs.with_extras(universe.extras.get(name, frozenset())) if need.name == wanted]


def fact_text(fact: Fact, judge: Judge) -> str:
    """One fact of an unsatisfiable core."""
    universe = judge.universe
    place = described(universe.request.target)
    match fact.kind:
        case "issue":
            issue = next(issue for issue in judge.issues if issue.id == fact.subject)
            return f"{issue.id} has to go, and it is there where {issue_condition(issue)}"
        case "requires":
            return requirement_text(fact.subject, fact.object, universe)
        case "family":
            return f"{fact.subject} and {fact.object} are one project and have to have one version"
        case "stays":
            if fact.subject in universe.request.keep:
                return f"{fact.subject} has to stay as it is, as asked"
            return f"{fact.subject} is the project itself, which no release takes the place of"
        case _:
            if fact.subject in universe.unavailable:
                return f"which releases {fact.subject} has could not be looked up"
            if not universe.releases(fact.subject):
                return f"{universe.catalogue.described} has no releases of {fact.subject}"
            return f"no other release of {fact.subject} fits {place}"


def issue_condition(issue: Issue) -> str:
    """The packages that an issue speaks of, in words: ``transformers is >=4.47,<4.49``."""
    clauses = {
        joined(tuple(condition(term) for term in combination.terms if isinstance(term, PackageTerm)), "and"): None
        for combination in issue.affected
    }
    return " or ".join(list(clauses)[:_MOST_NAMED])


def requirement_text(name: str, wanted: str, universe: Universe) -> str:
    """One requirement between two packages, of what is there or of a release that was looked at."""
    for dependent, need in universe.dependents(wanted):
        if dependent == name:
            return f"{name} {_shown(name, universe)} requires {need}"
    for candidate in universe.candidates(name):
        if universe.is_read(name, str(candidate.version)):
            for need in needs_between(name, str(candidate.version), wanted, universe):
                return f"{name} {candidate.version}, as other releases of it, requires {need}"
    return f"{name} requires another {wanted}"


def _shown(name: str, universe: Universe) -> str:
    return joined(tuple(str(version) for version in universe.current(name)) or ("?",), "and")


def notes_on(chosen: Mapping[str, Candidate], universe: Universe) -> list[str]:
    """What is worth knowing and takes nothing back."""
    notes = []
    torch = chosen.get("torch")
    for name in rebuilt(chosen, universe):
        before = universe.reference("torch")
        notes.append(
            f"{name} is built against one minor release of torch and has to be built again: torch moves from "
            f"{before} to {torch.version if torch else before}"
        )
    for name, candidate in sorted(chosen.items()):
        if candidate.fit == "sdist":
            notes.append(
                f"{name} {candidate.version} has no wheel for {described(universe.request.target)} and has to be built"
            )
        if universe.rehomed(name):
            entry = universe.entries[name][0]
            what = "a build of an unreleased commit" if entry.unreleased else f"`{entry.source}`"
            notes.append(f"{name} comes from {what}; nothing works while it stays, so a release takes its place")
        if universe.listed(name) and not any(entry.version for entry in universe.entries[name]):
            notes.append(
                f"{name} is only asked for as a range; what is verified is {candidate.version} itself, so narrow the "
                "range to it or pin it"
            )
    return notes


def unmet_notes(chosen: Mapping[str, Candidate], universe: Universe) -> list[str]:
    """Requirements that did not hold before either, between what stays."""
    if not chosen:
        return []
    found = [
        f"{dependent} requires {need}, and {name} is {_shown(name, universe)}; that was so before"
        for name in universe.entries
        for dependent, need in universe.dependents(name)
        if dependent not in chosen and name not in chosen and not universe.allows_current(need)
    ]
    if len(found) > _MOST_NAMED:
        left = len(found) - _MOST_NAMED + 1
        found = [
            *found[: _MOST_NAMED - 1],
            f"{counted(left, 'more requirement')} between packages that stay did not hold before either",
        ]
    missing = sorted({name for dependent, name in universe.missing if dependent in chosen} - chosen.keys())
    if missing and universe.environment.closed:
        found.append(f"{_some(missing)}, which a package that moves requires, is not added: it was already missing")
    return found


def lenient_notes(chosen: Mapping[str, Candidate], universe: Universe) -> list[str]:
    """Requirements that did not hold before and that the plan leaves so."""
    found = []
    for name, candidate in sorted(chosen.items()):
        for dependent, need in universe.dependents(name):
            if dependent not in chosen and not allows(need.specifier, candidate.version):
                found.append(
                    f"{dependent} requires {need}, which {name} {candidate.version} does not meet; what is there "
                    "does not meet it either"
                )
        needs = universe.needs(name, str(candidate.version))
        for need in () if needs is None else needs.with_extras(universe.extras.get(name, frozenset())):
            if need.name not in chosen and universe.listed(need.name) and not universe.allows_current(need):
                found.append(
                    f"{name} {candidate.version} requires {need}, and {need.name} stays "
                    f"at {_shown(need.name, universe)}"
                )
    return found


def unverified_of(chosen: Mapping[str, Candidate], universe: Universe) -> list[str]:
    """What could not be verified of a plan that moves packages."""
    if not chosen:
        return []
    found = []
    for name in sorted(chosen):
        if name in universe.unavailable:
            found.append(
                f"the releases of {name} could not be looked up, so the versions are those that the records name: "
                f"{universe.unavailable[name]}"
            )
    for name, candidate in sorted(chosen.items()):
        key = (name, str(candidate.version))
        if key in universe.unread and name not in universe.unavailable:
            found.append(f"the requirements of {name} {candidate.version} could not be read: {universe.unread[key]}")
        if key in universe.unreadable:
            found.append(f"{name} {candidate.version} requires `{universe.unreadable[key][0]}`, which cannot be read")
    rest = [name for name in universe.unread_now() if name not in chosen]
    if rest:
        found.append(f"what {_some(rest)} {'requires' if len(rest) == 1 else 'require'} could not be looked up")
    for (name, version), lines in sorted(universe.unreadable.items()):
        named = any(other in line.lower() for line in lines for other in chosen)
        if named and name not in chosen and version in universe.written(name):
            found.append(f"{name} {version} requires `{lines[0]}`, which cannot be read")
    torch = chosen.get("torch")
    if torch is not None and new_interface(universe.reference("torch"), torch.version):
        for name in sorted(RELEASED_WITH_TORCH):
            if universe.listed(name) and name not in chosen and not universe.needs_now(name):
                found.append(f"{name} is released for one minor release of torch; for which, could not be looked up")
    if not universe.environment.closed:
        found.append("only what is listed was checked: packages that come along with it are not known")
    if any(universe.from_conda(name) for name in chosen):
        found.append("packages of conda were compared with the releases of the Python package index")
    return found


def _some(names: list[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return joined(tuple(names), "and")
    return f"{', '.join(names[: _MOST_NAMED - 1])} and {len(names) - _MOST_NAMED + 1} others"


def elsewhere_text(name: str, universe: Universe) -> str:
    """An entry that the target does not have."""
    entry = universe.elsewhere[name][0]
    marker = entry.marker or " or ".join(entry.reached)
    return f"{name} {entry.version or entry.specifier} is for another place (`{marker}`) and is left as it is"
