"""Chooses the remedy to show with a finding, by applying each to the environment and matching again.

Nothing else decides whether a remedy is good: one that leaves the finding, or that leads into another issue, is passed
over for the next. A change of the training code cannot be tried here, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gradcompat.matcher import MAX_CHOICES, Names, key_of, match
from gradcompat.model.environment import Environment, Location, Package, Setting
from gradcompat.model.finding import Advice, Finding
from gradcompat.model.issue import CodeRemedy, Issue, PackageTerm, SettingRemedy, VersionRemedy
from gradcompat.phrases import value_text
from gradcompat.versions import ABOVE, BELOW, parse_version

_TRIED = Location(path="remedy")


def advise(finding: Finding, environment: Environment, issues: Sequence[Issue], names: Names) -> Advice | None:
    """The first remedy of the record that clears the finding and brings no other, or the next best.

    A change of code is the answer where the record puts it before all others that fit; it cannot be tried.

    Args:
        finding: an ``affected`` or ``conditional`` finding of this environment.
        environment: what was matched.
        issues: everything that was matched against.
        names: under which names packages go.
    """
    if len(finding.packages) > MAX_CHOICES:
        # No lockfile that somebody works with; trying remedies on it would take longer than anybody waits.
        return next((_untried(remedy) for remedy in finding.issue.remedies if isinstance(remedy, CodeRemedy)), None)
    tried: list[Advice] = []
    for remedy in finding.issue.remedies:
        change: _Change | None
        match remedy:
            case VersionRemedy():
                change = _moved(environment, finding, remedy, names)
            case SettingRemedy():
                change = _Change(_with_setting(environment, remedy), {id(package) for package in finding.packages})
            case CodeRemedy():
                # The record prefers it to what stands behind it.
                return _untried(remedy)
        # Another fork may have a finding of this issue of its own, and gets advice of its own.
        if change is None or any(
            one.status != "not_affected" and any(id(package) in change.touched for package in one.packages)
            for one in match(change.environment, [finding.issue], names)
        ):
            continue
        introduces = tuple(sorted(_introduced(remedy, environment, change.environment, issues, names)))
        location, line = _edit(environment, remedy) if isinstance(remedy, SettingRemedy) else (None, None)
        advice = Advice(
            remedy=remedy,
            clears=True,
            target=change.target,
            package=change.package,
            introduces=introduces,
            location=location,
            line=line,
        )
        if not introduces:
            return advice
        tried.append(advice)
    return min(tried, key=lambda advice: len(advice.introduces), default=None)


@dataclass(frozen=True, slots=True)
class _Change:
    """An environment after a remedy, and the ids of the entries that a finding would have to be about to remain."""

    environment: Environment
    touched: set[int]
    target: str | None = None
    package: str | None = None


def _untried(remedy: CodeRemedy) -> Advice:
    return Advice(remedy=remedy, clears=False, target=None, introduces=())


def _introduced(
    remedy: VersionRemedy | SettingRemedy,
    before: Environment,
    after: Environment,
    issues: Sequence[Issue],
    names: Names,
) -> set[str]:
    """The ids of issues that the change brings. Only those that speak of what was changed can have changed."""
    concerned = [issue for issue in issues if not issue.informational and _speaks_of(issue, remedy, names)]
    found = _affected_ids(after, concerned, names)
    if not found:
        return found
    return found - _affected_ids(before, [issue for issue in concerned if issue.id in found], names)


def _speaks_of(issue: Issue, remedy: VersionRemedy | SettingRemedy, names: Names) -> bool:
    terms = (term for combination in issue.affected for term in combination.terms)
    if isinstance(remedy, SettingRemedy):
        return any(key_of(term) == remedy.key for term in terms)
    wanted = names.families.get(remedy.package, remedy.package)
    return any(isinstance(term, PackageTerm) and term.name == wanted for term in terms)


def _affected_ids(environment: Environment, issues: Sequence[Issue], names: Names) -> set[str]:
    return {one.issue.id for one in match(environment, issues, names) if one.status == "affected"}


def _moved(environment: Environment, finding: Finding, remedy: VersionRemedy, names: Names) -> _Change | None:
    """The environment with the release that the remedy leads to; None if the remedy leads another way.

    Entries of a range have no version to start from: they go up, to the first release that the remedy names.
    """
    wanted = names.families.get(remedy.package, remedy.package)
    concerned = {id(package): package for package in finding.packages if names.canonical(package) == wanted}
    current = [parse_version(package.version) for package in concerned.values() if package.version is not None]
    versions = [version for version in current if version is not None]
    if not concerned or (not versions and remedy.kind == "downgrade"):
        return None
    ends = [
        end[0]
        for interval in remedy.versions.intervals
        for end in [interval[0] if remedy.kind == "upgrade" else interval[1]]
        if end is not None and end[1] == (BELOW if remedy.kind == "upgrade" else ABOVE)
    ]
    if remedy.kind == "upgrade":
        target = min((end for end in ends if not versions or end > max(versions)), default=None)
    else:
        target = max((end for end in ends if end < min(versions)), default=None)
    if target is None:
        return None
    touched: set[int] = set()
    packages: list[Package] = []
    for package in environment.packages:
        entry = package
        if id(package) in concerned:
            entry = replace(package, version=str(target), specifier=None, unreleased=False)
            touched.add(id(entry))
        packages.append(entry)
    name = next(iter(concerned.values())).name
    return _Change(replace(environment, packages=tuple(packages)), touched, str(target), name)


def _with_setting(environment: Environment, remedy: SettingRemedy) -> Environment:
    kept = tuple(setting for setting in environment.settings if setting.key != remedy.key)
    changed = Setting(key=remedy.key, value=remedy.value, location=_TRIED)
    return replace(environment, settings=(*kept, changed))


def _edit(environment: Environment, remedy: SettingRemedy) -> tuple[Location | None, str | None]:
    """Where the setting stands, and the line as it has to be, if it stands in one place and could be written there."""
    stated = [setting for setting in environment.settings if setting.key == remedy.key]
    if len(stated) != 1 or stated[0].spelling is None:
        return None, None
    of_python = stated[0].location.path.endswith((".py", ".ipynb"))
    value = repr(remedy.value) if of_python else value_text(remedy.value)
    return stated[0].location, stated[0].spelling.replace("{}", value)
