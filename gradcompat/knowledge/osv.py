"""Records as advisories of the Open Source Vulnerability format, for the tools that already read those.

What surprises: most defects hang on a setting, a model or a second package, and OSV can only say "these versions of
this package". So only a combination of one package, and nothing else than that it is used, claims a range. A record
that has none lists no affected package at all: the specification would allow a package without ranges, but scanners
call that a mistake, or take it for every version. The combinations stand in ``database_specific``, as data and in
words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from packaging.version import Version

from gradcompat.errors import IndexUnavailable
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.messages import condition, remedy_text
from gradcompat.model.issue import (
    CodeRemedy,
    Combination,
    InstallRemedy,
    Issue,
    ModelTerm,
    PackageAbsentTerm,
    PackageTerm,
    PlatformTerm,
    PythonTerm,
    Remedy,
    SettingRemedy,
    SettingTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
    VersionRemedy,
    VirtualTerm,
)
from gradcompat.model.release import Catalogue, Release
from gradcompat.requirements.versions import BELOW, VersionSet, any_of, locate
from gradcompat.terms.term_keys import single_package
from gradcompat.truth import Truth

SCHEMA_VERSION = "1.7.5"
ECOSYSTEM = "PyPI"

# "The `x_` prefix can be used to denote a local database that isn't aggregated by OSV.dev, allowing external records to
# be schema-compliant." An id without it is no valid one, because the schema knows all other databases by name.
PREFIX = "x_"


def osv_id(identifier: str) -> str:
    """The id of a record among all advisories: ``x_GC-0031``."""
    return PREFIX + identifier


def plain_ranges(issue: Issue) -> Mapping[str, VersionSet]:
    """Package → the versions that have the defect whatever the training, the machine and the other packages are.

    What is no defect is in none of them.
    """
    found: dict[str, list[VersionSet]] = {}
    if not issue.informational:
        for combination in issue.affected:
            alone = single_package(combination)
            if alone is not None:
                found.setdefault(alone.name, []).append(alone.versions)
    return {name: any_of(sets) for name, sets in found.items()}


def possible_ranges(issue: Issue) -> Mapping[str, VersionSet]:
    """Package → the versions that have the defect if everything else holds, too."""
    found: dict[str, list[VersionSet]] = {}
    if not issue.informational:
        for combination in issue.affected:
            for term in combination.terms:
                if isinstance(term, PackageTerm):
                    found.setdefault(term.name, []).append(term.versions)
    return {name: any_of(sets) for name, sets in found.items()}


def within(version: str, versions: VersionSet) -> bool:
    """Is the build that calls itself so certainly one of these? One of a commit between two releases may not be."""
    window = locate(version)
    return window is not None and versions.truth(window) is Truth.YES


def advisory(issue: Issue, base: KnowledgeBase, catalogue: Catalogue) -> dict[str, Any]:
    """One record as OSV has it.

    Args:
        issue: the record.
        base: where it is from, for the names of its packages and the day.
        catalogue: where releases are looked up; a package that it does not know is given as a range alone.
    """
    # Deterministic: the knowledge has one day, and no record has its own.
    moment = f"{base.date}T00:00:00Z"
    withdrawn = issue.withdrawn is not None
    return {
        "schema_version": SCHEMA_VERSION,
        "id": osv_id(issue.id),
        "modified": moment,
        **({"withdrawn": moment} if withdrawn else {}),
        # What users know it by, so that `--ignore GC-0031` of an auditor finds it.
        "aliases": [issue.id],
        # "Any rationale for why the vulnerability has been withdrawn should go into the summary text."
        "summary": f"{issue.summary} (withdrawn: {issue.withdrawn})" if withdrawn else issue.summary,
        "details": _details(issue),
        "affected": [
            _affected(listed, versions, catalogue)
            for name, versions in sorted(plain_ranges(issue).items())
            for listed in _listed_as(name, base)
        ],
        "references": _references(issue),
        "database_specific": _specific(issue, base),
    }


def with_conditions(advisory: Mapping[str, Any], issue: Issue) -> dict[str, Any]:
    """The same with the conditions in the summary, for auditors that show nothing else; as it is if it has none."""
    if plain_ranges(issue):
        return dict(advisory)
    first, *others = (_combination_text(combination) for combination in issue.affected)
    rest = f", or in {len(others)} other {'case' if len(others) == 1 else 'cases'}" if others else ""
    return {**advisory, "summary": f"{advisory['summary']} (only if {first}{rest})"}


def _listed_as(name: str, base: KnowledgeBase) -> list[str]:
    """The name and those under which an index has the same code."""
    return sorted({name, *(other for other, canonical in base.names.families.items() if canonical == name)})


def _affected(name: str, versions: VersionSet, catalogue: Catalogue) -> dict[str, Any]:
    try:
        releases: Sequence[Release] = catalogue.releases(name)
    except IndexUnavailable:
        releases = ()
    listed = [str(release.version) for release in releases if within(str(release.version), versions)]
    return {
        "package": {"ecosystem": ECOSYSTEM, "name": name, "purl": f"pkg:pypi/{name}"},
        "ranges": _ranges(versions, releases),
        **({"versions": listed} if listed else {}),
    }


def _ranges(versions: VersionSet, releases: Sequence[Release]) -> list[dict[str, Any]]:
    """The intervals as events. `fixed` and `last_affected` do not go into one range, so there may be two."""
    fixed: list[dict[str, str]] = []
    last: list[dict[str, str]] = []
    for low, high in versions.intervals:
        # "`introduced` allows a version of the value "0" to represent a version that sorts before any other version."
        start = {"introduced": "0" if low is None else str(low[0] if low[1] == BELOW else _behind(low[0]))}
        if high is None:
            fixed.append(start)
        elif high[1] == BELOW:
            fixed += [start, {"fixed": str(high[0])}]
        elif (successor := _successor(high[0], versions, releases)) is not None:
            fixed += [start, {"fixed": str(successor)}]
        else:
            last += [start, {"last_affected": str(high[0])}]
    return [{"type": "ECOSYSTEM", "events": events} for events in (fixed, last) if events]


def _successor(version: Version, versions: VersionSet, releases: Sequence[Release]) -> Version | None:
    """The next release, if it is one to move to; auditors show what is `fixed` as the way out, and nothing else."""
    after = next((release for release in releases if release.version > version), None)
    if after is None or after.yanked or after.version.is_prerelease or after.version in versions:
        return None
    return after.version


def _behind(version: Version) -> Version:
    """The lowest version that is higher: an event can be at a version, and not just above one."""
    if version.dev is not None:
        return Version(str(version).replace(f".dev{version.dev}", f".dev{version.dev + 1}"))
    if version.post is not None:
        return Version(str(version).replace(f".post{version.post}", f".post{version.post + 1}.dev0"))
    return Version(f"{version}.post0.dev0")


def _details(issue: Issue) -> str:
    """The mechanism, the conditions and the ways out, as Markdown."""
    parts = [issue.details.strip()]
    if issue.silent:
        parts.append("Nothing is raised: the run goes on, wrong.")
    parts.append(_bullets("Affected when", [_combination_text(combination) for combination in issue.affected]))
    if issue.remedies:
        parts.append(_bullets("What to do, in order", [remedy_text(remedy) for remedy in issue.remedies]))
    return "\n\n".join(parts)


def _bullets(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{title}:", "", *(f"* {line}" for line in lines)])


def _references(issue: Issue) -> list[dict[str, str]]:
    found = [{"type": reference.type, "url": reference.url} for reference in issue.references]
    # `uv audit` links the first ADVISORY or WEB page, and makes up an address at osv.dev where there is neither.
    if found and not any(hit["type"] == "WEB" for hit in found):
        found.append({"type": "WEB", "url": found[0]["url"]})
    return found


def _specific(issue: Issue, base: KnowledgeBase) -> dict[str, Any]:
    spoken_of = sorted(
        {term.name for combination in issue.affected for term in combination.terms if isinstance(term, PackageTerm)}
    )
    return {
        "record": issue.id,
        "level": issue.level,
        "silent": issue.silent,
        "informational": issue.informational,
        "categories": list(issue.categories),
        "conditional": not plain_ranges(issue),
        "combinations": [
            {"text": _combination_text(combination), "terms": [_term(term) for term in combination.terms]}
            for combination in issue.affected
        ],
        "remedies": [{"text": remedy_text(remedy), **_remedy(remedy)} for remedy in issue.remedies],
        "range_basis": issue.range_basis,
        "bounds": [
            {"package": bound.package, "bound": str(bound.versions), "basis": bound.basis} for bound in issue.bounds
        ],
        # Up to where releases were looked at: of newer ones, a range without end is an assumption.
        "horizon": {name: base.horizon[name][0] for name in spoken_of if name in base.horizon},
    }


def _combination_text(combination: Combination) -> str:
    return " and ".join(condition(term, full=True) for term in combination.terms)


def _term(term: Term) -> dict[str, Any]:
    match term:
        case PackageTerm(name=name, versions=versions):
            return {"package": name, "versions": str(versions)}
        case PackageAbsentTerm(name=name):
            return {"absent": name}
        case SettingTerm(key=key, values=values, comparison=None):
            return {"setting": key, "values": list(values)}
        case SettingTerm(key=key, comparison=(operator, operand)):
            return {"setting": key, "operator": operator, "operand": operand}
        case ModelTerm(classes=classes):
            return {"models": list(classes)}
        case SymbolTerm(symbols=symbols):
            return {"symbols": list(symbols)}
        case SymbolAbsentTerm(symbols=symbols):
            return {"without": list(symbols)}
        case PythonTerm(versions=versions):
            return {"python": str(versions)}
        case PlatformTerm(platforms=platforms):
            return {"platforms": list(platforms)}
        case VirtualTerm(name=name, versions=versions):
            return {"virtual": name, "versions": str(versions)}
    raise AssertionError(f"{term!r} is no term")


def _remedy(remedy: Remedy) -> dict[str, Any]:
    match remedy:
        case VersionRemedy(kind=kind, package=package, versions=versions):
            return {"kind": kind, "package": package, "versions": str(versions)}
        case SettingRemedy(key=key, value=value):
            return {"kind": "setting", "key": key, "value": value}
        case CodeRemedy():
            return {"kind": "code"}
        case InstallRemedy():
            return {"kind": "install"}
