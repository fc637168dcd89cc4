"""Chooses the remedy to show with a finding, by applying each to the environment and matching again.

Nothing else decides whether a remedy is good: one that leaves the finding, or that leads into another issue, is passed
over for the next. A change of the training code cannot be tried here, and says so. The order is the planner's, so far
as it can be followed for one finding alone and without looking up what a release requires. A check takes this for what
no plan cures, and for what is no defect.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal

from packaging.version import Version

from gradcompat.matching.entries import Listed, Listing, Names
from gradcompat.matching.forks import Forks
from gradcompat.matching.matcher import is_about, match_in, ruled_out
from gradcompat.matching.package_terms import MAX_CHOICES
from gradcompat.matching.view import View
from gradcompat.messages import joined, line_with
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.model.finding import Advice, Finding
from gradcompat.model.issue import CodeRemedy, InstallRemedy, Issue, PackageTerm, SettingRemedy, VersionRemedy
from gradcompat.planner.remedy_settings import is_taken, with_setting
from gradcompat.requirements.versions import ABOVE, BELOW, Cut, VersionSet, parse_version, step, upward
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.terms.term_keys import key_of

_MOST_TRIED = 24  # releases of one package and one way


Published = Callable[[str], Sequence[Version]]
"""The releases of a package that anybody would be given; none where they are not known."""

Way = Literal["upgrade", "downgrade"]


def _unknown(_: str) -> Sequence[Version]:
    return ()


def advise(
    finding: Finding,
    environment: Environment,
    issues: Sequence[Issue],
    names: Names,
    published: Published = _unknown,
    held: Collection[str] = (),
    listing: Listing | None = None,
) -> Advice | None:
    """The remedy that clears the finding and brings no other, as the planner would choose it, or the next best.

    What the record puts before every version comes first; then the shortest step to another version, up rather than
    down; then settings, then code. Where each brings another issue, the one that brings the fewest.

    Args:
        finding: an ``affected`` or ``conditional`` finding of this environment.
        environment: what was matched.
        issues: everything that was matched against.
        names: under which names packages go.
        published: the releases of a package; where they are not known, those count that the record advises.
        held: packages that stay at their version, by canonical name.
        listing: the entries of the environment, where they have been matched.
    """
    remedies = finding.issue.remedies
    if not remedies:
        return None  # what is only worth knowing has none, and nobody has to move for it
    code = next((_untried(remedy) for remedy in remedies if isinstance(remedy, (CodeRemedy, InstallRemedy))), None)
    if len(finding.packages) > MAX_CHOICES or (remedies and isinstance(remedies[0], CodeRemedy)):
        # So many entries are no lockfile that somebody works with; trying remedies on it would take too long.
        return code
    view = View(environment, names, Forks(environment.conflicts), listing)
    tried = list(_tried(finding, view, issues, published, held))
    first = next((index for index, one in enumerate(remedies) if not isinstance(one, SettingRemedy)), len(remedies))
    good = [advice for advice in tried if not advice.introduces]
    for advice in good:
        if any(advice.remedy is remedy for remedy in remedies[:first]):
            return advice
    ways = [(advice, way) for advice in good if (way := _way(advice, finding, names)) is not None]
    return (
        min(ways, key=lambda one: one[1], default=(None,))[0]
        or next(iter(good), None)
        or code
        or min(tried, key=lambda advice: len(advice.introduces), default=None)
    )


def _tried(
    finding: Finding, view: View, issues: Sequence[Issue], published: Published, held: Collection[str]
) -> Iterator[Advice]:
    """Everything that clears the finding: settings of the record, and the nearest release of each package that does."""
    for remedy in finding.issue.remedies:
        if isinstance(remedy, SettingRemedy) and is_taken(remedy, view.environment, view.names.canonical):
            touched = {id(package) for package in finding.packages}
            changed = with_setting(view.environment, remedy)
            change = _Change(View(changed, view.names, view.forks.renewed(), view.listing), touched)
            if _clears(change, finding):
                yield _advice(remedy, change, view, issues)
    for remedy_of, changes in _moves(finding, view, issues, published, held):
        best: Advice | None = None
        for change in changes:
            if _clears(change, finding):
                advice = _advice(remedy_of(change), change, view, issues)
                if best is None or len(advice.introduces) < len(best.introduces):
                    best = advice
                if not advice.introduces:
                    break
        if best is not None:
            yield best


def _clears(change: _Change, finding: Finding) -> bool:
    """Another fork may have a finding of this issue of its own, and gets advice of its own."""
    return not is_about(finding.issue, change.view, change.touched)


def _advice(remedy: VersionRemedy | SettingRemedy, change: _Change, before: View, issues: Sequence[Issue]) -> Advice:
    """A change that clears its finding, with what it brings."""
    location, line = setting_edit(before.environment, remedy) if isinstance(remedy, SettingRemedy) else (None, None)
    introduces = _introduced(remedy, before, change, issues)
    return Advice(
        remedy=remedy,
        clears=True,
        current=change.current,
        target=change.target,
        package=change.package,
        introduces=tuple(sorted(introduces)),
        location=location,
        line=line,
    )


def _way(advice: Advice, finding: Finding, names: Names) -> tuple[int, bool] | None:
    """How far a version is away and whether it is down, as the planner's cost has it; None if no version moves."""
    if not isinstance(advice.remedy, VersionRemedy) or advice.target is None:
        return None
    target = parse_version(advice.target)
    wanted = names.families.get(advice.remedy.package, advice.remedy.package)
    current = _versions(package for package in finding.packages if names.canonical(package) == wanted)
    far = 0 if target is None or not current else step(max(current), target)
    return far, advice.remedy.kind == "downgrade"


@dataclass(frozen=True, slots=True)
class _Change:
    """A view after a remedy, and the ids of the entries that a finding would have to be about to remain."""

    view: View
    touched: set[int]
    current: str | None = None
    target: str | None = None
    package: str | None = None


def _untried(remedy: CodeRemedy | InstallRemedy) -> Advice:
    return Advice(remedy=remedy, clears=False, target=None, introduces=())


def _introduced(
    remedy: VersionRemedy | SettingRemedy, before: View, change: _Change, issues: Sequence[Issue]
) -> set[str]:
    """The ids of issues that the change brings. Only those that speak of what was changed can have changed."""
    concerned = [issue for issue in issues if not issue.informational and _speaks_of(issue, remedy, before.names)]
    if isinstance(remedy, VersionRemedy):
        # What comes is about what was moved, or its special record goes, which stood in its place.
        general = {identifier for issue in concerned for identifier in issue.instead_of}
        concerned = [
            issue
            for issue in concerned
            if issue.instead_of or issue.id in general or is_about(issue, change.view, change.touched, ["affected"])
        ]
    found = _affected_ids(change.view, concerned)
    if not found:
        return found
    return found - _affected_ids(before, [issue for issue in concerned if issue.id in found])


def _speaks_of(issue: Issue, remedy: VersionRemedy | SettingRemedy, names: Names) -> bool:
    terms = (term for combination in issue.affected for term in combination.terms)
    if isinstance(remedy, SettingRemedy):
        return any(key_of(term) == remedy.key for term in terms)
    wanted = names.families.get(remedy.package, remedy.package)
    return any(isinstance(term, PackageTerm) and term.name == wanted for term in terms)


def _affected_ids(view: View, issues: Sequence[Issue]) -> set[str]:
    found = match_in(view, [issue for issue in issues if not ruled_out(issue, view)])
    return {finding.issue.id for finding in found if finding.status == "affected"}


def _moves(
    finding: Finding, view: View, issues: Sequence[Issue], published: Published, held: Collection[str]
) -> Iterator[tuple[Callable[[_Change], VersionRemedy], Iterator[_Change]]]:
    """For each package of the finding and each way the views that it leads to, the nearest release first.

    With each way comes what makes a remedy of a change: the record's own where it advises the release.
    """
    names = view.names
    groups: dict[str, list[Package]] = {}
    for package in finding.packages:
        if (name := names.canonical(package)) not in held:
            groups.setdefault(name, []).append(package)
    for wanted, entries in groups.items():
        known = published(entries[0].name)
        versions = _versions(entries)
        kinds: tuple[Way, ...] = ("upgrade", "downgrade")
        for kind in kinds:
            remedies = [
                remedy
                for remedy in finding.issue.remedies
                if isinstance(remedy, VersionRemedy)
                and remedy.kind == kind
                and names.families.get(remedy.package, remedy.package) == wanted
            ]
            # A range may allow any release already, so that only what the record advises leads anywhere.
            ends = [end for remedy in remedies for end in _ends(remedy)] if not known or not versions else known
            if kind == "upgrade":
                targets = upward(set(ends), max(versions)) if versions else sorted(set(ends))
            else:
                targets = sorted({end for end in ends if versions and end < min(versions)}, reverse=True)
            targets = targets if ends is not known else _first_of_each(targets, _cuts(wanted, issues))

            def remedy_of(change: _Change, kind: Way = kind, remedies: list[VersionRemedy] = remedies) -> VersionRemedy:
                only = VersionSet.parse(f"=={change.target}")
                advised = next((remedy for remedy in remedies if only & remedy.versions), None)
                return advised or VersionRemedy(kind=kind, package=change.package or "", versions=only)

            yield remedy_of, (_moved(view, wanted, entries, target) for target in targets[:_MOST_TRIED])


def _ends(remedy: VersionRemedy) -> list[Version]:
    """The releases that a remedy names: the near ends of its ranges."""
    up = remedy.kind == "upgrade"
    ends = [low if up else high for low, high in remedy.versions.intervals]
    return [end[0] for end in ends if end is not None and end[1] == (BELOW if up else ABOVE)]


def _cuts(name: str, issues: Sequence[Issue]) -> list[Cut]:
    """Where the records cut the line of a package's versions, from low to high."""
    terms = (term for issue in issues for combination in issue.affected for term in combination.terms)
    ranges = {term.versions for term in terms if isinstance(term, PackageTerm) and term.name == name}
    return sorted(
        {cut for version_set in ranges for interval in version_set.intervals for cut in interval if cut is not None}
    )


def _first_of_each(versions: Sequence[Version], cuts: Sequence[Cut]) -> list[Version]:
    """The first version between two cuts: the others there are the same to all records."""
    seen: dict[int, Version] = {}
    for version in versions:
        seen.setdefault(bisect_right(cuts, (version, BELOW)), version)
    return list(seen.values())


def _moved(view: View, name: str, entries: Sequence[Package], target: Version) -> _Change:
    """The view with these entries of a (canonical) package at another release."""
    concerned = set(map(id, entries))
    touched: set[int] = set()
    packages: list[Package] = []
    for package in view.listing.packages[name].entries:
        entry = package
        if id(package) in concerned:
            entry = replace(package, version=str(target), specifier=None, unreleased=False)
            touched.add(id(entry))
        packages.append(entry)
    # A change moves versions, and no marker.
    moved = view.moved({name: Listed(packages)}, view.forks.renewed())
    written = tuple(dict.fromkeys(package.version for package in entries if package.version is not None))
    current = joined(written, "and") if written else None
    return _Change(moved, touched, current, str(target), entries[0].name)


def _versions(packages: Iterable[Package]) -> list[Version]:
    """The versions of entries that have one."""
    parsed = (parse_version(package.version) for package in packages if package.version is not None)
    return [version for version in parsed if version is not None]


def setting_edit(environment: Environment, remedy: SettingRemedy) -> tuple[Location | None, str | None]:
    """Where the setting stands, and the line as it has to be, if it stands in one place and could be written there."""
    stated = [setting for setting in environment.settings if setting.key == remedy.key]
    line = line_with(stated[0], remedy.value) if len(stated) == 1 else None
    return (None, None) if line is None else (stated[0].location, line)
