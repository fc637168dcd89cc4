"""Which probes and releases a campaign is about."""

from __future__ import annotations

from collections.abc import Sequence

from gradcompat.errors import UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.issue import Issue, PackageTerm
from gradcompat.model.probe import ProbeSpec
from gradcompat.model.release import Catalogue, Release
from gradcompat.recipes.table import BY_NAME, uses
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet, parse_version


def specs_of(package: str, probes: Sequence[str], base: KnowledgeBase) -> list[ProbeSpec]:
    """The probes that ids of records and names of recipes stand for; without one, those of the package's records.

    Raises:
        UsageError: if one stands for nothing.
    """
    found: dict[str, ProbeSpec] = {}
    for probe in probes:
        if probe in BY_NAME:
            for parameters in BY_NAME[probe].variants or ({},):
                spec = ProbeSpec(name=probe, parameters=parameters)
                found[str(spec)] = spec
            continue
        issue = base.get(probe)
        if issue is None:
            known = ", ".join(BY_NAME)
            raise UsageError(f"`{probe}` is neither a record nor a recipe", hint=f"recipes are {known}")
        if not issue.probes:
            raise UsageError(f"`{issue.id}` has no probe", hint=f"`gradcompat explain {issue.id}` has its evidence")
        found |= {str(probe.spec): probe.spec for probe in issue.probes}
    if not probes:
        canonical = base.names.families.get(package, package)
        for issue in base.in_force():
            if canonical in _spoken_of(issue):
                found |= {str(probe.spec): probe.spec for probe in issue.probes}
    if not found:
        raise UsageError(f"no record that mentions `{package}` has a probe", hint="name a record or a recipe")
    return list(found.values())


def of_newest(package: str, specs: Sequence[ProbeSpec], base: KnowledgeBase) -> list[ProbeSpec]:
    """What shows something of the newest release of a package: probes, and the other variants of their recipes.

    A probe that does without the package shows nothing of it, and what records of other packages alone have shown, also
    with further parameters, is measured with those.

    Raises:
        UsageError: if nothing of this shows anything.
    """
    canonical = base.names.families.get(package, package)
    every = {str(spec): spec for spec in specs}
    for recipe in dict.fromkeys(spec.name for spec in specs):
        for parameters in BY_NAME[recipe].variants:
            spec = ProbeSpec(name=recipe, parameters=parameters)
            every.setdefault(str(spec), spec)
    shown = [(probe.spec, canonical in _spoken_of(issue)) for issue in base.in_force() for probe in issue.probes]
    asked = {str(spec) for spec in specs}
    found = [
        spec
        for text, spec in every.items()
        if uses(spec, package, base.names.families) and (text in asked or not _of_others(spec, shown))
    ]
    if not found:
        raise UsageError(
            f"none of these probes uses `{package}`", hint="leave `--newest` away to run them all the same"
        )
    return found


def _of_others(spec: ProbeSpec, shown: Sequence[tuple[ProbeSpec, bool]]) -> bool:
    """Whether records have shown this, and none of them speaks of the package."""
    ours = [own for other, own in shown if other.within(spec)]
    return bool(ours) and not any(ours)


def _spoken_of(issue: Issue) -> set[str]:
    """The packages in the conditions of a record."""
    return {term.name for combination in issue.affected for term in combination.terms if isinstance(term, PackageTerm)}


def releases_in(name: str, wanted: VersionSet, catalogue: Catalogue) -> list[Release]:
    """Releases that anybody can install today, yanked ones too, without alphas, betas and candidates."""
    return [
        release
        for release in catalogue.releases(name)
        if release.version in wanted and not release.version.is_prerelease
    ]


def held_releases(name: str, beside: Sequence[str], catalogue: Catalogue) -> tuple[Release, ...]:
    """The releases that stand beside every one.

    Args:
        name: the package that is varied.
        beside: ``name==version`` of each.
        catalogue: where they are looked up.

    Raises:
        UsageError: if one is no release, or is what is varied or the base.
        IndexUnavailable: if one could not be looked up.
    """
    found = {}
    for text in beside:
        other, _, wanted = text.partition("==")
        other, version = normalise(other.strip()), parse_version(wanted)
        if version is None:
            raise UsageError(f"`--with {text}` names no release", hint="write it as `--with huggingface-hub==1.0.0`")
        if other in (name, "torch"):
            reason = "is what is varied" if other == name else "comes from the base: name another one with `--python`"
            raise UsageError(f"`--with {text}`: {other} {reason}")
        release = next((release for release in catalogue.releases(other) if release.version == version), None)
        if release is None:
            raise UsageError(f"`--with {text}`: {catalogue.described} has no such release")
        found[other] = release
    return tuple(found.values())
