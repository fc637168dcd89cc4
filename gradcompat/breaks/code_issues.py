"""A name that the project's code needs and a release does not have, as an issue with a line of the code.

Only what is certainly not there counts: a module that makes names at import time, a function that takes ``**kwargs``, a
release that nobody has read leave it open, and say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from packaging.version import Version

from gradcompat.breaks.pair_issues import break_issue
from gradcompat.breaks.release_ranges import ranges_of
from gradcompat.messages import counted, joined
from gradcompat.model.code_use import CodeUse
from gradcompat.model.environment import Location
from gradcompat.model.finding import Finding, Reason, Unknown
from gradcompat.model.issue import CodeRemedy, Combination, Issue, PackageTerm, Remedy, VersionRemedy
from gradcompat.releases.answers import Presence
from gradcompat.releases.table import ReleaseTable
from gradcompat.versions import VersionSet

CODE = "code"  # the first part of the id: code:transformers:HybridCache
_SHOWN = 3
_CONFIGS = (".yaml", ".yml", ".json")

Beside = Callable[[str], "Version | None"]


@dataclass(frozen=True, slots=True)
class BrokenUse:
    """A use that fails in a release.

    Attributes:
        use: the first of them.
        locations: every place.
        issue: what is said of it.
        conditional: each of them stands behind a condition.
    """

    use: CodeUse
    locations: tuple[Location, ...]
    issue: Issue
    conditional: bool = False


def broken_uses(
    uses: Iterable[CodeUse], package: str, table: ReleaseTable, version: Version, beside: Beside
) -> list[BrokenUse]:
    """The uses of a package that certainly fail in one of its releases.

    Args:
        uses: of the package's modules.
        package: its canonical name.
        table: of the package.
        version: that is there.
        beside: releases of other packages that are there, by name.
    """
    places: dict[str, list[CodeUse]] = {}
    gone: list[CodeUse] = []
    for use in sorted(uses, key=lambda use: use.kind != "import"):
        if use.kind != "import" and any(_says(code_use, use) for code_use in gone):
            continue
        if is_missing(use, table, version, beside) and _was_somewhere(use, table, beside):
            if use.kind == "import":
                if table.presence(version, use.module) is Presence.ABSENT:
                    use = replace(use, name=None)  # noqa: PLW2901  # of a module that is gone, all names are
                gone.append(use)
            places.setdefault(identifier_of(use, package), []).append(use)
    found: list[BrokenUse] = []
    for identifier, some in places.items():
        certain = [use for use in some if not use.conditional]
        ordered = [*certain, *(use for use in some if use.conditional)]
        locations = tuple(dict.fromkeys(use.location for use in ordered))
        issue = _issue(identifier, ordered[0], package, table, version, beside)
        found.append(BrokenUse(ordered[0], locations, issue, conditional=not certain))
    return found


def _says(imported: CodeUse, use: CodeUse) -> bool:
    """Does the import of what is missing say already that its use fails?"""
    within = use.full_name == imported.full_name or use.full_name.startswith(f"{imported.full_name}.")
    return within and (use.conditional or not imported.conditional)


def constraint_of(use: CodeUse, package: str, table: ReleaseTable, beside: Beside) -> Issue | None:
    """The releases in which the use certainly fails, for whoever looks for another one; None if there are none."""
    missing = _missing(use, table, beside)
    if all(version in missing for version in table.versions):
        return None
    identifier = identifier_of(use, package)
    return _plain(identifier, use, package, missing) if missing else None


def identifier_of(use: CodeUse, package: str) -> str:
    """``code:transformers:TrainingArguments:evaluation_strategy``."""
    inside = use.module.partition(".")[2] if use.kind == "import" else ""
    path = ".".join(part for part in (inside, use.name) if part) or use.module
    return ":".join(part for part in (CODE, package, path, use.keyword) if part)


def is_missing(use: CodeUse, table: ReleaseTable, version: Version, beside: Beside) -> bool:
    """Does the use certainly fail in this release?"""
    match use.kind:
        case "import":
            if table.presence(version, use.module) is not Presence.PRESENT:
                return table.presence(version, use.module) is Presence.ABSENT
            return use.name is not None and table.presence(version, use.module, use.name) is Presence.ABSENT
        case "attribute":
            return _lacks_attribute(use, table, version)
        case "keyword":
            signature = table.signature(version, f"{use.module}.{use.name}", beside)
            return signature is not None and use.keyword is not None and signature.accepts(use.keyword) is False


def _lacks_attribute(use: CodeUse, table: ReleaseTable, version: Version) -> bool:
    """``transformers.models.llama.Gone``: the first part that is no module decides; what is behind it is not known."""
    module = use.module
    for part in (use.name or "").split("."):
        found = table.presence(version, module, part)
        if found is not Presence.PRESENT:
            return found is Presence.ABSENT
        if table.presence(version, f"{module}.{part}") is not Presence.PRESENT:
            return False
        module = f"{module}.{part}"
    return False


def _was_somewhere(use: CodeUse, table: ReleaseTable, beside: Beside) -> bool:
    """Has any release that was read what is used? What none has may be of a fork, or nothing that can be read."""
    return any(not is_missing(use, table, version, beside) for version in table.versions)


def _missing(use: CodeUse, table: ReleaseTable, beside: Beside) -> VersionSet:
    """The releases in which the use fails; what the oldest that was read does not have yet, no older one has."""
    absent = [is_missing(use, table, version, beside) for version in table.versions]
    missing = ranges_of(list(map(str, table.versions)), absent.__getitem__)
    return missing | VersionSet.parse(f"<{table.versions[0]}") if absent[0] else missing


def _plain(identifier: str, use: CodeUse, package: str, missing: VersionSet) -> Issue:
    return break_issue(
        identifier,
        summary=f"the code uses {_named(use)}, which {package} does not have in {missing}",
        details=f"The code uses {_named(use)}. This was read in the released files of {package}.",
        categories=("code",),
        affected=(Combination(terms=(PackageTerm(name=package, versions=missing),)),),
    )


def _named(use: CodeUse) -> str:
    called = ".".join(part for part in (use.module, use.name) if part)
    return called if use.keyword is None else f"`{use.keyword}` of {called}"


def _issue(identifier: str, use: CodeUse, package: str, table: ReleaseTable, version: Version, beside: Beside) -> Issue:
    missing = _missing(use, table, beside)
    renamed = _renamed(use, table)
    history = joined(tuple(_history(missing, table.versions, version, renamed)), "and")
    remedies: list[Remedy] = list(_remedies(package, missing, version))
    if renamed is not None and renamed[0]:
        remedies.insert(0, CodeRemedy(text=f"write `{renamed[0]}` instead of `{use.keyword}`"))
    else:
        remedies.append(CodeRemedy(text=f"do without {_named(use)}"))
    return replace(
        _plain(identifier, use, package, missing),
        summary=f"{_failure(use, package, version)}: {history}",
        remedies=tuple(remedies),
    )


def _failure(use: CodeUse, package: str, version: Version) -> str:
    if use.kind == "keyword":
        called = (use.name or use.module).rpartition(".")[2]
        return f"{called} has no `{use.keyword}` in {package} {version}"
    if use.kind == "attribute":
        return f"{package} {version} has no `{use.module}.{use.name}`"
    if use.name is None:
        return f"No module named '{use.module}' in {package} {version}"
    return f"cannot import name '{use.name}' from '{use.module}' in {package} {version}"


def _renamed(use: CodeUse, table: ReleaseTable) -> tuple[str, Version] | None:
    """The new name of a keyword, where a release has both, and the first release that has."""
    if use.keyword is None:
        return None
    for version in table.versions:
        new = table.renamed(version, f"{use.module}.{use.name}", use.keyword)
        if new:
            return new, version
    return None


def _history(
    missing: VersionSet, versions: Sequence[Version], version: Version, renamed: tuple[str, Version] | None
) -> Iterator[str]:
    """``renamed `eval_strategy` in 4.41.0``, ``removed in 4.46.0`` or ``new in 5.0.0``."""
    if renamed is not None:
        yield f"renamed `{renamed[0]}` in {renamed[1]}"
    before = [one for one in versions if one < version and one not in missing]
    behind = [one for one in versions if one > version and one not in missing]
    if before:
        yield f"removed in {next(version for version in versions if version > before[-1])}"
    elif behind:
        yield f"new in {behind[0]}"


def _remedies(package: str, missing: VersionSet, version: Version) -> Iterator[VersionRemedy]:
    ways: tuple[tuple[Literal["upgrade", "downgrade"], str], ...] = (("upgrade", ">"), ("downgrade", "<"))
    for kind, operator in ways:
        if versions := ~missing & VersionSet.parse(f"{operator}{version}"):
            yield VersionRemedy(kind=kind, package=package, versions=versions)


def with_lines(finding: Finding, broken: BrokenUse) -> Finding:
    """The finding at its line of the code, with all others."""
    lines = [f"{_does(broken.use)} in {location}" for location in broken.locations]
    return _placed(finding, lines, broken.locations[0], conditional=broken.conditional)


def with_uses(finding: Finding, uses: Sequence[CodeUse]) -> Finding:
    """The finding of a pair at the lines of the code that import what breaks."""
    certain = [use for use in uses if not use.conditional]
    ordered = [*certain, *(use for use in uses if use.conditional)]
    lines = [f"{_does(use)} in {use.location}" for use in ordered]
    return _placed(finding, lines, ordered[0].location, conditional=not certain)


def _placed(finding: Finding, lines: Sequence[str], location: Location, *, conditional: bool) -> Finding:
    shown_lines = list(dict.fromkeys(lines))
    if (more := len(shown_lines) - _SHOWN) > 0:
        shown_lines[_SHOWN:] = [counted(more, "more place")]
    reason = Reason(sentence=joined(tuple(shown_lines), "and"), location=location)
    shown = replace(finding, because=(reason, *finding.because), location=location)
    if not conditional:
        return shown
    behind = Unknown(key="code.symbols", sentence=f"the code at {location} runs")
    unknown = tuple((*some, behind) for some in finding.unknown) or ((behind,),)
    return replace(shown, status="conditional", unknown=unknown)


def _does(use: CodeUse) -> str:
    if use.kind == "import":
        return f"the code imports {_named(use)}"
    giver = "config" if use.location.path.endswith(_CONFIGS) else "code"
    return f"the {giver} gives {_named(use)}" if use.keyword else f"the code uses {_named(use)}"


def by_root(uses: Iterable[CodeUse]) -> Mapping[str, list[CodeUse]]:
    """The uses by the top-level module that they are of."""
    found: dict[str, list[CodeUse]] = {}
    for use in uses:
        found.setdefault(use.root, []).append(use)
    return found
