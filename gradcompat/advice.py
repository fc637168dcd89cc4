"""Chooses the remedy to show with a finding, by applying each to the environment and matching again.

Nothing else decides whether a remedy is good: one that leaves the finding, or that leads into another issue, is passed
over for the next. A change of the training code cannot be tried here, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradcompat.matcher import Names, key_of, match
from gradcompat.model.environment import Environment, Location, Package, Setting
from gradcompat.model.finding import Advice, Finding
from gradcompat.model.issue import CodeRemedy, Issue, PackageTerm, SettingRemedy, VersionRemedy
from gradcompat.versions import ABOVE, BELOW, parse_version

_TRIED = Location(path="remedy")


def advise(finding: Finding, environment: Environment, issues: Sequence[Issue], names: Names) -> Advice | None:
    """The first remedy of the record that clears the finding and brings no other, or the next best.

    Args:
        finding: an ``affected`` or ``conditional`` finding of this environment.
        environment: what was matched.
        issues: everything that was matched against.
        names: under which names packages go.
    """
    tried: list[Advice] = []
    code: Advice | None = None
    target: str | None
    for remedy in finding.issue.remedies:
        match remedy:
            case VersionRemedy():
                moved = _moved(environment, finding, remedy, names)
                if moved is None:
                    continue
                target, after, changed = moved
            case SettingRemedy():
                target, after = None, _with_setting(environment, remedy)
                changed = {id(package) for package in finding.packages}
            case CodeRemedy():
                code = code or Advice(remedy=remedy, clears=False, target=None, introduces=())
                continue
        # Another fork may have a finding of this issue of its own, and gets advice of its own.
        if any(
            one.status != "not_affected" and any(id(package) in changed for package in one.packages)
            for one in match(after, [finding.issue], names)
        ):
            continue
        introduces = tuple(sorted(_introduced(remedy, environment, after, issues, names)))
        advice = Advice(remedy=remedy, clears=True, target=target, introduces=introduces)
        if not introduces:
            return advice
        tried.append(advice)
    return code or min(tried, key=lambda advice: len(advice.introduces), default=None)


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


def _moved(
    environment: Environment, finding: Finding, remedy: VersionRemedy, names: Names
) -> tuple[str, Environment, set[int]] | None:
    """The release that the remedy leads to, the environment with it and the ids of the entries that were changed.

    None if the remedy leads another way. Entries of a range have no version to start from: they go up, to the first
    release that the remedy names.
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
    changed: set[int] = set()
    packages: list[Package] = []
    for package in environment.packages:
        entry = package
        if id(package) in concerned:
            entry = replace(package, version=str(target), specifier=None, unreleased=False)
            changed.add(id(entry))
        packages.append(entry)
    return str(target), replace(environment, packages=tuple(packages)), changed


def _with_setting(environment: Environment, remedy: SettingRemedy) -> Environment:
    kept = tuple(setting for setting in environment.settings if setting.key != remedy.key)
    changed = Setting(key=remedy.key, value=remedy.value, location=_TRIED)
    return replace(environment, settings=(*kept, changed))
